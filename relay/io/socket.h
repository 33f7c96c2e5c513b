/* Kernel options and counters of a connected socket, and the reason of its end. Each call is
 * harmless on a socket that is not TCP. And the host's addresses. */
#ifndef RAYDBG_RELAY_IO_SOCKET_H
#define RAYDBG_RELAY_IO_SOCKET_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* The host to connect to where only IPv4 listens: "localhost" may be IPv6 first. */
const char *socket_ipv4_host(const char *host);
/* True if the address, an IPv4 or IPv6 literal, is one of this host's, in this network namespace.
 * False for a name. */
bool socket_is_address_here(const char *ip);
/* The address that this host has towards `ip`, an IPv4 or IPv6 literal, by its routes. Sends
 * nothing. False if there is no route, or no room in `out`. */
bool socket_address_towards(const char *ip, char *out, size_t size);
/* Bytes leave at once: no Nagle delay. */
void socket_nodelay(int fd);
/* Sends `head` and `body` in one system call; returns what send() does. */
ssize_t socket_send(int fd, const void *head, size_t head_len, const void *body, size_t body_len);
/* Acknowledges at once what has been read so far. The kernel resets the option, so this is called
 * after each read. */
void socket_quickack(int fd);
/* Ends a connection, idle or not, within 30 s after its peer has vanished silently (a cut network,
 * a machine without power). Also ends one whose peer is alive but has accepted nothing for 25 s
 * while bytes wait for it. */
void socket_keepalive(int fd);
/* The same for an idle connection only: a live peer, such as a suspended editor, may leave bytes
 * waiting without limit. */
void socket_probe(int fd);
/* The opposite: a vanished peer does not end the connection for 6 h. debugpy holds a stopped thread
 * as long as its end of the connection lives, and a cut network does not end that: when the network
 * is back, the thread is still stopped. */
void socket_patience(int fd);
/* True if nothing has come back for some 20 s, although the kernel has probed or retransmitted. */
bool socket_is_silent(int fd);
/* The same, for polling thousands of sockets: 0 if silent, else the ms until it can be at the
 * earliest. */
int64_t socket_silent_in_ms(int fd);
/* The bytes that the kernel has taken for a connected socket since it was made, from all processes;
 * the count's start never changes. False if the kernel does not provide it. */
bool socket_written(int fd, int64_t *bytes);
/* How many of these bytes the peer has not acknowledged. */
int64_t socket_unacknowledged(int fd);
/* True if the kernel has given the connection up, as nothing came back. As socket_end(). */
bool socket_was_cut(int fd);
/* The reason why a connection has ended: one clause, or NULL for an orderly end by the peer. Call
 * it before the fd is closed, on a socket that this side has not shut down. */
const char *socket_end(int fd);

#endif
