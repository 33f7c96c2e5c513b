/* A process that belongs to no terminal, is nobody's child and holds nothing of its parent's but
 * two descriptors; for relay/keeper*.c and relay/closer*.c. */
#ifndef RAYDBG_RELAY_DETACHED_H
#define RAYDBG_RELAY_DETACHED_H

#include <stddef.h>
#include <stdint.h>

/* Where the two descriptors are in the new process; all others but 0 to 2 (/dev/null) are closed.
 */
enum { DETACHED_SOCKET_FD = 3, DETACHED_MEMORY_FD = 4, DETACHED_FIRST_FREE_FD = 5 };

/* What the new process does before it ends; it must not call anything that uses the environment.
 * SIGTERM is blocked and has its default effect, what a terminal sends is ignored. */
typedef void (*detached_run_fn)(const char *path);

/* `path` is absolute; ps shows "NAME PATH", `name` being static text. 0, or -1 with errno set. */
int detached_start(const char *name, int socket, int memory, const char *path, detached_run_fn run);

/* For the process itself, which allocates nothing else. */

/* A clock that only goes forward. */
int64_t detached_now_ms(void);
/* Zeroes that take memory only where they are written to. No room for them is its end. */
void *detached_zeroes(size_t size);

#endif
