/* The agents in workers and drivers that have dialled the relay, and their pydevds. Each agent
 * sleeps until the relay has a breakpoint; then its process gets a pydevd, whose hub
 * (hub_table_accept()) lives until the last breakpoint is removed and no client looks. Everything
 * runs on the loop's thread. */
#ifndef RAYDBG_RELAY_REVERSE_AGENTS_H
#define RAYDBG_RELAY_REVERSE_AGENTS_H

#include "relay/access/auth.h"
#include "relay/breakpoints/breakpoint_store.h"
#include "relay/breakpoints/session_breakpoints.h"
#include "relay/hub/hub_table.h"

struct agents;

/* All are borrowed until agents_destroy(). */
struct agents_options {
    struct loop *loop;
    const struct auth *auth;
    struct hub_table *hubs;
    struct breakpoint_store *breakpoints; /* whose hits are counted here */
    struct session_breakpoints *session_breakpoints;
};

/* A process that has dialled: see listener_debuggee (relay/port/listener.h). */
struct agents_call {
    int fd; /* the callee's */
    const char *line, *peer;
    const char *address;     /* that it has dialled */
    const char *fingerprint; /* of the certificate that it was shown; NULL without TLS */
};

struct agents_ops {
    /* For the audit log: an agent or a pydevd was admitted ("connect", "debug") or "refused". */
    void (*on_act)(void *arg, const char *action, const char *peer, const char *detail);
    /* A breakpoint's condition has failed in a process. */
    void (*on_problem)(void *arg, int64_t breakpoint, const char *error);
    /* A worker of the cluster with this GCS has dialled. */
    void (*on_cluster)(void *arg, const char *address);
};

struct agents_count {
    size_t connected;    /* agents that have proven themselves */
    size_t debugged;     /* of them whose threads all stop at breakpoints */
    size_t slowed;       /* of them that have, or will soon have, pydevd on a Python where it slows
                            each call */
    const char *problem; /* why one of them cannot be debugged, of several that which has dialled
                            last; or NULL; borrowed */
};

struct agents *agents_create(const struct agents_options *options, const struct agents_ops *ops,
                             void *arg);
/* Closes the connections of the agents, which dial again later. After the hub table's end. */
void agents_destroy(struct agents **agents);

/* A listener's on_debuggee. */
void agents_accept(struct agents *agents, const struct agents_call *call);
/* The breakpoints of this file have changed: sets them in all processes, and wakes or frees them.
 */
void agents_breakpoints_changed(struct agents *agents, const char *file);
/* The same for a session's breakpoints in this file, which concern one run. */
void agents_session_changed(struct agents *agents, const char *run, const char *file);
/* Tells the processes of this run whether their tasks that fail are to stop:
 * session_breakpoints_stops_failures(). */
void agents_failures_changed(const struct agents *agents, const char *run);
/* True if the pause is of a process of this run (the id of its agent key), or of its job. */
bool agents_run_has(const struct agents *agents, const char *run, const struct pause *pause);
void agents_count(const struct agents *agents, struct agents_count *out);

/* For the hub table's on_ready, on_own_set, on_hub_change and on_end. */
void agents_hub_set(struct agents *agents, const struct hub *hub, const char *json,
                    const struct envelope *response);
void agents_hub_ready(struct agents *agents, struct hub *hub);
void agents_hub_changed(struct agents *agents, const struct hub *hub);
void agents_hub_end(struct agents *agents, const struct hub *hub);

#endif
