/* Who has come to a barrier, who is missing, and who will never come. Pure. */
#ifndef RAYDBG_RELAY_BARRIER_H
#define RAYDBG_RELAY_BARRIER_H

#include "relay/crowd.h"

#include <stdbool.h>

struct barrier;

/* `place` is how it is called: "train.py:41". */
struct barrier *barrier_create(const char *place);
void barrier_destroy(struct barrier **barrier);

/* One more to wait for. */
void barrier_expect(struct barrier *barrier, const struct crowd_member *who);
/* False if this thread is not waited for, or has arrived already. */
bool barrier_arrive(struct barrier *barrier, int64_t thread);
/* What a missing one does: "running", "stopped at train.py:30". */
void barrier_note(struct barrier *barrier, int64_t thread, const char *what);
/* It will not come, because `why`: it is named, and waited for no longer. One that had arrived
 * counts no more. False if this thread is not waited for. */
bool barrier_leave(struct barrier *barrier, int64_t thread, const char *why);

bool barrier_expects(const struct barrier *barrier, int64_t thread); /* and it is missing */
bool barrier_holds(const struct barrier *barrier, int64_t thread);   /* it has arrived */
/* Nobody is missing. */
bool barrier_complete(const struct barrier *barrier);
size_t barrier_arrived(const struct barrier *barrier);

/* Appends "barrier train.py:41: 23 of 24, missing: rank 7 Trainer.step pid 811 (running)". */
void barrier_text(const struct barrier *barrier, struct buf *out);
/* Appends {"place","arrived":[ids],"missing":[{threadId,name,what}],"gone":[{…}],"complete"}. */
void barrier_json(const struct barrier *barrier, struct buf *out);

#endif
