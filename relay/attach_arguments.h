/* The arguments of a client's `attach`: what is raydbg's own, and what debugpy gets. Pure. */
#ifndef RAYDBG_RELAY_ATTACH_ARGUMENTS_H
#define RAYDBG_RELAY_ATTACH_ARGUMENTS_H

#include "base/err.h"
#include "dap/scan.h"
#include "relay/annotate.h"
#include "relay/pause_filter.h"

#include <stdbool.h>
#include <stdint.h>

/* Strings are owned; NULL where the client said nothing. */
#define ATTACH_MAX_SESSIONS 16

struct attach_arguments {
    char *address;
    char *task;
    char *connect_host; /* "connect": {"host", "port"} or "HOST:PORT": no discovery */
    uint16_t connect_port;
    bool sub_process;
    bool kill;
    bool no_tune;
    char *token;                 /* a relay's */
    bool observe;                /* "role": "observer" */
    bool take_over;              /* "takeOver" */
    bool continue_on_disconnect; /* "onDisconnect": "continue" */
    /* "objectStore": {"annotate": "auto"|"off", "unit": "auto"|"B"|"KB"|"MB"|"GB",
     * "fields": ["size", "owner", "state"], "scope": true|false} */
    struct annotate_options objects;
    bool no_object_scope;
    /* --- one session over many tasks (attach_arguments_many()) --- */
    /* "tasks": "*", a task, or a list of tasks; "job", "actor", "node". A "task" is one of the
     * tasks if it is a glob, or if any of these or "mode" is given. */
    struct pause_filter many;
    bool mode_named;      /* "mode" was given */
    bool sessions;        /* "mode": "sessions", not "threads" */
    int64_t max_sessions; /* "maxSessions"; ATTACH_MAX_SESSIONS if not given */
    char *thread_name;    /* "threadName": a template, see multi_names.h */
    bool all_threads;     /* "allThreads": those too that have never stopped */
    bool eager;           /* "eager": the first stop is shown before the others have come */
    bool preserve_focus;  /* "preserveFocus": what is shown first leaves the focus to the client */
    char *ticket;         /* of a child session */
    /* A JSON object: the members that one of the many is to be attached with, as they came. */
    char *each;
    /* For debugpy: every other member with the bytes it came with, justMyCode off (on Python
     * <= 3.11 breakpoint() would never stop: debugpy-facts 0.7), and none that makes the adapter
     * look for another process. */
    char *upstream;
};

/* `arguments` may be empty (len 0). A member of the wrong type is an error that names it. */
int attach_arguments_read(struct attach_arguments *out, const char *json, struct span arguments,
                          struct err *err);
/* The task that the command line names, for an attach that names none. */
void attach_arguments_default_task(struct attach_arguments *arguments, const char *task);
/* Whether it is about all that match, present and future, and not about one task. */
bool attach_arguments_many(const struct attach_arguments *arguments);
void attach_arguments_clear(struct attach_arguments *arguments);

/* The arguments of `initialize` for the adapter, from the client's own (len 0: none): what only
 * concerns reverse requests is taken out unless `sub_process`. The caller frees. */
char *initialize_arguments(const char *json, struct span arguments, bool sub_process);

#endif
