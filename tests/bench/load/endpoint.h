/* Sockets of the load programs: HOST:PORT on loopback, not blocking, TCP_NODELAY. Failures end the
 * program with one line. */
#ifndef RAYDBG_LOAD_ENDPOINT_H
#define RAYDBG_LOAD_ENDPOINT_H

#include <stdbool.h>
#include <stdint.h>

struct sockaddr_in;

struct sockaddr_in endpoint_parse(const char *text);
/* Listens, and prints the address with the port that it got, a line. */
int endpoint_listen(const char *text);
/* -1 if nobody waits to be accepted. */
int endpoint_accept(int listener);
/* The connection may still be under way; an error shows when it is read. */
int endpoint_connect(const struct sockaddr_in *to);
/* Fits the program's own limit of descriptors to what the system allows, and lets a broken pipe be
 * an error of a write. */
void endpoint_prepare(void);

void epoll_watch(int epoll, int fd, uint32_t events, void *data);
void epoll_change(int epoll, int fd, uint32_t events, void *data);

/* Ends the program with one line on stderr. */
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

#endif
