/* The bookkeeping of a barrier: tasks that have arrived, are missing, or will not come. Pure. */
#ifndef RAYDBG_RELAY_VERBS_BARRIER_H
#define RAYDBG_RELAY_VERBS_BARRIER_H

#include "relay/verbs/task_set.h"

#include <stdbool.h>

struct barrier;

/* `location` is the barrier's name in texts: "train.py:41". */
struct barrier *barrier_create(const char *location);
void barrier_destroy(struct barrier **barrier);

/* Adds a task that the barrier waits for. */
void barrier_expect(struct barrier *barrier, const struct task_list_item *who);
/* False if the barrier does not wait for this thread, or the thread has arrived already. */
bool barrier_arrive(struct barrier *barrier, int64_t thread);
/* Notes what a missing task does: "running", "stopped at train.py:30". */
void barrier_note(struct barrier *barrier, int64_t thread, const char *what);
/* The thread will not come, because `why`: texts name it, and the barrier stops waiting for it. If
 * it had arrived, it no longer counts. False if the barrier does not wait for it. */
bool barrier_leave(struct barrier *barrier, int64_t thread, const char *why);

bool barrier_expects(const struct barrier *barrier, int64_t thread); /* the thread is missing */
bool barrier_holds(const struct barrier *barrier, int64_t thread);   /* the thread has arrived */
/* True if no task is missing. */
bool barrier_complete(const struct barrier *barrier);
size_t barrier_arrived(const struct barrier *barrier);

/* Appends "barrier train.py:41: 23 of 24, missing: rank 7 Trainer.step pid 811 (running)". */
void barrier_text(const struct barrier *barrier, struct buf *out);
/* Appends {"place","arrived":[ids],"missing":[{threadId,name,what}],"gone":[{…}],"complete"}. */
void barrier_json(const struct barrier *barrier, struct buf *out);

#endif
