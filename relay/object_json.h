/* A sweep as JSON and back: what `raydbg memory --format json` prints, a file for --diff holds, and
 * the relay serves. The members are in docs/objects.md. Pure. */
#ifndef RAYDBG_RELAY_OBJECT_JSON_H
#define RAYDBG_RELAY_OBJECT_JSON_H

#include "base/buf.h"
#include "base/err.h"
#include "relay/object_sweep.h"

/* {"taken", "nodes": […], "processes": […], "call_sites": […], "rows": […], "locations": […],
 * "tasks": […]}, an element a line. Appends. */
void object_sweep_write(const struct object_sweep *sweep, struct buf *out);

/* Reads it back: what it says is the same, but for references that are no rows. Strict: a member
 * that is missing, has another type or points nowhere is an error that says where; members that are
 * not known are skipped. NULL with `err` set. */
struct object_sweep *object_sweep_read(const char *json, size_t len, struct err *err);

#endif
