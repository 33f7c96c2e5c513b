/* Requests that are not answered yet: the sessions' own, which their clients do not see, and the
 * relay's; those that clients have left behind; those that resume threads. */
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/hub/hub_state.h"

#include <stdio.h>
#include <stdlib.h>

enum { ORPHANS_MS = 1000 }; /* for the answers to requests of clients that have left */

struct hub_request {
    struct hub_request *next;
    struct hub *hub;
    const struct member *member; /* NULL: it has left, or the relay asks */
    link_answer_fn fn;           /* NULL: it does not run */
    void *arg;
};

static void on_answer(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct hub_request *request = arg;
    LIST_REMOVE(request->hub->own_requests, request);
    if (request->fn)
        request->fn(request->arg, json, len, envelope);
    free(request);
}

static struct hub_request *add_request(struct hub *hub, const struct member *member,
                                       link_answer_fn fn, void *arg)
{
    struct hub_request *request = mem_alloc(sizeof *request);
    *request = (struct hub_request){hub->own_requests, hub, member, fn, arg};
    hub->own_requests = request;
    return request;
}

void hub_ask(struct member *member, const char *command, const char *arguments, int64_t timeout_ms,
             link_answer_fn fn, void *arg)
{
    struct hub *hub = hub_checked(member->hub);
    struct hub_request *request = add_request(hub, member, fn, arg);
    target_ask(hub->target, command, arguments, timeout_ms, on_answer, request);
}

static void on_continued(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct hub_request *request = arg;
    hub_resume_answered(request->hub, NULL, 0, !json || envelope->success);
    on_answer(request, json, len, envelope);
}

void hub_ask_continue(struct hub *hub, int64_t timeout_ms, link_answer_fn fn, void *arg)
{
    struct hub_request *request = add_request(hub, NULL, fn, arg);
    hub_resume(hub, NULL, 0, 0, true);
    target_ask(hub->target, "continue", "{\"threadId\":0}", timeout_ms, on_continued, request);
}

void hub_drop_requests(const struct member *member, const void *arg)
{
    for (struct hub_request *at = member->hub->own_requests; at; at = at->next)
        if (at->member == member && (!arg || at->arg == arg))
            *at = (struct hub_request){.next = at->next, .hub = at->hub};
}

void hub_interrupt(const struct member *member, struct client_seq client)
{
    struct hub *hub = member->hub;
    if (hub && hub->state == HUB_READY && target_only_evaluates(hub->target, member, client))
        target_give_up(hub->target);
}

static void on_orphans(void *arg)
{
    struct hub *hub = hub_checked(arg);
    hub->orphans = NULL;
    if (hub->state != HUB_READY || !target_orphans(hub->target))
        return;
    if (target_orphans(hub->target) >= target_owed(hub->target))
        target_give_up(hub->target);
    else
        hub_note_orphans(hub);
}

void hub_note_orphans(struct hub *hub)
{
    if (hub->state == HUB_READY && !hub->orphans && target_orphans(hub->target))
        hub->orphans = timer_start(hub->loop, ORPHANS_MS, on_orphans, hub);
}

void hub_drop_orphans(struct hub *hub)
{
    if (!hub->orphans)
        return;
    timer_cancel(&hub->orphans);
    on_orphans(hub);
}

/* --- requests that resume threads --- */

struct hub_resume {
    struct hub_resume *next; /* in the order in which they were sent */
    const struct member *sender;
    int64_t seq;
    struct stop_events stops; /* those that the request is to end */
};

static void resume_free(struct hub_resume *resume)
{
    stop_events_clear(&resume->stops);
    free(resume);
}

void hub_free_requests(struct hub *hub)
{
    LIST_FREE(hub->own_requests, free);
    LIST_FREE(hub->resumes, resume_free);
}

void hub_forget_resumes(const struct member *sender)
{
    for (struct hub_resume **at = &sender->hub->resumes; *at;) {
        struct hub_resume *resume = *at;
        if (resume->sender != sender) {
            at = &resume->next;
            continue;
        }
        *at = resume->next;
        resume_free(resume);
    }
}

static void tell_others(struct hub *hub, const struct member *but, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, json, len, &problem) != 0)
        return;
    struct hub_event event = {json, len, &envelope};
    for (struct member *at = hub->members, *next; at; at = next) {
        next = at->next;
        if (at != but)
            hub_pass_event(at, &event);
    }
}

static void tell_continued(struct hub *hub, const struct member *but, int64_t thread, bool all)
{
    char json[160];
    int len = snprintf(json, sizeof json,
                       "{\"seq\":0,\"type\":\"event\",\"event\":\"continued\",\"body\":{"
                       "\"threadId\":%lld,\"allThreadsContinued\":%s}}",
                       (long long)thread, all ? "true" : "false");
    tell_others(hub, but, json, (size_t)len);
}

void hub_resume(struct hub *hub, const struct member *sender, int64_t seq, int64_t thread, bool all)
{
    struct hub_resume *resume = mem_alloc(sizeof *resume);
    *resume = (struct hub_resume){.sender = sender, .seq = seq};
    LIST_APPEND(hub->resumes, resume);
    stop_events_take(&hub->stops, thread, all, &resume->stops);
    hub_renew_objects(hub);
    if (hub->shared) {
        tell_continued(hub, sender, thread, all);
        hub_note_location(hub);
    }
}

void hub_resume_event(struct hub *hub, const char *json, size_t len, const struct envelope *event)
{
    if (text_equal(event->name, "stopped")) /* hub->stops has it */
        return;
    for (struct hub_resume *at = hub->resumes; at; at = at->next)
        stop_events_event(&at->stops, json, len, event);
}

/* The thread is stopped still, unless it has stopped anew since, or has exited. */
static void give_back(struct hub *hub, const struct member *sender, const struct stop *stop)
{
    struct envelope event;
    const char *problem;
    if (!stop->json || !stop_events_runs(&hub->stops, stop->thread) ||
        envelope_read(&event, stop->json, stop->len, &problem) != 0)
        return;
    stop_events_event(&hub->stops, stop->json, stop->len, &event);
    target_recall(hub->target, stop->json, &event);
    tell_others(hub, sender, stop->json, stop->len);
}

static struct hub_resume *take_resume(struct hub *hub, const struct member *sender, int64_t seq)
{
    struct hub_resume *at = hub->resumes;
    while (at && (at->sender != sender || at->seq != seq))
        at = at->next;
    if (at)
        LIST_REMOVE(hub->resumes, at);
    return at;
}

void hub_resume_answered(struct hub *hub, const struct member *sender, int64_t seq, bool success)
{
    struct hub_resume *resume = take_resume(hub, sender, seq);
    if (!resume)
        return;
    if (!success && hub->state == HUB_READY) {
        for (size_t i = 0; i < resume->stops.count; i++)
            give_back(hub, sender, &resume->stops.items[i]);
        hub_renew_objects(hub);
        hub_note_location(hub);
        hub_save(hub);
    }
    resume_free(resume);
}
