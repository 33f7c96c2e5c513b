/* What stands behind each of the loop's libwebsockets connections; for relay/ alone. */
#ifndef RAYDBG_RELAY_WIRE_H
#define RAYDBG_RELAY_WIRE_H

#include "relay/loop.h"

#include <libwebsockets.h>

#define WIRE_PROTOCOL "raydbg"

/* The wsi's opaque user data. `handle` gets every callback of the raw roles; what it returns goes
 * back to libwebsockets (-1 closes). Set the opaque user data to NULL to get no more of them. */
struct wire {
    int (*handle)(struct wire *wire, struct lws *wsi, enum lws_callback_reasons reason,
                  const void *in, size_t len);
};

struct lws_vhost *loop_vhost(struct loop *loop);

/* Puts a duplicate of `fd` on the loop as a raw file; NULL if the kernel refuses. */
struct lws *wire_adopt_file(struct loop *loop, int fd, struct wire *wire);

#endif
