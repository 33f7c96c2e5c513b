/* When, and how, the client is told of stops. The cost for an editor is measured: one event for
 * each of 200 tasks takes it 17 s, one event for all of them 0.1 s. An event that does not say
 * preserveFocusHint takes the user away from what they look at. */
#include "relay/many/many_state.h"

#include "base/list.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

/* Stops that come within SPACE_MS of each other are told together; from BULK on by one event. */
enum { SPACE_MS = 50, BULK = 10 };

struct many_stop_ref {
    uint32_t slot;
    int64_t own;
};

static bool has_focus(const struct many *many)
{
    const struct many_thread *thread =
        many->focus ? many_thread_by_id(many, many->focus, NULL) : NULL;
    return thread && thread->stopped && thread->told;
}

/* Sends the debuggee's own event, with only these two members changed. */
static void send_stopped(struct many_task *task, const struct many_thread *thread, bool all,
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
        many_pass_out(task, 0, thread->own, message.data, message.len, &event);
    buf_free(&message);
}

static void tell_one(struct many_task *task, struct many_thread *thread, bool preserve)
{
    struct many *many = task->many;
    bool news = !thread->listed;
    int64_t own = thread->own;
    thread->told = thread->listed = true;
    thread->asked = false;
    if (!preserve)
        many->focus = thread->id;
    if (news) {
        many_tell_thread(many, "started", thread->id);
        thread = many_thread_find(task, own);
    }
    if (thread && thread->stopped)
        send_stopped(task, thread, false, preserve);
}

void many_stop_show(struct many_task *task, struct many_thread *thread)
{
    tell_one(task, thread, false);
}

/* --- many at once --- */

static void tell_running(struct many *many)
{
    for (struct many_task *at = many->targets; at; at = at->next)
        for (size_t i = 0; at->state == MANY_RUNNING && i < at->thread_count; i++)
            if (at->threads[i].shown && !at->threads[i].stopped)
                many_tell_continued(many, at->threads[i].id);
}

static void show_all(struct many *many, struct many_task *task, const struct many_thread *thread,
                     bool preserve)
{
    many->untold_count = 0;
    if (!thread)
        return;
    for (struct many_task *at = many->targets; at; at = at->next) {
        for (size_t i = 0; at->state == MANY_RUNNING && i < at->thread_count; i++) {
            struct many_thread *other = &at->threads[i];
            other->told = other->stopped;
            other->listed = other->shown;
            if (other->stopped)
                other->asked = false;
        }
    }
    many->focus = thread->id;
    send_stopped(task, thread, true, preserve);
    tell_running(many);
}

void many_stop_show_all(struct many *many, struct many_task *task, const struct many_thread *thread)
{
    bool preserve = !thread && has_focus(many);
    if (preserve)
        thread = many_thread_by_id(many, many->focus, &task);
    else if (!thread)
        thread = many_first_stopped(many, &task);
    show_all(many, task, thread, preserve);
}

/* --- one after the other --- */

static struct many_thread *due(const struct many *many, const struct many_stop_ref *ref,
                               struct many_task **task)
{
    *task = many_find_slot(many, ref->slot);
    struct many_thread *thread = *task ? many_thread_find(*task, ref->own) : NULL;
    return thread && thread->stopped && !thread->told ? thread : NULL;
}

static bool flush(struct many *many)
{
    struct many_stop_ref *refs = many->untold;
    size_t count = many->untold_count;
    struct many_task *task;
    struct many_thread *thread;
    many->untold = NULL;
    many->untold_count = 0;
    if (count >= BULK)
        many_stop_show_all(many, NULL, NULL);
    for (size_t i = 0; i < count; i++)
        if ((thread = due(many, &refs[i], &task)))
            tell_one(task, thread, has_focus(many));
    free(refs);
    return count > 0;
}

static void tell_names(struct many *many)
{
    const struct many_task *at = many->targets;
    if (!many->renamed)
        return;
    many->renamed = false;
    while (at && !(at->thread_count && at->threads[0].listed))
        at = at->next;
    if (at)
        many_tell_thread(many, "started", at->threads[0].id);
}

static void on_space(void *arg)
{
    struct many *many = many_checked(arg);
    many->spacing = NULL;
    bool told = flush(many);
    tell_names(many);
    if (told || many->untold_count)
        many->spacing = timer_start(many->loop, SPACE_MS, on_space, many);
}

void many_stop_note(struct many_task *task, struct many_thread *thread)
{
    struct many *many = task->many;
    thread->shown = true;
    if (many->introduced && thread->asked) {
        tell_one(task, thread, false);
        return;
    }
    if (!many->gathered) {
        many->news_us = loop_now_us();
        many_stop_introduce(many, false);
        return;
    }
    many->untold = mem_resize(many->untold, many->untold_count + 1, sizeof *many->untold);
    many->untold[many->untold_count++] = (struct many_stop_ref){task->slot, thread->own};
    if (many->spacing)
        return;
    flush(many);
    many->spacing = timer_start(many->loop, SPACE_MS, on_space, many);
}

void many_stop_renamed(struct many *many)
{
    many->renamed = true;
    if (many->gathered && !many->spacing)
        many->spacing = timer_start(many->loop, SPACE_MS, on_space, many);
}

/* --- the population --- */

/* The worker has counted its threads that wait, and debugpy reports the stop of each. An older
 * debugpy returns no count: then it is Ray's, which may be wrong. */
static bool all_have_stopped(const struct many_task *task)
{
    int64_t stopped = (int64_t)many_stopped_count(task);
    return stopped > 0 && stopped >= task->pause.paused_threads;
}

static bool is_complete(const struct many *many)
{
    if (many->assembling || (many->introduced && !many->unhurried))
        return false;
    for (const struct many_task *at = many->targets; at; at = at->next)
        if (at->state == MANY_RUNNING && !(all_have_stopped(at) && at->rank_known))
            return false;
    return true;
}

static bool all_are_told(const struct many *many)
{
    for (const struct many_task *at = many->targets; at; at = at->next)
        for (size_t i = 0; at->state == MANY_RUNNING && i < at->thread_count; i++)
            if (at->threads[i].stopped && !at->threads[i].told)
                return false;
    return true;
}

/* Shows the rest of the population to an eager client. A second event makes an editor forget the
 * first one if it is still handling it: then this one takes the focus, too. */
static void show_rest(struct many *many)
{
    struct many_task *task = NULL;
    const struct many_thread *focus = NULL;
    if (!many->looked && has_focus(many))
        focus = many_thread_by_id(many, many->focus, &task);
    if (!all_are_told(many))
        many_stop_show_all(many, task, focus);
    else if (many->renamed)
        many_stop_renamed(many);
}

/* An editor that is to show any stopped thread takes the first of the list. */
static void move_to_front(struct many *many, struct many_task *task)
{
    LIST_REMOVE(many->targets, task);
    task->next = many->targets;
    many->targets = task;
}

void many_stop_introduce(struct many *many, bool now)
{
    const struct attach_arguments *attach = many->attach;
    struct many_task *task = NULL;
    const struct many_thread *first = many_first_stopped(many, &task);
    bool complete = now || is_complete(many), again = many->introduced;
    if (many->gathered || !many->configured || many->leaving || many->over)
        return;
    if (!complete && (again || !attach->eager || !first))
        return;
    many->introduced = true;
    many->gathered = complete;
    if (complete) {
        many->assembling = false;
        timer_cancel(&many->intro);
    }
    if (!complete)
        move_to_front(many, task);
    if (again)
        show_rest(many);
    else
        show_all(many, task, first, attach->preserve_focus);
}

void many_stops_free(struct many *many)
{
    timer_cancel(&many->spacing);
    free(many->untold);
    many->untold = NULL;
    many->untold_count = 0;
}
