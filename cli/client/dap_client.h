/* A synchronous DAP client over an adapter, for the console: each request runs the loop until its
 * response comes. Do not call it from the loop's callbacks. */
#ifndef RAYDBG_CLI_CLIENT_DAP_CLIENT_H
#define RAYDBG_CLI_CLIENT_DAP_CLIENT_H

#include "base/err.h"
#include "cli/client/adapter.h"
#include "cli/client/dap_values.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dap_client;

/* A response; `body` points into `text`. */
struct reply {
    char *text;
    struct json body;
};

void reply_clear(struct reply *reply);

struct dap_client_thread {
    int64_t id;
    int64_t number; /* 1, 2, … in the order of discovery */
    char *name;
    bool stopped;
    bool fresh;       /* stopped since dap_client_next_stop() last returned it */
    bool stepped_off; /* runs because a step has left the task's code */
    char *reason;
    char *description;
    char *text;
};

struct dap_client_ops {
    /* An `output` event, or one of its lines; may run from within the loop: only print. */
    void (*on_output)(void *arg, const char *category, const char *text);
    /* A `breakpoint` event's breakpoint; may run from within the loop. */
    void (*on_breakpoint)(void *arg, struct json breakpoint);
    /* Called between turns of the loop while a request waits; false gives the request up. */
    bool (*on_wait)(void *arg);
};

/* `relay` as in adapter_create(). */
struct dap_client *dap_client_create(const struct session_options *options,
                                     const struct relay_address *relay,
                                     const struct dap_client_ops *ops, void *arg);
void dap_client_destroy(struct dap_client **client);

/* The session is over many tasks: `continue` resumes one thread, and allThreadsStopped means the
 * threads of all tasks. */
void dap_client_expect_many(struct dap_client *client);

/* initialize, attach (with `attach`, a JSON object, for arguments), configurationDone. */
int dap_client_attach(struct dap_client *client, const char *attach, struct err *err);

/* Sends a request (`arguments`: a JSON object, or NULL) and waits for its response. `reply` may be
 * NULL. On failure `reply` is empty, and err->what is the last line of the response's message (of a
 * Python traceback, the exception). `timeout_ms` -1: no limit. */
int dap_client_request(struct dap_client *client, const char *command, const char *arguments,
                       struct reply *reply, struct err *err);
int dap_client_request_within(struct dap_client *client, const char *command, const char *arguments,
                              int64_t timeout_ms, struct reply *reply, struct err *err);

/* Sends a request that resumes a thread, or with `continue` all threads of a worker. They count as
 * running until events say otherwise. */
int dap_client_resume(struct dap_client *client, const char *command, int64_t thread,
                      struct err *err);

/* Marks a thread as running after another request has resumed it, until events say otherwise. */
void dap_client_let_go(struct dap_client *client, int64_t thread);

/* The pointers below are valid until the loop runs again, which any request makes it do. */

/* The stopped thread with the oldest stop that was neither returned nor seen yet, or NULL. */
const struct dap_client_thread *dap_client_next_stop(struct dap_client *client);
void dap_client_seen(struct dap_client *client, int64_t id);
bool dap_client_has_fresh_stop(const struct dap_client *client);
const struct dap_client_thread *dap_client_thread(const struct dap_client *client, int64_t id);
/* False if only dap_client_threads() can find some of the threads. */
bool dap_client_knows_all(const struct dap_client *client);
/* The threads known so far; sends no request, unlike dap_client_threads(). */
const struct dap_client_thread *dap_client_known(const struct dap_client *client, size_t *count);
/* Reads the names of all threads (a `threads` request) and gives their number. */
int dap_client_threads(struct dap_client *client, const struct dap_client_thread **threads,
                       size_t *count, struct err *err);

/* True once the worker or the session has closed its side. */
bool dap_client_ended(const struct dap_client *client);
/* The reason if the relay was lost; NULL after an orderly end. */
const struct err *dap_client_end(const struct dap_client *client);

enum dap_client_leave {
    DAP_CLIENT_GOODBYE, /* the user quit: without a relay the task goes on */
    DAP_CLIENT_STAY,    /* with a relay it stays stopped */
    DAP_CLIENT_KILL,    /* the worker ends */
};

enum dap_client_left {
    DAP_CLIENT_ANSWERED,
    DAP_CLIENT_CLOSED, /* the session was gone, has ended without an answer, or said why not */
    DAP_CLIENT_SILENT, /* there was no answer in time, or on_wait() did not wait for it */
};

enum dap_client_left dap_client_leave(struct dap_client *client, enum dap_client_leave how);

#endif
