/* A listening socket of the relay's: TCP or unix. */
#ifndef RAYDBG_RELAY_PORT_H
#define RAYDBG_RELAY_PORT_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct watch;

struct port {
    int fd;
    bool is_unix;
    bool loopback; /* true for unix sockets, too */
    char *text;    /* "127.0.0.1:4713" with the real port, "unix:PATH" */
    char *host;    /* "127.0.0.1", "::1"; NULL for unix sockets */
    char *path;    /* of a unix socket */
    dev_t device;  /* and its file, to remove no other's at the end */
    ino_t inode;
    struct watch *watch; /* its owner's */
};

/* All zero is empty. */
struct port_list {
    struct port *items;
    size_t count;
};

/* Listens on "HOST:PORT" (all addresses of a name, port 0 for any free one), "[V6]:PORT" or
 * "unix:PATH" and appends what is listened on. A unix socket's file has mode 0600, and replaces a
 * socket's that nobody listens on any more. A machine without IPv6 is no error for [::1]. */
int port_listen(struct port_list *list, const char *address, struct err *err);
/* Connections are accepted only when they have sent something, or after `seconds`. */
void port_defer(const struct port *port, int seconds);
/* Stops listening; removes the files of unix sockets. */
void port_list_close(struct port_list *list);

/* Accepts a connection, non-blocking. `peer` ("127.0.0.1:50212", "unix") and `key` (the address, as
 * IPv6; all zero for unix) are filled in. -1 with errno set if there is none. */
int port_accept(const struct port *port, char *peer, size_t size, uint8_t key[16]);

#endif
