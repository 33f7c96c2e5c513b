/* A held worker that runs no task, as the cluster says: a thread of the user's may have outlived
 * its call. The sessions with `endWithTask` ask the worker; so does the hub if none of them does.
 */
#include "relay/hub/hub_state.h"

#include "relay/stack/user_threads.h"

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
    hub->idle_us = loop_now_us();
    if (json)
        hub_judge_idle(hub, user_threads_stand(json, envelope));
}

static void ask(struct hub *hub)
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
        ask(hub);
}
