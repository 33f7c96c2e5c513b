/* Tells Ray's own code from the user's: one table for all code that folds, dims or skips Ray's
 * frames. The agent in the workers, which is Python, has the same list: base/ray_path_list.h, by
 * cmake/worker-agent.cmake. Pure. */
#ifndef RAYDBG_BASE_RAY_PATH_H
#define RAYDBG_BASE_RAY_PATH_H

#include <stdbool.h>
#include <stddef.h>

/* True if `text`, a path or a line that contains one, names a file of Ray's, wherever Ray is
 * installed. A directory "ray" alone does not count: it is the user's name in Ray's images.
 * Cython's paths begin with "python/ray/" (Ray 2.9 to 2.60). */
bool ray_path_is(const char *text, size_t len);

/* The same for a stack frame: by its path, or else by its function's name. Both may be NULL. */
bool ray_path_is_frame(const char *path, const char *function);

/* The same for a path as py-spy shortens it, which begins with the outermost package. */
bool ray_path_is_short(const char *path);

#endif
