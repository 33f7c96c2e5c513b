#include "relay/io/acceptor.h"

#include "base/invariant.h"
#include "base/log.h"
#include "base/mem.h"
#include "relay/io/listen_socket.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { ACCEPTS_A_TURN = 64 };

struct acceptor {
    uint32_t magic;
    struct loop *loop;
    struct listen_socket_list sockets;
    acceptor_fn fn;
    void *arg;
};
INVARIANT_MAGIC(acceptor, 0x98f52844)
#define acceptor_checked(object) acceptor_checked_at(INVARIANT_HERE, object)

/* False when descriptors or memory have run out. */
static bool accept_some(struct acceptor *acceptor, const struct listen_socket *from)
{
    char peer[64];
    uint8_t key[16];
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        int fd = listen_socket_accept(from, peer, sizeof peer, key);
        if (fd >= 0) {
            acceptor->fn(acceptor->arg, fd);
        } else if (listen_socket_has_run_out(errno)) {
            log_warn("a connection to %s has to wait: %s", from->text, strerror(errno));
            return false;
        } else if (errno != ECONNABORTED && errno != EINTR) {
            return true;
        }
    }
    return true;
}

/* The loop does not tell which of the sockets is ready. */
static void on_ready(void *arg)
{
    struct acceptor *acceptor = acceptor_checked(arg);
    for (size_t i = 0; i < acceptor->sockets.count; i++) {
        if (accept_some(acceptor, &acceptor->sockets.items[i]))
            continue;
        listen_socket_list_rest(&acceptor->sockets);
        return;
    }
}

static int listen_all(struct acceptor *acceptor, const char *const *addresses, size_t count,
                      struct err *err)
{
    struct listen_socket_list *sockets = &acceptor->sockets;
    for (size_t i = 0; i < count; i++)
        if (listen_socket_listen(sockets, addresses[i], err) != 0)
            return -1;
    for (size_t i = 0; i < sockets->count; i++) {
        if (sockets->items[i].loopback)
            continue;
        err_set(err, ERR_USAGE, "the relay cannot listen on %s", sockets->items[i].text);
        err_why(err, "without a token only this machine may connect");
        return err_hint(err, "use 127.0.0.1, [::1] or unix:PATH");
    }
    return 0;
}

struct acceptor *acceptor_open(struct loop *loop, const char *const *addresses, size_t count,
                               acceptor_fn fn, void *arg, struct err *err)
{
    struct acceptor *acceptor = mem_alloc(sizeof *acceptor);
    *acceptor = (struct acceptor){.loop = loop, .fn = fn, .arg = arg};
    acceptor_set_magic(acceptor);
    if (listen_all(acceptor, addresses, count, err) != 0)
        acceptor_close(&acceptor);
    else
        listen_socket_list_watch(&acceptor->sockets, loop, on_ready, acceptor);
    return acceptor;
}

void acceptor_close(struct acceptor **acceptor)
{
    struct acceptor *it = *acceptor;
    if (!it)
        return;
    *acceptor = NULL;
    listen_socket_list_close(&it->sockets);
    acceptor_clear_magic(it);
    free(it);
}

const char *acceptor_address(const struct acceptor *acceptor, size_t n)
{
    return n < acceptor->sockets.count ? acceptor->sockets.items[n].text : NULL;
}
