#include "relay/sweeper.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/text_keys.h"

#include <stdlib.h>

enum { KEPT_LIMIT = 20000 };

struct sweeper {
    struct loop *loop;
    struct source *source;
    struct asking *askings;
    struct text_keys ids; /* a task's place in `tasks` is its id's number */
    struct ray_task *tasks;
};

struct sweeper *sweeper_create(struct loop *loop, struct source *source)
{
    struct sweeper *sweeper = mem_alloc(sizeof *sweeper);
    sweeper->loop = loop;
    sweeper->source = source;
    return sweeper;
}

static void asking_free(struct asking *asking)
{
    if (asking->clear)
        asking->clear(asking);
    if (asking->own_sweep)
        object_sweep_free(&asking->sweep);
    timer_cancel(&asking->timer);
    free(asking);
}

static void forget_tasks(struct sweeper *sweeper)
{
    ray_tasks_free(sweeper->tasks, sweeper->ids.count);
    text_keys_free(&sweeper->ids);
    sweeper->tasks = NULL;
}

void sweeper_destroy(struct sweeper **sweeper)
{
    struct sweeper *it = *sweeper;
    if (!it)
        return;
    *sweeper = NULL;
    while (it->askings) {
        struct asking *asking = it->askings;
        it->askings = asking->next;
        asking_free(asking);
    }
    forget_tasks(it);
    free(it);
}

struct source *sweeper_source(const struct sweeper *sweeper)
{
    return sweeper->source;
}

struct loop *sweeper_loop(const struct sweeper *sweeper)
{
    return sweeper->loop;
}

/* --- questions --- */

void *asking_create(struct sweeper *sweeper, size_t size, object_sweep_fn fn, void *arg)
{
    struct asking *asking = mem_alloc(size);
    *asking = (struct asking){
        .next = sweeper->askings, .sweeper = sweeper, .outstanding = 1, .fn = fn, .arg = arg};
    sweeper->askings = asking;
    return asking;
}

void asking_answered(struct asking *asking)
{
    if (--asking->outstanding > 0)
        return;
    if (asking->conclude && asking->sweep)
        asking->conclude(asking);
    struct asking **at = &asking->sweeper->askings;
    while (*at != asking)
        at = &(*at)->next;
    *at = asking->next;
    object_sweep_fn fn = asking->fn;
    void *arg = asking->arg;
    struct err err = asking->err;
    struct object_sweep *sweep = err.code && asking->own_sweep ? NULL : asking->sweep;
    if (fn && sweep)
        asking->sweep = NULL; /* the callee's */
    asking_free(asking);
    if (fn)
        fn(arg, err.code ? &err : NULL, sweep);
}

static void asked(void *arg)
{
    struct asking *asking = arg;
    asking->timer = NULL;
    asking_answered(asking);
}

void asking_asked(struct asking *asking)
{
    asking->timer = timer_start(asking->sweeper->loop, 0, asked, asking);
}

void asking_fail(struct asking *asking, const struct err *err)
{
    if (!asking->err.code)
        asking->err = *err;
}

void sweeper_cancel(struct sweeper *sweeper, const void *arg)
{
    for (struct asking *asking = sweeper->askings; asking; asking = asking->next) {
        if (asking->arg != arg)
            continue;
        asking->fn = NULL;
        if (!asking->own_sweep)
            asking->sweep = NULL;
    }
}

/* --- tasks --- */

const struct ray_task *sweeper_task(const struct sweeper *sweeper, const char *task_id)
{
    uint32_t number;
    return text_keys_find(&sweeper->ids, task_id, &number) ? &sweeper->tasks[number] : NULL;
}

void sweeper_copy_task(struct ray_task *out, const struct ray_task *task)
{
    *out = *task;
    out->name = mem_string(task->name);
    out->func_or_class = mem_string(task->func_or_class);
}

void sweeper_keep_task(struct sweeper *sweeper, const struct ray_task *task)
{
    if (!task->running_ms || text_empty(task->name) || sweeper_task(sweeper, task->task_id))
        return;
    if (sweeper->ids.count >= KEPT_LIMIT)
        forget_tasks(sweeper);
    uint32_t number = text_keys_number(&sweeper->ids, task->task_id);
    sweeper->tasks = mem_resize(sweeper->tasks, sweeper->ids.cap, sizeof *sweeper->tasks);
    sweeper_copy_task(&sweeper->tasks[number], task);
}
