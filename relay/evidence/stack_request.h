/* The Python stacks of live processes (process_request.h), merged. Callbacks run on the
 * loop's thread, on_end() never from within stack_request_begin(). */
#ifndef RAYDBG_RELAY_EVIDENCE_STACK_REQUEST_H
#define RAYDBG_RELAY_EVIDENCE_STACK_REQUEST_H

#include "relay/evidence/process_request.h"
#include "relay/python_stack/live_stacks.h"

struct stack_request;

struct stack_query {
    struct stack_select select; /* its names are copied */
    bool native;                /* with the frames of C code */
    bool full;                  /* all frames of all threads */
};

/* Valid until the request is freed. */
struct stack_answer {
    struct live_stacks *stacks;
    const struct process_answer *processes;
};

struct stack_request_calls {
    /* The contract of process_request_calls.on_step. */
    void (*on_step)(void *arg, const char *note);
    /* The end. With `err`, `answer` is NULL, or has a reason for each process if none at all could
     * be read. The request may not be freed from within. */
    void (*on_end)(void *arg, const struct err *err, const struct stack_answer *answer);
};

/* NULL with `err` set if the cluster is a dashboard: it does not have the records. `calls` is
 * borrowed. */
struct stack_request *stack_request_begin(struct cluster *cluster, const struct stack_query *query,
                                          const struct stack_request_calls *calls, void *arg,
                                          struct err *err);
/* No callback runs after it. */
void stack_request_free(struct stack_request **request);

/* The answer as `raydbg stack` prints it. */
void stack_answer_text(const struct stack_answer *answer, struct buf *out);

#endif
