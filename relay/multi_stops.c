/* When, and how, the client is told of stops. What a stop costs an editor is measured: one event of
 * its own for each of 200 tasks takes it 17 s, one for all of them 0.1 s; and one that does not say
 * preserveFocusHint takes the user away from what they look at. */
#include "relay/multi_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Stops that come within SPACE_MS of each other are told together; from BULK on by one event. */
enum { SPACE_MS = 50, BULK = 10 };

struct multi_stop_ref {
    uint32_t slot;
    int64_t own;
};

static bool has_focus(const struct multi *multi)
{
    const struct multi_thread *thread =
        multi->focus ? multi_thread_by_id(multi, multi->focus, NULL) : NULL;
    return thread && thread->stopped && thread->told;
}

/* The debuggee's own event but for these two members. */
static void send_stopped(struct multi_target *target, const struct multi_thread *thread, bool all,
                         bool preserve)
{
    struct buf message = {0};
    struct envelope event;
    struct span key, value;
    const char *json = thread->stopped_event, *problem;
    size_t cursor = 0;
    if (envelope_read(&event, json, strlen(json), &problem) != 0)
        return;
    buf_printf(&message,
               "{\"seq\":0,\"type\":\"event\",\"event\":\"stopped\",\"body\":{"
               "\"allThreadsStopped\":%s,\"preserveFocusHint\":%s",
               all ? "true" : "false", preserve ? "true" : "false");
    while (scan_member(json, event.body, &cursor, &key, &value))
        if (!scan_key_is(json, key, "allThreadsStopped") &&
            !scan_key_is(json, key, "preserveFocusHint"))
            buf_printf(&message, ",%.*s:%.*s", (int)key.len, json + key.at, (int)value.len,
                       json + value.at);
    buf_add_string(&message, "}}");
    if (envelope_read(&event, message.data, message.len, &problem) == 0)
        multi_pass_out(target, 0, thread->own, message.data, message.len, &event);
    buf_free(&message);
}

static void tell_one(struct multi_target *target, struct multi_thread *thread, bool preserve)
{
    struct multi *multi = target->multi;
    char body[80];
    bool news = !thread->listed;
    int64_t own = thread->own;
    thread->told = thread->listed = true;
    thread->asked = false;
    if (!preserve)
        multi->focus = thread->id;
    if (news) {
        snprintf(body, sizeof body, "{\"reason\":\"started\",\"threadId\":%" PRId64 "}",
                 thread->id);
        client_event(&multi->session->client, "thread", body);
        thread = multi_thread_find(target, own);
    }
    if (thread && thread->stopped)
        send_stopped(target, thread, false, preserve);
}

void multi_stop_show(struct multi_target *target, struct multi_thread *thread)
{
    tell_one(target, thread, false);
}

/* --- many at once --- */

static struct multi_thread *first_stopped(const struct multi *multi, struct multi_target **target)
{
    for (struct multi_target *at = multi->targets; at; at = at->next) {
        for (size_t i = 0; at->state == MULTI_RUNNING && i < at->thread_count; i++) {
            if (!at->threads[i].stopped)
                continue;
            *target = at;
            return &at->threads[i];
        }
    }
    return NULL;
}

static void tell_running(struct multi *multi)
{
    char body[80];
    for (struct multi_target *at = multi->targets; at; at = at->next) {
        for (size_t i = 0; at->state == MULTI_RUNNING && i < at->thread_count; i++) {
            if (!at->threads[i].shown || at->threads[i].stopped)
                continue;
            snprintf(body, sizeof body, "{\"threadId\":%" PRId64 ",\"allThreadsContinued\":false}",
                     at->threads[i].id);
            client_event(&multi->session->client, "continued", body);
        }
    }
}

static void show_all(struct multi *multi, struct multi_target *target,
                     const struct multi_thread *thread, bool preserve)
{
    multi->untold_count = 0;
    if (!thread)
        return;
    for (struct multi_target *at = multi->targets; at; at = at->next) {
        for (size_t i = 0; at->state == MULTI_RUNNING && i < at->thread_count; i++) {
            struct multi_thread *other = &at->threads[i];
            other->told = other->stopped;
            other->listed = other->shown;
            if (other->stopped)
                other->asked = false;
        }
    }
    multi->focus = thread->id;
    send_stopped(target, thread, true, preserve);
    tell_running(multi);
}

void multi_stop_show_all(struct multi *multi, struct multi_target *target,
                         const struct multi_thread *thread)
{
    bool preserve = !thread && has_focus(multi);
    if (preserve)
        thread = multi_thread_by_id(multi, multi->focus, &target);
    else if (!thread)
        thread = first_stopped(multi, &target);
    show_all(multi, target, thread, preserve);
}

/* --- one after the other --- */

static struct multi_thread *due(const struct multi *multi, const struct multi_stop_ref *ref,
                                struct multi_target **target)
{
    *target = multi_find_slot(multi, ref->slot);
    struct multi_thread *thread = *target ? multi_thread_find(*target, ref->own) : NULL;
    return thread && thread->stopped && !thread->told ? thread : NULL;
}

static bool flush(struct multi *multi)
{
    struct multi_stop_ref *refs = multi->untold;
    size_t count = multi->untold_count;
    struct multi_target *target;
    struct multi_thread *thread;
    multi->untold = NULL;
    multi->untold_count = 0;
    if (count >= BULK)
        multi_stop_show_all(multi, NULL, NULL);
    for (size_t i = 0; i < count; i++)
        if ((thread = due(multi, &refs[i], &target)))
            tell_one(target, thread, has_focus(multi));
    free(refs);
    return count > 0;
}

static void tell_names(struct multi *multi)
{
    char body[80];
    const struct multi_target *at = multi->targets;
    if (!multi->renamed)
        return;
    multi->renamed = false;
    while (at && !(at->thread_count && at->threads[0].listed))
        at = at->next;
    if (!at)
        return;
    snprintf(body, sizeof body, "{\"reason\":\"started\",\"threadId\":%" PRId64 "}",
             at->threads[0].id);
    client_event(&multi->session->client, "thread", body);
}

static void on_space(void *arg)
{
    struct multi *multi = arg;
    multi->spacing = NULL;
    bool told = flush(multi);
    tell_names(multi);
    if (told || multi->untold_count)
        multi->spacing = timer_start(multi->loop, SPACE_MS, on_space, multi);
}

void multi_stop_note(struct multi_target *target, struct multi_thread *thread)
{
    struct multi *multi = target->multi;
    thread->shown = true;
    if (multi->introduced && thread->asked) {
        tell_one(target, thread, false);
        return;
    }
    if (!multi->gathered) {
        multi_stop_introduce(multi, false);
        return;
    }
    multi->untold = mem_resize(multi->untold, multi->untold_count + 1, sizeof *multi->untold);
    multi->untold[multi->untold_count++] = (struct multi_stop_ref){target->slot, thread->own};
    if (multi->spacing)
        return;
    flush(multi);
    multi->spacing = timer_start(multi->loop, SPACE_MS, on_space, multi);
}

void multi_stop_renamed(struct multi *multi)
{
    multi->renamed = true;
    if (multi->gathered && !multi->spacing)
        multi->spacing = timer_start(multi->loop, SPACE_MS, on_space, multi);
}

/* --- the population --- */

/* Ray tells how many of its threads wait, and debugpy of each by itself. */
static bool all_have_stopped(const struct multi_target *target)
{
    int64_t stopped = (int64_t)multi_stopped_count(target);
    return stopped > 0 && stopped >= target->pause.paused_threads;
}

static bool is_complete(const struct multi *multi)
{
    if (multi->assembling || (multi->introduced && !multi->unhurried))
        return false;
    for (const struct multi_target *at = multi->targets; at; at = at->next)
        if (at->state == MULTI_RUNNING && !(all_have_stopped(at) && at->rank_known))
            return false;
    return true;
}

static bool all_are_told(const struct multi *multi)
{
    for (const struct multi_target *at = multi->targets; at; at = at->next)
        for (size_t i = 0; at->state == MULTI_RUNNING && i < at->thread_count; i++)
            if (at->threads[i].stopped && !at->threads[i].told)
                return false;
    return true;
}

/* The rest of the population, beside what an eager client was shown first. A second event makes an
 * editor forget the first one if it is still at it: then it takes the focus, too. */
static void show_rest(struct multi *multi)
{
    struct multi_target *target = NULL;
    const struct multi_thread *focus = NULL;
    if (!multi->looked && has_focus(multi))
        focus = multi_thread_by_id(multi, multi->focus, &target);
    if (!all_are_told(multi))
        multi_stop_show_all(multi, target, focus);
    else if (multi->renamed)
        multi_stop_renamed(multi);
}

/* Editors that are to show any thread that stands take the first of the list. */
static void move_to_front(struct multi *multi, struct multi_target *target)
{
    struct multi_target **at = &multi->targets;
    while (*at != target)
        at = &(*at)->next;
    *at = target->next;
    target->next = multi->targets;
    multi->targets = target;
}

void multi_stop_introduce(struct multi *multi, bool now)
{
    const struct attach_arguments *attach = &multi->session->attach;
    struct multi_target *target = NULL;
    const struct multi_thread *first = first_stopped(multi, &target);
    bool complete = now || is_complete(multi), again = multi->introduced;
    if (multi->gathered || !multi->configured)
        return;
    if (!complete && (again || !attach->eager || !first))
        return;
    multi->introduced = true;
    multi->gathered = complete;
    if (complete) {
        multi->assembling = false;
        timer_cancel(&multi->intro);
    }
    if (!complete)
        move_to_front(multi, target);
    if (again)
        show_rest(multi);
    else
        show_all(multi, target, first, attach->preserve_focus);
}

void multi_stops_free(struct multi *multi)
{
    timer_cancel(&multi->spacing);
    free(multi->untold);
    multi->untold = NULL;
    multi->untold_count = 0;
}
