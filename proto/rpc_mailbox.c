#include "proto/rpc_mailbox.h"

#include "base/invariant.h"
#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

/* It may outlive the rpc, because a posted deliver() may not have run when the rpc is destroyed:
 * `rpc` is then NULL. */
struct rpc_mailbox {
    pthread_mutex_t lock;
    struct rpc_event *first, **last;
    int refs;    /* the rpc's, and a posted deliver()'s */
    bool posted; /* a deliver() is posted and has not begun */
    struct rpc *rpc;
    rpc_post_fn post;
    void *post_context;
};

struct rpc_mailbox *rpc_mailbox_create(struct rpc *rpc, rpc_post_fn post, void *post_context)
{
    struct rpc_mailbox *box = mem_alloc(sizeof *box);
    pthread_mutex_init(&box->lock, NULL);
    box->last = &box->first;
    box->refs = 1;
    box->rpc = rpc;
    box->post = post;
    box->post_context = post_context;
    return box;
}

static void unref(struct rpc_mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    invariant(box->refs > 0);
    bool last = --box->refs == 0;
    pthread_mutex_unlock(&box->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&box->lock);
    free(box);
}

static struct rpc_event *take(struct rpc_mailbox *box)
{
    pthread_mutex_lock(&box->lock);
    struct rpc_event *event = box->first;
    if (event) {
        box->first = event->next;
        if (!box->first)
            box->last = &box->first;
    }
    pthread_mutex_unlock(&box->lock);
    return event;
}

void rpc_mailbox_drain(struct rpc_mailbox *box)
{
    struct rpc_event *event;
    while (box->rpc && (event = take(box)))
        event->run(box->rpc, event);
}

/* Posted to the loop. A callback may destroy the rpc: rpc_destroy() then runs the remaining events.
 */
static void deliver(void *arg)
{
    struct rpc_mailbox *box = arg;
    pthread_mutex_lock(&box->lock);
    box->posted = false;
    pthread_mutex_unlock(&box->lock);
    rpc_mailbox_drain(box);
    unref(box);
}

void rpc_mailbox_put(struct rpc_mailbox *box, struct rpc_event *event)
{
    pthread_mutex_lock(&box->lock);
    event->next = NULL;
    *box->last = event;
    box->last = &event->next;
    bool post = !box->posted;
    box->refs += post;
    box->posted = true;
    pthread_mutex_unlock(&box->lock);
    if (post)
        box->post(box->post_context, deliver, box);
}

void rpc_mailbox_close(struct rpc_mailbox **box)
{
    struct rpc_mailbox *it = *box;
    *box = NULL;
    it->rpc = NULL;
    unref(it);
}
