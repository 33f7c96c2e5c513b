/* A listening socket on loopback or a unix path. */
#ifndef RAYDBG_RELAY_DOOR_H
#define RAYDBG_RELAY_DOOR_H

#include "base/err.h"
#include "relay/loop.h"

struct door;

/* `fd` is a new connection, non-blocking, close-on-exec, the callee's. */
typedef void (*door_fn)(void *arg, int fd);

/* Listens on "HOST:PORT", "[V6]:PORT" (port 0: any free one) or "unix:PATH" (mode 0600; what a dead
 * process has left there is replaced). NULL with `err` set: no such address, not loopback, in use.
 * When descriptors run out it waits 200 ms and goes on. */
struct door *door_open(struct loop *loop, const char *address, door_fn fn, void *arg,
                       struct err *err);
void door_close(struct door **door);
/* "127.0.0.1:4713", "[::1]:4713", "unix:/run/x": with the real port. */
const char *door_address(const struct door *door);

#endif
