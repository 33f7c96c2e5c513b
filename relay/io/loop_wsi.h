/* The handler behind each of the loop's libwebsockets connections; for relay/ only. */
#ifndef RAYDBG_RELAY_IO_LOOP_WSI_H
#define RAYDBG_RELAY_IO_LOOP_WSI_H

#include "relay/io/loop.h"

#include <libwebsockets.h>

#define LOOP_WSI_PROTOCOL "raydbg"

/* The wsi's opaque user data. `handle` gets every callback of the raw roles; its result goes back
 * to libwebsockets (-1 closes). Set the opaque user data to NULL to get no further callbacks. */
struct loop_wsi {
    int (*handle)(struct loop_wsi *wire, struct lws *wsi, enum lws_callback_reasons reason,
                  const void *in, size_t len);
};

struct lws_vhost *loop_vhost(struct loop *loop);

/* Puts `fd` on the loop as a raw file; libwebsockets closes it in the end. NULL if the kernel
 * refuses; `fd` is still the caller's then. */
struct lws *loop_wsi_take_file(struct loop *loop, int fd, struct loop_wsi *wire);
/* The same with a duplicate of `fd`. */
struct lws *loop_wsi_adopt_file(struct loop *loop, int fd, struct loop_wsi *wire);
/* Has libwebsockets close *wsi, if it is not NULL, later from the loop; no callback of it follows.
 * Sets *wsi to NULL. */
void loop_wsi_forget(struct lws **wsi);

#endif
