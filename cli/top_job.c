#include "cli/top_job.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>

struct top_worker {
    struct loop *loop;
    top_job_fn fn; /* NULL: nobody waits any more */
    void *arg;
    struct top_job *job;
    pthread_t thread;
    bool threaded; /* false: it could not be started, the job was done at once */
};

struct top_look *top_look_create(struct object_sweep *sweep)
{
    struct top_look *look = mem_alloc(sizeof *look);
    *look = (struct top_look){1, sweep};
    return look;
}

struct top_look *top_look_use(struct top_look *look)
{
    look->users++;
    return look;
}

void top_look_drop(struct top_look **look)
{
    struct top_look *it = *look;
    *look = NULL;
    if (!it || --it->users)
        return;
    object_sweep_free(&it->sweep);
    free(it);
}

void top_job_free(struct top_job **job)
{
    struct top_job *it = *job;
    if (!it)
        return;
    *job = NULL;
    top_view_free(&it->view);
    top_view_free(&it->first_view);
    top_look_drop(&it->look);
    top_look_drop(&it->first);
    top_wanted_clear(&it->wanted);
    free(it);
}

struct top_worker *top_worker_create(struct loop *loop, top_job_fn fn, void *arg)
{
    struct top_worker *worker = mem_alloc(sizeof *worker);
    worker->loop = loop;
    worker->fn = fn;
    worker->arg = arg;
    return worker;
}

bool top_worker_busy(const struct top_worker *worker)
{
    return worker->job != NULL;
}

static void on_done(void *arg)
{
    struct top_worker *worker = arg;
    struct top_job *job = worker->job;
    if (worker->threaded)
        pthread_join(worker->thread, NULL);
    worker->job = NULL;
    if (worker->fn) {
        worker->fn(worker->arg, job);
        return;
    }
    top_job_free(&job);
    free(worker);
}

static void *work(void *arg)
{
    struct top_worker *worker = arg;
    struct top_job *job = worker->job;
    job->view = top_view_build(&job->wanted, job->look->sweep);
    if (job->first)
        job->first_view = top_view_build(&job->wanted, job->first->sweep);
    loop_post(worker->loop, on_done, worker);
    return NULL;
}

void top_worker_start(struct top_worker *worker, struct top_job *job)
{
    worker->job = job;
    worker->threaded = true;
    if (pthread_create(&worker->thread, NULL, work, worker) == 0)
        return;
    worker->threaded = false;
    work(worker);
}

void top_worker_destroy(struct top_worker **worker)
{
    struct top_worker *it = *worker;
    if (!it)
        return;
    *worker = NULL;
    it->fn = NULL;
    if (!it->job) {
        free(it);
        return;
    }
    if (it->threaded)
        pthread_join(it->thread, NULL);
    it->threaded = false; /* on_done(), which is among the loop's posts now, frees the rest */
}
