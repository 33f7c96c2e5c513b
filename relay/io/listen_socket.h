/* A listening socket of the relay's: TCP or unix. */
#ifndef RAYDBG_RELAY_IO_LISTEN_SOCKET_H
#define RAYDBG_RELAY_IO_LISTEN_SOCKET_H

#include "base/err.h"
#include "relay/io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct listen_socket {
    int fd;
    bool is_unix;
    bool loopback; /* true for unix sockets, too */
    char *text;    /* "127.0.0.1:4713" with the real port, "unix:PATH" */
    char *host;    /* "127.0.0.1", "::1"; NULL for unix sockets */
    char *path;    /* of a unix socket */
    dev_t device;  /* of a unix socket's file, so that no other file is removed at the end */
    ino_t inode;
    struct watch *watch; /* NULL while nothing is accepted */
};

/* An all-zero list is empty. */
struct listen_socket_list {
    struct listen_socket *items;
    size_t count;
    struct loop *loop; /* NULL until listen_socket_list_watch() */
    loop_fn fn;
    void *arg;
    struct timer *pause;
};

/* Listens on "HOST:PORT" (all addresses of a name, port 0 for any free one), "[V6]:PORT" or
 * "unix:PATH" and appends the sockets to `list`. A unix socket's file has mode 0600 and replaces a
 * socket file that no process listens on. [::1] on a machine without IPv6 is not an error. */
int listen_socket_listen(struct listen_socket_list *list, const char *address, struct err *err);
/* Connections are accepted only when they have sent something, or after `seconds`. */
void listen_socket_defer(const struct listen_socket *port, int seconds);
/* Calls fn(arg) on the loop's thread whenever one of the sockets may have a connection. The list
 * must not move from here on. */
void listen_socket_list_watch(struct listen_socket_list *list, struct loop *loop, loop_fn fn,
                              void *arg);
/* True if this errno of listen_socket_accept() means that descriptors or memory have run out. */
bool listen_socket_has_run_out(int problem);
/* Then fn is not called for a moment: without a free descriptor a connection cannot even be
 * accepted to be closed, and the kernel goes on to report it. */
void listen_socket_list_rest(struct listen_socket_list *list);
/* Stops listening and watching; removes the files of unix sockets. */
void listen_socket_list_close(struct listen_socket_list *list);

/* Accepts a connection, non-blocking, and fills in `peer` ("127.0.0.1:50212", "unix") and `key`
 * (the address, as IPv6; all zero for unix). -1 with errno set if there is no connection. */
int listen_socket_accept(const struct listen_socket *port, char *peer, size_t size,
                         uint8_t key[16]);

/* The connected TCP socket's own address, as the peer has dialled it unless something in between
 * translates addresses: "10.0.0.9:4713", "[fd00::9]:4713"; an IPv4 address also where the port is
 * IPv6. The caller frees. */
char *listen_socket_local(int fd);

#endif
