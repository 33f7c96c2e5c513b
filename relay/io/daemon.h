/* Detached processes: no terminal, not a child of the process that started them, and with only two
 * of its descriptors. For relay/keeper/keeper*.c, relay/debuggee/closer*.c and
 * relay/port/tls_terminator*.c. */
#ifndef RAYDBG_RELAY_IO_DAEMON_H
#define RAYDBG_RELAY_IO_DAEMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The two descriptors' numbers in the new process. 0 to 2 are /dev/null, all others are closed. */
enum { DAEMON_SOCKET_FD = 3, DAEMON_MEMORY_FD = 4, DAEMON_FIRST_FREE_FD = 5 };

/* The new process runs this and exits when it returns. It must not call anything that uses the
 * environment. SIGTERM is blocked, with its default action; a terminal's signals are ignored. */
typedef void (*daemon_run_fn)(const char *path);

/* `path` is absolute, `name` is static text; ps shows "NAME PATH". 0, or -1 with errno set. */
int daemon_start(const char *name, int socket, int memory, const char *path, daemon_run_fn run);
/* The same for a process with threads, where a forked child inherits locks that no thread releases:
 * executes this process's own executable again, whose main() begins with daemon_resume(). The new
 * process has none of this one's memory. */
int daemon_spawn(const char *name, int socket, int memory, const char *path);
/* In a process that daemon_spawn() executed, starts the daemon and exits; returns at once in any
 * other process. prepare() runs first, has the environment, and is false if the two descriptors are
 * not what they must be. */
void daemon_resume(int argc, char **argv, const char *name, bool (*prepare)(void),
                   daemon_run_fn run);

/* For the new process itself, which allocates nothing else. Its clock: relay/io/daemon_clock.h. */

/* Zeroed memory, committed only where it is written. Exits the process if there is no room. */
void *daemon_zeroes(size_t size);

#endif
