#include "relay/keeper/keeper_watch.h"

#include "base/invariant.h"
#include "base/log.h"
#include "base/mem.h"

#include <stdlib.h>

enum {
    GAP_MS = 100,     /* between two renewals, for keepers that die again and again */
    RETRY_MS = 10000, /* after a failed renewal: each may take seconds */
    LOOK_MS = 1000,   /* keeper_put() may find the keeper dead, and closes the watched socket; and
                       * what a slow keeper could not be told is sent again */
};

struct keeper_watch {
    uint32_t magic;
    struct loop *loop;
    struct keeper *keeper;
    const struct keeper_watch_ops *ops;
    void *arg;
    struct watch *socket;
    struct timer *timer; /* the next look */
    int64_t not_before_us;
    bool lost;   /* on_lost was called, there is no new keeper yet */
    bool failed; /* on_failed was called, too */
};
INVARIANT_MAGIC(keeper_watch, 0x55dacb8f)
#define keeper_watch_checked(object) keeper_watch_checked_at(INVARIANT_HERE, object)

static void look(void *arg);

static void watch_socket(struct keeper_watch *watch)
{
    watch->socket = watch_start(watch->loop, keeper_socket(watch->keeper), look, watch);
}

static void renew(struct keeper_watch *watch)
{
    struct err err;
    watch->not_before_us = loop_now_us() + GAP_MS * 1000L;
    if (keeper_renew(watch->keeper, &err) != 0) {
        watch->not_before_us = loop_now_us() + RETRY_MS * 1000L;
        log_warn("the keeper died and cannot be replaced: %s%s%s; what is held ends with this "
                 "relay; tried again every %d s",
                 err.what, err.why[0] ? ": " : "", err.why, RETRY_MS / 1000);
        if (!watch->failed)
            watch->ops->on_failed(watch->arg, &err);
        watch->failed = true;
        return;
    }
    log_warn("a new keeper (pid %d) has taken its place", keeper_pid(watch->keeper));
    bool failed = watch->failed;
    watch->lost = watch->failed = false;
    watch_socket(watch);
    watch->ops->on_renewed(watch->arg, failed);
}

static void look_again(void *arg)
{
    struct keeper_watch *watch = keeper_watch_checked(arg);
    watch->timer = NULL;
    look(watch);
}

static void look(void *arg)
{
    struct keeper_watch *watch = keeper_watch_checked(arg);
    if (!watch->lost && !keeper_hear(watch->keeper)) {
        watch->lost = true;
        watch_stop(&watch->socket);
        watch->ops->on_lost(watch->arg);
    }
    if (watch->lost && loop_now_us() >= watch->not_before_us)
        renew(watch);
    if (!watch->lost && !watch->socket)
        watch_socket(watch);
    if (!watch->lost && keeper_take_missed(watch->keeper))
        watch->ops->on_missed(watch->arg);
    int64_t wait_ms = watch->lost ? (watch->not_before_us - loop_now_us() + 999) / 1000 : LOOK_MS;
    timer_cancel(&watch->timer);
    watch->timer = timer_start(watch->loop, wait_ms, look_again, watch);
}

struct keeper_watch *keeper_watch_start(struct loop *loop, struct keeper *keeper,
                                        const struct keeper_watch_ops *ops, void *arg)
{
    struct keeper_watch *watch = mem_alloc(sizeof *watch);
    *watch = (struct keeper_watch){.loop = loop, .keeper = keeper, .ops = ops, .arg = arg};
    keeper_watch_set_magic(watch);
    watch_socket(watch);
    watch->timer = timer_start(loop, LOOK_MS, look_again, watch);
    return watch;
}

void keeper_watch_stop(struct keeper_watch **watch)
{
    struct keeper_watch *it = *watch;
    if (!it)
        return;
    *watch = NULL;
    watch_stop(&it->socket);
    timer_cancel(&it->timer);
    keeper_watch_clear_magic(it);
    free(it);
}
