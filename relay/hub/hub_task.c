/* Asks a process that has dialled the relay which task runs on a stopped thread: the cluster does
 * not list such a process as paused. */
#include "relay/hub/hub_state.h"

#include "base/mem.h"
#include "relay/pause/agent_facts.h"

#include <stdlib.h>

enum { ASK_MS = 5000 };

/* relay/worker_agent/agent.py; the thread itself evaluates it. As a watch: debugpy before 1.8.7
 * prints the values of a REPL. */
static const char query[] = "__import__('sys').modules['raydbg_agent'].describe()";

static void on_described(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct hub *hub = hub_checked(arg);
    (void)len;
    char *result =
        json && envelope->success ? scan_string_at(json, envelope->body, "result") : NULL;
    if (agent_facts_unhex(&hub->pause, result)) {
        hub_save(hub);
        hub_changed(hub);
    }
    free(result);
}

void hub_ask_task(struct hub *hub, const char *json, const struct envelope *stack)
{
    struct span frames, frame;
    size_t cursor = 0;
    int64_t id;
    if (hub->pause.debugger != PAUSE_PYDEVD || !stack->success || !stack->body.len ||
        !scan_find(json, stack->body, "stackFrames", &frames) || json[frames.at] != '[' ||
        !scan_element(json, frames, &cursor, &frame) || !scan_integer_at(json, frame, "id", &id))
        return;
    char *arguments = mem_format("{\"context\":\"watch\",\"frameId\":%lld,\"expression\":\"%s\"}",
                                 (long long)id, query);
    target_ask(hub->target, "evaluate", arguments, ASK_MS, on_described, hub);
    free(arguments);
}
