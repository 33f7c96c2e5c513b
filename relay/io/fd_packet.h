/* One packet on a SOCK_SEQPACKET unix socket, with descriptors; for relay/keeper/keeper*.c,
 * relay/debuggee/closer*.c and relay/port/tls_terminator*.c. Plain POSIX calls that allocate
 * nothing. */
#ifndef RAYDBG_RELAY_IO_FD_PACKET_H
#define RAYDBG_RELAY_IO_FD_PACKET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { FD_PACKET_FDS = 64 }; /* in one packet at most; the kernel allows 253 */

/* False with errno set if it could not be sent; the descriptors stay the caller's. */
bool fd_packet_send(int socket, const void *bytes, size_t len, const int *fds, size_t fd_count,
                    bool block);
/* Returns the packet's length (above `size` if it did not fit), 0 if the peer has closed, or -1
 * with errno set. `fds` has room for FD_PACKET_FDS; the received descriptors are the caller's,
 * whatever the length, and close-on-exec. */
ssize_t fd_packet_receive(int socket, void *bytes, size_t size, int *fds, size_t *fd_count,
                          bool block);

#endif
