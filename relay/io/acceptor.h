/* Accepts connections on loopback addresses and unix paths. */
#ifndef RAYDBG_RELAY_IO_ACCEPTOR_H
#define RAYDBG_RELAY_IO_ACCEPTOR_H

#include "base/err.h"
#include "relay/io/loop.h"

#include <stddef.h>

struct acceptor;

/* `fd` is a new connection, non-blocking, close-on-exec, owned by the callee. */
typedef void (*acceptor_fn)(void *arg, int fd);

/* Listens on each of `addresses`, as listen_socket_listen() does. NULL with `err` set if one of
 * them cannot be listened on or is not loopback. When descriptors run out, it waits 200 ms before
 * it accepts again. */
struct acceptor *acceptor_open(struct loop *loop, const char *const *addresses, size_t count,
                               acceptor_fn fn, void *arg, struct err *err);
void acceptor_close(struct acceptor **acceptor);
/* The n-th address with its real port: "127.0.0.1:4713", "[::1]:4713", "unix:/run/x"; NULL behind
 * the last. A name with two addresses gives two. */
const char *acceptor_address(const struct acceptor *acceptor, size_t n);

#endif
