/* The stacks of many live processes as one tree, each thread with the task that it runs. Frames of
 * Ray's and of the debugger are folded: a thread that waits in ray.get ends in a frame "ray.get". A
 * thread without a frame of the program's is left out. Pure. */
#ifndef RAYDBG_RELAY_PYTHON_STACK_LIVE_STACKS_H
#define RAYDBG_RELAY_PYTHON_STACK_LIVE_STACKS_H

#include "base/buf.h"
#include "relay/why_records/why_records.h"

struct live_stacks;

/* The records are borrowed. `full`: all frames of all threads. */
struct live_stacks *live_stacks_create(const struct why_records *records, bool full);
void live_stacks_destroy(struct live_stacks **stacks);

/* Adds a process, with py-spy's text; or with `problem`, in py-spy's words or the agent's, if there
 * is no text. */
void live_stacks_add(struct live_stacks *stacks, const struct ray_worker *worker, const char *text,
                     const char *problem);

/* How many processes were added, and how many of them have a text that could be read. */
size_t live_stacks_count(const struct live_stacks *stacks);
size_t live_stacks_read(const struct live_stacks *stacks);
/* Sets `err` to the first problem, with what to do about it. */
int live_stacks_problem(const struct live_stacks *stacks, struct err *err);

/* The tree, and the processes that are not in it by reason. */
void live_stacks_text(struct live_stacks *stacks, struct buf *out);
/* An object; docs/stack.md has its schema. */
void live_stacks_json(struct live_stacks *stacks, struct buf *out);

#endif
