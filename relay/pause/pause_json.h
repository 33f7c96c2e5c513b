/* Pauses as JSON or YAML, for `raydbg list --format` and the relay's HTTP responses. Pure. */
#ifndef RAYDBG_RELAY_PAUSE_PAUSE_JSON_H
#define RAYDBG_RELAY_PAUSE_PAUSE_JSON_H

#include "base/buf.h"
#include "dap/scan.h"
#include "relay/pause/pause.h"

/* One JSON object, without a line end. Every field is always there; null is unknown. */
void pause_json(const struct pause *pause, struct buf *out);
/* A JSON array, an object a line; ends with a line end. */
void pauses_json(const struct pause_list *list, struct buf *out);
/* The same as YAML: a sequence of mappings. */
void pauses_yaml(const struct pause_list *list, struct buf *out);

/* Reads an object that pause_json() has written, perhaps of another version: unknown members are
 * skipped, absent ones unknown. The caller clears `out`. False if `object` is not an object, has no
 * endpoint, or has an unknown state or debugger. */
bool pause_json_read(struct pause *out, const char *json, struct span object);
/* The same for an array of such objects. */
bool pauses_json_read(struct pause_list *out, const char *json, struct span array);

#endif
