/* Sockets of which there may be thousands on the loop, in an epoll set: with libwebsockets' own
 * poll() each message would cost time for every connection that stands idle. For relay/ alone. */
#ifndef RAYDBG_RELAY_POLLER_H
#define RAYDBG_RELAY_POLLER_H

#include "relay/loop.h"

#include <stdbool.h>
#include <stdint.h>

struct poller;

/* Embedded in its owner. `handle` runs from the loop with what epoll(7) reports: what is wanted of
 * EPOLLIN and EPOLLOUT, and EPOLLHUP and EPOLLERR always. It may remove and free any polled. */
struct polled {
    void (*handle)(struct polled *polled, uint32_t events);
    int fd;
    uint32_t wanted;
    bool added;
};

/* NULL if the kernel refuses. */
struct poller *poller_create(struct loop *loop);
/* After all that was added has been removed. */
void poller_destroy(struct poller **poller);

/* `fd` stays the caller's, and is open until the polled is removed: a duplicate elsewhere would be
 * reported for ever. False if the kernel refuses. */
bool poller_add(struct poller *poller, struct polled *polled, int fd, uint32_t wanted);
void poller_want(struct poller *poller, struct polled *polled, uint32_t wanted);
/* Nothing is reported of it any more, not even what has happened by now. Harmless if it was never
 * added. */
void poller_remove(struct poller *poller, struct polled *polled);

#endif
