/* POST /v1/pauses/{id}/hold, /continue and /release. */
#include "relay/server/relay_state.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/pause/pause_reach.h"
#include "relay/session/pause_finder.h"

#include <stdlib.h>
#include <string.h>

enum { ATTACH_MS = 20000, ASK_AGAIN_MS = 50, CONTINUE_MS = 8000 };

/* --- calls that wait --- */

/* A call that waits until its pause is attached, or its task runs on or was let go. */
struct http_wait {
    struct http_wait *next;
    struct relay *relay;
    struct http_call *call;
    struct pause pause;
    const struct hub *releasing; /* NULL: waits for something else */
    struct timer *timer;
    int64_t until_us;
};

static struct http_wait *wait_begin(struct relay *relay, struct http_call *call,
                                    const struct pause *pause)
{
    struct http_wait *wait = mem_alloc(sizeof *wait);
    *wait = (struct http_wait){.next = relay->waits, .relay = relay, .call = call};
    pause_copy(&wait->pause, pause);
    relay->waits = wait;
    return wait;
}

static void wait_free(struct http_wait *wait)
{
    timer_cancel(&wait->timer);
    pause_clear(&wait->pause);
    free(wait);
}

static void wait_end(struct http_wait *wait)
{
    LIST_DROP(wait->relay->waits, wait);
    wait_free(wait);
}

/* Answers with the one pause as it is now. */
static void answer_pause(struct relay *relay, struct http_call *call, const struct pause *pause)
{
    struct pause_list one = {.items = (struct pause *)(uintptr_t)pause, .count = 1}, all;
    struct buf json = {0};
    hub_table_list(relay->hubs, &one, &all);
    relay_pause_json(&all.items[0], &json);
    buf_add_string(&json, "\n");
    pause_list_clear(&all);
    relay_answer_json(call, 200, &json);
}

static void answer_problem(struct http_wait *wait, const char *problem)
{
    struct err err;
    char title[256];
    pause_title(&wait->pause, title, sizeof title);
    err_set(&err, ERR_FAILED, "it is not known whether %s goes on", title);
    err_why(&err, "%s", problem);
    err_hint(&err, "raydbg list shows what is paused now");
    relay_answer_error(wait->call, 504, &err);
}

static void ask_held(void *arg)
{
    struct http_wait *wait = arg;
    wait->timer = NULL;
    struct hub *hub = hub_table_find(wait->relay->hubs, &wait->pause);
    const char *problem = hub_table_failure(wait->relay->hubs, &wait->pause);
    if (hub && hub_is_held(hub)) {
        answer_pause(wait->relay, wait->call, &wait->pause);
    } else if (!hub) {
        relay_refuse(wait->call, 409, problem ? problem : "the pause is gone",
                     "raydbg list shows what is paused now");
    } else if (loop_now_us() > wait->until_us) {
        relay_refuse(wait->call, 504, "the debugger does not answer", "");
    } else {
        wait->timer = timer_start(wait->relay->loop, ASK_AGAIN_MS, ask_held, wait);
        return;
    }
    wait_end(wait);
}

static void hold(void *arg)
{
    struct http_wait *wait = arg;
    struct err err;
    wait->timer = NULL;
    if (hub_table_find(wait->relay->hubs, &wait->pause) ||
        pause_reach_check(&wait->pause, &err) == 0) {
        hub_table_hold_pause(wait->relay->hubs, &wait->pause);
        wait->until_us = loop_now_us() + (int64_t)ATTACH_MS * 1000;
        ask_held(wait);
    } else if (pause_reach_is_early(&wait->pause)) {
        wait->timer = timer_start(wait->relay->loop, ASK_AGAIN_MS, hold, wait);
    } else {
        relay_answer_error(wait->call, 409, &err);
        wait_end(wait);
    }
}

static void do_hold(struct relay *relay, struct http_call *call, const struct pause *pause)
{
    hold(wait_begin(relay, call, pause));
}

/* The task runs, with its debugger open. If the relay does not hold it any more, nothing else is
 * known of it yet. */
static void answer_running(struct http_wait *wait)
{
    struct pause *pause = &wait->pause;
    if (pause->state != PAUSE_IDLE)
        pause->state = PAUSE_ATTACHED;
    free(pause->file);
    free(pause->reason);
    free(pause->driver);
    pause->file = pause->reason = pause->driver = NULL;
    pause->line = pause->clients = pause->held_ms = 0;
    answer_pause(wait->relay, wait->call, pause);
}

static void on_continued(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct http_wait *wait = arg;
    (void)len;
    if (json && envelope->success)
        answer_running(wait);
    else if (json)
        answer_problem(wait, "the debugger refused to continue it");
    else if (loop_now_us() < wait->until_us)
        answer_problem(wait, "the connection to the debugger ended before it had answered");
    else
        answer_problem(wait, "the debugger does not answer");
    wait_end(wait);
}

static void do_continue(struct relay *relay, struct http_call *call, const struct pause *pause)
{
    struct hub *hub = hub_table_find(relay->hubs, pause);
    struct http_wait *wait = wait_begin(relay, call, pause);
    wait->until_us = loop_now_us() + (int64_t)CONTINUE_MS * 1000;
    const char *why =
        hub ? hub_continue_then(hub, http_call_peer(call), CONTINUE_MS, on_continued, wait)
            : "this relay does not hold it";
    if (why) {
        relay_refuse(call, 409, why, "raydbg list shows what is held");
        wait_end(wait);
    }
}

void relay_post_released(struct relay *relay, const struct hub *hub, const char *problem)
{
    for (struct http_wait *wait = relay->waits, *next; wait; wait = next) {
        next = wait->next;
        if (wait->releasing != hub)
            continue;
        if (problem)
            answer_problem(wait, problem);
        else
            answer_running(wait);
        wait_end(wait);
    }
}

static void do_release(struct relay *relay, struct http_call *call, const struct pause *pause)
{
    struct hub *hub = hub_table_find(relay->hubs, pause);
    if (!hub)
        hub = hub_table_find_releasing(relay->hubs, pause);
    if (!hub) {
        relay_refuse(call, 409, "this relay does not hold it", "raydbg list shows what is held");
        return;
    }
    struct http_wait *wait = wait_begin(relay, call, pause);
    wait->releasing = hub;
    const char *why = hub_release(hub, http_call_peer(call));
    if (why) {
        relay_refuse(call, 409, why, "raydbg list shows what is held");
        wait_end(wait);
    }
}

static const struct deed {
    const char *name;
    void (*run)(struct relay *relay, struct http_call *call, const struct pause *pause);
} deeds[] = {
    {"hold", do_hold},
    {"continue", do_continue},
    {"release", do_release},
};

/* A POST that waits for a look at the cluster. */
struct request {
    struct relay *relay;
    struct http_call *call;
    const struct deed *deed;
    char *id;
};

static void request_free(struct request *request)
{
    free(request->id);
    free(request);
}

static const struct pause *find_pause(const struct relay *relay, const struct pause_list *pauses,
                                      const char *id, struct err *err)
{
    static const struct cluster_address nowhere = {.text = "this relay"};
    const struct pause *found = NULL;
    for (size_t i = 0; i < pauses->count; i++) {
        char *own = relay_pause_id(&pauses->items[i]);
        if (text_equal(own, id))
            found = &pauses->items[i];
        free(own);
    }
    if (!found)
        pause_finder_choose(
            pauses, id, relay->options.cluster ? cluster_address(relay->options.cluster) : &nowhere,
            &found, err);
    return found;
}

static void on_request_looked(void *arg, const struct err *problem, const struct pause_list *pauses)
{
    struct request *request = arg;
    struct err err;
    const struct pause *pause = find_pause(request->relay, pauses, request->id, &err);
    if (!pause) {
        relay_answer_error(request->call, problem ? 502 : 404, problem ? problem : &err);
    } else {
        relay_act(request->relay, request->deed->name, http_call_peer(request->call),
                  http_call_role(request->call), "http", pause, "");
        request->deed->run(request->relay, request->call, pause);
    }
    request_free(request);
}

void relay_post_pause(struct relay *relay, struct http_call *call, const char *rest)
{
    const char *slash = strrchr(rest, '/');
    const struct deed *deed = NULL;
    for (size_t i = 0; slash && i < sizeof deeds / sizeof *deeds; i++)
        if (text_equal(slash + 1, deeds[i].name))
            deed = &deeds[i];
    if (!deed || slash == rest) {
        relay_refuse(call, 404, "there is no such thing to do",
                     "POST /v1/pauses/{id}/hold, /continue or /release");
        return;
    }
    if (http_call_role(call) != AUTH_DRIVER) {
        relay_refuse(call, 403, "an observer's token lets one look only", "use a driver's token");
        return;
    }
    struct request *request = mem_alloc(sizeof *request);
    *request = (struct request){relay, call, deed, mem_string_n(rest, (size_t)(slash - rest))};
    relay_refresh(relay, on_request_looked, request);
}

void relay_post_stop(struct relay *relay)
{
    struct http_wait *wait = relay->waits;
    relay->waits = NULL;
    while (wait) {
        struct http_wait *next = wait->next;
        relay_refuse(wait->call, 503, "the relay is ending", "");
        wait_free(wait);
        wait = next;
    }
}
