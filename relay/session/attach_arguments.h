/* The arguments of a client's `attach`: raydbg's own, and those that debugpy gets. Pure. */
#ifndef RAYDBG_RELAY_SESSION_ATTACH_ARGUMENTS_H
#define RAYDBG_RELAY_SESSION_ATTACH_ARGUMENTS_H

#include "base/err.h"
#include "dap/scan.h"
#include "relay/annotate/annotate.h"
#include "relay/pause/pause_filter.h"

#include <stdbool.h>
#include <stdint.h>

#define ATTACH_MAX_SESSIONS 16

/* Strings are owned; NULL where the client gave none. Each session has one of these: the order of
 * the members leaves no gaps. */
struct attach_arguments {
    char *address;
    char *task;
    char *connect_host; /* "connect": {"host", "port"} or "HOST:PORT": no discovery */
    char *token;        /* the relay's */
    char *ticket;       /* "ticket": of a child session */
    /* "run": only processes that this `raydbg run` has started; its id. Not with "sessions". */
    char *run;
    /* A JSON object: the members for the attach of each of the many tasks, byte for byte. */
    char *each;
    /* For debugpy: every other member that it knows, byte for byte, with justMyCode off (on Python
     * <= 3.11 breakpoint() would never stop: docs/facts/debugpy.md#0.7), and without members that
     * make the adapter look for another process. */
    char *upstream;
    char *unknown;     /* the quoted names of members that go nowhere, for a warning; NULL: none */
    char *thread_name; /* "threadName": a template, see task_label.h */
    int64_t max_sessions; /* "maxSessions"; ATTACH_MAX_SESSIONS if not given */
    /* For one session over many tasks (attach_arguments_many()): "tasks": "*", a task, or a list of
     * tasks; "job", "actor", "node". A "task" is one of the tasks if it is a glob, or if any of
     * these, "mode" or "run" is given. */
    struct pause_filter many;
    /* "objectStore": {"annotate": "auto"|"off", "unit": "auto"|"B"|"KB"|"MB"|"GB",
     * "fields": ["size", "owner", "state"], "scope": true|false} */
    struct annotate_options objects;
    uint16_t connect_port;
    bool no_object_scope;
    bool sub_process;
    bool kill;
    bool no_tune;
    bool observe;                /* "role": "observer" */
    bool take_over;              /* "takeOver" */
    bool continue_on_disconnect; /* "onDisconnect": "continue" */
    bool end_with_task;          /* "endWithTask": the session ends when its one task has */
    bool just_my_code;           /* "justMyCode" is true, which has no effect: for a warning */
    /* For many tasks: */
    bool mode_named;     /* "mode" was given */
    bool sessions;       /* "mode": "sessions", not "threads" */
    bool all_threads;    /* "allThreads": threads that have never stopped are listed, too */
    bool eager;          /* "eager": the first stop is shown without waiting for the others */
    bool preserve_focus; /* "preserveFocus": the first stop shown leaves the focus to the client */
};

/* `arguments` may be empty (len 0). A member of the wrong type is an error that names it. */
int attach_arguments_read(struct attach_arguments *out, const char *json, struct span arguments,
                          struct err *err);
/* Sets the command line's task, for an attach that names none. */
void attach_arguments_default_task(struct attach_arguments *arguments, const char *task);
/* True if the attach is about all pauses that match, present and future, and not about one task. */
bool attach_arguments_many(const struct attach_arguments *arguments);
void attach_arguments_clear(struct attach_arguments *arguments);

#endif
