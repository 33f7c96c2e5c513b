#include "relay/hub.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/place.h"
#include "relay/roles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* LOCATE: how long a debuggee must stand still before its place is looked up: somebody who steps
 * shall not wait for it. */
enum { LOCATE_MS = 300, LOCATE_ALONE_MS = 20, ASK_MS = 5000 };

struct trim {
    struct trim *next;
    int64_t client_seq;
    size_t own;
};

struct hub {
    struct loop *loop;
    struct target *target;
    const struct hub_ops *ops;
    void *arg;
    struct pause pause;
    enum hub_hold hold;
    bool shared;
    bool ready; /* attached; capabilities are known */
    bool releasing;
    bool over;
    struct err problem;
    char *capabilities;
    size_t capabilities_len;
    struct member *members; /* in the order they came */
    struct member *driver;
    struct stops stops;
    struct breakpoints *sets;
    struct timer *locate;
    char reason[64];
    int64_t held_since_ms;
    int64_t touched_us;
    struct member *large; /* who gets the message that arrives in parts */
};

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void changed(struct hub *hub)
{
    if (hub->ops->on_change)
        hub->ops->on_change(hub->arg, hub);
}

static void over_if_empty(struct hub *hub)
{
    if (hub->over && !hub->members && hub->ops->on_over)
        hub->ops->on_over(hub->arg, hub);
}

/* --- places --- */

static void empty_place(struct member *member)
{
    while (member->trims) {
        struct trim *next = member->trims->next;
        free(member->trims);
        member->trims = next;
    }
    free(member->name);
    *member = (struct member){0};
}

static void tell_roles(struct hub *hub)
{
    for (struct member *at = hub->members, *next; hub->shared && at; at = next) {
        next = at->next;
        if (!at->leaving)
            at->ops->on_role(at->arg, at == hub->driver, hub_driver(hub));
    }
}

static void send_set(void *arg, const char *command, const char *arguments)
{
    struct hub *hub = arg;
    if (hub->ready && !hub->over && !hub->releasing)
        target_ask(hub->target, command, arguments, 0, NULL, NULL);
}

static void set_driver(struct hub *hub, struct member *member)
{
    hub->driver = member;
    if (member)
        breakpoints_arm(hub->sets, member, send_set, hub);
    tell_roles(hub);
    changed(hub);
}

/* The oldest that wants to. */
static void choose_driver(struct hub *hub)
{
    struct member *at = hub->members;
    while (at && (!at->wants_to_drive || at->leaving))
        at = at->next;
    set_driver(hub, at);
}

/* Takes a member out, with its breakpoints; its owner is told nothing. */
static void remove_member(struct hub *hub, struct member *member)
{
    struct member **at = &hub->members;
    while (*at != member)
        at = &(*at)->next;
    *at = member->next;
    struct pending pending;
    while (target_take_pending(hub->target, member, &pending))
        ;
    bool drove = hub->driver == member;
    breakpoints_drop(hub->sets, member, send_set, hub);
    if (hub->large == member)
        hub->large = NULL;
    empty_place(member);
    if (drove)
        choose_driver(hub);
    else
        changed(hub);
}

/* Tells each member; the list may change meanwhile. */
static void each_member(struct hub *hub, void (*fn)(struct member *member, const void *with),
                        const void *with)
{
    for (struct member *at = hub->members, *next; at; at = next) {
        next = at->next;
        fn(at, with);
    }
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

static void lose(struct hub *hub, const char *why)
{
    if (hub->over)
        return;
    hub->over = true;
    timer_cancel(&hub->locate);
    stops_clear(&hub->stops);
    each_member(hub, lose_member, why);
    changed(hub);
    over_if_empty(hub);
}

static void on_target_gone(void *arg, const char *why)
{
    struct hub *hub = arg;
    if (!hub->releasing)
        log_info("the link to the debugger is down: %s", why);
    lose(hub, hub->releasing ? "the task was released and goes on" : NULL);
}

static void fail_member(struct member *member, const void *err)
{
    const struct member_ops *ops = member->ops;
    void *arg = member->arg;
    empty_place(member);
    ops->on_failed(arg, err);
}

static void on_target_failed(void *arg, const struct err *err)
{
    struct hub *hub = arg;
    hub->over = true;
    hub->problem = *err;
    struct member *first = hub->members;
    hub->members = hub->driver = NULL;
    for (struct member *next; first; first = next) {
        next = first->next;
        fail_member(first, &hub->problem);
    }
    changed(hub);
    over_if_empty(hub);
}

/* --- from the debuggee --- */

static void welcome(struct member *member, const void *with)
{
    const struct hub *hub = with;
    member->ops->on_ready(member->arg, hub->capabilities, hub->capabilities_len);
}

static void run_alone(struct hub *hub)
{
    if (hub->ready && !hub->over && !hub->members && !hub->releasing &&
        target_state(hub->target) == TARGET_READY)
        target_run(hub->target, false);
}

static void on_target_ready(void *arg, const char *capabilities, size_t len)
{
    struct hub *hub = arg;
    hub->ready = true;
    hub->capabilities = mem_string_n(capabilities, len);
    hub->capabilities_len = len;
    hub->held_since_ms = now_ms();
    each_member(hub, welcome, hub);
    run_alone(hub);
    changed(hub);
}

struct event {
    const char *json;
    size_t len;
    const struct envelope *envelope;
};

static bool is_replayed(const char *event)
{
    return text_equal(event, "thread") || text_equal(event, "stopped") ||
           text_equal(event, "continued");
}

static void pass_event(struct member *member, const void *with)
{
    const struct event *event = with;
    bool late = target_state(member->hub->target) == TARGET_RUNNING && !member->configured;
    if (!late || !is_replayed(event->envelope->name))
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
    changed(hub);
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
static void note_place(struct hub *hub)
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
    changed(hub);
}

static void on_target_event(void *arg, const char *json, size_t len,
                            const struct envelope *envelope)
{
    struct hub *hub = arg;
    if (text_equal(envelope->name, "terminated")) {
        if (!hub->releasing)
            lose(hub, NULL);
        return;
    }
    stops_event(&hub->stops, json, len, envelope);
    if (text_equal(envelope->name, "stopped") || text_equal(envelope->name, "continued"))
        note_place(hub);
    struct event event = {json, len, envelope};
    each_member(hub, pass_event, &event);
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

static bool is_step(const char *command)
{
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (text_equal(command, steps[i]))
            return true;
    return false;
}

/* The others learn from an event what the one who asked knows from its answer. */
static void tell_continued(struct hub *hub, const struct member *but, int64_t thread, bool all)
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
    struct event event = {json, (size_t)len, &envelope};
    for (struct member *at = hub->members, *next; at; at = next) {
        next = at->next;
        if (at != but)
            pass_event(at, &event);
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
    if (!only || only->next || is_replayed(envelope->name))
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

static const struct target_ops target_ops = {
    .on_ready = on_target_ready,
    .on_failed = on_target_failed,
    .on_event = on_target_event,
    .on_response = on_target_response,
    .on_gone = on_target_gone,
    .large_begin = on_large_begin,
    .large_part = on_large_part,
    .large_end = on_large_end,
};

/* --- life --- */

struct hub *hub_open(const struct hub_options *options, const struct hub_ops *ops, void *arg)
{
    struct hub *hub = mem_alloc(sizeof *hub);
    hub->loop = options->target.loop;
    hub->ops = ops;
    hub->arg = arg;
    hub->hold = options->hold;
    hub->shared = options->shared;
    hub->sets = breakpoints_create();
    hub->touched_us = loop_now_us();
    pause_copy(&hub->pause, options->pause);
    hub->target = target_open(&options->target, &target_ops, hub);
    return hub;
}

void hub_destroy(struct hub **hub)
{
    struct hub *it = *hub;
    if (!it)
        return;
    *hub = NULL;
    while (it->members) {
        struct member *next = it->members->next;
        empty_place(it->members);
        it->members = next;
    }
    timer_cancel(&it->locate);
    target_destroy(&it->target);
    breakpoints_destroy(&it->sets);
    stops_clear(&it->stops);
    pause_clear(&it->pause);
    free(it->capabilities);
    free(it);
}

/* --- members --- */

void hub_join(struct hub *hub, struct member *member, const struct member_ops *ops, void *arg,
              const struct member_wish *wish)
{
    *member = (struct member){
        .hub = hub,
        .ops = ops,
        .arg = arg,
        .name = mem_string(wish->name),
        .may_drive = wish->may_drive,
        .wants_to_drive = wish->may_drive && !wish->observe,
        .joined_ms = now_ms(),
    };
    struct member **at = &hub->members;
    while (*at)
        at = &(*at)->next;
    *at = member;
    hub->touched_us = loop_now_us();
    if (member->wants_to_drive && (!hub->driver || wish->take_over))
        hub->driver = member;
    if (hub->ready)
        welcome(member, hub);
    tell_roles(hub);
    changed(hub);
}

static void leave_for_good(struct hub *hub, struct member *member, bool kill)
{
    member->leaving = true;
    hub->releasing = true;
    target_leave(hub->target, kill);
}

static void left(struct member *member)
{
    struct hub *hub = member->hub;
    const struct member_ops *ops = member->ops;
    void *arg = member->arg;
    ops->on_left(arg);
    if (member->hub) /* the owner did not abandon it itself */
        hub_abandon(member);
    (void)hub;
}

void hub_leave(struct member *member, enum hub_leave how)
{
    struct hub *hub = member->hub;
    bool last = !hub->members->next;
    bool drives = hub_drives(member) || !hub->shared;
    if (member->leaving)
        return;
    if (hub->over || !hub->ready || hub->releasing) {
        left(member);
    } else if (how == HUB_LEAVE_KILL && drives) {
        leave_for_good(hub, member, true);
    } else if (last && (hub->hold == HUB_NEVER || (how == HUB_LEAVE_CONTINUE && drives))) {
        leave_for_good(hub, member, false);
    } else {
        if (how == HUB_LEAVE_CONTINUE && drives)
            hub_continue(hub, member->name);
        left(member);
    }
}

void hub_abandon(struct member *member)
{
    struct hub *hub = member->hub;
    if (!hub)
        return;
    remove_member(hub, member);
    if (!hub->members && !hub->over && (hub->hold == HUB_NEVER || !hub->ready) && !hub->releasing) {
        /* Nobody is left to tell: the connection goes, which lets the task run on. */
        hub->over = true;
    }
    run_alone(hub);
    over_if_empty(hub);
}

bool hub_is_attached(const struct member *member)
{
    const struct hub *hub = member->hub;
    return hub && hub->ready && !hub->over && !hub->releasing && !member->leaving;
}

bool hub_wants_configuration(const struct member *member)
{
    return hub_is_attached(member) && !member->configured;
}

static void replay(struct hub *hub, struct member *member)
{
    struct buf events = {0};
    struct span element;
    struct envelope envelope;
    const char *problem;
    size_t cursor = 0;
    stops_save(&hub->stops, &events);
    while (scan_element(events.data, (struct span){0, events.len}, &cursor, &element)) {
        const char *json = events.data + element.at;
        if (envelope_read(&envelope, json, element.len, &problem) == 0)
            member->ops->on_event(member->arg, json, element.len, &envelope);
    }
    buf_free(&events);
}

void hub_configure(struct member *member)
{
    struct hub *hub = member->hub;
    member->configured = true;
    if (target_state(hub->target) == TARGET_READY)
        target_run(hub->target, member->filters_set);
    else
        replay(hub, member);
}

const char *hub_refusal(const struct member *member, const char *json,
                        const struct envelope *envelope)
{
    const char *why = NULL;
    if (!hub_drives(member) && !breakpoints_is_set(envelope->name))
        why = roles_observer_refusal(json, envelope);
    return why ? why : target_refusal(member->hub->target, json, envelope);
}

bool hub_keeps_set(struct member *member, const char *json, const struct envelope *envelope)
{
    if (hub_drives(member))
        return false;
    breakpoints_note(member->hub->sets, member, false, json, envelope);
    return true;
}

static void forward_set(struct member *member, struct client_seq client, const char *json,
                        size_t len, const struct envelope *envelope)
{
    struct hub *hub = member->hub;
    struct buf merged = {0};
    struct envelope again;
    const char *problem;
    size_t own;
    breakpoints_note(hub->sets, member, true, json, envelope);
    if (breakpoints_merge(hub->sets, member, json, len, envelope, &merged, &own) &&
        envelope_read(&again, merged.data, merged.len, &problem) == 0) {
        struct trim *trim = mem_alloc(sizeof *trim);
        *trim = (struct trim){member->trims, client.value, own};
        member->trims = trim;
        target_forward(hub->target, member, client, merged.data, merged.len, &again);
    } else {
        target_forward(hub->target, member, client, json, len, envelope);
    }
    buf_free(&merged);
}

/* What the others are told, and the hub notes, of threads that are about to run. */
static void note_resume(struct hub *hub, const struct member *member, const char *json,
                        const struct envelope *envelope)
{
    struct span at;
    int64_t thread = 0;
    bool all = text_equal(envelope->name, "continue");
    if (!all && !is_step(envelope->name))
        return;
    if (envelope->arguments.len && scan_find(json, envelope->arguments, "threadId", &at))
        scan_integer(json, at, &thread);
    stops_resume(&hub->stops, thread, all);
    if (hub->shared) {
        tell_continued(hub, member, thread, all);
        note_place(hub);
    }
}

void hub_forward(struct member *member, struct client_seq client, const char *json, size_t len,
                 const struct envelope *envelope)
{
    struct hub *hub = member->hub;
    hub->touched_us = loop_now_us();
    note_resume(hub, member, json, envelope);
    if (breakpoints_is_set(envelope->name))
        forward_set(member, client, json, len, envelope);
    else
        target_forward(hub->target, member, client, json, len, envelope);
}

bool hub_has_stopped(const struct member *member)
{
    return target_has_stopped(member->hub->target);
}

bool hub_take_pending(struct member *member, struct pending *out)
{
    return member->hub && target_take_pending(member->hub->target, member, out);
}

bool hub_drives(const struct member *member)
{
    return member->hub && (!member->hub->shared || member->hub->driver == member);
}

const char *hub_take_over(struct member *member)
{
    if (!member->may_drive)
        return "this client's token lets it observe only";
    member->wants_to_drive = true;
    if (member->hub->driver != member)
        set_driver(member->hub, member);
    return NULL;
}

void hub_read_enable(struct hub *hub, bool enable)
{
    if (!hub->over)
        target_read_enable(hub->target, enable);
}

/* --- for the owner --- */

bool hub_is_over(const struct hub *hub)
{
    return hub->over || hub->releasing;
}

bool hub_is_finished(const struct hub *hub)
{
    return hub->over && !hub->members;
}

void hub_keep(struct hub *hub)
{
    hub->hold = HUB_ON_PAUSE;
    run_alone(hub);
}

bool hub_is_held(const struct hub *hub)
{
    return hub->ready && !hub_is_over(hub) && (hub->hold != HUB_NEVER || hub->members);
}

const struct pause *hub_pause(const struct hub *hub)
{
    return &hub->pause;
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

const struct member *hub_first_member(const struct hub *hub)
{
    return hub->members;
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

bool hub_has_stops(const struct hub *hub)
{
    return stops_any(&hub->stops);
}

const struct err *hub_problem(const struct hub *hub)
{
    return &hub->problem;
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
    each_member(hub, pass_note, &note);
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
    if (!hub->ready || hub_is_over(hub))
        return "it is not attached";
    if (target_state(hub->target) == TARGET_READY) {
        target_run(hub->target, false);
        return NULL;
    }
    if (!target_has_stopped(hub->target))
        return "it runs already";
    hub->touched_us = loop_now_us();
    stops_resume(&hub->stops, 0, true);
    tell_continued(hub, NULL, 0, true);
    tell_who(hub, "raydbg: %s was continued by %s\n", who);
    note_place(hub);
    target_ask(hub->target, "continue", "{\"threadId\":0}", 0, NULL, NULL);
    return NULL;
}

void hub_release(struct hub *hub, const char *who)
{
    if (hub_is_over(hub))
        return;
    tell_who(hub, "raydbg: %s was released by %s: it goes on\n", who);
    hub->releasing = true;
    if (hub->ready)
        target_leave(hub->target, false);
    else
        lose(hub, "the attach was given up");
}

void hub_update_pause(struct hub *hub, const struct pause *pause)
{
    struct pause fresh = {0};
    if (!pause->task_name && hub->pause.task_name)
        return;
    pause_copy(&fresh, pause);
    free(fresh.file);
    fresh.file = hub->pause.file;
    fresh.line = hub->pause.line;
    hub->pause.file = NULL;
    pause_clear(&hub->pause);
    hub->pause = fresh;
}
