/* Forks a process that belongs to no terminal, is nobody's child and holds nothing of its parent's
 * but two descriptors; for relay/keeper*.c and relay/closer*.c. */
#ifndef RAYDBG_RELAY_KEEPER_DETACH_H
#define RAYDBG_RELAY_KEEPER_DETACH_H

/* Where the two descriptors are in the new process; all others but 0 to 2 (/dev/null) are closed.
 */
enum { KEEPER_LISTENER_FD = 3, KEEPER_MEMORY_FD = 4, KEEPER_FIRST_FREE_FD = 5 };

/* What the new process does before it ends; it must not call anything that uses the environment.
 * SIGTERM is blocked and has its default effect, what a terminal sends is ignored. */
typedef void (*keeper_run_fn)(const char *path);

/* `path` is absolute; ps shows "NAME PATH", `name` being static text. 0, or -1 with errno set. */
int keeper_detach(const char *name, int listener, int memory, const char *path, keeper_run_fn run);

#endif
