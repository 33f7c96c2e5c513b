#include "relay/poller.h"

#include "base/log.h"
#include "base/mem.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

/* Sockets that are served before libwebsockets' own get their turn. */
enum { BATCH = 64 };

struct poller {
    int fd;
    struct watch *watch;
    struct epoll_event batch[BATCH]; /* those that are removed before their turn have no ptr */
    int count;                       /* 0 outside of serve() */
    int at;
};

static void serve(void *arg)
{
    struct poller *poller = arg;
    int count = epoll_wait(poller->fd, poller->batch, BATCH, 0);
    poller->count = count > 0 ? count : 0;
    for (poller->at = 0; poller->at < poller->count; poller->at++) {
        struct polled *polled = poller->batch[poller->at].data.ptr;
        if (polled)
            polled->handle(polled, poller->batch[poller->at].events);
    }
    poller->count = 0;
}

struct poller *poller_create(struct loop *loop)
{
    int fd = epoll_create1(EPOLL_CLOEXEC);
    if (fd < 0)
        return NULL;
    struct poller *poller = mem_alloc(sizeof *poller);
    poller->fd = fd;
    poller->watch = watch_start(loop, fd, serve, poller);
    return poller;
}

void poller_destroy(struct poller **poller)
{
    struct poller *it = *poller;
    if (!it)
        return;
    *poller = NULL;
    watch_stop(&it->watch);
    close(it->fd);
    free(it);
}

static bool control(const struct poller *poller, int operation, struct polled *polled)
{
    struct epoll_event event = {.events = polled->wanted, .data.ptr = polled};
    if (epoll_ctl(poller->fd, operation, polled->fd, &event) == 0)
        return true;
    log_debug("epoll_ctl %d: %s", operation, strerror(errno));
    return false;
}

bool poller_add(struct poller *poller, struct polled *polled, int fd, uint32_t wanted)
{
    polled->fd = fd;
    polled->wanted = wanted;
    polled->added = control(poller, EPOLL_CTL_ADD, polled);
    return polled->added;
}

void poller_want(struct poller *poller, struct polled *polled, uint32_t wanted)
{
    if (!polled->added || polled->wanted == wanted)
        return;
    polled->wanted = wanted;
    control(poller, EPOLL_CTL_MOD, polled);
}

void poller_remove(struct poller *poller, struct polled *polled)
{
    if (!polled->added)
        return;
    control(poller, EPOLL_CTL_DEL, polled);
    polled->added = false;
    for (int i = poller->at; i < poller->count; i++)
        if (poller->batch[i].data.ptr == polled)
            poller->batch[i].data.ptr = NULL;
}
