/* Where a client's requests go: to the debuggee whose id they name, to the one that it looks at, to
 * all, or nowhere, because the answer is known. */
#include "relay/multi_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { GATHER_MS = 2000 };

struct multi_target *multi_focused(const struct multi *multi)
{
    struct multi_target *target = NULL;
    if (multi->focus)
        multi_thread_by_id(multi, multi->focus, &target);
    for (struct multi_target *at = multi->targets; at && !target; at = at->next)
        if (multi_target_is_there(at))
            target = at;
    return target;
}

static void refuse(struct multi *multi, const struct envelope *request, const char *why)
{
    client_refuse(&multi->session->client, request->seq, request->name, why, false);
}

/* --- to one --- */

struct route {
    struct multi_target *target; /* NULL: the request was refused */
    int64_t thread;
    struct buf json; /* with the debuggee's ids; the caller frees */
    struct envelope envelope;
};

/* NONE gives the target that the client looks at. */
static enum id_route find_route(struct multi *multi, const char *json, size_t len,
                                const struct envelope *request, struct route *route)
{
    struct idmap_entry entry = {0};
    const char *problem;
    *route = (struct route){0};
    enum id_route kind = id_rewrite_in(multi->ids, json, len, request, &entry, &route->json);
    if (kind == ID_ROUTE_SLOT) {
        route->target = multi_find_slot(multi, entry.slot);
        route->thread = entry.thread;
    } else if (kind == ID_ROUTE_NONE) {
        const struct multi_thread *focus = multi_thread_by_id(multi, multi->focus, NULL);
        route->target = multi_focused(multi);
        route->thread = focus && focus->stopped ? focus->own : 0;
        buf_add(&route->json, json, len);
    }
    if (route->target &&
        envelope_read(&route->envelope, route->json.data, route->json.len, &problem) != 0)
        route->target = NULL;
    return kind;
}

static const char *why_nowhere(enum id_route kind)
{
    if (kind == ID_ROUTE_MIXED)
        return "the request names things of different tasks";
    if (kind == ID_ROUTE_NONE)
        return "no task is attached";
    return "that stop is over: the task has gone on, or ended";
}

static void look_at(struct multi *multi, const struct route *route)
{
    const struct multi_thread *thread =
        route->thread ? multi_thread_find(route->target, route->thread) : NULL;
    if (thread && thread->stopped)
        multi->focus = thread->id;
}

static void on_routed(struct multi *multi, const char *json, size_t len,
                      const struct envelope *request)
{
    struct route route;
    enum id_route kind = find_route(multi, json, len, request, &route);
    if (route.target) {
        look_at(multi, &route);
        if (text_equal(request->name, "variables"))
            multi_looked(multi);
        multi_pass(route.target, request->seq, route.thread, route.json.data, route.json.len,
                   &route.envelope);
    } else {
        refuse(multi, request, why_nowhere(kind));
    }
    buf_free(&route.json);
}

/* The thread that `threadId` names, if it is one of the session's. */
static struct multi_thread *thread_of(const struct multi *multi, const char *json,
                                      const struct envelope *request, struct multi_target **target)
{
    struct span at;
    int64_t id;
    *target = NULL;
    if (!request->arguments.len || !scan_find(json, request->arguments, "threadId", &at) ||
        !scan_integer(json, at, &id))
        return NULL;
    return multi_thread_by_id(multi, id, target);
}

static void on_stack_trace(struct multi *multi, const char *json, size_t len,
                           const struct envelope *request)
{
    struct multi_target *target;
    struct span at;
    struct multi_thread *thread = thread_of(multi, json, request, &target);
    if (!thread || (request->arguments.len && scan_find(json, request->arguments, "format", &at)))
        on_routed(multi, json, len, request);
    else
        multi_stack_request(target, thread, json, request);
}

static void on_step(struct multi *multi, const char *json, size_t len,
                    const struct envelope *request)
{
    struct multi_target *target;
    struct multi_thread *thread = thread_of(multi, json, request, &target);
    if (thread && thread->stopped) {
        thread->asked = true;
        thread->asked_at = target->stop_count;
        multi_verbs_resumed(multi->verbs, thread->id);
    }
    on_routed(multi, json, len, request);
}

/* --- continue --- */

static bool names_thread(const char *json, const struct envelope *request)
{
    struct span at;
    int64_t id;
    return request->arguments.len && scan_find(json, request->arguments, "threadId", &at) &&
           scan_integer(json, at, &id) && id != 0;
}

static struct multi_thread *only_stopped(const struct multi *multi, struct multi_target **target)
{
    struct multi_thread *found = NULL;
    for (struct multi_target *at = multi->targets; at; at = at->next) {
        for (size_t i = 0; i < at->thread_count; i++) {
            if (!at->threads[i].stopped)
                continue;
            if (found)
                return NULL;
            found = &at->threads[i];
            *target = at;
        }
    }
    return found;
}

/* An editor's key for it works without any thread in focus, too: it means the one that stands. An
 * id that nobody has any more means nobody. */
static void on_continue(struct multi *multi, const char *json, size_t len,
                        const struct envelope *request)
{
    struct multi_target *target;
    struct span at;
    bool single = true;
    struct multi_thread *thread = thread_of(multi, json, request, &target);
    (void)len;
    if (!thread && !names_thread(json, request))
        thread = only_stopped(multi, &target);
    if (request->arguments.len && scan_find(json, request->arguments, "singleThread", &at))
        scan_boolean(json, at, &single);
    if (!thread || !thread->stopped) {
        client_respond(&multi->session->client, request->seq, request->name,
                       "{\"allThreadsContinued\":false}");
        return;
    }
    int64_t own = thread->own;
    multi_verbs_resumed(multi->verbs, thread->id);
    multi_continue(target, own, !single, request->seq, false);
}

/* --- to all --- */

struct gather {
    struct multi *multi;
    int64_t seq;
    char command[DAP_NAME_MAX];
    bool modules; /* it is `modules`; else there is no body */
    int64_t start, count;
    size_t left;
    bool any;  /* somebody has done it */
    char *why; /* or what the first one said who has not */
};

static void finish(struct gather *gather)
{
    struct client *client = &gather->multi->session->client;
    struct buf body = {0};
    if (gather->modules)
        multi_modules_body(gather->multi->modules, gather->start, gather->count, &body);
    if (!gather->any && gather->why)
        client_refuse(client, gather->seq, gather->command, gather->why, false);
    else
        client_respond(client, gather->seq, gather->command, body.data);
    buf_free(&body);
    free(gather->why);
    free(gather);
}

static void on_gathered(void *arg, struct multi_target *target, const char *json, size_t len,
                        const struct envelope *response)
{
    struct gather *gather = arg;
    (void)len;
    if (response && response->success) {
        gather->any = true;
        if (gather->modules && target->state != MULTI_GONE)
            multi_modules_answer(gather->multi->modules, target, json, response);
    } else if (!gather->why) {
        gather->why = response && response->message.len ? scan_string(json, response->message)
                                                        : mem_string("no task has answered");
    }
    if (--gather->left == 0)
        finish(gather);
}

static struct gather *gather_create(struct multi *multi, const struct envelope *request)
{
    struct gather *gather = mem_alloc(sizeof *gather);
    *gather = (struct gather){.multi = multi, .seq = request->seq};
    text_copy(gather->command, sizeof gather->command, request->name);
    return gather;
}

/* Asks all that can be asked; the gather ends with the last answer. */
static void ask_all(struct gather *gather, const char *arguments)
{
    gather->left = 1;
    for (struct multi_target *at = gather->multi->targets; at; at = at->next) {
        if (!multi_target_is_there(at))
            continue;
        gather->left++;
        multi_ask(at, gather->command, arguments, GATHER_MS, on_gathered, gather);
    }
    if (--gather->left == 0)
        finish(gather);
}

static int64_t read_count(const char *json, const struct envelope *request, const char *name)
{
    struct span at;
    int64_t count;
    bool found = request->arguments.len && scan_find(json, request->arguments, name, &at) &&
                 scan_integer(json, at, &count) && count > 0;
    return found ? count : 0;
}

static void on_modules(struct multi *multi, const char *json, size_t len,
                       const struct envelope *request)
{
    struct gather *gather = gather_create(multi, request);
    (void)len;
    gather->modules = true;
    gather->start = read_count(json, request, "startModule");
    gather->count = read_count(json, request, "moduleCount");
    ask_all(gather, NULL); /* each for all it has: which ones are the same is not known before */
}

static void on_all(struct multi *multi, const char *json, size_t len,
                   const struct envelope *request)
{
    struct multi_target *target;
    if (thread_of(multi, json, request, &target)) {
        multi_pass(target, request->seq, 0, json, len, request);
        return;
    }
    char *arguments = request->arguments.len
                          ? mem_string_n(json + request->arguments.at, request->arguments.len)
                          : NULL;
    ask_all(gather_create(multi, request), arguments);
    free(arguments);
}

/* --- the table --- */

static void on_configuration_done(struct multi *multi, const char *json, size_t len,
                                  const struct envelope *request)
{
    (void)json, (void)len;
    multi_on_configuration_done(multi, request);
}

static void on_threads(struct multi *multi, const char *json, size_t len,
                       const struct envelope *request)
{
    (void)json, (void)len;
    multi_on_threads(multi, request);
}

static const struct {
    const char *command;
    void (*handle)(struct multi *multi, const char *json, size_t len,
                   const struct envelope *request);
} handlers[] = {
    {"configurationDone", on_configuration_done},
    {"threads", on_threads},
    {"stackTrace", on_stack_trace},
    {"continue", on_continue},
    {"next", on_step},
    {"stepIn", on_step},
    {"stepOut", on_step},
    {"goto", on_step},
    {"modules", on_modules},
    {"setDebuggerProperty", on_all},
    {"setPydevdSourceMap", on_all},
    {"raydbg/stepIntoRemote", on_step},
    {"raydbg/stepOutToGet", on_step},
    {"raydbg/takeOver", on_all},
    {"raydbg/release", on_all},
};

void multi_request(struct multi *multi, const char *json, size_t len,
                   const struct envelope *envelope)
{
    const char *command = envelope->name;
    if (multi->over || multi->leaving) {
        refuse(multi, envelope, "the session has ended");
        return;
    }
    if (multi_verbs_request(multi->verbs, json, len, envelope))
        return;
    if (multi_sets_is_set(command)) {
        multi_sets_request(multi->sets, json, len, envelope);
        return;
    }
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        if (text_equal(command, handlers[i].command)) {
            handlers[i].handle(multi, json, len, envelope);
            return;
        }
    }
    on_routed(multi, json, len, envelope);
}
