/* A client that does not read stops only the tasks that send much: the quiet ones may have other
 * clients, which read. */
#include "relay/many/many_state.h"

/* The bytes that a debuggee may send to a client that does not read: one that this session drives,
 * before it is not read any more; one that another client drives, before the session leaves it. */
enum { DRIVEN_MAX = 64 << 10, OBSERVED_MAX = 1 << 20, AGAIN_MS = 15000 };

void many_flow(struct many *many, bool enable)
{
    many->halted = !enable;
    for (struct many_task *at = many->targets; at; at = at->next) {
        at->said = 0;
        if (enable && at->inner)
            session_flow(at->inner, true);
    }
}

static bool is_too_much(const struct many_task *task)
{
    return task->said > OBSERVED_MAX && !session_stops_all(task->inner);
}

static void leave(struct many_task *task)
{
    struct many *many = task->many;
    char title[256];
    pause_title(&task->pause, title, sizeof title);
    many_say(many, "important",
             "raydbg: %s is left: another client drives it, and this one lags behind\n", title);
    if (many->find)
        many_discovery_shun(many->find, &task->pause, AGAIN_MS);
    many_task_leave(task, HUB_LEAVE);
}

/* Deferred: the caller is still handling the message that crossed the limit. */
static void on_lag(void *arg)
{
    struct many *many = many_checked(arg);
    many->lag = NULL;
    for (struct many_task *at = many->targets; at; at = at->next)
        if (many_task_is_there(at) && is_too_much(at))
            leave(at);
}

void many_flow_count(struct many_task *task, size_t len)
{
    struct many *many = task->many;
    if (!many->halted || many->leaving)
        return;
    task->said += len;
    if (task->said > DRIVEN_MAX)
        session_flow(task->inner, false); /* does nothing where another client drives */
    if (is_too_much(task) && !many->lag)
        many->lag = timer_start(many->loop, 0, on_lag, many);
}

void many_flow_stop(struct many *many)
{
    timer_cancel(&many->lag);
}
