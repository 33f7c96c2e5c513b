/* The pathMappings of an `attach`, as pydevd applies them: from the client's paths to the worker's
 * and back. Pure. */
#ifndef RAYDBG_DAP_PATH_MAP_H
#define RAYDBG_DAP_PATH_MAP_H

#include "dap/scan.h"

struct path_map;

/* Reads "pathMappings" and "clientOS". NULL if nothing is mapped. *relative is set if a remoteRoot
 * is ".", the worker's own directory, which only the worker can resolve: that mapping is left
 * out. */
struct path_map *path_map_read(const char *json, struct span attach_arguments, bool *relative);
void path_map_destroy(struct path_map **map);

/* True if both map all paths in the same way. Either may be NULL. */
bool path_map_equal(const struct path_map *a, const struct path_map *b);

/* NULL if no mapping has the path; the caller frees. `map` may be NULL. */
char *path_map_to_worker(const struct path_map *map, const char *path);
char *path_map_to_client(const struct path_map *map, const char *path);

#endif
