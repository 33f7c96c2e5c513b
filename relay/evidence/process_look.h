/* One look at live processes by py-spy: the cluster's records, then the operator's switch, then the
 * agents' texts. No agent is asked for anything if the switch is off. Callbacks run on the loop's
 * thread, on_end() never from within process_look_ask(). */
#ifndef RAYDBG_RELAY_EVIDENCE_PROCESS_LOOK_H
#define RAYDBG_RELAY_EVIDENCE_PROCESS_LOOK_H

#include "base/buf.h"
#include "relay/cluster/cluster.h"
#include "relay/evidence/process_stacks.h"
#include "relay/python_stack/stack_processes.h"

struct process_look;

struct process_look_question {
    struct stack_select select; /* its names are copied */
    struct process_stacks_question stacks;
    bool one; /* an error if the name means several processes */
};

/* Valid until the look is freed. */
struct process_look_answer {
    const struct why_records *records;
    const struct process_stack *items;
    size_t count, nodes; /* processes that were asked for, and their nodes */
    size_t idle;         /* processes that run nothing, and were left out */
    int64_t took_us;
};

struct process_look_calls {
    /* The next step begins: "reading the stacks of 3 processes ...". May be NULL. */
    void (*on_step)(void *arg, const char *note);
    /* The end; one of `err` and `answer` is NULL. The look may not be freed from within. */
    void (*on_end)(void *arg, const struct err *err, const struct process_look_answer *answer);
};

/* NULL with `err` set if the cluster is a dashboard: it does not have the records. `calls` is
 * borrowed. */
struct process_look *process_look_ask(struct cluster *cluster,
                                      const struct process_look_question *question,
                                      const struct process_look_calls *calls, void *arg,
                                      struct err *err);
/* No callback runs after it. */
void process_look_free(struct process_look **look);

/* True once the agents are asked. */
bool process_look_is_asking(const struct process_look *look);

/* "3 processes on 2 nodes", and, of those that were left out: "; idle ones left out: 2 (--all)";
 * `done` between the two. */
void process_look_head(const struct process_look_answer *answer, const char *done, struct buf *out);

#endif
