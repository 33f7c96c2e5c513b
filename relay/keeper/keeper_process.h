/* The keeper itself: the process behind the socket. It makes only plain POSIX calls, allocates
 * nothing, and never reads a snapshot or a byte of the connections that it holds. */
#ifndef RAYDBG_RELAY_KEEPER_KEEPER_PROCESS_H
#define RAYDBG_RELAY_KEEPER_KEEPER_PROCESS_H

/* Starts the keeper (by daemon_spawn(): the caller may have threads). `listener` listens at `path`
 * (absolute), `memory` is keeper_snapshots_create()'s; the caller closes both. The keeper ends if
 * no relay sends KEEPER_HELLO within 10 s. On SIGTERM it closes all connections and ends. Returns
 * 0, or -1 with errno set. */
int keeper_process_start(int listener, int memory, const char *path);
/* Must be called first in the main() of each program that starts keepers: see daemon_resume(). */
void keeper_process_resume(int argc, char **argv);

#endif
