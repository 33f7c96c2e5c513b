#include "relay/port/tls_terminator_process.h"

#include "base/buf.h"
#include "base/mem.h"
#include "relay/io/daemon.h"
#include "relay/io/daemon_clock.h"
#include "relay/io/fd_packet.h"
#include "relay/io/socket.h"
#include "relay/port/tls_context.h"

#include <errno.h>
#include <openssl/err.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* EVENTS: taken from the kernel at once. ROUNDS: of reads and writes for one pair; then others get
 * their turn. */
enum { PIECE = 16384, EVENTS = 64, ROUNDS = 16 };

static const char process_name[] = "raydbg-tls";

struct splice;

struct end {
    struct splice *splice;
    int fd;
    uint32_t events; /* for which it is watched */
    bool over;       /* nothing more comes from it */
    bool unwatched;  /* its connection is broken, which the kernel would report all the time */
};

struct splice {
    struct splice *next; /* of those that have ended */
    struct end tls, plain;
    SSL *ssl;
    struct buf to_tls, to_plain;
    bool agreed; /* the handshake is done */
    bool looked; /* the first bytes have come */
    bool writes; /* OpenSSL has bytes that the kernel did not take */
    bool left;   /* the relay has closed its end */
    bool again;  /* there may be more to do at once */
    bool dead;
};

static struct {
    SSL_CTX *context;
    int poll;
    size_t count;
    bool alone; /* the parent is gone */
    struct splice *ended;
} it;

/* --- bytes --- */

/* After a call of OpenSSL's that gave no bytes: true if it is to be repeated later. */
static bool is_later(struct splice *splice, int result)
{
    int error = SSL_get_error(splice->ssl, result);
    splice->writes = splice->writes || error == SSL_ERROR_WANT_WRITE;
    return error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE;
}

static bool agree(struct splice *splice)
{
    ERR_clear_error();
    int result = SSL_accept(splice->ssl);
    splice->agreed = result == 1;
    splice->dead = result != 1 && !is_later(splice, result);
    return splice->agreed;
}

/* A pydevd keeps its thread stopped as long as its connection lives: let that outlive a cut
 * network. A vanished agent is nothing to wait for. */
static void look(struct splice *splice)
{
    static const char pydevd[] = "raydbg pydevd ";
    size_t len = sizeof pydevd - 1;
    if (!splice->looked && splice->to_plain.len >= len &&
        memcmp(splice->to_plain.data, pydevd, len) == 0)
        socket_patience(splice->tls.fd);
    splice->looked = true;
}

static bool read_tls(struct splice *splice)
{
    if (!splice->agreed || splice->tls.over || splice->to_plain.len)
        return false;
    ERR_clear_error();
    int len = SSL_read(splice->ssl, buf_reserve(&splice->to_plain, PIECE), PIECE);
    if (len > 0) {
        splice->to_plain.len = (size_t)len;
        look(splice);
    } else {
        splice->tls.over = !is_later(splice, len);
        buf_free(&splice->to_plain);
    }
    return len > 0;
}

static bool write_tls(struct splice *splice)
{
    struct buf *bytes = &splice->to_tls;
    if (!splice->agreed || !bytes->len)
        return false;
    ERR_clear_error();
    int len = SSL_write(splice->ssl, bytes->data, (int)bytes->len);
    if (len <= 0 && is_later(splice, len))
        return false;
    buf_free(bytes); /* without SSL_MODE_ENABLE_PARTIAL_WRITE all of them are written */
    splice->tls.over = splice->tls.over || len <= 0;
    return len > 0;
}

static bool read_plain(struct splice *splice)
{
    if (splice->plain.over || splice->to_tls.len || splice->tls.over)
        return false;
    ssize_t len = recv(splice->plain.fd, buf_reserve(&splice->to_tls, PIECE), PIECE, MSG_DONTWAIT);
    if (len > 0) {
        splice->to_tls.len = (size_t)len;
        return true;
    }
    splice->plain.over = len == 0 || (errno != EAGAIN && errno != EINTR);
    buf_free(&splice->to_tls);
    return false;
}

static bool write_plain(struct splice *splice)
{
    struct buf *bytes = &splice->to_plain;
    if (!bytes->len)
        return false;
    ssize_t len = send(splice->plain.fd, bytes->data, bytes->len, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (len <= 0) {
        splice->dead = errno != EAGAIN && errno != EINTR;
        return false;
    }
    if ((size_t)len == bytes->len)
        buf_free(bytes);
    else
        buf_consume(bytes, (size_t)len);
    return true;
}

/* --- one pair --- */

static void watch(struct end *end, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.ptr = end};
    if (end->events == events || end->unwatched)
        return;
    epoll_ctl(it.poll, EPOLL_CTL_MOD, end->fd, &event);
    end->events = events;
}

static void watch_both(struct splice *splice)
{
    bool reads_tls = !splice->agreed || (!splice->tls.over && !splice->to_plain.len);
    bool reads_plain = !splice->plain.over && !splice->to_tls.len && !splice->tls.over;
    bool writes_plain = splice->to_plain.len || splice->again;
    watch(&splice->tls, (reads_tls ? EPOLLIN : 0U) | (splice->writes ? EPOLLOUT : 0U));
    watch(&splice->plain, (reads_plain ? EPOLLIN : 0U) | (writes_plain ? EPOLLOUT : 0U) |
                              (splice->left ? 0U : EPOLLRDHUP));
}

static void end(struct splice *splice)
{
    const struct linger reset = {.l_onoff = 1};
    if (socket_was_cut(splice->tls.fd))
        setsockopt(splice->plain.fd, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    if (splice->agreed && !splice->dead && !splice->tls.over)
        SSL_shutdown(splice->ssl); /* says goodbye, and waits for none */
    SSL_free(splice->ssl);
    close(splice->tls.fd);
    close(splice->plain.fd);
    buf_free(&splice->to_tls);
    buf_free(&splice->to_plain);
    splice->dead = true;
    splice->next = it.ended;
    it.ended = splice;
    it.count--;
}

static bool is_over(const struct splice *splice)
{
    return splice->dead || (splice->tls.over && !splice->to_plain.len) ||
           (splice->plain.over && (!splice->agreed || !splice->to_tls.len));
}

static void advance(struct splice *splice)
{
    bool moved = true;
    splice->writes = false;
    for (int round = 0; moved && !splice->dead && round < ROUNDS; round++) {
        moved = !splice->agreed && agree(splice);
        moved = read_plain(splice) || moved;
        moved = write_tls(splice) || moved;
        moved = read_tls(splice) || moved;
        moved = write_plain(splice) || moved;
    }
    splice->again = moved;
    if (is_over(splice))
        end(splice);
    else
        watch_both(splice);
}

static void on_event(struct end *end, uint32_t events)
{
    struct splice *splice = end->splice;
    if (splice->dead)
        return;
    if (events & EPOLLRDHUP && !splice->left) {
        splice->left = true;
        socket_keepalive(splice->tls.fd); /* the rest of what the relay has said does not wait */
    }
    if (events & (EPOLLHUP | EPOLLERR)) {
        epoll_ctl(it.poll, EPOLL_CTL_DEL, end->fd, NULL);
        end->unwatched = true;
    }
    advance(splice);
}

static bool begin_watch(struct end *end)
{
    struct epoll_event event = {.events = 0, .data.ptr = end};
    return epoll_ctl(it.poll, EPOLL_CTL_ADD, end->fd, &event) == 0;
}

static void add(int tls, int plain)
{
    struct splice *splice = mem_alloc(sizeof *splice);
    *splice = (struct splice){
        .tls = {.splice = splice, .fd = tls},
        .plain = {.splice = splice, .fd = plain},
        .ssl = SSL_new(it.context),
    };
    it.count++;
    if (!splice->ssl || SSL_set_fd(splice->ssl, tls) != 1 || !begin_watch(&splice->tls) ||
        !begin_watch(&splice->plain)) {
        end(splice);
        return;
    }
    socket_keepalive(tls);
    advance(splice);
}

/* --- */

/* Takes one packet; false if there is none. */
static bool hear(void)
{
    char byte;
    int fds[FD_PACKET_FDS];
    size_t count;
    ssize_t len = fd_packet_receive(DAEMON_SOCKET_FD, &byte, sizeof byte, fds, &count, false);
    if (len < 0)
        return false;
    if (len == 0) {
        it.alone = true;
        epoll_ctl(it.poll, EPOLL_CTL_DEL, DAEMON_SOCKET_FD, NULL);
        return false;
    }
    if (count == 2) {
        add(fds[0], fds[1]);
        return true;
    }
    while (count) /* no descriptor was free for the other */
        close(fds[--count]);
    return true;
}

static void free_ended(void)
{
    while (it.ended) {
        struct splice *next = it.ended->next;
        free(it.ended);
        it.ended = next;
    }
}

static void run(const char *path)
{
    struct epoll_event events[EVENTS], parent = {.events = EPOLLIN};
    (void)path;
    close(DAEMON_MEMORY_FD);
    it.poll = epoll_create1(EPOLL_CLOEXEC);
    epoll_ctl(it.poll, EPOLL_CTL_ADD, DAEMON_SOCKET_FD, &parent);
    while (!it.alone || it.count) {
        struct pollfd ready = {.fd = it.poll, .events = POLLIN};
        daemon_wait(&ready, 1, -1, NULL);
        int count = epoll_wait(it.poll, events, EVENTS, 0);
        for (int i = 0; i < count; i++) {
            if (events[i].data.ptr)
                on_event(events[i].data.ptr, events[i].events);
            else
                while (hear())
                    continue;
        }
        free_ended();
    }
}

int tls_terminator_process_start(int socket, int memory, const char *cert)
{
    return daemon_spawn(process_name, socket, memory, cert);
}

static bool prepare(void)
{
    it.context = tls_context_restore(DAEMON_MEMORY_FD);
    return it.context;
}

void tls_terminator_process_resume(int argc, char **argv)
{
    daemon_resume(argc, argv, process_name, prepare, run);
}
