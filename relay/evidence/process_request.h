/* Asks for py-spy's texts about live processes: first the cluster's records, then the operator's
 * switch, then the agents' texts. No agent is asked for anything if the switch is off. Callbacks
 * run on the loop's thread, on_end() never from within process_request_begin(). */
#ifndef RAYDBG_RELAY_EVIDENCE_PROCESS_REQUEST_H
#define RAYDBG_RELAY_EVIDENCE_PROCESS_REQUEST_H

#include "base/buf.h"
#include "relay/cluster/cluster.h"
#include "relay/evidence/process_stacks.h"
#include "relay/python_stack/stack_processes.h"

struct process_request;

struct process_query {
    struct stack_select select; /* its names are copied */
    struct process_stacks_query stacks;
    bool one; /* an error if the name means several processes */
};

/* Valid until the request is freed. */
struct process_answer {
    const struct why_records *records;
    const struct process_stack *items;
    size_t count, nodes; /* processes that were asked for, and their nodes */
    size_t idle;         /* processes that run nothing, and were left out */
    int64_t took_us;
};

struct process_request_calls {
    /* The next step begins: "reading the stacks of 3 processes ...". May be NULL. */
    void (*on_step)(void *arg, const char *note);
    /* The end; one of `err` and `answer` is NULL. The request may not be freed from within. */
    void (*on_end)(void *arg, const struct err *err, const struct process_answer *answer);
};

/* NULL with `err` set if the cluster is a dashboard: it does not have the records. `calls` is
 * borrowed. */
struct process_request *process_request_begin(struct cluster *cluster,
                                              const struct process_query *query,
                                              const struct process_request_calls *calls, void *arg,
                                              struct err *err);
/* No callback runs after it. */
void process_request_free(struct process_request **request);

/* True once the agents are asked. */
bool process_request_is_sent(const struct process_request *request);

/* "3 processes on 2 nodes", and, of those that were left out: "; idle ones left out: 2 (--all)";
 * `done` between the two. */
void process_answer_head(const struct process_answer *answer, const char *done, struct buf *out);

#endif
