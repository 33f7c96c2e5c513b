/* The least that a relay can do: reads here, writes there, never looks. What tools/bench compares
 * with as the limit of one thread that copies. With --fault it is a bad relay, on purpose; with
 * --delay a long line, that holds every byte for so many milliseconds each way.
 *
 *     forward --listen ADDRESS:PORT --target ADDRESS:PORT [--fault KIND [--every N]] [--delay MS]
 *
 * Prints the address that it listens on, then `ready`. */
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "load/endpoint.h"
#include "load/fault.h"
#include "load/latency.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { AT_ONCE = 256, CHUNK = 1 << 16 };

/* One end of a pair; what it could not be written yet is `out`. epoll tells of these. */
struct end {
    int fd;
    struct pair *pair;
    struct end *other;
    struct buf out;
    uint32_t events;
    bool ended; /* nothing more comes from it */
};

struct pair {
    struct end client, adapter;
    struct buf cut;      /* with a fault: the adapter's bytes that are no whole message yet */
    struct buf last;     /* and its last message */
    unsigned on_the_way; /* of `struct late` */
    bool closed;
    struct pair *next_dead;
};

/* With a delay: bytes on their way to an end; none of them is its end of file. */
struct late {
    struct late *next;
    struct end *to;
    uint64_t due;
    struct buf bytes;
};

struct forwarder {
    int epoll;
    struct end listener;
    struct sockaddr_in target;
    struct fault fault;
    struct pair *dead; /* not freed before all that epoll told is done */
    uint64_t delay_ns;
    struct late *first, **last; /* as they are due */
};

/* Reads of one side stop while the other has not taken what was read. */
static void watch(struct forwarder *forwarder, struct end *end)
{
    uint32_t wanted = (end->ended || end->other->out.len ? 0 : (uint32_t)EPOLLIN) |
                      (end->out.len ? (uint32_t)EPOLLOUT : 0);
    if (wanted != end->events)
        epoll_change(forwarder->epoll, end->fd, wanted, end);
    end->events = wanted;
}

static void close_pair(struct forwarder *forwarder, struct pair *pair)
{
    if (pair->closed)
        return;
    close(pair->client.fd);
    close(pair->adapter.fd);
    pair->closed = true;
    pair->next_dead = forwarder->dead;
    forwarder->dead = pair;
}

static void free_dead(struct forwarder *forwarder)
{
    struct pair **at = &forwarder->dead;
    while (*at) {
        struct pair *pair = *at;
        if (pair->on_the_way) {
            at = &pair->next_dead;
            continue;
        }
        *at = pair->next_dead;
        buf_free(&pair->client.out);
        buf_free(&pair->adapter.out);
        buf_free(&pair->cut);
        buf_free(&pair->last);
        free(pair);
    }
}

/* False: the connection is broken. */
static bool put(struct end *to, const char *bytes, size_t len)
{
    if (!to->out.len) {
        ssize_t written = write(to->fd, bytes, len);
        if (written < 0 && errno != EAGAIN && errno != ENOTCONN)
            return false;
        if (written > 0) {
            bytes += written;
            len -= (size_t)written;
        }
    }
    if (len)
        buf_add(&to->out, bytes, len);
    return true;
}

static bool flush(struct end *to)
{
    ssize_t written = to->out.len ? write(to->fd, to->out.data, to->out.len) : 0;
    if (written > 0)
        buf_consume(&to->out, (size_t)written);
    return written >= 0 || errno == EAGAIN;
}

static void send_later(struct forwarder *forwarder, struct end *to, const char *bytes, size_t len)
{
    struct late *late = mem_alloc(sizeof *late);
    *late = (struct late){.to = to, .due = latency_now() + forwarder->delay_ns};
    buf_add(&late->bytes, bytes, len);
    to->pair->on_the_way++;
    *forwarder->last = late;
    forwarder->last = &late->next;
}

static void send_what_is_due(struct forwarder *forwarder)
{
    while (forwarder->first && forwarder->first->due <= latency_now()) {
        struct late *late = forwarder->first;
        struct pair *pair = late->to->pair;
        forwarder->first = late->next;
        if (!forwarder->first)
            forwarder->last = &forwarder->first;
        pair->on_the_way--;
        if (!pair->closed &&
            (!late->bytes.len || !put(late->to, late->bytes.data, late->bytes.len)))
            close_pair(forwarder, pair);
        if (!pair->closed)
            watch(forwarder, late->to);
        buf_free(&late->bytes);
        free(late);
    }
}

/* Until the next bytes are due, in milliseconds; -1: nothing is on its way. */
static int wait_ms(const struct forwarder *forwarder)
{
    uint64_t now = latency_now();
    if (!forwarder->first)
        return -1;
    return forwarder->first->due <= now ? 0 : (int)((forwarder->first->due - now) / 1000000) + 1;
}

static bool pass(struct forwarder *forwarder, struct end *from)
{
    static char chunk[CHUNK];
    struct pair *pair = from->pair;
    if (from->ended)
        return true; /* its end is on the way */
    ssize_t got = read(from->fd, chunk, sizeof chunk);
    if (got < 0)
        return errno == EAGAIN;
    if (forwarder->delay_ns) {
        send_later(forwarder, from->other, chunk, (size_t)got);
        from->ended = got == 0;
        return true;
    }
    if (got == 0)
        return false;
    if (!forwarder->fault.kind || from == &pair->client)
        return put(from->other, chunk, (size_t)got);
    struct buf out = {0};
    buf_add(&pair->cut, chunk, (size_t)got);
    fault_pass(&forwarder->fault, &pair->cut, &pair->last, &out);
    bool ok = put(from->other, out.data, out.len);
    buf_free(&out);
    return ok;
}

static void serve(struct forwarder *forwarder, struct end *end, uint32_t events)
{
    struct pair *pair = end->pair;
    bool ok = !pair->closed;
    if (ok && events & EPOLLOUT)
        ok = flush(end);
    if (ok && events & (EPOLLIN | EPOLLHUP | EPOLLERR))
        ok = pass(forwarder, end);
    if (!ok) {
        close_pair(forwarder, pair);
        return;
    }
    watch(forwarder, end);
    watch(forwarder, end->other);
}

static void accept_all(struct forwarder *forwarder)
{
    int fd;
    while ((fd = endpoint_accept(forwarder->listener.fd)) >= 0) {
        struct pair *pair = mem_alloc(sizeof *pair);
        pair->client = (struct end){.fd = fd, .pair = pair, .other = &pair->adapter};
        pair->adapter = (struct end){
            .fd = endpoint_connect(&forwarder->target), .pair = pair, .other = &pair->client};
        pair->client.events = pair->adapter.events = EPOLLIN;
        epoll_watch(forwarder->epoll, pair->client.fd, EPOLLIN, &pair->client);
        epoll_watch(forwarder->epoll, pair->adapter.fd, EPOLLIN, &pair->adapter);
    }
}

static void read_options(struct forwarder *out, int argc, char **argv)
{
    const char *listen_at = NULL, *target = NULL;
    int64_t every = 100, delay_ms = 0;
    bool ok = argc % 2;
    for (int i = 1; ok && i + 1 < argc; i += 2) {
        if (text_equal(argv[i], "--listen"))
            listen_at = argv[i + 1];
        else if (text_equal(argv[i], "--target"))
            target = argv[i + 1];
        else if (text_equal(argv[i], "--fault"))
            ok = fault_find(argv[i + 1], &out->fault);
        else if (text_equal(argv[i], "--delay"))
            ok = text_to_int(argv[i + 1], 0, 60000, &delay_ms);
        else
            ok = text_equal(argv[i], "--every") && text_to_int(argv[i + 1], 1, INT32_MAX, &every);
    }
    if (!ok || !listen_at || !target)
        die("usage: forward --listen ADDRESS:PORT --target ADDRESS:PORT [--fault KIND [--every N]] "
            "[--delay MS]\nkinds: %s",
            fault_names());
    out->fault.every = every;
    out->delay_ns = (uint64_t)delay_ms * 1000000;
    out->last = &out->first;
    out->target = endpoint_parse(target);
    out->listener.fd = endpoint_listen(listen_at);
}

int main(int argc, char **argv)
{
    struct forwarder forwarder = {.epoll = epoll_create1(EPOLL_CLOEXEC)};
    endpoint_prepare();
    read_options(&forwarder, argc, argv);
    epoll_watch(forwarder.epoll, forwarder.listener.fd, EPOLLIN, &forwarder.listener);
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct epoll_event events[AT_ONCE];
        int count = epoll_wait(forwarder.epoll, events, AT_ONCE, wait_ms(&forwarder));
        for (int i = 0; i < count; i++) {
            struct end *end = events[i].data.ptr;
            if (end == &forwarder.listener)
                accept_all(&forwarder);
            else
                serve(&forwarder, end, events[i].events);
        }
        send_what_is_due(&forwarder);
        free_dead(&forwarder);
    }
}
