#include "relay/multi_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* How many attach at once, and how long one counts as attaching: a slow one delays no others. */
enum { ATTACHING = 32, ATTACHING_MS = 3000 };
/* An eager client has the machine to itself for what it is shown first: so many attach until it has
 * asked for variables and LOOK_MS are over, or FIRST_MS since `initialized`. */
enum { FIRST = 4, LOOK_MS = 100, FIRST_MS = 500 };
/* `initialized` at the latest; the population at the latest, after configurationDone; the answer to
 * `disconnect`, which an editor waits 2 s for. */
enum { HURRY_MS = 2000, INTRO_MS = 500, LEAVE_MS = 1500 };
/* One that was lost may wait again soon; one that could not be attached will not so soon. */
enum { LOST_MS = 1500, FAILED_MS = 15000 };

static void settle(struct multi *multi);

struct multi_target *multi_find_slot(const struct multi *multi, uint32_t slot)
{
    struct multi_target *found = slot < multi->slots ? multi->by_slot[slot] : NULL;
    return found && found->state != MULTI_GONE ? found : NULL;
}

void multi_say(struct multi *multi, const char *category, const char *format, ...)
{
    char text[2048];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    client_say(&multi->session->client, category, text);
}

/* --- joining --- */

static uint32_t next_slot(struct multi *multi)
{
    if (multi->slots == multi->slot_room) {
        multi->slot_room = multi->slot_room ? 2 * multi->slot_room : 16;
        multi->by_slot =
            mem_resize(multi->by_slot, multi->slot_room, sizeof(struct multi_target *));
    }
    multi->by_slot[multi->slots] = NULL;
    return multi->slots++;
}

struct multi_target *multi_add(struct multi *multi, const struct pause *pause)
{
    struct multi_target *target = mem_alloc(sizeof *target);
    struct multi_target **at = &multi->targets;
    *target = (struct multi_target){
        .multi = multi,
        .slot = next_slot(multi),
        .first = !multi_find_looked(multi->find),
        .pending = seqmap_create(),
    };
    pause_copy(&target->pause, pause);
    while (*at)
        at = &(*at)->next;
    *at = target;
    multi->by_slot[target->slot] = target;
    multi->target_count++;
    multi_jobs_note(multi->jobs, pause->job_id);
    return target;
}

static bool is_first_only(const struct multi *multi)
{
    return multi->session->attach.eager && !multi->unhurried;
}

/* How many attach, or have done so while there are first ones only. */
static size_t count_attaching(const struct multi *multi)
{
    size_t count = 0;
    int64_t now = loop_now_us();
    for (const struct multi_target *at = multi->targets; at; at = at->next) {
        if (at->state == MULTI_ATTACHING)
            count += now - at->since_us < (int64_t)ATTACHING_MS * 1000;
        else if (at->state != MULTI_QUEUED && at->state != MULTI_GONE)
            count += is_first_only(multi);
    }
    return count;
}

static void start_queued(struct multi *multi)
{
    size_t attaching = count_attaching(multi), most = is_first_only(multi) ? FIRST : ATTACHING;
    for (struct multi_target *at = multi->targets; at && attaching < most; at = at->next) {
        if (at->state != MULTI_QUEUED)
            continue;
        multi_target_attach(at);
        attaching++;
    }
}

static bool first_are_settled(const struct multi *multi)
{
    for (const struct multi_target *at = multi->targets; at; at = at->next)
        if (at->first && (at->state == MULTI_QUEUED || at->state == MULTI_ATTACHING))
            return false;
    return true;
}

static void say_waiting(struct multi *multi)
{
    char what[256];
    if (multi->waited_told)
        return;
    multi->waited_told = true;
    pause_filter_describe(&multi->session->attach.many, what, sizeof what);
    multi_say(multi, "console", "raydbg: no task is paused that matches %s: waiting for one\n",
              what);
}

static void say_initialized(struct multi *multi)
{
    if (multi->initialized || multi->leaving)
        return;
    multi->initialized = true;
    timer_cancel(&multi->hurry);
    multi_limits_tell(multi);
    if (multi->target_count == 0)
        say_waiting(multi);
    client_event(&multi->session->client, "initialized", NULL);
}

static void on_hurry(void *arg)
{
    struct multi *multi = arg;
    multi->hurry = NULL;
    say_initialized(multi);
}

static void on_unhurried(void *arg)
{
    struct multi *multi = arg;
    multi->hurry = NULL;
    multi->unhurried = true;
    multi_proceed(multi);
    multi_stop_introduce(multi, false);
}

void multi_looked(struct multi *multi)
{
    if (!multi->introduced || multi->looked)
        return;
    multi->looked = true;
    if (!is_first_only(multi))
        return;
    timer_cancel(&multi->hurry);
    multi->hurry = timer_start(multi->loop, LOOK_MS, on_unhurried, multi);
}

static void on_intro(void *arg)
{
    struct multi *multi = arg;
    multi->intro = NULL;
    multi_stop_introduce(multi, true);
}

/* An eager client may be done while they attach: then they have as long for that as if
 * `initialized` waited for them. */
static void wait_for_stops(struct multi *multi)
{
    multi->assembling = multi->session->attach.eager && !first_are_settled(multi);
    timer_cancel(&multi->intro);
    multi->intro =
        timer_start(multi->loop, multi->assembling ? HURRY_MS : INTRO_MS, on_intro, multi);
}

void multi_proceed(struct multi *multi)
{
    if (multi->leaving || multi->over)
        return;
    start_queued(multi);
    if (multi->assembling && first_are_settled(multi)) {
        wait_for_stops(multi);
        multi_stop_introduce(multi, false);
    }
    if (multi->initialized)
        return;
    if (multi->session->attach.eager) {
        say_initialized(multi);
        multi->hurry = timer_start(multi->loop, FIRST_MS, on_unhurried, multi);
    } else if (first_are_settled(multi)) {
        say_initialized(multi);
    } else if (!multi->hurry) {
        multi->hurry = timer_start(multi->loop, HURRY_MS, on_hurry, multi);
    }
}

void multi_target_ready(struct multi_target *target)
{
    struct multi *multi = target->multi;
    if (target->state != MULTI_ATTACHING)
        return;
    target->state = MULTI_READY;
    multi->waited_told = false;
    multi_limits_joined(target);
    multi_sets_arm(multi->sets, target);
    if (multi->configured && target->state == MULTI_READY)
        multi_target_configure(target);
    multi_proceed(multi);
}

void multi_on_configuration_done(struct multi *multi, const struct envelope *request)
{
    struct session *session = multi->session;
    if (!multi->initialized || multi->configured) {
        client_refuse(
            &session->client, request->seq, request->name,
            "configurationDone is only allowed after an attach and its 'initialized' event", false);
        return;
    }
    multi->configured = true;
    client_respond(&session->client, request->seq, request->name, NULL);
    client_respond(&session->client, session->attach_seq, "attach", NULL);
    session->attach_seq = 0;
    wait_for_stops(multi);
    for (struct multi_target *at = multi->targets; at; at = at->next)
        if (at->state == MULTI_READY)
            multi_target_configure(at);
}

/* --- ending --- */

static void sweep(void *arg)
{
    struct multi *multi = arg;
    multi->sweep = NULL;
    for (struct multi_target **at = &multi->targets; *at;) {
        struct multi_target *target = *at;
        if (target->state != MULTI_GONE) {
            at = &target->next;
            continue;
        }
        multi_target_close(target); /* what that tells may add one behind it */
        *at = target->next;
        idmap_drop(multi->ids, target->slot);
        multi->by_slot[target->slot] = NULL;
        multi_target_free(target);
    }
    settle(multi);
}

void multi_target_ended(struct multi_target *target, const char *why)
{
    struct multi *multi = target->multi;
    enum multi_target_state was = target->state;
    char title[256];
    if (was == MULTI_GONE)
        return;
    multi_threads_leave(target, true);
    target->state = MULTI_GONE;
    multi->target_count--;
    multi_verbs_gone(multi->verbs, target);
    multi_sets_gone(multi->sets, target);
    multi_modules_gone(multi->modules, target);
    multi_progress_end(target);
    multi_limits_tell(multi);
    multi_role_tell(multi);
    pause_title(&target->pause, title, sizeof title);
    if (why && target->attach_error)
        multi_say(multi, "console", "raydbg: %s is left out: %s\n", title, why);
    if (multi->find && was != MULTI_LEAVING)
        multi_find_shun(multi->find, &target->pause, target->attach_error ? FAILED_MS : LOST_MS);
    if (!multi->sweep)
        multi->sweep = timer_start(multi->loop, 0, sweep, multi);
}

static void left(struct multi *multi)
{
    if (multi->over)
        return;
    multi->over = true;
    timer_cancel(&multi->patience);
    multi_find_stop(&multi->find);
    session_left(multi->session);
}

/* After a debuggee has gone. */
static void settle(struct multi *multi)
{
    if (multi->over || multi->target_count > 0) {
        multi_proceed(multi);
        return;
    }
    if (multi->leaving)
        left(multi);
    else if (!pause_filter_is_open(&multi->session->attach.many) && multi->configured)
        multi_end(multi, "the last task of this session is over");
    else if (multi->configured)
        say_waiting(multi);
    multi_proceed(multi);
}

void multi_end(struct multi *multi, const char *why)
{
    if (multi->over || multi->leaving)
        return;
    multi_say(multi, "console", "raydbg: %s\n", why);
    session_send_terminated(multi->session);
    multi_find_stop(&multi->find);
    timer_cancel(&multi->intro);
}

void multi_fail(struct multi *multi, const struct err *err)
{
    multi->over = true;
    session_fail_attach(multi->session, err);
}

static void on_patience(void *arg)
{
    struct multi *multi = arg;
    multi->patience = NULL;
    left(multi);
}

static size_t count_attached(const struct multi *multi)
{
    size_t count = 0;
    for (const struct multi_target *at = multi->targets; at; at = at->next)
        count += at->state == MULTI_READY || at->state == MULTI_RUNNING;
    return count;
}

static void say_goodbye(struct multi *multi, enum hub_leave how)
{
    const struct hubs *hubs = multi->session->options.hubs;
    size_t count = count_attached(multi);
    if (count == 0)
        return;
    if (how == HUB_LEAVE_KILL)
        multi_say(multi, "console", "raydbg: %zu task%s: the workers are ended (--kill)\n", count,
                  count == 1 ? "" : "s");
    else if (how == HUB_LEAVE && hubs && hubs_hold(hubs) != HUB_NEVER)
        multi_say(multi, "console",
                  "raydbg: %zu task%s held by %s; release with: raydbg release --all\n", count,
                  count == 1 ? " stays" : "s stay", hubs_name(hubs));
    else
        multi_say(multi, "console", "raydbg: %zu task%s on; the next breakpoint() waits again\n",
                  count, count == 1 ? " goes" : "s go");
}

void multi_leave(struct multi *multi, enum hub_leave how)
{
    if (multi->over) {
        session_left(multi->session);
        return;
    }
    if (!multi->leaving)
        say_goodbye(multi, how);
    multi->leaving = true;
    timer_cancel(&multi->hurry);
    timer_cancel(&multi->intro);
    multi_find_stop(&multi->find);
    for (struct multi_target *at = multi->targets; at; at = at->next)
        multi_target_leave(at, how);
    if (multi->target_count == 0)
        left(multi);
    else if (!multi->patience)
        multi->patience = timer_start(multi->loop, LEAVE_MS, on_patience, multi);
}

/* --- life --- */

struct multi *multi_open(struct session *session)
{
    struct multi *multi = mem_alloc(sizeof *multi);
    multi->session = session;
    multi->loop = session->options.loop;
    multi->ids = idmap_create();
    multi->jobs = multi_jobs_create();
    multi->sets = multi_sets_create(multi);
    multi->modules = multi_modules_create(multi);
    multi->verbs = multi_verbs_create(multi);
    multi->find = multi_find_start(multi);
    return multi;
}

void multi_destroy(struct multi **multi)
{
    struct multi *it = *multi;
    if (!it)
        return;
    *multi = NULL;
    it->leaving = it->over = true;
    multi_find_stop(&it->find);
    multi_verbs_destroy(&it->verbs);
    timer_cancel(&it->hurry);
    timer_cancel(&it->intro);
    timer_cancel(&it->patience);
    timer_cancel(&it->sweep);
    multi_flow_stop(it);
    multi_stops_free(it);
    while (it->targets) {
        struct multi_target *next = it->targets->next;
        it->targets->state = MULTI_GONE;
        multi_target_close(it->targets);
        it->by_slot[it->targets->slot] = NULL;
        multi_target_free(it->targets);
        it->targets = next;
    }
    multi_sets_destroy(&it->sets);
    multi_modules_destroy(&it->modules);
    idmap_destroy(&it->ids);
    multi_jobs_destroy(&it->jobs);
    free(it->by_slot);
    free(it->role);
    free(it->limits);
    free(it);
}

bool multi_is_over(const struct multi *multi)
{
    return multi->over;
}

const struct pause *multi_pause(const struct multi *multi)
{
    const struct multi_target *target = multi->acting ? multi->acting : multi_focused(multi);
    return target ? &target->pause : NULL;
}

size_t multi_count(const struct multi *multi)
{
    return multi->target_count;
}

bool multi_drives(const struct multi *multi)
{
    for (const struct multi_target *at = multi->targets; at; at = at->next)
        if (at->inner && session_drives(at->inner))
            return true;
    return false;
}
