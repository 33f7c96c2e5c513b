#include "relay/hub/hub.h"

#include "base/intern.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/wall_clock.h"
#include "dap/dap_command.h"
#include "relay/debuggee/request_guards.h"
#include "relay/hub/hub_state.h"
#include "relay/hub/roles.h"

#include <stdlib.h>
#include <string.h>

void hub_move_at(struct invariant_location location, struct hub *hub, enum hub_state next)
{
    static const struct invariant_state states[] = {
        [HUB_OPENING] = {"opening", INVARIANT_TO(HUB_READY) | INVARIANT_TO(HUB_RELEASING) |
                                        INVARIANT_TO(HUB_LOST)},
        [HUB_READY] = {"ready", INVARIANT_TO(HUB_RELEASING) | INVARIANT_TO(HUB_LOST)},
        [HUB_RELEASING] = {"releasing", INVARIANT_TO(HUB_RELEASED)},
        [HUB_RELEASED] = {"released", 0},
        [HUB_LOST] = {"lost", 0},
    };
    invariant_move(location, "hub", states, hub->state, next);
    hub->state = next;
}

bool hub_has_ended(const struct hub *hub)
{
    return hub->state == HUB_RELEASED || hub->state == HUB_LOST;
}

void hub_changed(struct hub *hub)
{
    if (hub->ops->on_change)
        hub->ops->on_change(hub->arg, hub);
}

void hub_over_if_empty(struct hub *hub)
{
    if (hub_has_ended(hub) && !hub->members && hub->ops->on_over)
        hub->ops->on_over(hub->arg, hub);
}

/* --- members --- */

void hub_clear_member(struct member *member)
{
    if (member->hub) {
        hub_drop_requests(member, NULL);
        hub_forget_resumes(member);
    }
    while (member->trims) {
        struct trim *next = member->trims->next;
        hit_set_free(&member->trims->hits);
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

static void on_sent_set(void *arg, const char *json, size_t len, const struct envelope *response)
{
    struct hub *hub = hub_checked(arg);
    (void)len;
    hit_ids_answer_asked(&hub->hits, json, response);
}

void hub_send_set(void *arg, const char *command, const char *arguments)
{
    struct hub *hub = hub_checked(arg);
    if (hub->state != HUB_READY)
        return;
    hit_ids_ask(&hub->hits,
                hit_set_read(command, arguments, (struct span){0, strlen(arguments)}, NULL, 0));
    target_ask(hub->target, command, arguments, 0, on_sent_set, hub);
}

void hub_set_driver(struct hub *hub, struct member *member)
{
    invariant(!member || member->hub == hub);
    hub->driver = member;
    hub->driver_count++;
    hub_choose_reading(hub);
    if (member) {
        breakpoint_union_arm(hub->sets, member, hub_send_set, hub);
        hub->rewrite = true;
        hub_save(hub);
    }
    tell_roles(hub);
    hub_changed(hub);
}

/* The oldest member that wants to drive becomes the driver. */
static void choose_driver(struct hub *hub)
{
    struct member *at = hub->members;
    while (at && (!at->wants_to_drive || at->leaving))
        at = at->next;
    hub_set_driver(hub, at);
}

/* Removes a member and its breakpoints; its owner gets no callback. */
static void remove_member(struct hub *hub, struct member *member)
{
    invariant(member->hub == hub);
    LIST_REMOVE(hub->members, member);
    struct pending pending;
    while (target_take_pending(hub->target, member, &pending))
        ;
    bool drove = hub->driver == member;
    hub->pause.client_left |= member->configured && stop_events_any(&hub->stops);
    breakpoint_union_drop(hub->sets, member, hub_send_set, hub);
    hit_ids_drop(&hub->hits, member);
    hub->rewrite = true;
    if (hub->large == member)
        hub->large = NULL;
    hub_clear_member(member);
    hub_note_orphans(hub);
    if (drove)
        choose_driver(hub);
    else
        hub_changed(hub);
}

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
    invariant(options->target.loop && ops);
    hub_set_magic(hub);
    hub->loop = options->target.loop;
    hub->ops = ops;
    hub->arg = arg;
    hub->hold = options->hold;
    hub->shared = options->shared;
    hub->stays = options->stays;
    hub->sets = breakpoint_union_create();
    hub->keeper = options->keeper;
    hub->cluster = options->cluster;
    hub->touched_us = loop_now_us();
    return hub;
}

struct hub *hub_open(const struct hub_options *options, const struct hub_ops *ops, void *arg)
{
    struct hub *hub = hub_create(options, ops, arg);
    pause_copy(&hub->pause, options->pause);
    hub->attach = intern_get(options->target.attach, strlen(options->target.attach));
    hub->attached_by = mem_string(options->by);
    if (hub->stays)
        breakpoint_union_no_filters(hub->sets);
    hub->target = target_open(&options->target, &hub_target_ops, hub);
    return hub;
}

void hub_destroy(struct hub **hub)
{
    struct hub *it = *hub;
    if (!it)
        return;
    *hub = NULL;
    LIST_FREE(it->members, hub_clear_member);
    worker_objects_destroy(&it->objects);
    timer_cancel(&it->locate);
    timer_cancel(&it->orphans);
    timer_cancel(&it->unsent);
    if (hub_has_ended(it))
        hub_stop_saving(it);
    target_destroy(&it->target);
    hub_free_requests(it);
    breakpoint_union_destroy(&it->sets);
    hit_ids_clear(&it->hits);
    buf_free(&it->requests);
    stop_events_clear(&it->stops);
    pause_clear(&it->pause);
    intern_drop(&it->capabilities);
    intern_drop(&it->attach);
    free(it->attached_by);
    free(it->problem);
    hub_clear_magic(it);
    free(it);
}

/* --- members --- */

void hub_join(struct hub *hub, struct member *member, const struct member_ops *ops, void *arg,
              const struct member_wish *wish)
{
    invariant(!member->hub);
    hub_drop_orphans(hub);
    *member = (struct member){
        .hub = hub,
        .ops = ops,
        .arg = arg,
        .name = mem_string(wish->name),
        .may_drive = wish->may_drive,
        .wants_to_drive = wish->may_drive && !wish->observe,
        .joined_ms = wall_clock_ms(),
        .sparing = wish->sparing,
        .told_role = -1,
    };
    LIST_APPEND(hub->members, member);
    hub->touched_us = loop_now_us();
    if (member->wants_to_drive && (!hub->driver || wish->take_over)) {
        hub->driver = member;
        hub->driver_count++;
        hub_choose_reading(hub);
    }
    if (hub->stalled)
        ops->on_flow(arg, false);
    if (hub->state != HUB_OPENING)
        hub_welcome(member, hub);
    tell_roles(hub);
    hub_changed(hub);
}

static void leave_for_good(struct hub *hub, struct member *member, bool kill)
{
    member->leaving = true;
    hub->kills = kill;
    hub_move(hub, HUB_RELEASING);
    hub_choose_reading(hub);
    hub_stop_saving(hub);
    target_leave(hub->target, kill);
}

static void left(struct member *member)
{
    if (member->hub->stalled) /* its client may have more to say, if not to this debuggee */
        member->ops->on_flow(member->arg, true);
    member->ops->on_left(member->arg);
    if (member->hub) /* the owner has not abandoned it itself */
        hub_abandon(member);
}

void hub_leave(struct member *member, enum hub_leave how)
{
    struct hub *hub = hub_checked(member->hub);
    invariant(hub->members);
    bool last = !hub->members->next;
    bool drives = hub_drives(member) || !hub->shared;
    if (member->leaving)
        return;
    if (hub->state != HUB_READY) {
        left(member);
    } else if (how == HUB_LEAVE_KILL && drives) {
        leave_for_good(hub, member, true);
    } else if (last && !hub->stays &&
               (hub->hold == HUB_NEVER || (how == HUB_LEAVE_CONTINUE && drives))) {
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
    bool goes = hub->state == HUB_OPENING || (hub->state == HUB_READY && hub->hold == HUB_NEVER);
    if (!hub->members && goes) /* no member is left: the task goes on when the connection closes */
        hub_move(hub, HUB_LOST);
    hub_run_alone(hub);
    hub_over_if_empty(hub);
}

bool hub_is_attached(const struct member *member)
{
    const struct hub *hub = member->hub;
    return hub && hub->state == HUB_READY && !member->leaving;
}

bool hub_wants_configuration(const struct member *member)
{
    return hub_is_attached(member) && !member->configured;
}

void hub_configure(struct member *member)
{
    struct hub *hub = hub_checked(member->hub);
    invariant(hub->state == HUB_READY);
    member->configured = true;
    if (target_state(hub->target) == TARGET_READY)
        hub_run(hub);
    else
        hub_tell_stops(member);
    hub_ask_objects(hub);
    hub_save(hub);
}

const char *hub_refusal(const struct member *member, const char *json,
                        const struct envelope *envelope)
{
    const char *why = NULL;
    if (member->hub->silent)
        return "the worker's machine cannot be reached for now";
    if (!hub_drives(member) && !breakpoint_union_is_set(envelope->name))
        why = roles_observer_refusal(json, envelope);
    return why ? why : target_refusal(member->hub->target, json, envelope);
}

bool hub_keeps_set(struct member *member, const char *json, const struct envelope *envelope)
{
    struct hub *hub = member->hub;
    if (hub_drives(member))
        return false;
    hub->rewrite |= breakpoint_union_keep(hub->sets, member, json, envelope, hub_send_set, hub);
    return true;
}

static void note_trim(struct member *member, struct client_seq client, const char *json,
                      const struct envelope *request, size_t own)
{
    struct trim *trim = mem_alloc(sizeof *trim);
    *trim = (struct trim){
        .next = member->trims,
        .client_seq = client.value,
        .own = own,
        .hits = hit_set_read(request->name, json, request->arguments, member, own),
    };
    member->trims = trim;
}

static void forward_set(struct member *member, struct client_seq client, const char *json,
                        size_t len, const struct envelope *envelope)
{
    struct hub *hub = member->hub;
    struct buf merged = {0};
    struct envelope again;
    const char *problem;
    size_t own;
    breakpoint_union_note(hub->sets, member, json, envelope);
    hub_save_sets(hub);
    if (breakpoint_union_merge(hub->sets, member, json, len, envelope, &merged, &own) &&
        !request_guards_size_refusal(merged.len) &&
        envelope_read(&again, merged.data, merged.len, &problem) == 0) {
        note_trim(member, client, merged.data, &again, own);
        target_forward(hub->target, member, client, merged.data, merged.len, &again);
    } else {
        note_trim(member, client, json, envelope, SIZE_MAX);
        target_forward(hub->target, member, client, json, len, envelope);
    }
    buf_free(&merged);
}

/* Notes the threads that are about to run. False if none are. */
static bool note_resume(struct member *member, struct client_seq client, const char *json,
                        const struct envelope *envelope)
{
    struct span at;
    int64_t thread = 0;
    if (!dap_command_is(envelope->name, DAP_COMMAND_RESUMES))
        return false;
    bool all = !dap_command_is(envelope->name, DAP_COMMAND_STEPS);
    if (envelope->arguments.len && scan_find(json, envelope->arguments, "threadId", &at))
        scan_integer(json, at, &thread);
    hub_resume(member->hub, member, client.value, thread, all);
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
    struct hub *hub = hub_checked(member->hub);
    bool resumes = note_resume(member, client, json, envelope);
    bool is_set = breakpoint_union_is_set(envelope->name);
    hub->touched_us = loop_now_us();
    if (!dap_command_is(envelope->name, DAP_COMMAND_READS))
        tell_disturbed(hub, member);
    if (is_set)
        forward_set(member, client, json, len, envelope);
    else
        target_forward(hub->target, member, client, json, len, envelope);
    hub_watch_flow(hub);
    if (resumes || (hub->kept && !hub->requests.len && target_queued(hub->target)))
        hub_save(hub);
}

bool hub_has_stopped(const struct member *member)
{
    return member->hub && target_has_stopped(member->hub->target);
}

size_t hub_count_stopped(const struct member *member)
{
    return hub_stopped_threads(member->hub);
}

const struct stop *hub_last_stop(const struct member *member)
{
    return stop_events_last(&member->hub->stops);
}

void hub_each_set(struct member *member, breakpoint_union_fn fn, void *arg)
{
    breakpoint_union_each(member->hub->sets, member, fn, arg);
}

bool hub_set_quietly(struct member *member, const char *json, const struct envelope *envelope,
                     int64_t timeout_ms, link_answer_fn fn, void *arg)
{
    struct hub *hub = member->hub;
    struct buf merged = {0};
    struct envelope again;
    const char *problem;
    size_t own, len = envelope->whole.at + envelope->whole.len;
    if (hub_keeps_set(member, json, envelope))
        return false;
    breakpoint_union_note(hub->sets, member, json, envelope);
    if (hub->state != HUB_READY)
        return false;
    hub_save_sets(hub);
    if (breakpoint_union_merge(hub->sets, member, json, len, envelope, &merged, &own) &&
        envelope_read(&again, merged.data, merged.len, &problem) == 0) {
        json = merged.data;
        envelope = &again;
    }
    char *arguments = mem_string_n(json + envelope->arguments.at, envelope->arguments.len);
    hub_ask(member, envelope->name, *arguments ? arguments : NULL, timeout_ms, fn, arg);
    free(arguments);
    buf_free(&merged);
    return true;
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
    invariant(member->hub);
    member->wants_to_drive = true;
    if (member->hub->driver != member)
        hub_set_driver(member->hub, member);
    return NULL;
}
