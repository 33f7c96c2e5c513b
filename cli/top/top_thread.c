#include "cli/top/top_thread.h"

#include "base/mem.h"

#include <pthread.h>
#include <stdlib.h>

/* A request moves between the threads; only one of them uses it at any time. */
struct top_thread {
    struct loop *screen, *loop;
    struct memory_source *source;
    const struct top_thread_ops *ops;
    void *arg;
    pthread_t thread;
    bool stopped;
    bool failed; /* `err` is the result */
    struct err err;
    struct object_sweep *sweep; /* the result, or the sweep that is asked about; */
    bool owned;                 /* free it here, if it was not taken */
    const struct object_row *const *rows;
    size_t count;
    struct pause_list pauses;
    struct top_job *job;
};

struct top_sweep *top_sweep_create(struct object_sweep *sweep)
{
    struct top_sweep *look = mem_alloc(sizeof *look);
    *look = (struct top_sweep){1, sweep};
    return look;
}

struct top_sweep *top_sweep_use(struct top_sweep *look)
{
    look->users++;
    return look;
}

void top_sweep_drop(struct top_sweep **look)
{
    struct top_sweep *it = *look;
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
    top_sweep_drop(&it->look);
    top_sweep_drop(&it->first);
    top_wanted_clear(&it->wanted);
    free(it);
}

/* --- the thread's life --- */

static void *run(void *arg)
{
    struct top_thread *back = arg;
    loop_run(back->loop);
    return NULL;
}

static void stop(void *arg)
{
    loop_stop(((struct top_thread *)arg)->loop);
}

struct top_thread *top_thread_start(struct loop *screen, struct loop *loop,
                                    struct memory_source *source, const struct top_thread_ops *ops,
                                    void *arg, struct err *err)
{
    struct top_thread *back = mem_alloc(sizeof *back);
    *back = (struct top_thread){
        .screen = screen, .loop = loop, .source = source, .ops = ops, .arg = arg};
    if (pthread_create(&back->thread, NULL, run, back) == 0)
        return back;
    err_set(err, ERR_FAILED, "no thread could be started");
    err_hint(err, "is the limit on processes (ulimit -u) very low?");
    free(back);
    return NULL;
}

void top_thread_stop(struct top_thread *back)
{
    back->stopped = true;
    loop_post(back->loop, stop, back);
    pthread_join(back->thread, NULL);
}

void top_thread_free(struct top_thread **back)
{
    struct top_thread *it = *back;
    if (!it)
        return;
    *back = NULL;
    top_job_free(&it->job);
    if (it->owned)
        object_sweep_free(&it->sweep);
    pause_list_clear(&it->pauses);
    free(it);
}

/* Takes the request's sweep back, for the screen. */
static struct object_sweep *take_sweep(struct top_thread *back)
{
    struct object_sweep *sweep = back->sweep;
    back->sweep = NULL;
    back->owned = false;
    return sweep;
}

/* --- a sweep --- */

static void give_sweep(void *arg)
{
    struct top_thread *back = arg;
    if (!back->stopped)
        back->ops->on_sweep(back->arg, back->failed ? &back->err : NULL, take_sweep(back));
}

static void on_sweep(void *arg, const struct err *err, struct object_sweep *sweep)
{
    struct top_thread *back = arg;
    back->failed = err != NULL;
    if (err)
        back->err = *err;
    back->sweep = sweep;
    back->owned = true;
    loop_post(back->screen, give_sweep, back);
}

static void ask_sweep(void *arg)
{
    struct top_thread *back = arg;
    memory_source_ask(back->source, on_sweep, back);
}

void top_thread_ask_sweep(struct top_thread *back)
{
    loop_post(back->loop, ask_sweep, back);
}

/* --- names and locations --- */

static void give_names(void *arg)
{
    struct top_thread *back = arg;
    if (!back->stopped)
        back->ops->on_names(back->arg, take_sweep(back));
}

static void on_names(void *arg, const struct err *err, struct object_sweep *sweep)
{
    struct top_thread *back = arg;
    (void)err, (void)sweep;
    loop_post(back->screen, give_names, back);
}

static void ask_names(void *arg)
{
    struct top_thread *back = arg;
    memory_source_detail(back->source, back->sweep, back->rows, back->count, MEMORY_NAMES, on_names,
                         back);
}

void top_thread_ask_names(struct top_thread *back, struct object_sweep *sweep,
                          const struct object_row *const *rows, size_t count)
{
    back->sweep = sweep;
    back->owned = true;
    back->rows = rows;
    back->count = count;
    loop_post(back->loop, ask_names, back);
}

static void give_detail(void *arg)
{
    struct top_thread *back = arg;
    if (back->stopped)
        return;
    take_sweep(back);
    back->ops->on_detail(back->arg);
}

static void on_detail(void *arg, const struct err *err, struct object_sweep *sweep)
{
    struct top_thread *back = arg;
    (void)err, (void)sweep;
    loop_post(back->screen, give_detail, back);
}

static void ask_detail(void *arg)
{
    struct top_thread *back = arg;
    memory_source_detail(back->source, back->sweep, back->rows, 1, MEMORY_NAMES_AND_LOCATIONS,
                         on_detail, back);
}

void top_thread_ask_detail(struct top_thread *back, struct object_sweep *sweep,
                           const struct object_row *const *row)
{
    back->sweep = sweep;
    back->rows = row;
    loop_post(back->loop, ask_detail, back);
}

/* --- pauses --- */

static void give_pauses(void *arg)
{
    struct top_thread *back = arg;
    struct pause_list pauses = back->pauses;
    if (back->stopped)
        return;
    back->pauses = (struct pause_list){0};
    back->ops->on_pauses(back->arg, back->failed ? &back->err : NULL, &pauses);
}

static void on_pauses(void *arg, const struct err *err)
{
    struct top_thread *back = arg;
    const struct pause_list *pauses = pause_source_pauses(memory_source_origin(back->source));
    back->failed = err != NULL;
    if (err)
        back->err = *err;
    back->pauses.items = mem_array(pauses->count + 1, sizeof *pauses->items);
    for (size_t i = 0; i < pauses->count; i++)
        pause_copy(&back->pauses.items[back->pauses.count++], &pauses->items[i]);
    loop_post(back->screen, give_pauses, back);
}

static void ask_pauses(void *arg)
{
    struct top_thread *back = arg;
    pause_source_refresh(memory_source_origin(back->source), on_pauses, back);
}

void top_thread_ask_pauses(struct top_thread *back)
{
    loop_post(back->loop, ask_pauses, back);
}

/* --- views --- */

static void give_view(void *arg)
{
    struct top_thread *back = arg;
    struct top_job *job = back->job;
    if (back->stopped)
        return;
    back->job = NULL;
    back->ops->on_view(back->arg, job);
}

static void make_view(void *arg)
{
    struct top_thread *back = arg;
    struct top_job *job = back->job;
    job->view = top_view_build(&job->wanted, job->look->sweep);
    if (job->first)
        job->first_view = top_view_build(&job->wanted, job->first->sweep);
    loop_post(back->screen, give_view, back);
}

void top_thread_make_view(struct top_thread *back, struct top_job *job)
{
    back->job = job;
    loop_post(back->loop, make_view, back);
}
