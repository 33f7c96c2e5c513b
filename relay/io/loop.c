#include "relay/io/loop.h"

#include "base/log.h"
#include "base/mem.h"
#include "relay/io/loop_clock.h"
#include "relay/io/loop_libuv.h"
#include "relay/io/loop_wsi.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct post {
    struct post *next;
    loop_fn fn;
    void *arg;
};

struct loop {
    struct lws_context *context;
    struct lws_vhost *vhost;
    struct loop_libuv *libuv; /* or NULL: libwebsockets' own poll() */
    bool stopping;
    struct timer *timers; /* all, in no order */
    struct loop_clock clock;
    bool awaited;         /* in loop_run_once() or loop_run_until() */
    pthread_mutex_t lock; /* guards the two below */
    struct post *first;
    struct post **last;
};

/* `sul` is first: libwebsockets passes it to timer_fire(). */
struct timer {
    lws_sorted_usec_list_t sul;
    struct timer *next, **link; /* in the loop's list; `link` points here */
    struct loop *loop;
    loop_fn fn;
    void *arg;
};

struct watch {
    struct loop_wsi wire;
    struct lws *wsi;
    loop_fn fn;
    void *arg;
};

/* The size of one read. Large enough that a typical `variables` response is one callback. */
enum { READ_SIZE = 65536 };
/* For a request's headers: above the listener's limit, since libwebsockets adds bytes to each. */
enum { HEADER_SIZE = 12288 };
/* For each step of a handshake; the listener and the clients have shorter limits of their own. */
enum { TIMEOUT_S = 20 };

static void log_from_lws(int level, const char *line)
{
    (void)level;
    log_debug("lws: %.*s", (int)strcspn(line, "\n"), line);
}

static int on_wire(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                   size_t len)
{
    (void)user;
    /* libwebsockets has the first vhost verify the certificates that clients of any vhost receive:
     * the opaque user data is not a loop_wsi then. */
    if (reason == LWS_CALLBACK_OPENSSL_PERFORM_SERVER_CERT_VERIFICATION)
        return 0;
    struct loop_wsi *wire = wsi ? lws_get_opaque_user_data(wsi) : NULL;
    /* The owner may free `wire` in these, and LWS_CALLBACK_WSI_DESTROY still follows. */
    if (wire && (reason == LWS_CALLBACK_RAW_CLOSE || reason == LWS_CALLBACK_RAW_CLOSE_FILE ||
                 reason == LWS_CALLBACK_CLIENT_CONNECTION_ERROR))
        lws_set_opaque_user_data(wsi, NULL);
    return wire ? wire->handle(wire, wsi, reason, in, len) : 0;
}

static const struct lws_protocols protocols[] = {
    {.name = LOOP_WSI_PROTOCOL, .callback = on_wire, .rx_buffer_size = READ_SIZE},
    {0},
};

static struct loop *create(bool tls, struct loop_libuv *libuv, struct err *err)
{
    signal(SIGPIPE, SIG_IGN); /* a closed peer shows as an error of write() */
    lws_set_log_level(LLL_ERR | LLL_WARN, log_from_lws);
    void *foreign[] = {libuv ? loop_libuv_loop(libuv) : NULL};
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN,
        .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS |
                   (tls ? LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT : 0) |
                   (libuv ? LWS_SERVER_OPTION_LIBUV : 0),
        .foreign_loops = libuv ? foreign : NULL,
        .pt_serv_buf_size = READ_SIZE,
        .max_http_header_data = HEADER_SIZE,
        .timeout_secs = TIMEOUT_S,
        .protocols = protocols,
        .vhost_name = "raydbg",
    };
    struct loop *loop = mem_alloc(sizeof *loop);
    loop->last = &loop->first;
    loop->libuv = libuv;
    pthread_mutex_init(&loop->lock, NULL);
    loop->context = lws_create_context(&info);
    if (loop->context)
        loop->vhost = lws_create_vhost(loop->context, &info);
    if (!loop->vhost) {
        err_set(err, ERR_FAILED, "the event loop could not be created");
        err_hint(err,
                 "is the limit on open files (ulimit -n) very low, or is there no /dev/urandom?");
        loop_destroy(&loop);
        return NULL;
    }
    loop_clock_open(&loop->clock, loop);
    return loop;
}

struct loop *loop_create(bool tls, struct err *err)
{
    return create(tls, NULL, err);
}

struct loop *loop_create_many(bool tls, struct err *err)
{
    struct err why;
    struct loop_libuv *libuv = loop_libuv_open(&why);
    struct loop *loop = libuv ? create(tls, libuv, &why) : NULL;
    if (loop)
        return loop;
    log_info("%s: thousands of connections cost more CPU", why.what);
    return create(tls, NULL, err);
}

void loop_raise_fd_limit(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static struct post *take_posts(struct loop *loop)
{
    pthread_mutex_lock(&loop->lock);
    struct post *posts = loop->first;
    loop->first = NULL;
    loop->last = &loop->first;
    pthread_mutex_unlock(&loop->lock);
    return posts;
}

static void run_posts(struct loop *loop)
{
    struct post *post = take_posts(loop);
    while (post) {
        struct post *next = post->next;
        post->fn(post->arg);
        free(post);
        post = next;
    }
}

void loop_destroy(struct loop **loop)
{
    struct loop *it = *loop;
    if (!it)
        return;
    *loop = NULL;
    loop_clock_close(&it->clock);
    run_posts(it); /* a post may own memory that only its fn frees */
    if (it->context)
        lws_context_destroy(it->context);
    if (it->context && it->libuv) {
        /* The first lws_context_destroy() has only asked libuv to close its handles. */
        loop_libuv_settle(it->libuv);
        lws_context_destroy(it->context);
    }
    loop_libuv_close(&it->libuv);
    pthread_mutex_destroy(&it->lock);
    free(it);
}

struct lws_context *loop_context(struct loop *loop)
{
    return loop->context;
}

struct lws_vhost *loop_vhost(struct loop *loop)
{
    return loop->vhost;
}

/* With libuv, libwebsockets looks for new timers only after it has handled a descriptor. A turn
 * ends with a descriptor, or with a post, loop_stop() or an awaited timer, which wake the next turn
 * by lws_cancel_service(). So a timer that is started between two turns is seen. */
static void turn(struct loop *loop)
{
    if (loop->libuv)
        loop_libuv_turn(loop->libuv);
    else if (lws_service(loop->context, 0) < 0)
        loop->stopping = true;
    run_posts(loop);
}

void loop_run(struct loop *loop)
{
    loop->stopping = false;
    while (!loop->stopping)
        turn(loop);
}

void loop_stop(struct loop *loop)
{
    loop->stopping = true;
    lws_cancel_service(loop->context);
}

static void mark(void *flag)
{
    *(bool *)flag = true;
}

void loop_run_once(struct loop *loop, int64_t timeout_ms)
{
    bool expired = false;
    struct timer *timer = timer_start(loop, timeout_ms, mark, &expired);
    loop->awaited = true;
    turn(loop);
    loop->awaited = false;
    if (!expired)
        timer_cancel(&timer);
}

bool loop_run_until(struct loop *loop, const bool *done, int64_t timeout_ms)
{
    bool expired = false;
    struct timer *timer = timeout_ms < 0 ? NULL : timer_start(loop, timeout_ms, mark, &expired);
    loop->awaited = true;
    while (!*done && !expired)
        turn(loop);
    loop->awaited = false;
    if (!expired)
        timer_cancel(&timer);
    return *done;
}

void loop_post(void *context, loop_fn fn, void *arg)
{
    struct loop *loop = context;
    struct post *post = mem_alloc(sizeof *post);
    post->fn = fn;
    post->arg = arg;
    pthread_mutex_lock(&loop->lock);
    *loop->last = post;
    loop->last = &post->next;
    pthread_mutex_unlock(&loop->lock);
    lws_cancel_service(loop->context);
}

static void timer_link(struct timer *timer)
{
    timer->next = timer->loop->timers;
    timer->link = &timer->loop->timers;
    if (timer->next)
        timer->next->link = &timer->next;
    timer->loop->timers = timer;
}

static void timer_unlink(struct timer *timer)
{
    *timer->link = timer->next;
    if (timer->next)
        timer->next->link = timer->link;
}

static void timer_fire(lws_sorted_usec_list_t *sul)
{
    struct timer *timer = lws_container_of(sul, struct timer, sul);
    timer_unlink(timer);
    loop_fn fn = timer->fn;
    void *arg = timer->arg;
    struct loop *loop = timer->loop;
    free(timer);
    fn(arg);
    /* libwebsockets would go on to wait for its sockets: end the turn, so that the caller of
     * loop_run_until() sees what fn did. */
    if (loop->awaited)
        lws_cancel_service(loop->context);
}

struct timer *timer_start(struct loop *loop, int64_t ms, loop_fn fn, void *arg)
{
    struct timer *timer = mem_alloc(sizeof *timer);
    timer->loop = loop;
    timer->fn = fn;
    timer->arg = arg;
    timer_link(timer);
    /* A schedule of 0 µs would cancel the timer, so the minimum is 1. */
    lws_usec_t us = ms > 0 ? ms * LWS_US_PER_MS : 1;
    lws_sul_schedule(loop->context, 0, &timer->sul, timer_fire, us);
    return timer;
}

void timer_cancel(struct timer **timer)
{
    if (!*timer)
        return;
    lws_sul_cancel(&(*timer)->sul);
    timer_unlink(*timer);
    free(*timer);
    *timer = NULL;
}

struct lws *loop_wsi_take_file(struct loop *loop, int fd, struct loop_wsi *wire)
{
    lws_sock_file_fd_type descriptor = {.filefd = fd};
    struct lws *wsi = lws_adopt_descriptor_vhost(loop->vhost, LWS_ADOPT_RAW_FILE_DESC, descriptor,
                                                 LOOP_WSI_PROTOCOL, NULL);
    if (wsi)
        lws_set_opaque_user_data(wsi, wire);
    return wsi;
}

struct lws *loop_wsi_adopt_file(struct loop *loop, int fd, struct loop_wsi *wire)
{
    int copy = fcntl(fd, F_DUPFD_CLOEXEC, 0); /* no child gets it */
    return copy < 0 ? NULL : loop_wsi_take_file(loop, copy, wire);
}

void loop_wsi_forget(struct lws **wsi)
{
    if (!*wsi)
        return;
    lws_set_opaque_user_data(*wsi, NULL);
    lws_set_timeout(*wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
    *wsi = NULL;
}

static int on_watch(struct loop_wsi *wire, struct lws *wsi, enum lws_callback_reasons reason,
                    const void *in, size_t len)
{
    (void)wsi, (void)in, (void)len;
    struct watch *watch = lws_container_of(wire, struct watch, wire);
    if (reason == LWS_CALLBACK_RAW_CLOSE_FILE)
        watch->wsi = NULL;
    else if (reason != LWS_CALLBACK_RAW_RX_FILE)
        return 0;
    watch->fn(watch->arg);
    return 0;
}

struct watch *watch_start(struct loop *loop, int fd, loop_fn fn, void *arg)
{
    struct watch *watch = mem_alloc(sizeof *watch);
    *watch = (struct watch){.wire.handle = on_watch, .fn = fn, .arg = arg};
    watch->wsi = loop_wsi_adopt_file(loop, fd, &watch->wire);
    if (!watch->wsi)
        watch_stop(&watch);
    return watch;
}

void watch_stop(struct watch **watch)
{
    struct watch *it = *watch;
    if (!it)
        return;
    *watch = NULL;
    loop_wsi_forget(&it->wsi);
    free(it);
}

/* --- time --- */

static int64_t skipped_us;

int64_t loop_now_us(void)
{
    return (int64_t)lws_now_usecs() + skipped_us;
}

static void skip_us(const struct loop *loop, int64_t us)
{
    for (struct timer *timer = loop->timers; timer; timer = timer->next) {
        int64_t left_us = timer->sul.us - us - (int64_t)lws_now_usecs();
        lws_sul_schedule(loop->context, 0, &timer->sul, timer_fire, left_us > 0 ? left_us : 1);
    }
    skipped_us += us;
}

void loop_skip(struct loop *loop, int64_t ms)
{
    int64_t end_us = loop_now_us() + ms * 1000;
    for (;;) {
        struct timer *first = loop->timers;
        for (struct timer *timer = first; timer; timer = timer->next)
            first = timer->sul.us < first->sul.us ? timer : first;
        int64_t due_us = first ? first->sul.us + skipped_us : INT64_MAX;
        int64_t next_us = due_us < end_us ? due_us : end_us;
        if (next_us > loop_now_us())
            skip_us(loop, next_us - loop_now_us());
        if (!first || due_us > end_us)
            return;
        sul_cb_t fire = first->sul.cb;
        lws_sul_cancel(&first->sul);
        fire(&first->sul);
    }
}
