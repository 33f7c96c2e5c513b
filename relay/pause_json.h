/* Pauses as JSON or YAML: what `raydbg list --format` prints and the relay's HTTP says. Pure. */
#ifndef RAYDBG_RELAY_PAUSE_JSON_H
#define RAYDBG_RELAY_PAUSE_JSON_H

#include "base/buf.h"
#include "dap/scan.h"
#include "relay/pause.h"

/* One JSON object, without a line end. Every field is always there; null is unknown. */
void pause_json(const struct pause *pause, struct buf *out);
/* A JSON array, an object a line; ends with a line end. */
void pauses_json(const struct pause_list *list, struct buf *out);
/* The same as YAML: a sequence of mappings. */
void pauses_yaml(const struct pause_list *list, struct buf *out);

/* Reads what pause_json() has written, perhaps by another version: unknown members are skipped,
 * absent ones unknown. `out` is the caller's to clear. False if it is no object, or one without an
 * endpoint or with a state or debugger that is not known. */
bool pause_json_read(struct pause *out, const char *json, struct span object);
/* The same for an array of them. */
bool pauses_json_read(struct pause_list *out, const char *json, struct span array);

#endif
