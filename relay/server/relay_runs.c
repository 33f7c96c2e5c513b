/* The processes of `raydbg run`, for sessions that are about one run. */
#include "relay/server/relay_state.h"

#include <stdlib.h>

static bool has(void *arg, const char *run, const struct pause *pause)
{
    const struct relay *relay = relay_checked(arg);
    return agents_run_has(relay->agents, run, pause);
}

static void set(void *arg, const void *owner, const char *run, const char *json,
                struct span arguments)
{
    const struct relay *relay = relay_checked(arg);
    const char *file =
        session_breakpoints_set(relay->session_breakpoints, owner, run, json, arguments);
    if (file)
        agents_session_changed(relay->agents, run, file);
}

static bool body(void *arg, const void *owner, const char *file, struct buf *out)
{
    const struct relay *relay = relay_checked(arg);
    return session_breakpoints_body(relay->session_breakpoints, owner, file, out);
}

static void stop_failures(void *arg, const void *owner, const char *run, bool stop)
{
    const struct relay *relay = relay_checked(arg);
    if (session_breakpoints_stop_failures(relay->session_breakpoints, owner, run, stop))
        agents_failures_changed(relay->agents, run);
}

static void drop(void *arg, const void *owner, const char *run)
{
    const struct relay *relay = relay_checked(arg);
    char *file;
    stop_failures(arg, owner, run, false);
    while ((file = session_breakpoints_drop(relay->session_breakpoints, owner))) {
        agents_session_changed(relay->agents, run, file);
        free(file);
    }
}

void relay_runs_start(struct relay *relay)
{
    relay->session_breakpoints = session_breakpoints_create();
    relay->runs = (struct session_runs){.has = has,
                                        .set = set,
                                        .body = body,
                                        .stop_failures = stop_failures,
                                        .drop = drop,
                                        .arg = relay};
}
