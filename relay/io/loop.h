/* The event loop, libwebsockets' own, with timers, watches and posts. Everything here must be
 * called on the loop's thread, except loop_post(). */
#ifndef RAYDBG_RELAY_IO_LOOP_H
#define RAYDBG_RELAY_IO_LOOP_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

struct loop;
struct lws_context;
struct timer;
struct watch;

typedef void (*loop_fn)(void *arg);

/* `tls` initialises OpenSSL, which takes some ms and only https needs. NULL with `err` set on
 * failure. */
struct loop *loop_create(bool tls, struct err *err);
/* The same for thousands of connections: waits with epoll where libwebsockets' plugin for libuv is
 * installed. Creating it takes some ms more. */
struct loop *loop_create_many(bool tls, struct err *err);
void loop_destroy(struct loop **loop);
/* Raises the soft limit on open files to the hard one, for this process and those that it starts.
 * Call it before a loop is created, which counts on the limit that it finds. */
void loop_raise_fd_limit(void);
struct lws_context *loop_context(struct loop *loop);

/* Runs until loop_stop(). */
void loop_run(struct loop *loop);
/* Waits at most `timeout_ms` for events, handles them and returns. Not from a callback. */
void loop_run_once(struct loop *loop, int64_t timeout_ms);
void loop_stop(struct loop *loop);
/* Runs until *done is true or `timeout_ms` (-1: no limit) have passed; returns *done.
 * Not from a callback. */
bool loop_run_until(struct loop *loop, const bool *done, int64_t timeout_ms);

/* From any thread (`context` is the loop; void * to serve as an rpc_post_fn): runs fn(arg) on the
 * loop's thread, in the order posted, never from within this call. */
void loop_post(void *context, loop_fn fn, void *arg);

/* Runs fn(arg) once after `ms`. The timer is freed before fn runs, or by timer_cancel(), which
 * clears the pointer; fn must first clear the caller's pointer to it. */
struct timer *timer_start(struct loop *loop, int64_t ms, loop_fn fn, void *arg);
void timer_cancel(struct timer **timer);

/* Calls fn(arg) whenever `fd` is readable, and a last time when its other end has hung up, so fn
 * must read to the end. The fd stays the caller's; fn may stop the watch. NULL: no descriptor is
 * free for it, or `fd` is of a kind that cannot be waited for. */
struct watch *watch_start(struct loop *loop, int fd, loop_fn fn, void *arg);
void watch_stop(struct watch **watch);

int64_t loop_now_us(void); /* monotonic */

/* For tests (relay/io/loop_clock.h): as if `ms` had passed. Fires the timers that are due by then,
 * in their order and each at its time by loop_now_us(). Not from a callback, though from a post;
 * sockets and what libwebsockets limits itself are not affected. */
void loop_skip(struct loop *loop, int64_t ms);

#endif
