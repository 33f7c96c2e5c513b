/* A session's own requests to the debuggee, which its client does not see, and those that clients
 * have left behind. */
#include "base/list.h"
#include "base/mem.h"
#include "relay/hub/hub_state.h"

#include <stdlib.h>

enum { ORPHANS_MS = 1000 }; /* for the answers to requests of clients that have left */

struct hub_request {
    struct hub_request *next;
    struct hub *hub;
    const struct member *member; /* NULL: it has left, and `fn` does not run */
    link_answer_fn fn;
    void *arg;
};

static void on_answer(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct hub_request *request = arg;
    LIST_REMOVE(request->hub->own_requests, request);
    if (request->member)
        request->fn(request->arg, json, len, envelope);
    free(request);
}

void hub_ask(struct member *member, const char *command, const char *arguments, int64_t timeout_ms,
             link_answer_fn fn, void *arg)
{
    struct hub *hub = hub_checked(member->hub);
    struct hub_request *request = mem_alloc(sizeof *request);
    *request = (struct hub_request){hub->own_requests, hub, member, fn, arg};
    hub->own_requests = request;
    target_ask(hub->target, command, arguments, timeout_ms, on_answer, request);
}

void hub_drop_requests(const struct member *member)
{
    for (struct hub_request *at = member->hub->own_requests; at; at = at->next)
        if (at->member == member)
            at->member = NULL;
}

void hub_free_requests(struct hub *hub)
{
    LIST_FREE(hub->own_requests, free);
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
