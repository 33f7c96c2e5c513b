#include "relay/hub.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/reads.h"
#include "relay/hub_state.h"
#include "relay/intern.h"
#include "relay/roles.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

int64_t hub_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void hub_changed(struct hub *hub)
{
    if (hub->ops->on_change)
        hub->ops->on_change(hub->arg, hub);
}

void hub_over_if_empty(struct hub *hub)
{
    if (hub->over && !hub->members && hub->ops->on_over)
        hub->ops->on_over(hub->arg, hub);
}

/* --- places --- */

void hub_empty_place(struct member *member)
{
    if (member->hub)
        hub_drop_asks(member);
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
        if (at->leaving || at->told_role == hub->driver_count)
            continue;
        at->told_role = hub->driver_count;
        at->ops->on_role(at->arg, at == hub->driver, hub_driver(hub));
    }
}

void hub_send_set(void *arg, const char *command, const char *arguments)
{
    struct hub *hub = arg;
    if (hub->ready && !hub->over && !hub->releasing)
        target_ask(hub->target, command, arguments, 0, NULL, NULL);
}

void hub_set_driver(struct hub *hub, struct member *member)
{
    hub->driver = member;
    hub->driver_count++;
    if (member)
        breakpoints_arm(hub->sets, member, hub_send_set, hub);
    tell_roles(hub);
    hub_changed(hub);
}

/* The oldest that wants to. */
static void choose_driver(struct hub *hub)
{
    struct member *at = hub->members;
    while (at && (!at->wants_to_drive || at->leaving))
        at = at->next;
    hub_set_driver(hub, at);
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
    breakpoints_drop(hub->sets, member, hub_send_set, hub);
    if (hub->large == member)
        hub->large = NULL;
    hub_empty_place(member);
    if (drove)
        choose_driver(hub);
    else
        hub_changed(hub);
}

/* Tells each member; the list may change meanwhile. */
void hub_each_member(struct hub *hub, void (*fn)(struct member *member, const void *with),
                     const void *with)
{
    for (struct member *at = hub->members, *next; at; at = next) {
        next = at->next;
        fn(at, with);
    }
}

/* --- life --- */

struct hub *hub_create(const struct hub_options *options, const struct hub_ops *ops, void *arg)
{
    struct hub *hub = mem_alloc(sizeof *hub);
    hub->loop = options->target.loop;
    hub->ops = ops;
    hub->arg = arg;
    hub->hold = options->hold;
    hub->shared = options->shared;
    hub->sets = breakpoints_create();
    hub->keeper = options->keeper;
    hub->cluster = options->cluster;
    hub->touched_us = loop_now_us();
    return hub;
}

struct hub *hub_open(const struct hub_options *options, const struct hub_ops *ops, void *arg)
{
    struct hub *hub = hub_create(options, ops, arg);
    pause_copy(&hub->pause, options->pause);
    hub->target = target_open(&options->target, &hub_target_ops, hub);
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
        hub_empty_place(it->members);
        it->members = next;
    }
    objects_destroy(&it->objects);
    timer_cancel(&it->locate);
    timer_cancel(&it->unsent);
    if (it->over)
        hub_stop_saving(it);
    target_destroy(&it->target);
    hub_free_asks(it);
    breakpoints_destroy(&it->sets);
    stops_clear(&it->stops);
    pause_clear(&it->pause);
    intern_drop(&it->capabilities);
    free(it->problem);
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
        .joined_ms = hub_now_ms(),
        .sparing = wish->sparing,
        .told_role = -1,
    };
    struct member **at = &hub->members;
    while (*at)
        at = &(*at)->next;
    *at = member;
    hub->touched_us = loop_now_us();
    if (member->wants_to_drive && (!hub->driver || wish->take_over)) {
        hub->driver = member;
        hub->driver_count++;
    }
    if (hub->ready)
        hub_welcome(member, hub);
    tell_roles(hub);
    hub_changed(hub);
}

static void leave_for_good(struct hub *hub, struct member *member, bool kill)
{
    member->leaving = true;
    hub->releasing = true;
    hub_stop_saving(hub);
    target_leave(hub->target, kill);
}

static void left(struct member *member)
{
    member->ops->on_left(member->arg);
    if (member->hub) /* the owner did not abandon it itself */
        hub_abandon(member);
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
    hub_run_alone(hub);
    hub_over_if_empty(hub);
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

void hub_replay(struct hub *hub, struct member *member)
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
        hub_replay(hub, member);
    hub_ask_objects(hub);
    hub_save(hub);
}

const char *hub_refusal(const struct member *member, const char *json,
                        const struct envelope *envelope)
{
    const char *why = NULL;
    if (member->hub->silent)
        return "the worker's machine cannot be reached for now";
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
static bool note_resume(struct hub *hub, const struct member *member, const char *json,
                        const struct envelope *envelope)
{
    struct span at;
    int64_t thread = 0;
    bool all = text_equal(envelope->name, "continue");
    if (!all && !hub_is_step(envelope->name))
        return false;
    if (envelope->arguments.len && scan_find(json, envelope->arguments, "threadId", &at))
        scan_integer(json, at, &thread);
    stops_resume(&hub->stops, thread, all);
    hub_renew_objects(hub);
    if (hub->shared) {
        hub_tell_continued(hub, member, thread, all);
        hub_note_place(hub);
    }
    return true;
}

static void tell_disturbed(const struct hub *hub, const struct member *but)
{
    for (const struct member *at = hub->members; at; at = at->next)
        if (at != but && at->ops->on_disturbed)
            at->ops->on_disturbed(at->arg);
}

void hub_forward(struct member *member, struct client_seq client, const char *json, size_t len,
                 const struct envelope *envelope)
{
    struct hub *hub = member->hub;
    bool resumes = note_resume(hub, member, json, envelope);
    bool is_set = breakpoints_is_set(envelope->name);
    hub->touched_us = loop_now_us();
    if (!reads_only(envelope->name))
        tell_disturbed(hub, member);
    if (is_set)
        forward_set(member, client, json, len, envelope);
    else
        target_forward(hub->target, member, client, json, len, envelope);
    hub_watch_flow(hub);
    if (resumes || is_set || (hub->kept && target_queued(hub->target)))
        hub_save(hub);
}

bool hub_has_stopped(const struct member *member)
{
    return member->hub && target_has_stopped(member->hub->target);
}

const struct stop *hub_last_stop(const struct member *member)
{
    return stops_last(&member->hub->stops);
}

void hub_each_set(struct member *member, breakpoints_fn fn, void *arg)
{
    breakpoints_each(member->hub->sets, member, fn, arg);
}

void hub_set_quietly(struct member *member, const char *json, const struct envelope *envelope)
{
    struct hub *hub = member->hub;
    struct buf merged = {0};
    struct envelope again;
    const char *problem;
    size_t own, len = envelope->whole.at + envelope->whole.len;
    breakpoints_note(hub->sets, member, hub_drives(member), json, envelope);
    if (!hub_drives(member))
        return;
    if (breakpoints_merge(hub->sets, member, json, len, envelope, &merged, &own) &&
        envelope_read(&again, merged.data, merged.len, &problem) == 0) {
        json = merged.data;
        envelope = &again;
    }
    char *arguments = mem_string_n(json + envelope->arguments.at, envelope->arguments.len);
    hub_send_set(hub, envelope->name, *arguments ? arguments : NULL);
    free(arguments);
    buf_free(&merged);
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
        hub_set_driver(member->hub, member);
    return NULL;
}

void hub_read_enable(struct hub *hub, bool enable)
{
    if (!hub->over)
        target_read_enable(hub->target, enable);
}
