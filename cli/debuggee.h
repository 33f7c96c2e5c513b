/* A synchronous DAP client over an adapter: what the console asks, it waits for, while the loop
 * runs. Nothing here is for callbacks of the loop. */
#ifndef RAYDBG_CLI_DEBUGGEE_H
#define RAYDBG_CLI_DEBUGGEE_H

#include "base/err.h"
#include "cli/adapter.h"
#include "cli/console_json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct debuggee;

/* A response's message; `body` points into `text`. */
struct reply {
    char *text;
    struct json body;
};

void reply_clear(struct reply *reply);

struct debuggee_thread {
    int64_t id;
    int64_t number; /* 1, 2, … in the order in which they became known */
    char *name;
    bool stopped;
    bool fresh; /* stopped since debuggee_next_stop() gave it last */
    char *reason;
    char *description;
    char *text;
};

struct debuggee_ops {
    /* An `output` event, or one of its lines; may run from within the loop: only print. */
    void (*on_output)(void *arg, const char *category, const char *text);
    /* A `breakpoint` event's breakpoint; may run from within the loop. */
    void (*on_breakpoint)(void *arg, struct json breakpoint);
    /* Called between turns of the loop while a request waits; false gives the request up. */
    bool (*on_wait)(void *arg);
};

/* `relay` as in adapter_create(). */
struct debuggee *debuggee_create(const struct session_options *options,
                                 const struct relay_address *relay, const struct debuggee_ops *ops,
                                 void *arg);
void debuggee_destroy(struct debuggee **debuggee);

/* Its threads are those of many tasks: each goes on alone, and a stop of all is one of all tasks.
 */
void debuggee_expect_many(struct debuggee *debuggee);

/* initialize, attach (with `attach`, a JSON object, for arguments), configurationDone. */
int debuggee_attach(struct debuggee *debuggee, const char *attach, struct err *err);

/* Sends a request (`arguments`: a JSON object, or NULL) and waits for its response. `reply` may be
 * NULL; on failure it is empty, and err->what has the last line of the answer's message: of a
 * Python traceback, the exception. `timeout_ms` -1: no limit. */
int debuggee_request(struct debuggee *debuggee, const char *command, const char *arguments,
                     struct reply *reply, struct err *err);
int debuggee_request_within(struct debuggee *debuggee, const char *command, const char *arguments,
                            int64_t timeout_ms, struct reply *reply, struct err *err);

/* Requests that let a thread, or with `continue` all of a worker's, run until events say otherwise.
 */
int debuggee_resume(struct debuggee *debuggee, const char *command, int64_t thread,
                    struct err *err);

/* Another request has let it go: it is running until events say otherwise. */
void debuggee_let_go(struct debuggee *debuggee, int64_t thread);

/* What these give is valid until the loop turns again, as any request makes it. */

/* A stopped thread that was not given or seen yet, oldest stop first, or NULL. */
const struct debuggee_thread *debuggee_next_stop(struct debuggee *debuggee);
void debuggee_seen(struct debuggee *debuggee, int64_t id);
bool debuggee_has_fresh_stop(const struct debuggee *debuggee);
const struct debuggee_thread *debuggee_thread(const struct debuggee *debuggee, int64_t id);
/* False if there may be threads that only debuggee_threads() finds. */
bool debuggee_knows_all(const struct debuggee *debuggee);
/* Those that are known, as they are known; debuggee_threads() asks for them. */
const struct debuggee_thread *debuggee_known(const struct debuggee *debuggee, size_t *count);
/* Reads the names of all threads (a `threads` request); gives their number. */
int debuggee_threads(struct debuggee *debuggee, const struct debuggee_thread **threads,
                     size_t *count, struct err *err);

/* The worker has closed its side, or the session has. */
bool debuggee_ended(const struct debuggee *debuggee);
/* Why, if it ended out of order: the relay is gone. Else NULL. */
const struct err *debuggee_end(const struct debuggee *debuggee);

/* Leaves: the task goes on, or with `kill` its worker ends. */
void debuggee_leave(struct debuggee *debuggee, bool kill);

#endif
