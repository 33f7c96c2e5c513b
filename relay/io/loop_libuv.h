/* libuv's event loop as libwebsockets' way to wait: epoll, whose cost does not grow with silent
 * connections, instead of libwebsockets' own poll(). Loaded at run time, because it needs libuv and
 * libwebsockets' plugin for it, and a process with few connections needs neither; in the portable
 * build both are linked in. */
#ifndef RAYDBG_RELAY_IO_LOOP_LIBUV_H
#define RAYDBG_RELAY_IO_LOOP_LIBUV_H

#include "base/err.h"

struct loop_libuv;

/* NULL, with `err` set, where libuv or the plugin is not installed. */
struct loop_libuv *loop_libuv_open(struct err *err);
/* The uv_loop_t, for libwebsockets' `foreign_loops`. */
void *loop_libuv_loop(struct loop_libuv *libuv);
/* Waits for events and handles them. */
void loop_libuv_turn(struct loop_libuv *libuv);
/* Runs the loop until it has no active handle: libuv completes the closing of handles there. */
void loop_libuv_settle(struct loop_libuv *libuv);
/* To be called after libwebsockets' context was destroyed. */
void loop_libuv_close(struct loop_libuv **libuv);

#endif
