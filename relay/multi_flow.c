/* A client that does not read stops those tasks that have much to say, and no others: the quiet
 * ones may have other clients, who read. */
#include "relay/multi_state.h"

/* What each debuggee may still say to a client that does not read: of one that it drives, before
 * the debuggee is not read any more; of one that somebody else drives, before it is left. */
enum { DRIVEN_MAX = 64 << 10, OBSERVED_MAX = 1 << 20, AGAIN_MS = 15000 };

void multi_flow(struct multi *multi, bool enable)
{
    multi->halted = !enable;
    for (struct multi_target *at = multi->targets; at; at = at->next) {
        at->said = 0;
        if (enable && at->inner)
            session_flow(at->inner, true);
    }
}

static bool is_too_much(const struct multi_target *target)
{
    return target->said > OBSERVED_MAX && !session_drives(target->inner);
}

static void leave(struct multi_target *target)
{
    struct multi *multi = target->multi;
    char title[256];
    pause_title(&target->pause, title, sizeof title);
    multi_say(multi, "important",
              "raydbg: %s is left: another client drives it, and this one lags behind\n", title);
    if (multi->find)
        multi_find_shun(multi->find, &target->pause, AGAIN_MS);
    multi_target_leave(target, HUB_LEAVE);
}

/* Not from within the message that was one too many. */
static void on_lag(void *arg)
{
    struct multi *multi = arg;
    multi->lag = NULL;
    for (struct multi_target *at = multi->targets; at; at = at->next)
        if (multi_target_is_there(at) && is_too_much(at))
            leave(at);
}

void multi_flow_count(struct multi_target *target, size_t len)
{
    struct multi *multi = target->multi;
    if (!multi->halted || multi->leaving)
        return;
    target->said += len;
    if (target->said > DRIVEN_MAX)
        session_flow(target->inner, false); /* nothing happens to one that somebody else drives */
    if (is_too_much(target) && !multi->lag)
        multi->lag = timer_start(multi->loop, 0, on_lag, multi);
}

void multi_flow_stop(struct multi *multi)
{
    timer_cancel(&multi->lag);
}
