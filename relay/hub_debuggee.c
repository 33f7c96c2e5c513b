/* What a hub does with what comes from its target. */
#include "relay/hub_state.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/intern.h"
#include "relay/place.h"
#include "relay/socket.h"

#include <stdio.h>
#include <stdlib.h>

/* How long a debuggee must stand still before its place is looked up: somebody who steps shall not
 * wait for it. */
/* What may wait for a debuggee that does not read, in bytes, before its clients wait too. */
enum { STALLED = 512 * 1024 };
enum { LOCATE_MS = 300, LOCATE_ALONE_MS = 20, ASK_MS = 5000 };

/* --- a debuggee that does not read --- */

static void tell_flow(struct member *member, const void *with)
{
    const struct hub *hub = with;
    member->ops->on_flow(member->arg, !hub->stalled);
}

static void on_drain(void *arg)
{
    struct hub *hub = arg;
    if (!hub->stalled)
        return;
    hub->stalled = false;
    hub_each_member(hub, tell_flow, hub);
}

/* --- the debuggee's end --- */

static void lose_member(struct member *member, const void *why)
{
    if (member->leaving) {
        const struct member_ops *ops = member->ops;
        void *arg = member->arg;
        ops->on_left(arg); /* takes its pending requests and empties the place */
    } else {
        member->ops->on_lost(member->arg, why);
    }
}

void hub_lose(struct hub *hub, const char *why)
{
    if (hub->over)
        return;
    hub->over = true;
    on_drain(hub);
    hub_stop_saving(hub);
    timer_cancel(&hub->locate);
    stops_clear(&hub->stops);
    hub_renew_objects(hub);
    hub_each_member(hub, lose_member, why);
    hub_changed(hub);
    hub_over_if_empty(hub);
}

static void on_target_gone(void *arg, const char *why)
{
    struct hub *hub = arg;
    if (!hub->releasing)
        log_info("the link to the debugger is down: %s", why);
    hub_lose(hub, hub->releasing ? "the task was released and goes on" : NULL);
}

static void fail_member(struct member *member, const void *err)
{
    const struct member_ops *ops = member->ops;
    void *arg = member->arg;
    hub_empty_place(member);
    ops->on_failed(arg, err);
}

static void on_target_failed(void *arg, const struct err *err)
{
    struct hub *hub = arg;
    hub->over = true;
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
    member->ops->on_ready(member->arg, hub->capabilities, hub->capabilities_len);
}

void hub_run_alone(struct hub *hub)
{
    if (hub->ready && !hub->over && !hub->members && !hub->releasing &&
        target_state(hub->target) == TARGET_READY) {
        target_run(hub->target, false);
        hub_save(hub);
    }
}

static void on_target_ready(void *arg, const char *capabilities, size_t len)
{
    struct hub *hub = arg;
    hub->ready = true;
    hub->capabilities = intern_get(capabilities, len);
    hub->capabilities_len = len;
    hub->held_since_ms = hub_now_ms();
    if (hub->shared)
        socket_patience(target_fd(hub->target));
    hub_each_member(hub, hub_welcome, hub);
    hub_run_alone(hub);
    hub_changed(hub);
}

bool hub_is_replayed(const char *event)
{
    return text_equal(event, "thread") || text_equal(event, "stopped") ||
           text_equal(event, "continued");
}

void hub_pass_event(struct member *member, const void *with)
{
    const struct hub_event *event = with;
    bool late = target_state(member->hub->target) == TARGET_RUNNING && !member->configured;
    if (!late || !hub_is_replayed(event->envelope->name))
        member->ops->on_event(member->arg, event->json, event->len, event->envelope);
}

static void on_place(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct hub *hub = arg;
    char *file;
    (void)len;
    if (!json || !stops_any(&hub->stops) || !place_read(json, envelope, &file, &hub->pause.line))
        return;
    free(hub->pause.file);
    hub->pause.file = file;
    hub_save(hub);
    hub_changed(hub);
}

static void locate(void *arg)
{
    struct hub *hub = arg;
    hub->locate = NULL;
    const struct stop *stop = stops_last(&hub->stops);
    if (!stop || hub->over || hub->releasing)
        return;
    char *arguments =
        mem_format("{\"threadId\":%lld,\"startFrame\":0,\"levels\":20}", (long long)stop->thread);
    target_ask(hub->target, "stackTrace", arguments, ASK_MS, on_place, hub);
    free(arguments);
}

static void read_reason(struct hub *hub)
{
    const struct stop *stop = stops_last(&hub->stops);
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

/* What lists show of where it stands, after its threads stopped or went on. */
void hub_note_place(struct hub *hub)
{
    if (!hub->shared)
        return;
    timer_cancel(&hub->locate);
    free(hub->pause.file);
    hub->pause.file = NULL;
    hub->pause.line = 0;
    hub->reason[0] = '\0';
    if (stops_any(&hub->stops)) {
        read_reason(hub);
        hub->locate =
            timer_start(hub->loop, hub->members ? LOCATE_MS : LOCATE_ALONE_MS, locate, hub);
    }
    hub_changed(hub);
}

static size_t count_stopped(const struct hub *hub)
{
    size_t count = 0;
    for (size_t i = 0; i < hub->stops.count; i++)
        count += hub->stops.items[i].json != NULL;
    return count;
}

/* debugpy tells `continued` of threads that are known to run, too. */
static void note_stops(struct hub *hub, const char *json, size_t len,
                       const struct envelope *envelope)
{
    size_t before = count_stopped(hub);
    stops_event(&hub->stops, json, len, envelope);
    if (text_equal(envelope->name, "stopped") || count_stopped(hub) < before)
        hub_renew_objects(hub);
}

static void on_target_event(void *arg, const char *json, size_t len,
                            const struct envelope *envelope)
{
    struct hub *hub = arg;
    if (text_equal(envelope->name, "terminated")) {
        if (!hub->releasing)
            hub_lose(hub, hub->pause.debugger == PAUSE_PDB ? "the task has ended" : NULL);
        return;
    }
    note_stops(hub, json, len, envelope);
    if (text_equal(envelope->name, "stopped") || text_equal(envelope->name, "continued"))
        hub_note_place(hub);
    if (hub_is_replayed(envelope->name))
        hub_save(hub);
    struct hub_event event = {json, len, envelope};
    hub_each_member(hub, hub_pass_event, &event);
}

/* --- answers --- */

static bool take_trim(struct member *member, int64_t client_seq, size_t *own)
{
    for (struct trim **at = &member->trims; *at; at = &(*at)->next) {
        struct trim *trim = *at;
        if (trim->client_seq != client_seq)
            continue;
        *own = trim->own;
        *at = trim->next;
        free(trim);
        return true;
    }
    return false;
}

static const char *const steps[] = {"next", "stepIn", "stepOut"};

bool hub_is_step(const char *command)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (text_equal(command, steps[i]))
            return true;
    return false;
}

/* The others learn from an event what the one who asked knows from its answer. */
void hub_tell_continued(struct hub *hub, const struct member *but, int64_t thread, bool all)
{
    char json[160];
    struct envelope envelope;
    const char *problem;
    int len = snprintf(json, sizeof json,
                       "{\"seq\":0,\"type\":\"event\",\"event\":\"continued\",\"body\":{"
                       "\"threadId\":%lld,\"allThreadsContinued\":%s}}",
                       (long long)thread, all ? "true" : "false");
    if (envelope_read(&envelope, json, (size_t)len, &problem) != 0)
        return;
    struct hub_event event = {json, (size_t)len, &envelope};
    for (struct member *at = hub->members, *next; at; at = next) {
        next = at->next;
        if (at != but)
            hub_pass_event(at, &event);
    }
}

static void on_target_response(void *arg, const struct pending *pending, const char *json,
                               size_t len, const struct envelope *envelope)
{
    (void)arg;
    struct member *member = pending->owner;
    struct buf trimmed = {0};
    struct envelope again;
    const char *problem;
    size_t own;
    if (take_trim(member, pending->client.value, &own) && envelope->success &&
        breakpoints_trim(json, len, envelope, own, &trimmed) &&
        envelope_read(&again, trimmed.data, trimmed.len, &problem) == 0)
        member->ops->on_response(member->arg, pending, trimmed.data, trimmed.len, &again);
    else
        member->ops->on_response(member->arg, pending, json, len, envelope);
    buf_free(&trimmed);
}

/* --- messages in parts --- */

/* Who takes a message in parts: the one who asked, or the only client. */
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
    struct hub *hub = arg;
    struct member *member = large_member(hub, pending, envelope);
    if (!member || !member->ops->large_begin ||
        !member->ops->large_begin(member->arg, pending, head, head_len, total, envelope))
        return false;
    size_t own;
    if (pending)
        take_trim(member, pending->client.value, &own);
    hub->large = member;
    return true;
}

static void on_large_part(void *arg, const char *bytes, size_t len)
{
    struct hub *hub = arg;
    if (hub->large)
        hub->large->ops->large_part(hub->large->arg, bytes, len);
}

static void on_large_end(void *arg, bool whole)
{
    struct hub *hub = arg;
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
    .on_ready = on_target_ready,
    .on_failed = on_target_failed,
    .on_event = on_target_event,
    .on_response = on_target_response,
    .on_gone = on_target_gone,
    .large_begin = on_large_begin,
    .large_part = on_large_part,
    .large_end = on_large_end,
};
