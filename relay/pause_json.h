/* Pauses as JSON or YAML: what `raydbg list --format` prints and the relay's HTTP says. Pure. */
#ifndef RAYDBG_RELAY_PAUSE_JSON_H
#define RAYDBG_RELAY_PAUSE_JSON_H

#include "base/buf.h"
#include "relay/pause.h"

/* One JSON object, without a line end. Every field is always there; null is unknown. */
void pause_json(const struct pause *pause, struct buf *out);
/* A JSON array, an object a line; ends with a line end. */
void pauses_json(const struct pause_list *list, struct buf *out);
/* The same as YAML: a sequence of mappings. */
void pauses_yaml(const struct pause_list *list, struct buf *out);

#endif
