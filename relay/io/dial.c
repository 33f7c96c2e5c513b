#include "relay/io/dial.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "relay/io/loop_wsi.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct dial {
    struct loop_wsi wire;
    uint32_t magic;
    struct loop *loop;
    struct lws *wsi; /* has a duplicate of `fd` */
    const struct dial_ops *ops;
    void *arg;
    struct timer *timer; /* the start, then the time limit */
    struct addrinfo *addresses;
    const struct addrinfo *address; /* the one being tried */
    char *host;
    int64_t timeout_ms;
    uint16_t port;
    int fd;
};
INVARIANT_MAGIC(dial, 0x6e858f37)
#define dial_checked(object) dial_checked_at(INVARIANT_HERE, object)

static void hang_up(struct dial *dial)
{
    loop_wsi_forget(&dial->wsi);
    if (dial->fd >= 0)
        close(dial->fd);
    dial->fd = -1;
}

void dial_cancel(struct dial **dial)
{
    struct dial *it = *dial;
    if (!it)
        return;
    *dial = NULL;
    hang_up(it);
    timer_cancel(&it->timer);
    if (it->addresses)
        freeaddrinfo(it->addresses);
    free(it->host);
    dial_clear_magic(it);
    free(it);
}

static void finish(struct dial *dial, const char *why)
{
    const struct dial_ops *ops = dial->ops;
    void *arg = dial->arg;
    int fd = dial->fd;
    if (why)
        fd = -1;
    else
        dial->fd = -1;
    dial_cancel(&dial);
    ops->on_done(arg, fd, why);
}

/* Returns 0, and on_wire() handles the rest, or an errno. */
static int try_address(struct dial *dial)
{
    int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;
    dial->fd = socket(dial->address->ai_family, type, 0);
    if (dial->fd < 0)
        return errno;
    if (dial->ops->on_socket)
        dial->ops->on_socket(dial->arg, dial->fd);
    if (connect(dial->fd, dial->address->ai_addr, dial->address->ai_addrlen) != 0 &&
        errno != EINPROGRESS)
        return errno;
    dial->wsi = loop_wsi_adopt_file(dial->loop, dial->fd, &dial->wire);
    if (!dial->wsi)
        return EMFILE;
    lws_rx_flow_control(dial->wsi, 0); /* on_done's callee reads the bytes */
    lws_callback_on_writable(dial->wsi);
    return 0;
}

/* Tries the addresses from dial->address on. `problem` is the errno to report if there are none. */
static void try_addresses(struct dial *dial, int problem)
{
    for (; dial->address; dial->address = dial->address->ai_next) {
        problem = try_address(dial);
        if (!problem)
            return;
        hang_up(dial);
    }
    finish(dial, strerror(problem));
}

static int on_wire(struct loop_wsi *wire, struct lws *wsi, enum lws_callback_reasons reason,
                   const void *in, size_t len)
{
    (void)wsi, (void)in, (void)len;
    struct dial *dial = lws_container_of(wire, struct dial, wire);
    int problem = 0;
    socklen_t size = sizeof problem;
    if (reason == LWS_CALLBACK_RAW_CLOSE_FILE)
        dial->wsi = NULL;
    else if (reason != LWS_CALLBACK_RAW_WRITEABLE_FILE)
        return 0;
    getsockopt(dial->fd, SOL_SOCKET, SO_ERROR, &problem, &size);
    if (!problem) {
        /* Also if the connection has already ended: its last bytes are still to be read. */
        finish(dial, NULL);
        return 0;
    }
    hang_up(dial);
    dial->address = dial->address->ai_next;
    try_addresses(dial, problem);
    return 0;
}

static void on_timeout(void *arg)
{
    struct dial *dial = dial_checked(arg);
    dial->timer = NULL;
    finish(dial, "no answer to the connection");
}

static void on_start(void *arg)
{
    struct dial *dial = dial_checked(arg);
    char port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    dial->timer = timer_start(dial->loop, dial->timeout_ms, on_timeout, dial);
    snprintf(port, sizeof port, "%u", (unsigned)dial->port);
    int rc = getaddrinfo(dial->host, port, &hints, &dial->addresses);
    if (rc != 0) {
        finish(dial, gai_strerror(rc));
        return;
    }
    dial->address = dial->addresses;
    try_addresses(dial, EADDRNOTAVAIL);
}

struct dial *dial_start(struct loop *loop, const char *host, uint16_t port, int64_t timeout_ms,
                        const struct dial_ops *ops, void *arg)
{
    struct dial *dial = mem_alloc(sizeof *dial);
    *dial = (struct dial){
        .wire.handle = on_wire,
        .loop = loop,
        .ops = ops,
        .arg = arg,
        .host = mem_string(host),
        .timeout_ms = timeout_ms,
        .port = port,
        .fd = -1,
    };
    dial_set_magic(dial);
    dial->timer = timer_start(loop, 0, on_start, dial);
    return dial;
}
