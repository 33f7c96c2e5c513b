/* A stand-in for the event loop's posts: any thread posts, the test's thread runs them. */
#ifndef RAYDBG_TESTS_POST_QUEUE_H
#define RAYDBG_TESTS_POST_QUEUE_H

#include "base/mem.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

struct posted {
    struct posted *next;
    void (*fn)(void *arg);
    void *arg;
};

struct post_queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct posted *first;
};

#define POST_QUEUE_INIT                                                                            \
    {                                                                                              \
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL                                  \
    }

/* An rpc_post_fn. */
static inline void post_queue_add(void *context, void (*fn)(void *arg), void *arg)
{
    struct post_queue *queue = context;
    struct posted *posted = mem_alloc(sizeof *posted);
    posted->fn = fn;
    posted->arg = arg;
    pthread_mutex_lock(&queue->lock);
    struct posted **end = &queue->first;
    while (*end)
        end = &(*end)->next;
    *end = posted;
    pthread_cond_signal(&queue->changed);
    pthread_mutex_unlock(&queue->lock);
}

/* Waits up to `timeout_ms` for something posted, and runs it; false if there was nothing. */
static inline bool post_queue_run_one(struct post_queue *queue, int timeout_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(timeout_ms % 1000) * 1000000;
    until.tv_sec += timeout_ms / 1000 + until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&queue->lock);
    int failed = 0;
    while (!queue->first && !failed)
        failed = timeout_ms ? pthread_cond_timedwait(&queue->changed, &queue->lock, &until) : 1;
    struct posted *posted = queue->first;
    if (posted)
        queue->first = posted->next;
    pthread_mutex_unlock(&queue->lock);
    if (!posted)
        return false;
    posted->fn(posted->arg);
    free(posted);
    return true;
}

/* Runs what is posted until *count is at least `wanted`; false if 10 s pass with nothing. */
static inline bool post_queue_run_until(struct post_queue *queue, const int *count, int wanted)
{
    while (*count < wanted)
        if (!post_queue_run_one(queue, 10000))
            return false;
    return true;
}

/* Runs what is left, as a loop does before it ends. */
static inline void post_queue_drain(struct post_queue *queue)
{
    while (post_queue_run_one(queue, 0))
        continue;
}

#endif
