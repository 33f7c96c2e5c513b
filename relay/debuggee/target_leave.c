/* The end of a target: what is still being evaluated is given up, then `disconnect`. */
#include "relay/debuggee/target_state.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/inject/inject.h"

#include <stdlib.h>
#include <string.h>

enum {
    LEAVE_MS = 8000,
    ANSWERS_MS = 20,    /* between checks that everything is answered */
    PATIENCE_MS = 1000, /* for answers, before they are given up */
    CLOSE_MS = 200,     /* for the adapter's own end of the connection */
};

/* While a request other than `evaluate` runs code of the task, the adapter reads nothing; the
 * worker then gives the request up (relay/inject/inject_interrupt.c), and the closer lets the task
 * go. */
static char *deaf_text(const struct target *target)
{
    if (target->pdb)
        return mem_string("the debugger does not answer: the task goes on when what it evaluates "
                          "has ended; to end that, cancel the task");
    char *kill = target->facts.adapter ? mem_format("kill %d", target->facts.adapter)
                                       : mem_string("python .../debugpy/adapter --for-server ...");
    char *text = mem_format("the debugger does not answer. If it runs code for a request, that is "
                            "interrupted after 30 s, and the task goes on; otherwise the task may "
                            "stay stopped: to let it go, end debugpy's adapter on the worker's "
                            "machine (%s), or cancel the task",
                            kill);
    free(kill);
    return text;
}

static void on_leave_timeout(void *arg)
{
    struct target *target = target_checked(arg);
    target->timer = NULL;
    timer_cancel(&target->again);
    target_move(target, TARGET_GONE);
    target->deaf = true;
    char *why = deaf_text(target);
    log_warn("%s:%d: %s", target->host, target->port, why);
    target->ops->on_gone(target->arg, why);
    free(why);
}

static void on_left_open(void *arg)
{
    struct target *target = target_checked(arg);
    target->again = NULL;
    link_end(target->link, "the debugger was disconnected");
}

/* debugpy's newer adapters close after their answer; 1.8.0's does not, and neither does a pydevd.
 */
static void on_goodbye(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct target *target = target_checked(arg);
    (void)len;
    target->let_go = json && envelope->success;
    if (json && target->state == TARGET_LEAVING)
        target->again =
            timer_start(target->loop, target->reverse ? 0 : CLOSE_MS, on_left_open, target);
}

/* The worker's own words are in relay/inject/inject.h. */
static void on_given_up(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    static const char busy[] = "busy ";
    struct target *target = target_checked(arg);
    (void)len;
    char *what = envelope_result(json, envelope);
    char *text = NULL;
    if (what && text_starts(what, busy))
        text = mem_format("raydbg: an expression that nothing can interrupt is still evaluated "
                          "(%s); its thread goes on when that ends\n",
                          what + strlen(busy));
    else if (what && text_starts(what, "interrupted ") && !text_equal(what, "interrupted 0"))
        text = mem_string("raydbg: what was still being evaluated was interrupted\n");
    if (text && target->state != TARGET_GONE)
        target->ops->on_note(target->arg, text);
    free(text);
    free(what);
}

void target_give_up(struct target *target)
{
    if (!target->pdb)
        link_ask(target->link, "evaluate",
                 "{\"context\":\"repl\",\"expression\":\"" INJECT_GIVE_UP "\"}", 0, on_given_up,
                 target);
}

/* Sends `disconnect` once everything is answered: an `evaluate` that ends after it ends the
 * adapter, and then no client can reach the worker again. */
static void say_goodbye(void *arg)
{
    struct target *target = target_checked(arg);
    target->again = NULL;
    if (link_owed(target->link) && ++target->waits == PATIENCE_MS / ANSWERS_MS)
        target_give_up(target);
    if (link_owed(target->link))
        target->again = timer_start(target->loop, ANSWERS_MS, say_goodbye, target);
    else
        link_ask(target->link, "disconnect", "{\"restart\":false,\"terminateDebuggee\":false}", 0,
                 on_goodbye, target);
}

void target_leave(struct target *target, bool kill)
{
    if (target->state != TARGET_READY && target->state != TARGET_RUNNING)
        return;
    target_move(target, TARGET_LEAVING);
    target->timer = timer_start(target->loop, LEAVE_MS, on_leave_timeout, target);
    if (kill)
        link_ask(target->link, "disconnect", "{\"restart\":false,\"terminateDebuggee\":true}", 0,
                 NULL, NULL);
    else
        say_goodbye(target);
}
