/* libuv's event loop, for libwebsockets to wait with: epoll, whose cost does not grow with the
 * connections that are silent, where libwebsockets itself has poll(). Found at run time: it takes
 * libwebsockets' plugin for it and libuv, and whoever has few connections needs neither. */
#ifndef RAYDBG_RELAY_LIBUV_H
#define RAYDBG_RELAY_LIBUV_H

#include "base/err.h"

struct libuv;

/* NULL, with `err` set, where they are not installed. */
struct libuv *libuv_open(struct err *err);
/* What libwebsockets is given as its foreign loop. */
void *libuv_loop(struct libuv *libuv);
/* Waits until something has come, and handles it. */
void libuv_turn(struct libuv *libuv);
/* Handles until nothing is left that could still happen: what closes its handles needs that. */
void libuv_settle(struct libuv *libuv);
/* After libwebsockets' context was destroyed. */
void libuv_close(struct libuv **libuv);

#endif
