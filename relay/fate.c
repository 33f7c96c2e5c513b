#include "relay/fate.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>

enum { TRIES = 8, WAIT_MS = 250 };

struct fate {
    struct loop *loop;
    struct cluster *cluster;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    fate_fn fn;
    void *arg;
    struct timer *timer;
    int tries;
};

static void ask(void *arg);

static void on_answer(void *arg, const char *sentence)
{
    struct fate *fate = arg;
    if (sentence)
        fate->fn(fate->arg, sentence);
    else if (++fate->tries < TRIES)
        fate->timer = timer_start(fate->loop, WAIT_MS, ask, fate);
    else
        fate->fn(fate->arg, "the worker's debugger went away; the cluster does not say why");
}

static void ask(void *arg)
{
    struct fate *fate = arg;
    fate->timer = NULL;
    cluster_fate(fate->cluster, fate->worker_id, on_answer, fate);
}

struct fate *fate_ask(struct loop *loop, struct cluster *cluster, const char *worker_id, fate_fn fn,
                      void *arg)
{
    struct fate *fate = mem_alloc(sizeof *fate);
    *fate = (struct fate){.loop = loop, .cluster = cluster, .fn = fn, .arg = arg};
    text_copy(fate->worker_id, sizeof fate->worker_id, worker_id);
    if (cluster && *worker_id)
        ask(fate);
    else
        fate->fn(fate->arg, "the debuggee ended, or closed the connection");
    return fate;
}

void fate_cancel(struct fate **fate)
{
    struct fate *it = *fate;
    if (!it)
        return;
    *fate = NULL;
    timer_cancel(&it->timer);
    if (it->cluster)
        cluster_fate_cancel(it->cluster, it);
    free(it);
}
