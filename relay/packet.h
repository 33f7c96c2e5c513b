/* One packet on a SOCK_SEQPACKET unix socket, with descriptors; for relay/keeper*.c and
 * relay/closer*.c. Plain POSIX calls that allocate nothing. */
#ifndef RAYDBG_RELAY_PACKET_H
#define RAYDBG_RELAY_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { PACKET_FDS = 64 }; /* in one packet at most; the kernel allows 253 */

/* False with errno set if it could not be sent; the descriptors stay the caller's. */
bool packet_send(int socket, const void *bytes, size_t len, const int *fds, size_t fd_count,
                 bool block);
/* The length of what was read, 0 at the other's end, or -1 with errno set. `fds` has room for
 * PACKET_FDS; those that came, whatever the length, are the caller's (close-on-exec). */
ssize_t packet_receive(int socket, void *bytes, size_t size, int *fds, size_t *fd_count,
                       bool block);

#endif
