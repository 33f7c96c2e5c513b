/* The functions of hub.h for the relay that owns a hub. */
#include "relay/hub/hub_state.h"

#include "base/mem.h"
#include "relay/inject/inject.h"
#include "relay/io/socket.h"

#include <stdlib.h>
#include <string.h>

bool hub_is_over(const struct hub *hub)
{
    return hub->state == HUB_RELEASING || hub_has_ended(hub);
}

bool hub_is_releasing(const struct hub *hub)
{
    return hub->state == HUB_RELEASING;
}

bool hub_goes_on(const struct hub *hub)
{
    return !hub_is_over(hub) || target_let_go(hub->target);
}

bool hub_is_finished(const struct hub *hub)
{
    return hub_has_ended(hub) && !hub->members;
}

bool hub_was_cut(const struct hub *hub)
{
    return hub->state == HUB_LOST && hub->silent;
}

void hub_keep(struct hub *hub)
{
    hub->hold = HUB_ON_PAUSE;
    hub_attach_alone(hub);
}

bool hub_is_kept(const struct hub *hub)
{
    return hub->hold == HUB_ON_PAUSE;
}

void hub_attach_alone(struct hub *hub)
{
    hub_run_alone(hub);
    hub_save(hub);
}

bool hub_is_held(const struct hub *hub)
{
    return hub->state == HUB_READY && (hub->hold != HUB_NEVER || hub->members);
}

const struct pause *hub_pause(const struct hub *hub)
{
    return &hub->pause;
}

bool hub_is_hidden(const struct hub *hub)
{
    return hub->stays && !hub->members && !target_has_stopped(hub->target);
}

static void on_own_set(void *arg, const char *json, size_t len, const struct envelope *response)
{
    struct hub *hub = hub_checked(arg);
    (void)len;
    hit_ids_answer_asked(&hub->hits, json, response);
    if (json && response->success && hub->ops->on_own_set)
        hub->ops->on_own_set(hub->arg, hub, json, response);
}

static void send_own(struct hub *hub, const char *arguments)
{
    hit_ids_ask(&hub->hits, hit_set_read("setBreakpoints", arguments,
                                         (struct span){0, strlen(arguments)}, NULL, 0));
    target_ask(hub->target, "setBreakpoints", arguments, 0, on_own_set, hub);
}

void hub_set_own(struct hub *hub, const char *arguments)
{
    struct buf json = {0}, merged = {0};
    struct envelope envelope, all;
    const char *problem;
    size_t own;
    buf_printf(&json, "{\"seq\":0,\"type\":\"request\",\"command\":\"setBreakpoints\",");
    buf_printf(&json, "\"arguments\":%s}", arguments);
    if (hub->state == HUB_READY && envelope_read(&envelope, json.data, json.len, &problem) == 0) {
        breakpoint_union_note(hub->sets, hub, json.data, &envelope);
        hub_save_sets(hub);
        if (breakpoint_union_merge(hub->sets, hub, json.data, json.len, &envelope, &merged, &own) &&
            envelope_read(&all, merged.data, merged.len, &problem) == 0) {
            char *together = mem_string_n(merged.data + all.arguments.at, all.arguments.len);
            send_own(hub, together);
            free(together);
        } else {
            send_own(hub, arguments);
        }
    }
    buf_free(&json);
    buf_free(&merged);
}

void hub_sync(struct hub *hub, int64_t timeout_ms, link_answer_fn fn, void *arg)
{
    target_ask(hub->target, "threads", NULL, timeout_ms, fn, arg);
}

bool hub_stands(const struct hub *hub)
{
    return target_has_stopped(hub->target);
}

const char *hub_reason(const struct hub *hub)
{
    return hub->reason;
}

size_t hub_members(const struct hub *hub)
{
    size_t count = 0;
    for (const struct member *at = hub->members; at; at = at->next)
        count++;
    return count;
}

const char *hub_driver(const struct hub *hub)
{
    return hub->driver && hub->driver->name ? hub->driver->name : "";
}

int64_t hub_held_since_ms(const struct hub *hub)
{
    return hub_is_held(hub) ? hub->held_since_ms : 0;
}

int64_t hub_idle_ms(const struct hub *hub)
{
    return (loop_now_us() - hub->touched_us) / 1000;
}

void *hub_arg(const struct hub *hub)
{
    return hub->arg;
}

const char *hub_attach_arguments(const struct hub *hub)
{
    return hub->attach;
}

const char *hub_attached_by(const struct hub *hub)
{
    return hub->attached_by;
}

const struct err *hub_problem(const struct hub *hub)
{
    return hub->problem;
}

struct note {
    const char *category, *text;
};

static void pass_note(struct member *member, const void *with)
{
    const struct note *note = with;
    member->ops->on_note(member->arg, note->category, note->text);
}

void hub_tell(struct hub *hub, const char *category, const char *text)
{
    struct note note = {category, text};
    hub_each_member(hub, pass_note, &note);
}

static void tell_who(struct hub *hub, const char *format, const char *who)
{
    char title[256];
    pause_title(&hub->pause, title, sizeof title);
    char *text = mem_format(format, title, who);
    hub_tell(hub, "console", text);
    free(text);
}

const char *hub_continue(struct hub *hub, const char *who)
{
    return hub_continue_then(hub, who, 0, NULL, NULL);
}

const char *hub_continue_then(struct hub *hub, const char *who, int64_t timeout_ms,
                              link_answer_fn fn, void *arg)
{
    if (hub->state != HUB_READY)
        return "it is not attached";
    if (target_state(hub->target) == TARGET_READY) {
        hub_run(hub);
        hub_save(hub);
        if (fn)
            hub_sync(hub, timeout_ms, fn, arg);
        return NULL;
    }
    if (!target_has_stopped(hub->target))
        return "it runs already";
    hub->touched_us = loop_now_us();
    hub_ask_continue(hub, timeout_ms, fn, arg);
    tell_who(hub, "raydbg: %s was continued by %s\n", who);
    hub_save(hub);
    return NULL;
}

const char *hub_release(struct hub *hub, const char *who)
{
    if (hub_is_over(hub))
        return hub_is_releasing(hub) ? NULL : "it is not attached";
    tell_who(hub, "raydbg: %s is released by %s\n", who);
    bool attached = hub->state == HUB_READY;
    hub_move(hub, HUB_RELEASING);
    hub_choose_reading(hub);
    hub_stop_saving(hub);
    if (attached) {
        target_leave(hub->target, false);
        return NULL;
    }
    hub_lose(hub, "the attach was given up");
    return "it was not attached yet: that was given up, and the task waits as before";
}

void hub_update_pause(struct hub *hub, const struct pause *pause)
{
    struct pause fresh = {0};
    hub_note_idle(hub, pause->state == PAUSE_IDLE);
    if (!pause->task_name && hub->pause.task_name)
        return;
    pause_copy(&fresh, pause);
    free(fresh.file);
    fresh.file = hub->pause.file;
    fresh.line = hub->pause.line;
    fresh.stopped_ms = hub->pause.stopped_ms;
    fresh.client_left = hub->pause.client_left;
    hub->pause.file = NULL;
    pause_clear(&hub->pause);
    hub->pause = fresh;
}

void hub_describe(const struct hub *hub, struct pause *pause)
{
    const struct pause *held = hub_pause(hub);
    /* A worker whose task has ended stays idle here, though its debugger is held: clients see the
     * end of the task by that. What has no task has no such end, nor has a thread that outlives it.
     */
    if (pause->state != PAUSE_IDLE || *hub_reason(hub) || !*held->task_id ||
        hub->idle == HUB_UNJUDGED || hub->idle == HUB_OUTLIVED)
        pause->state = PAUSE_HELD;
    pause->clients = (int64_t)hub_members(hub);
    pause->held_ms = hub_held_since_ms(hub);
    pause->stopped_ms = *hub_reason(hub) ? held->stopped_ms : 0;
    pause->client_left = *hub_reason(hub) && held->client_left;
    free(pause->file);
    free(pause->reason);
    free(pause->driver);
    pause->file = mem_string(held->file);
    pause->line = held->line;
    pause->reason = *hub_reason(hub) ? mem_string(hub_reason(hub)) : NULL;
    pause->driver = *hub_driver(hub) ? mem_string(hub_driver(hub)) : NULL;
}

/* --- the network --- */

static char *silence(const struct hub *hub)
{
    int cut_s = target_facts(hub->target).cut_s;
    if (cut_s > INJECT_CUT_DEBUGPY_S)
        return mem_format("nothing comes back from the worker's machine: the network between is "
                          "cut, or it is down. The task is held through a cut of up to %d minutes",
                          cut_s / 60);
    return mem_string(
        "nothing comes back from the worker's machine: the network between is cut, or it is down. "
        "The relay does not let the task go, but debugpy does when it has not heard of its client "
        "for some 16 s; the relay attaches again when the task waits again");
}

static void tell_silent(struct member *member, const void *why)
{
    member->ops->on_silent(member->arg, why);
}

static void tell_stops(struct member *member, const void *with)
{
    (void)with;
    if (member->configured)
        hub_tell_stops(member);
}

int64_t hub_look_network(struct hub *hub)
{
    if (!hub->shared || hub->state != HUB_READY)
        return 0;
    int64_t left_ms = hub->cut ? 0 : socket_silent_in_ms(target_fd(hub->target));
    bool silent = left_ms == 0;
    if (silent == hub->silent)
        return left_ms;
    hub->silent = silent;
    if (silent) {
        char *why = silence(hub);
        hub_each_member(hub, tell_silent, why);
        free(why);
    } else {
        hub_tell(hub, "important", "raydbg: the worker answers again\n");
        hub_each_member(hub, tell_stops, NULL);
    }
    hub_changed(hub);
    return left_ms;
}

void hub_note_cut(struct hub *hub, bool cut)
{
    hub->cut = cut;
}
