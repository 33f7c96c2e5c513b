/* What a cluster's sweeps share: the questions about objects that are under way, and the tasks that
 * were asked for before. Others use object_sweep.h. Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_SWEEPER_H
#define RAYDBG_RELAY_SWEEPER_H

#include "relay/loop.h"
#include "relay/object_sweep.h"
#include "relay/source.h"

struct sweeper;

/* Both are borrowed. */
struct sweeper *sweeper_create(struct loop *loop, struct source *source);
/* After the source, which drops its callbacks. */
void sweeper_destroy(struct sweeper **sweeper);
struct source *sweeper_source(const struct sweeper *sweeper);
struct loop *sweeper_loop(const struct sweeper *sweeper);

/* --- one question: the first member of what asks it --- */

struct asking {
    struct asking *next;
    struct sweeper *sweeper;
    struct object_sweep *sweep; /* NULL once it is cancelled and the caller's */
    size_t outstanding;         /* answers that are to come, and one of the asker's own */
    struct err err;             /* code 0: none */
    bool own_sweep;             /* it is freed if nobody gets it */
    object_sweep_fn fn;         /* NULL once it is cancelled */
    void *arg;
    struct timer *timer;
    /* All are answered: puts what they said into the sweep, which is there. Or NULL. */
    void (*conclude)(struct asking *asking);
    void (*clear)(struct asking *asking); /* frees what the asker has beside the sweep; or NULL */
};

/* `size` is the asker's; zeroed. `outstanding` is 1. */
void *asking_create(struct sweeper *sweeper, size_t size, object_sweep_fn fn, void *arg);
/* The last one ends it: fn runs, with the sweep or `err`. */
void asking_answered(struct asking *asking);
/* As asking_answered() for the asker's own, but from the loop: fn never runs from within. */
void asking_asked(struct asking *asking);
/* Keeps the first error. */
void asking_fail(struct asking *asking, const struct err *err);
void sweeper_cancel(struct sweeper *sweeper, const void *arg);

/* --- tasks --- */

/* A task that is known for good: it has begun and has a name. NULL: ask for it. */
const struct ray_task *sweeper_task(const struct sweeper *sweeper, const char *task_id);
void sweeper_copy_task(struct ray_task *out, const struct ray_task *task);
/* Copies what is known for good, and forgets all others when there are too many. */
void sweeper_keep_task(struct sweeper *sweeper, const struct ray_task *task);

#endif
