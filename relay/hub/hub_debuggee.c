/* Handles what comes from a hub's target. */
#include "base/wall_clock.h"
#include "relay/hub/hub_state.h"
#include "relay/inject/inject.h"

#include "base/intern.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/io/socket.h"
#include "relay/stack/user_frame.h"

#include <stdio.h>
#include <stdlib.h>

/* Bytes that may wait for a debuggee that does not read, before its clients must wait, too. */
enum { STALLED = 512 * 1024 };
/* LOCATE_MS: a debuggee must be stopped for so long before its location is looked up, so that a
 * client that steps does not wait for that. LOCATE_ALONE_MS: the same without clients. */
enum { LOCATE_MS = 300, LOCATE_ALONE_MS = 20 };
/* ASK_MS: for the answer about a stop that lists show, which a busy machine may not give in time.
 * It is asked for again with twice the time, up to ASK_MOST_MS. */
enum { ASK_MS = 5000, ASK_MOST_MS = 40000 };

/* --- a debuggee that does not read --- */

static void tell_flow(struct member *member, const void *with)
{
    const struct hub *hub = with;
    member->ops->on_flow(member->arg, !hub->stalled);
}

static void on_drain(void *arg)
{
    struct hub *hub = hub_checked(arg);
    if (hub->kept && hub->requests.len)
        hub_save(hub);
    if (!hub->stalled)
        return;
    hub->stalled = false;
    hub_each_member(hub, tell_flow, hub);
}

/* --- a driver that does not read --- */

void hub_choose_reading(struct hub *hub)
{
    bool halted = false;
    for (const struct member *at = hub->members; at; at = at->next)
        halted |= at->halted && hub_drives(at);
    if (hub->state == HUB_RELEASING) /* the debugger's answer to `disconnect` must be read */
        halted = false;
    if (!hub_has_ended(hub))
        target_read_enable(hub->target, !halted);
}

void hub_read_enable(struct member *member, bool enable)
{
    member->halted = !enable;
    hub_choose_reading(member->hub);
}

/* --- the debuggee's end --- */

static const char hung_up[] = "the connection to the debugger ended before it had let the task go: "
                              "the task goes on, or its worker has ended";

static void lose_member(struct member *member, const void *why)
{
    if (member->leaving) {
        const struct hub *hub = member->hub;
        const struct member_ops *ops = member->ops;
        void *arg = member->arg;
        if (target_deaf(hub->target) || !(hub->kills || hub_goes_on(hub))) {
            char *text = mem_format("raydbg: %s\n", why ? (const char *)why : hung_up);
            ops->on_note(arg, "important", text);
            free(text);
        }
        ops->on_left(arg); /* takes its pending requests, and clears the member */
    } else {
        member->ops->on_lost(member->arg, why);
    }
}

void hub_lose(struct hub *hub, const char *why)
{
    if (hub_has_ended(hub))
        return;
    hub_move(hub, hub->state == HUB_RELEASING ? HUB_RELEASED : HUB_LOST);
    on_drain(hub);
    hub_stop_saving(hub);
    timer_cancel(&hub->locate);
    timer_cancel(&hub->orphans);
    stop_events_clear(&hub->stops);
    hub_renew_objects(hub);
    hub_each_member(hub, lose_member, why);
    hub_changed(hub);
    hub_over_if_empty(hub);
}

static void on_target_gone(void *arg, const char *why)
{
    struct hub *hub = hub_checked(arg);
    if (hub->state != HUB_RELEASING) {
        log_info("the link to the debugger is down: %s", why);
        hub_lose(hub, NULL);
        return;
    }
    bool deaf = target_deaf(hub->target), goes_on = hub_goes_on(hub);
    if (hub->ops->on_released)
        hub->ops->on_released(hub->arg, hub, goes_on ? NULL : deaf ? why : hung_up);
    hub_lose(hub, goes_on ? "the task was released and goes on" : deaf ? why : NULL);
}

static void on_target_note(void *arg, const char *text)
{
    struct hub *hub = hub_checked(arg);
    hub_tell(hub, "console", text);
}

static void fail_member(struct member *member, const void *err)
{
    const struct member_ops *ops = member->ops;
    void *arg = member->arg;
    hub_clear_member(member);
    ops->on_failed(arg, err);
}

static void on_target_failed(void *arg, const struct err *err)
{
    struct hub *hub = hub_checked(arg);
    if (hub_has_ended(hub)) /* it was given up before */
        return;
    hub_move(hub, HUB_LOST);
    hub->problem = mem_alloc(sizeof *hub->problem);
    *hub->problem = *err;
    struct member *first = hub->members;
    hub->members = hub->driver = NULL;
    for (struct member *next; first; first = next) {
        next = first->next;
        fail_member(first, hub->problem);
    }
    hub_changed(hub);
    hub_over_if_empty(hub);
}

/* --- from the debuggee --- */

void hub_welcome(struct member *member, const void *with)
{
    const struct hub *hub = with;
    if (hub->shared && target_facts(hub->target).cut_s == INJECT_CUT_DEBUGPY_S)
        member->ops->on_note(member->arg, "console",
                             "raydbg: a network that is cut for more than 16 s lets this task go: "
                             "its worker may not change debugpy's limit\n");
    member->ops->on_ready(member->arg, hub->capabilities, hub->capabilities_len);
}

int hub_waiting(const struct member *member)
{
    return member->hub ? target_waiting(member->hub->target) : -1;
}

void hub_run(struct hub *hub)
{
    target_run(hub->target, breakpoint_union_has_filters(hub->sets));
}

void hub_run_alone(struct hub *hub)
{
    if (hub->state == HUB_READY && !hub->members && target_state(hub->target) == TARGET_READY) {
        hub_run(hub);
        hub_save(hub);
    }
}

static void on_target_ready(void *arg, const char *capabilities, size_t len)
{
    struct hub *hub = hub_checked(arg);
    if (hub_has_ended(hub)) { /* it was given up before: target_leave() lets the task go properly */
        target_leave(hub->target, false);
        return;
    }
    hub_move(hub, HUB_READY);
    hub->capabilities = intern_get(capabilities, len);
    hub->capabilities_len = len;
    hub->held_since_ms = wall_clock_ms();
    if (hub->shared)
        socket_patience(target_fd(hub->target));
    if (hub->ops->on_ready)
        hub->ops->on_ready(hub->arg, hub);
    hub_each_member(hub, hub_welcome, hub);
    hub_run_alone(hub);
    hub_changed(hub);
}

bool hub_is_replayed(const char *event)
{
    return text_equal(event, "thread") || text_equal(event, "stopped") ||
           text_equal(event, "continued");
}

void hub_tell_event(struct member *member, const char *json, size_t len,
                    const struct envelope *event)
{
    struct buf own = {0};
    struct envelope again;
    const char *problem;
    const struct hub *hub = member->hub;
    if (hub->shared && text_equal(event->name, "stopped") &&
        hit_ids_rewrite(&hub->hits, member, json, len, event, &own) &&
        envelope_read(&again, own.data, own.len, &problem) == 0)
        member->ops->on_event(member->arg, own.data, own.len, &again);
    else
        member->ops->on_event(member->arg, json, len, event);
    buf_free(&own);
}

void hub_tell_stops(struct member *member)
{
    struct buf events = {0};
    struct span element;
    struct envelope envelope;
    const char *problem;
    size_t cursor = 0;
    stop_events_save(&member->hub->stops, &events);
    while (scan_element(events.data, (struct span){0, events.len}, &cursor, &element)) {
        const char *json = events.data + element.at;
        if (envelope_read(&envelope, json, element.len, &problem) == 0)
            hub_tell_event(member, json, element.len, &envelope);
    }
    buf_free(&events);
}

void hub_pass_event(struct member *member, const void *with)
{
    const struct hub_event *event = with;
    bool late = target_state(member->hub->target) == TARGET_RUNNING && !member->configured;
    if (!late || !hub_is_replayed(event->envelope->name))
        hub_tell_event(member, event->json, event->len, event->envelope);
}

static void on_location(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct hub *hub = hub_checked(arg);
    char *file;
    (void)len;
    hub_note_asked(hub, json != NULL);
    if (!json || !stop_events_any(&hub->stops) ||
        !user_frame_read(json, envelope, &file, &hub->pause.line))
        return;
    free(hub->pause.file);
    hub->pause.file = file;
    hub_ask_task(hub, json, envelope);
    hub_save(hub);
    hub_changed(hub);
}

void hub_ask_shown(struct hub *hub, const char *command, const char *arguments, link_answer_fn fn)
{
    hub->asked++;
    target_ask(hub->target, command, arguments, hub->ask_ms, fn, hub);
}

static void locate(void *arg)
{
    struct hub *hub = hub_checked(arg);
    hub->locate = NULL;
    const struct stop *stop = stop_events_last(&hub->stops);
    if (!stop || hub_is_over(hub))
        return;
    char *arguments =
        mem_format("{\"threadId\":%lld,\"startFrame\":0,\"levels\":20}", (long long)stop->thread);
    hub_ask_shown(hub, "stackTrace", arguments, on_location);
    free(arguments);
}

/* From the loop, as the link may be closing. */
void hub_note_asked(struct hub *hub, bool answered)
{
    hub->asked--;
    if (answered || hub->asked || hub->locate || hub->ask_ms >= ASK_MOST_MS ||
        !stop_events_any(&hub->stops))
        return;
    hub->ask_ms *= 2;
    hub->locate = timer_start(hub->loop, LOCATE_ALONE_MS, locate, hub);
}

static void read_reason(struct hub *hub)
{
    const struct stop *stop = stop_events_last(&hub->stops);
    struct envelope envelope;
    struct span at;
    const char *problem;
    if (stop && envelope_read(&envelope, stop->json, stop->len, &problem) == 0 &&
        envelope.body.len && scan_find(stop->json, envelope.body, "reason", &at)) {
        char *reason = scan_string(stop->json, at);
        text_copy(hub->reason, sizeof hub->reason, reason ? reason : "");
        free(reason);
    }
}

void hub_note_location(struct hub *hub)
{
    hub->reason[0] = '\0';
    hub->idle = HUB_BUSY;
    if (stop_events_any(&hub->stops))
        read_reason(hub);
    if (!hub->shared)
        return;
    timer_cancel(&hub->locate);
    free(hub->pause.file);
    hub->pause.file = NULL;
    hub->pause.line = 0;
    hub->ask_ms = ASK_MS;
    if (stop_events_any(&hub->stops))
        hub->locate =
            timer_start(hub->loop, hub->members ? LOCATE_MS : LOCATE_ALONE_MS, locate, hub);
    hub_changed(hub);
}

size_t hub_stopped_threads(const struct hub *hub)
{
    size_t count = 0;
    for (size_t i = 0; i < hub->stops.count; i++)
        count += hub->stops.items[i].json != NULL;
    return count;
}

/* No two stops of one process have the same time. */
static void note_stop(struct hub *hub)
{
    int64_t now_ms = wall_clock_ms(), last_ms = hub->pause.stopped_ms;
    hub->pause.stopped_ms = now_ms > last_ms ? now_ms : last_ms + 1;
    hub->pause.client_left = false;
}

/* debugpy sends `continued` for threads that are known to run, too. */
static void note_stops(struct hub *hub, const char *json, size_t len,
                       const struct envelope *envelope)
{
    size_t before = hub_stopped_threads(hub);
    if (text_equal(envelope->name, "stopped"))
        note_stop(hub);
    stop_events_event(&hub->stops, json, len, envelope);
    hub_resume_event(hub, json, len, envelope);
    if (text_equal(envelope->name, "stopped") || hub_stopped_threads(hub) < before)
        hub_renew_objects(hub);
}

static void on_target_event(void *arg, const char *json, size_t len,
                            const struct envelope *envelope)
{
    struct hub *hub = hub_checked(arg);
    if (text_equal(envelope->name, "terminated")) {
        if (hub->state != HUB_RELEASING)
            hub_lose(hub, hub->pause.debugger == PAUSE_PDB ? "the task has ended" : NULL);
        return;
    }
    note_stops(hub, json, len, envelope);
    if (text_equal(envelope->name, "stopped") || text_equal(envelope->name, "continued"))
        hub_note_location(hub);
    if (hub_is_replayed(envelope->name))
        hub_save(hub);
    struct hub_event event = {json, len, envelope};
    hub_each_member(hub, hub_pass_event, &event);
}

/* --- answers --- */

/* Notes the ids in the answer; `json` NULL: they are not known. */
static bool take_trim(struct member *member, int64_t client_seq, const char *json,
                      const struct envelope *response, size_t *own)
{
    for (struct trim **at = &member->trims; *at; at = &(*at)->next) {
        struct trim *trim = *at;
        if (trim->client_seq != client_seq)
            continue;
        *own = trim->own;
        *at = trim->next;
        hit_ids_answer(&member->hub->hits, trim->hits, json, response);
        free(trim);
        return true;
    }
    return false;
}

static void on_target_response(void *arg, const struct pending *pending, const char *json,
                               size_t len, const struct envelope *envelope)
{
    struct member *member = pending->owner;
    invariant(member->hub == hub_checked(arg));
    struct buf trimmed = {0};
    struct envelope again;
    const char *problem;
    size_t own;
    hub_resume_answered(member->hub, member, pending->client.value, envelope->success);
    if (take_trim(member, pending->client.value, json, envelope, &own) && envelope->success &&
        breakpoint_union_trim(json, len, envelope, own, &trimmed) &&
        envelope_read(&again, trimmed.data, trimmed.len, &problem) == 0)
        member->ops->on_response(member->arg, pending, trimmed.data, trimmed.len, &again);
    else
        member->ops->on_response(member->arg, pending, json, len, envelope);
    buf_free(&trimmed);
}

/* --- messages in parts --- */

/* The member that takes a message in parts: the sender of its request, or the only one; or NULL. */
static struct member *large_member(const struct hub *hub, const struct pending *pending,
                                   const struct envelope *envelope)
{
    struct member *only = hub->members;
    if (pending)
        return pending->owner;
    if (!only || only->next || hub_is_replayed(envelope->name))
        return NULL;
    return only;
}

static bool on_large_begin(void *arg, const struct pending *pending, const char *head,
                           size_t head_len, size_t total, const struct envelope *envelope)
{
    struct hub *hub = hub_checked(arg);
    struct member *member = large_member(hub, pending, envelope);
    invariant(!hub->large && (!member || member->hub == hub));
    if (!member || !member->ops->large_begin ||
        !member->ops->large_begin(member->arg, pending, head, head_len, total, envelope))
        return false;
    size_t own;
    if (pending)
        take_trim(member, pending->client.value, NULL, NULL, &own);
    hub->large = member;
    return true;
}

static void on_large_part(void *arg, const char *bytes, size_t len)
{
    struct hub *hub = hub_checked(arg);
    if (hub->large)
        hub->large->ops->large_part(hub->large->arg, bytes, len);
}

static void on_large_end(void *arg, bool whole)
{
    struct hub *hub = hub_checked(arg);
    struct member *member = hub->large;
    hub->large = NULL;
    if (member)
        member->ops->large_end(member->arg, whole);
}

void hub_watch_flow(struct hub *hub)
{
    if (hub->stalled || target_queued(hub->target) < STALLED)
        return;
    hub->stalled = true;
    hub_each_member(hub, tell_flow, hub);
}

const struct target_ops hub_target_ops = {
    .on_drain = on_drain,
    .on_write = hub_save_request,
    .on_unread = hub_save_unread,
    .on_ready = on_target_ready,
    .on_failed = on_target_failed,
    .on_event = on_target_event,
    .on_response = on_target_response,
    .on_note = on_target_note,
    .on_gone = on_target_gone,
    .large_begin = on_large_begin,
    .large_part = on_large_part,
    .large_end = on_large_end,
};
