/* What the relay asks of the kernel for a connected socket, and why one has ended. Each call is
 * harmless on a socket that is not TCP. */
#ifndef RAYDBG_RELAY_SOCKET_H
#define RAYDBG_RELAY_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Bytes leave at once: no Nagle delay. */
void socket_nodelay(int fd);
/* Sends two runs of bytes as one, in one call; gives what send() does. */
ssize_t socket_send(int fd, const void *head, size_t head_len, const void *body, size_t body_len);
/* Acknowledges at once what has been read so far; the kernel forgets it, so once a read. */
void socket_quickack(int fd);
/* Finds a peer that has vanished without a word, idle or not, within 30 s (a cut network, a machine
 * without power). Also ends a connection whose peer is alive but has taken nothing for 25 s while
 * bytes wait for it. */
void socket_keepalive(int fd);
/* The same for an idle connection only: a peer that is alive may leave bytes waiting for as long as
 * it likes (an editor that is suspended). */
void socket_probe(int fd);
/* The other way: a vanished peer does not end the connection for 6 h. debugpy holds a stopped
 * thread as long as its end of the connection lives, which a cut network does not touch: whoever
 * can wait finds the thread where it was. */
void socket_patience(int fd);
/* Whether nothing has come back for some 20 s although the kernel has asked for it. */
bool socket_is_silent(int fd);
/* The same, for who asks of thousands: 0 if it is so, else how long it cannot become so, in ms. */
int64_t socket_silent_in_ms(int fd);
/* Why a connection that reads no more has ended, before its fd is closed: one clause, or NULL for
 * an orderly end by the peer. For a socket that this side has not shut down. */
const char *socket_end(int fd);

#endif
