/* One look at the Python stacks of live processes (process_look.h), merged. Callbacks run on the
 * loop's thread, on_end() never from within stack_look_ask(). */
#ifndef RAYDBG_RELAY_EVIDENCE_STACK_LOOK_H
#define RAYDBG_RELAY_EVIDENCE_STACK_LOOK_H

#include "relay/evidence/process_look.h"
#include "relay/python_stack/live_stacks.h"

struct stack_look;

struct stack_look_question {
    struct stack_select select; /* its names are copied */
    bool native;                /* with the frames of C code */
    bool full;                  /* all frames of all threads */
};

/* Valid until the look is freed. */
struct stack_look_answer {
    struct live_stacks *stacks;
    const struct process_look_answer *processes;
};

struct stack_look_calls {
    /* The contract of process_look_calls.on_step. */
    void (*on_step)(void *arg, const char *note);
    /* The end. With `err`, `answer` is NULL, or has a reason for each process if none at all could
     * be read. The look may not be freed from within. */
    void (*on_end)(void *arg, const struct err *err, const struct stack_look_answer *answer);
};

/* NULL with `err` set if the cluster is a dashboard: it does not have the records. `calls` is
 * borrowed. */
struct stack_look *stack_look_ask(struct cluster *cluster,
                                  const struct stack_look_question *question,
                                  const struct stack_look_calls *calls, void *arg, struct err *err);
/* No callback runs after it. */
void stack_look_free(struct stack_look **look);

/* The answer as `raydbg stack` prints it. */
void stack_look_text(const struct stack_look_answer *answer, struct buf *out);

#endif
