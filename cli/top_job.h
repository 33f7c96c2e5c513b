/* Makes the views of `raydbg memory --top` on a thread of their own: of 200,000 references that
 * takes longer than a key may wait. The thread only reads, and tells the loop by loop_post(). */
#ifndef RAYDBG_CLI_TOP_JOB_H
#define RAYDBG_CLI_TOP_JOB_H

#include "cli/top_view.h"
#include "relay/loop.h"

/* A sweep that several views may be of; for the loop's thread. */
struct top_look {
    size_t users;
    struct object_sweep *sweep;
};

struct top_look *top_look_create(struct object_sweep *sweep); /* takes it; one user */
struct top_look *top_look_use(struct top_look *look);
void top_look_drop(struct top_look **look);

struct top_job {
    struct top_wanted wanted;
    struct top_look *look, *first; /* `first` NULL: no view of it is wanted */
    struct top_view *view, *first_view;
};

typedef void (*top_job_fn)(void *arg, struct top_job *job); /* the job is the callee's to free */

struct top_worker;

struct top_worker *top_worker_create(struct loop *loop, top_job_fn fn, void *arg);
/* Waits for what is under way; fn does not run any more. */
void top_worker_destroy(struct top_worker **worker);
bool top_worker_busy(const struct top_worker *worker);
/* Takes the job; one at a time. */
void top_worker_start(struct top_worker *worker, struct top_job *job);

void top_job_free(struct top_job **job);

#endif
