#include "relay/cluster/death_cause.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>

/* The last try is the one that is due when this time ends, or the first after it if the cluster
 * answers slowly. The debugger of a driver ends before Ray's own end of the process, which takes
 * more than half a second (R 2.60.0: worker.py, shutdown(), at exit). */
enum { WAIT_MS = 250, PATIENCE_MS = 2000, DRIVER_PATIENCE_MS = 10000 };

struct death_cause {
    uint32_t magic;
    struct loop *loop;
    struct cluster *cluster;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    death_cause_fn fn;
    void *arg;
    struct timer *timer;
    int64_t since_us;
    int tries;
    bool last; /* this try's answer is reported, even if the death cause is unknown */
};
INVARIANT_MAGIC(death_cause, 0x4931300e)
#define death_cause_checked(object) death_cause_checked_at(INVARIANT_HERE, object)

static void ask(void *arg);

static void on_answer(void *arg, enum death_kind kind, const char *sentence)
{
    struct death_cause *death_cause = death_cause_checked(arg);
    if (kind != DEATH_UNKNOWN) {
        death_cause->fn(death_cause->arg, kind, sentence);
    } else if (!death_cause->last) {
        death_cause->timer = timer_start(death_cause->loop, WAIT_MS, ask, death_cause);
    } else {
        char *all = mem_format("the worker's debugger went away; %s", sentence);
        death_cause->fn(death_cause->arg, kind, all);
        free(all);
    }
}

static void ask(void *arg)
{
    struct death_cause *death_cause = death_cause_checked(arg);
    bool driver = cluster_is_driver(death_cause->cluster, death_cause->worker_id);
    int64_t most_ms = driver ? DRIVER_PATIENCE_MS : PATIENCE_MS;
    death_cause->timer = NULL;
    death_cause->last = ++death_cause->tries >= most_ms / WAIT_MS ||
                        loop_now_us() - death_cause->since_us > most_ms * 1000;
    cluster_death_cause(death_cause->cluster, death_cause->worker_id, death_cause->last, on_answer,
                        death_cause);
}

struct death_cause *death_cause_ask(struct loop *loop, struct cluster *cluster,
                                    const char *worker_id, death_cause_fn fn, void *arg)
{
    struct death_cause *death_cause = mem_alloc(sizeof *death_cause);
    *death_cause = (struct death_cause){
        .loop = loop, .cluster = cluster, .fn = fn, .arg = arg, .since_us = loop_now_us()};
    death_cause_set_magic(death_cause);
    text_copy(death_cause->worker_id, sizeof death_cause->worker_id, worker_id);
    if (cluster && *worker_id)
        ask(death_cause);
    else
        death_cause->fn(death_cause->arg, DEATH_UNKNOWN,
                        "the debuggee ended, or closed the connection");
    return death_cause;
}

void death_cause_cancel(struct death_cause **death_cause)
{
    struct death_cause *it = *death_cause;
    if (!it)
        return;
    *death_cause = NULL;
    timer_cancel(&it->timer);
    if (it->cluster)
        cluster_death_cause_cancel(it->cluster, it);
    death_cause_clear_magic(it);
    free(it);
}
