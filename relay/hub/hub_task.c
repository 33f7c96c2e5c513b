/* Asks a process what it runs, where the cluster does not tell. */
#include "relay/hub/hub_state.h"

#include "base/mem.h"
#include "relay/pause/agent_facts.h"
#include "relay/stack/user_threads.h"

#include <stdlib.h>

/* --- the task on a stopped thread of a process that has dialled the relay --- */

/* The cluster does not list such a process as paused. */

/* relay/worker_agent/agent.py; the thread itself evaluates it. As a watch: debugpy before 1.8.7
 * prints the values of a REPL. */
static const char query[] = "__import__('sys').modules['raydbg_agent'].describe()";

static void on_described(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct hub *hub = hub_checked(arg);
    (void)len;
    hub_note_asked(hub, json != NULL);
    char *result = envelope_result(json, envelope);
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
    hub_ask_shown(hub, "evaluate", arguments, on_described);
    free(arguments);
}

/* --- a held worker that runs no task, as the cluster says --- */

/* A thread of the user's may have outlived its call. The sessions with `endWithTask` ask the
 * worker; so does the hub if none of them does. */

/* Between two questions: without a member, and for members that may ask themselves. */
enum { ALONE_MS = 2000, MEMBERS_MS = 3000 };

void hub_judge_idle(struct hub *hub, bool outlived)
{
    enum hub_idle judged = outlived ? HUB_OUTLIVED : HUB_IDLE;
    hub->idle_us = loop_now_us();
    if (hub->idle == HUB_BUSY || hub->idle == judged)
        return;
    hub->idle = judged;
    hub_changed(hub);
}

/* A worker that does not answer is not judged. */
static void on_user_threads(void *arg, const char *json, size_t len,
                            const struct envelope *envelope)
{
    struct hub *hub = hub_checked(arg);
    (void)len;
    hub->idle_asked = false;
    if (json)
        hub_judge_idle(hub, user_threads_stand(json, envelope));
    else
        hub->idle_us = loop_now_us();
}

static void ask_user_threads(struct hub *hub)
{
    struct buf arguments = {0};
    user_threads_query(&arguments);
    hub->idle_asked = true;
    target_ask(hub->target, "evaluate", arguments.data, USER_THREADS_MS, on_user_threads, hub);
    buf_free(&arguments);
}

void hub_note_idle(struct hub *hub, bool idle)
{
    bool begins = hub->idle == HUB_BUSY;
    if (!idle || hub->state != HUB_READY || *hub->reason || !*hub->pause.task_id ||
        hub->pause.debugger != PAUSE_DEBUGPY) {
        hub->idle = HUB_BUSY;
        return;
    }
    if (begins) {
        hub->idle = HUB_UNJUDGED;
        hub->idle_us = loop_now_us();
    }
    int64_t rest_ms = hub->members ? MEMBERS_MS : begins ? 0 : ALONE_MS;
    if (hub->idle != HUB_IDLE && !hub->idle_asked && loop_now_us() - hub->idle_us >= rest_ms * 1000)
        ask_user_threads(hub);
}
