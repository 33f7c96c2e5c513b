/* The keeper itself: the process behind the socket. It makes only plain POSIX calls, allocates
 * nothing, and never reads a snapshot or a byte of what it holds. */
#ifndef RAYDBG_RELAY_KEEPER_PROCESS_H
#define RAYDBG_RELAY_KEEPER_PROCESS_H

/* Forks it off (relay/detached.h). `listener` listens at `path` (absolute), `memory` is
 * snapshots_create()'s; the caller closes both. The keeper ends by itself if no relay says hello
 * within 5 s. SIGTERM ends it, and lets everything go. 0, or -1 with errno set. */
int keeper_process_start(int listener, int memory, const char *path);

#endif
