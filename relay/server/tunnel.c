#include "relay/server/tunnel.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "base/log.h"
#include "base/mem.h"
#include "relay/io/acceptor.h"
#include "relay/io/loop_wsi.h"
#include "relay/io/socket.h"
#include "relay/server/tunnel_tuning.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { READ_SIZE = 65536, DIAL_MS = 10000, MAX_CONNECTIONS = 10000 };

enum side { CLIENT, ADAPTER };

/* One of a tunnel's two sockets. It is on the loop as a raw file, because libwebsockets closes a
 * raw socket as soon as the peer has ended its side. */
struct end {
    struct loop_wsi wire;
    struct tunnel *tunnel;
    struct lws *wsi; /* NULL: closed by libwebsockets; `fd` may still have bytes to read */
    struct timer *rearm;
    struct buf queue; /* not taken by the kernel: at most one read, and the tuning request */
    int fd;           /* -1: none */
    enum side side;
    bool ended; /* nothing more comes from it */
    bool shut;  /* nothing more goes to it */
};

struct tunnel {
    uint32_t magic;
    struct end ends[2];
    struct tunnels *owner;
    struct tunnel *next, *previous;
    struct tunnel_tuning *tuning;   /* NULL once done, or not wanted */
    const struct addrinfo *address; /* where the adapter is being dialed; NULL once connected */
    struct timer *dial_timer;
};
INVARIANT_MAGIC(tunnel, 0xf72fc1dd)
#define tunnel_checked(object) tunnel_checked_at(INVARIANT_HERE, object)

struct tunnels {
    struct loop *loop;
    struct acceptor *acceptor;
    struct addrinfo *addresses;
    struct tunnel *first;
    size_t count, max;
    struct timer *end_timer;
    loop_fn on_end;
    void *arg;
    bool tune;
    bool reached; /* an adapter has answered once */
    bool gone;    /* the last dial was refused after that */
};

static struct end *other(struct end *end)
{
    return &end->tunnel->ends[end->side == CLIENT ? ADAPTER : CLIENT];
}

/* --- the end of a tunnel --- */

static void forget_wsi(struct end *end)
{
    timer_cancel(&end->rearm);
    if (end->wsi)
        loop_wsi_forget(&end->wsi); /* it closes the fd */
    else if (end->fd >= 0)
        close(end->fd);
    end->fd = -1;
}

static void on_all_over(void *arg)
{
    struct tunnels *tunnels = arg;
    tunnels->end_timer = NULL;
    tunnels->on_end(tunnels->arg);
}

static void release(struct tunnel *tunnel)
{
    timer_cancel(&tunnel->dial_timer);
    tunnel_tuning_free(&tunnel->tuning);
    for (int i = 0; i < 2; i++) {
        forget_wsi(&tunnel->ends[i]);
        buf_free(&tunnel->ends[i].queue);
    }
    tunnel_clear_magic(tunnel);
    free(tunnel);
}

static void tunnel_free(struct tunnel *tunnel)
{
    struct tunnels *owner = tunnel->owner;
    if (tunnel->next)
        tunnel->next->previous = tunnel->previous;
    if (tunnel->previous)
        tunnel->previous->next = tunnel->next;
    else
        owner->first = tunnel->next;
    invariant(owner->count > 0);
    owner->count--;
    release(tunnel);
    if (owner->gone && owner->count == 0 && !owner->end_timer && owner->on_end)
        owner->end_timer = timer_start(owner->loop, 0, on_all_over, owner);
}

/* Frees a tunnel through which nothing more can pass. Must be the last call of every callback. */
static void settle(struct tunnel *tunnel)
{
    const struct end *client = &tunnel->ends[CLIENT], *adapter = &tunnel->ends[ADAPTER];
    if (client->ended && adapter->ended && client->shut && adapter->shut)
        tunnel_free(tunnel);
}

/* --- bytes --- */

static void set_reading(struct end *end, bool enable)
{
    if (end->wsi)
        lws_rx_flow_control(end->wsi, enable ? 1 : 0);
}

/* The end is broken: its queue is lost, and the other side's bytes have nowhere to go. */
static void break_end(struct end *end)
{
    buf_free(&end->queue);
    end->shut = true;
    other(end)->ended = true;
    set_reading(other(end), false);
}

/* Ends the other side once `end` has ended and everything before that has left. */
static void pass_end(struct end *end)
{
    struct end *to = other(end);
    if (!end->ended || to->shut || to->queue.len)
        return;
    if (to->fd >= 0)
        shutdown(to->fd, SHUT_WR);
    to->shut = true;
}

static void give(struct end *to, const char *bytes, size_t len)
{
    if (to->shut || !len)
        return;
    ssize_t sent = to->queue.len ? 0 : send(to->fd, bytes, len, MSG_NOSIGNAL);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) {
        break_end(to);
        return;
    }
    size_t taken = sent > 0 ? (size_t)sent : 0;
    if (taken == len)
        return;
    buf_add(&to->queue, bytes + taken, len - taken);
    set_reading(other(to), false);
    if (to->wsi)
        lws_callback_on_writable(to->wsi);
}

static void give_client(void *arg, const char *bytes, size_t len)
{
    struct tunnel *tunnel = tunnel_checked(arg);
    give(&tunnel->ends[CLIENT], bytes, len);
}

static void give_adapter(void *arg, const char *bytes, size_t len)
{
    struct tunnel *tunnel = tunnel_checked(arg);
    give(&tunnel->ends[ADAPTER], bytes, len);
}

static const struct tunnel_tuning_ops tunnel_tuning_ops = {give_client, give_adapter};

static void pass(struct end *from, const char *bytes, size_t len)
{
    struct tunnel *tunnel = from->tunnel;
    if (!tunnel->tuning) {
        give(other(from), bytes, len);
        return;
    }
    bool more = from->side == CLIENT ? tunnel_tuning_from_client(tunnel->tuning, bytes, len)
                                     : tunnel_tuning_from_adapter(tunnel->tuning, bytes, len);
    if (!more)
        tunnel_tuning_free(&tunnel->tuning);
}

static void end_reading(struct end *end)
{
    end->ended = true;
    set_reading(end, false); /* or the loop would report its end again and again */
    if (end->tunnel->tuning) {
        tunnel_tuning_end(end->tunnel->tuning);
        tunnel_tuning_free(&end->tunnel->tuning);
    }
    pass_end(end);
}

/* Reads once; false if there is nothing more to read now. */
static bool read_once(struct end *end)
{
    char bytes[READ_SIZE];
    ssize_t len = recv(end->fd, bytes, sizeof bytes, 0);
    if (len < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (len > 0) {
        if (end->side == ADAPTER)
            socket_quickack(end->fd);
        pass(end, bytes, (size_t)len);
        return true;
    }
    if (len < 0)
        break_end(end);
    end_reading(end);
    return false;
}

/* Reads on from an end that libwebsockets has closed: only here can it be read to its end. */
static void read_off_loop(struct end *end)
{
    while (!end->wsi && end->fd >= 0 && !end->ended && !other(end)->queue.len)
        read_once(end);
    if (!end->wsi && end->ended && end->fd >= 0) {
        close(end->fd);
        end->fd = -1;
    }
}

static void on_rearm(void *arg)
{
    struct end *end = arg;
    end->rearm = NULL;
    if (end->wsi)
        lws_callback_on_writable(end->wsi);
}

static void flush(struct end *end)
{
    while (end->queue.len) {
        ssize_t sent = send(end->fd, end->queue.data, end->queue.len, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno != EAGAIN)
            break_end(end);
        if (sent <= 0)
            return;
        buf_consume(&end->queue, (size_t)sent);
    }
    buf_free(&end->queue);
}

static void on_end_writable(struct end *end)
{
    struct end *from = other(end);
    flush(end);
    if (!end->queue.len && !from->ended) {
        set_reading(from, true);
        read_off_loop(from);
    }
    pass_end(from);
    /* libwebsockets (4.1) forgets a raw file's request for this callback that is made in here. */
    if (end->queue.len && !end->rearm)
        end->rearm = timer_start(end->tunnel->owner->loop, 0, on_rearm, end);
}

/* Called before libwebsockets closes a socket that is over in both directions, or broken. */
static void on_closed(struct end *end)
{
    int fd = end->ended ? -1 : fcntl(end->fd, F_DUPFD_CLOEXEC, 0);
    timer_cancel(&end->rearm);
    end->wsi = NULL;
    end->fd = fd;
    break_end(end);
    if (fd < 0)
        end_reading(end);
    else
        read_off_loop(end);
}

/* --- dialing --- */

static int on_wire(struct loop_wsi *wire, struct lws *wsi, enum lws_callback_reasons reason,
                   const void *in, size_t len);

static void end_init(struct end *end, struct tunnel *tunnel, enum side side, int fd)
{
    end->wire.handle = on_wire;
    end->tunnel = tunnel;
    end->side = side;
    end->fd = fd;
}

static bool put_on_loop(struct end *end)
{
    end->wsi = loop_wsi_take_file(end->tunnel->owner->loop, end->fd, &end->wire);
    return end->wsi != NULL;
}

/* Dials the addresses from `address` on: 0 if the loop waits for one, or the last one's errno. */
static int dial(struct tunnel *tunnel, const struct addrinfo *address, int problem)
{
    struct end *end = &tunnel->ends[ADAPTER];
    forget_wsi(end);
    for (; address; address = address->ai_next) {
        tunnel->address = address;
        end->fd = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (end->fd < 0)
            return errno;
        if (connect(end->fd, address->ai_addr, address->ai_addrlen) != 0 && errno != EINPROGRESS) {
            problem = errno;
        } else if (put_on_loop(end)) {
            lws_callback_on_writable(end->wsi);
            return 0;
        } else {
            problem = EMFILE;
        }
        forget_wsi(end);
    }
    return problem;
}

static void dial_failed(struct tunnel *tunnel, int problem)
{
    struct tunnels *owner = tunnel->owner;
    log_warn("the debug adapter cannot be reached: %s", strerror(problem));
    if (owner->reached && problem == ECONNREFUSED)
        owner->gone = true;
    tunnel_free(tunnel);
}

static void on_dial_timeout(void *arg)
{
    struct tunnel *tunnel = tunnel_checked(arg);
    tunnel->dial_timer = NULL;
    dial_failed(tunnel, ETIMEDOUT);
}

/* The first event of a dialed connection: it is connected, or has failed. */
static void on_dialed(struct tunnel *tunnel, bool closed)
{
    struct tunnels *owner = tunnel->owner;
    struct end *end = &tunnel->ends[ADAPTER];
    int problem = 0;
    socklen_t size = sizeof problem;
    getsockopt(end->fd, SOL_SOCKET, SO_ERROR, &problem, &size);
    if (closed) {
        end->wsi = NULL; /* libwebsockets closes the fd, too */
        end->fd = -1;
        problem = problem ? problem : ECONNRESET;
    }
    if (problem) {
        problem = dial(tunnel, tunnel->address->ai_next, problem);
        if (problem)
            dial_failed(tunnel, problem);
        return;
    }
    tunnel->address = NULL;
    owner->reached = true;
    owner->gone = false;
    timer_cancel(&tunnel->dial_timer);
    socket_nodelay(end->fd);
    socket_quickack(end->fd);
    set_reading(&tunnel->ends[CLIENT], true);
}

static int on_wire(struct loop_wsi *wire, struct lws *wsi, enum lws_callback_reasons reason,
                   const void *in, size_t len)
{
    (void)wsi, (void)in, (void)len;
    struct end *end = lws_container_of(wire, struct end, wire);
    struct tunnel *tunnel = end->tunnel;
    bool closed = reason == LWS_CALLBACK_RAW_CLOSE_FILE;
    bool readable = reason == LWS_CALLBACK_RAW_RX_FILE;
    bool writable = reason == LWS_CALLBACK_RAW_WRITEABLE_FILE;
    if (!closed && !readable && !writable)
        return 0;
    if (tunnel->address && end->side == ADAPTER) {
        on_dialed(tunnel, closed);
        return 0;
    }
    if (closed)
        on_closed(end);
    else if (writable)
        on_end_writable(end);
    else if (!end->ended)
        read_once(end);
    if (tunnel->address && closed)
        tunnel_free(tunnel); /* the client did not wait for the adapter */
    else
        settle(tunnel);
    return 0;
}

static void on_connection(void *arg, int fd)
{
    struct tunnels *owner = arg;
    if (owner->count >= owner->max) {
        log_warn("a connection was refused: %zu are open (--max-sessions)", owner->count);
        close(fd);
        return;
    }
    struct tunnel *tunnel = mem_alloc(sizeof *tunnel);
    tunnel_set_magic(tunnel);
    tunnel->owner = owner;
    tunnel->next = owner->first;
    tunnel->address = owner->addresses;
    if (owner->first)
        owner->first->previous = tunnel;
    owner->first = tunnel;
    owner->count++;
    struct end *client = &tunnel->ends[CLIENT];
    end_init(client, tunnel, CLIENT, fd);
    end_init(&tunnel->ends[ADAPTER], tunnel, ADAPTER, -1);
    socket_nodelay(fd);
    if (owner->tune)
        tunnel->tuning = tunnel_tuning_create(&tunnel_tuning_ops, tunnel);
    int problem = EMFILE;
    if (put_on_loop(client)) {
        set_reading(client, false); /* until the adapter is there */
        tunnel->dial_timer = timer_start(owner->loop, DIAL_MS, on_dial_timeout, tunnel);
        problem = dial(tunnel, owner->addresses, 0);
    }
    if (problem)
        dial_failed(tunnel, problem);
}

/* --- all of them --- */

static int find_adapter(struct tunnels *tunnels, const struct tunnels_options *options,
                        struct err *err)
{
    char port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    snprintf(port, sizeof port, "%u", (unsigned)options->port);
    int rc = getaddrinfo(options->host, port, &hints, &tunnels->addresses);
    if (rc == 0)
        return 0;
    err_set(err, ERR_UNREACHABLE, "the debug adapter's host '%s' was not found", options->host);
    return err_why(err, "%s", gai_strerror(rc));
}

struct tunnels *tunnels_create(const struct tunnels_options *options, loop_fn on_end, void *arg,
                               struct err *err)
{
    struct tunnels *tunnels = mem_alloc(sizeof *tunnels);
    *tunnels = (struct tunnels){
        .loop = options->loop,
        .max = options->max_connections ? options->max_connections : MAX_CONNECTIONS,
        .tune = options->tune,
        .on_end = on_end,
        .arg = arg,
    };
    if (find_adapter(tunnels, options, err) == 0)
        tunnels->acceptor = acceptor_open(options->loop, options->addresses, options->address_count,
                                          on_connection, tunnels, err);
    if (!tunnels->acceptor)
        tunnels_destroy(&tunnels);
    return tunnels;
}

void tunnels_destroy(struct tunnels **tunnels)
{
    struct tunnels *it = *tunnels;
    if (!it)
        return;
    *tunnels = NULL;
    timer_cancel(&it->end_timer);
    for (struct tunnel *tunnel = it->first, *next; tunnel; tunnel = next) {
        next = tunnel->next;
        release(tunnel);
    }
    acceptor_close(&it->acceptor);
    if (it->addresses)
        freeaddrinfo(it->addresses);
    free(it);
}

const char *tunnels_address(const struct tunnels *tunnels, size_t n)
{
    return acceptor_address(tunnels->acceptor, n);
}
