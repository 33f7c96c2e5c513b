/* The features beyond DAP of a session over many tasks, for its core to call: they are built on it.
 */
#ifndef RAYDBG_RELAY_MANY_MANY_HOOKS_H
#define RAYDBG_RELAY_MANY_MANY_HOOKS_H

#include "dap/envelope.h"

struct many;
struct many_task;
struct many_thread;
struct many_verbs; /* groups, barriers, verbs under way */

struct many_hooks {
    struct many_verbs *(*create)(struct many *many);
    void (*destroy)(struct many_verbs **verbs);
    /* A custom request (raydbg/groups, raydbg/group, raydbg/step, raydbg/barrier, raydbg/compare,
     * raydbg/stacks), an `evaluate` whose expression begins with "/" in context repl, or
     * `completions` of such a text. False if it is not one of them: nothing was done then. */
    bool (*request)(struct many_verbs *verbs, const char *json, size_t len,
                    const struct envelope *envelope);
    /* A thread has stopped. True: the client is not told now, because a verb lets the thread go on
     * (skip, until a line), holds it for others (barrier), or has not decided yet; many_stop_note()
     * or many_stop_show_all() tells the client later. Lets no thread go on from within, and sends
     * the client nothing. */
    bool (*stopped)(struct many_verbs *verbs, struct many_task *task, struct many_thread *thread);
    /* The client has asked that this thread go on (continue, a step); called before it does. The
     * verbs' plans for the thread are over. */
    void (*resumed)(struct many_verbs *verbs, int64_t thread);
    /* Another client drives the debuggee from now on: the verbs' plans for its threads are over. */
    void (*yielded)(struct many_verbs *verbs, struct many_task *task);
    /* A debuggee is gone. */
    void (*gone)(struct many_verbs *verbs, struct many_task *task);
};

#endif
