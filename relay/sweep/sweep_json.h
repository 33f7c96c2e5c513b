/* A sweep as JSON and back: the format of `raydbg memory --format json`, of a file for --diff, and
 * of the relay. The members are in docs/objects.md. Pure. */
#ifndef RAYDBG_RELAY_SWEEP_SWEEP_JSON_H
#define RAYDBG_RELAY_SWEEP_SWEEP_JSON_H

#include "base/buf.h"
#include "base/err.h"
#include "relay/sweep/object_sweep.h"

/* {"taken", "nodes": […], "processes": […], "call_sites": […], "rows": […], "locations": […],
 * "tasks": […]}, one element per line. Appends. */
void sweep_json_write(const struct object_sweep *sweep, struct buf *out);

/* Reads a sweep back: equal to the one written, except that references without a row are missing.
 * Strict: a member that is missing, has another type or points nowhere is an error that says where;
 * unknown members are skipped. NULL with `err` set. */
struct object_sweep *sweep_json_read(const char *json, size_t len, struct err *err);

#endif
