/* The paths of one client of a worker whose debugger maps paths for another one. pydevd has one set
 * of mappings, that of the client which attached first: each other client's paths are translated
 * here, by that client's own pathMappings. Pure. */
#ifndef RAYDBG_RELAY_CLIENT_PATH_VIEW_H
#define RAYDBG_RELAY_CLIENT_PATH_VIEW_H

#include "base/buf.h"
#include "dap/envelope.h"
#include "dap/path_map.h"

/* All zero: the client's paths are the debugger's. */
struct path_view {
    struct path_map *own, *debugger;
};

/* `own` and `debugger` are the arguments of the client's attach and of the debugger's, as JSON;
 * NULL for none. False if a mapping to the worker's own directory (".") cannot be applied. */
bool path_view_set(struct path_view *view, const char *own, const char *debugger);
void path_view_clear(struct path_view *view);

/* True if nothing is translated. */
bool path_view_is_plain(const struct path_view *view);

/* Appends the message in the other's paths: a request in the debugger's, a response or an event in
 * the client's. False, with nothing appended, if nothing changes. */
bool path_view_write(const struct path_view *view, const char *json, size_t len,
                     const struct envelope *envelope, struct buf *out);

#endif
