/* The routing of a client's requests: to the debuggee whose id they name, to the one that the
 * client looks at, to all, or to none, because the answer is known. */
#include "relay/many/many_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/rules.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { GATHER_MS = 2000 };

static void refuse(struct many *many, const struct envelope *request, const char *why)
{
    client_refuse(many->client, request->seq, request->name, why, false);
}

/* --- to one --- */

struct route {
    struct many_task *task; /* NULL: the request was refused */
    int64_t thread;
    struct buf json; /* with the debuggee's ids; the caller frees */
    struct envelope envelope;
};

/* With ID_ROUTE_NONE route->task is the task that the client looks at. */
static enum id_route find_route(struct many *many, const char *json, size_t len,
                                const struct envelope *request, struct route *route)
{
    struct idmap_entry entry = {0};
    const char *problem;
    *route = (struct route){0};
    enum id_route kind = id_rewrite_in(many->ids, json, len, request, &entry, &route->json);
    if (kind == ID_ROUTE_SLOT) {
        route->task = many_find_slot(many, entry.slot);
        route->thread = entry.thread;
    } else if (kind == ID_ROUTE_NONE) {
        const struct many_thread *focus = many_thread_by_id(many, many->focus, NULL);
        route->task = many_focused(many);
        route->thread = focus && focus->stopped ? focus->own : 0;
        buf_add(&route->json, json, len);
    }
    if (route->task &&
        envelope_read(&route->envelope, route->json.data, route->json.len, &problem) != 0)
        route->task = NULL;
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

static void look_at(struct many *many, const struct route *route)
{
    const struct many_thread *thread =
        route->thread ? many_thread_find(route->task, route->thread) : NULL;
    if (thread && thread->stopped)
        many->focus = thread->id;
}

static void on_routed(struct many *many, const char *json, size_t len,
                      const struct envelope *request)
{
    struct route route;
    enum id_route kind = find_route(many, json, len, request, &route);
    if (route.task) {
        look_at(many, &route);
        if (text_equal(request->name, "variables"))
            many_join_looked(many);
        many_pass(route.task, request->seq, route.thread, route.json.data, route.json.len,
                  &route.envelope);
    } else {
        refuse(many, request, why_nowhere(kind));
    }
    buf_free(&route.json);
}

/* The thread that `threadId` names, if it is one of the session's. */
static struct many_thread *thread_of(const struct many *many, const char *json,
                                     const struct envelope *request, struct many_task **task)
{
    int64_t id;
    *task = NULL;
    if (!scan_integer_at(json, request->arguments, "threadId", &id))
        return NULL;
    return many_thread_by_id(many, id, task);
}

static void on_stack_trace(struct many *many, const char *json, size_t len,
                           const struct envelope *request)
{
    struct many_task *task;
    struct span at;
    struct many_thread *thread = thread_of(many, json, request, &task);
    if (!thread || (request->arguments.len && scan_find(json, request->arguments, "format", &at)))
        on_routed(many, json, len, request);
    else
        many_stack_request(task, thread, json, request);
}

static void on_step(struct many *many, const char *json, size_t len, const struct envelope *request)
{
    struct many_task *task;
    struct many_thread *thread = thread_of(many, json, request, &task);
    if (thread && thread->stopped) {
        thread->asked = true;
        thread->asked_at = task->stop_count;
        many->hooks->resumed(many->verbs, thread->id);
    }
    on_routed(many, json, len, request);
}

/* --- continue --- */

static bool names_thread(const char *json, const struct envelope *request)
{
    int64_t id;
    return scan_integer_at(json, request->arguments, "threadId", &id) && id != 0;
}

static struct many_thread *only_stopped(const struct many *many, struct many_task **task)
{
    struct many_thread *found = NULL;
    for (struct many_task *at = many->targets; at; at = at->next) {
        for (size_t i = 0; i < at->thread_count; i++) {
            if (!at->threads[i].stopped)
                continue;
            if (found)
                return NULL;
            found = &at->threads[i];
            *task = at;
        }
    }
    return found;
}

/* An editor's key for `continue` works without a thread in focus, too: it means the only stopped
 * thread. An id that no thread has any more means none. */
static void on_continue(struct many *many, const char *json, size_t len,
                        const struct envelope *request)
{
    struct many_task *task;
    struct span at;
    bool single = true;
    struct many_thread *thread = thread_of(many, json, request, &task);
    (void)len;
    if (!thread && !names_thread(json, request))
        thread = only_stopped(many, &task);
    if (request->arguments.len && scan_find(json, request->arguments, "singleThread", &at))
        scan_boolean(json, at, &single);
    if (!thread || !thread->stopped) {
        client_respond(many->client, request->seq, request->name,
                       "{\"allThreadsContinued\":false}");
        return;
    }
    int64_t own = thread->own;
    many->hooks->resumed(many->verbs, thread->id);
    many_continue(task, own, !single, request, false);
}

/* --- to all --- */

struct gather {
    struct many *many;
    int64_t seq;
    char command[DAP_NAME_MAX];
    bool modules; /* it is `modules`; else there is no body */
    int64_t start, count;
    size_t left;
    bool any;  /* a task has succeeded */
    char *why; /* the first failure's message */
};

static void finish(struct gather *gather)
{
    struct client *client = gather->many->client;
    struct buf body = {0};
    if (gather->modules)
        many_modules_body(gather->many->modules, gather->start, gather->count, &body);
    if (!gather->any && gather->why)
        client_refuse(client, gather->seq, gather->command, gather->why, false);
    else
        client_respond(client, gather->seq, gather->command, body.data);
    buf_free(&body);
    free(gather->why);
    free(gather);
}

static void on_gathered(void *arg, struct many_task *task, const char *json, size_t len,
                        const struct envelope *response)
{
    struct gather *gather = arg;
    (void)len;
    if (response && response->success) {
        gather->any = true;
        if (gather->modules && task->state != MANY_GONE)
            many_modules_answer(gather->many->modules, task, json, response);
    } else if (!gather->why) {
        gather->why = response ? scan_string(json, response->message) : NULL;
        if (!gather->why)
            gather->why = mem_string("no task has answered");
    }
    if (--gather->left == 0)
        finish(gather);
}

static struct gather *gather_create(struct many *many, const struct envelope *request)
{
    struct gather *gather = mem_alloc(sizeof *gather);
    *gather = (struct gather){.many = many, .seq = request->seq};
    text_copy(gather->command, sizeof gather->command, request->name);
    return gather;
}

/* Asks all tasks that can be asked; the last answer ends the gather. */
static void ask_all(struct gather *gather, const char *arguments)
{
    gather->left = 1;
    for (struct many_task *at = gather->many->targets; at; at = at->next) {
        if (!many_task_is_there(at))
            continue;
        gather->left++;
        many_ask(at, gather->command, arguments, GATHER_MS, on_gathered, gather);
    }
    if (--gather->left == 0)
        finish(gather);
}

static void on_modules(struct many *many, const char *json, size_t len,
                       const struct envelope *request)
{
    struct gather *gather = gather_create(many, request);
    (void)len;
    gather->modules = true;
    gather->start = scan_count_at(json, request->arguments, "startModule");
    gather->count = scan_count_at(json, request->arguments, "moduleCount");
    ask_all(gather, NULL); /* each for all modules: only then is it known which are the same */
}

static void on_all(struct many *many, const char *json, size_t len, const struct envelope *request)
{
    struct many_task *task;
    if (thread_of(many, json, request, &task)) {
        many_pass(task, request->seq, 0, json, len, request);
        return;
    }
    char *arguments = request->arguments.len
                          ? mem_string_n(json + request->arguments.at, request->arguments.len)
                          : NULL;
    ask_all(gather_create(many, request), arguments);
    free(arguments);
}

/* --- the table --- */

static void on_configuration_done(struct many *many, const char *json, size_t len,
                                  const struct envelope *request)
{
    (void)json, (void)len;
    many_join_configuration_done(many, request);
}

static void on_threads(struct many *many, const char *json, size_t len,
                       const struct envelope *request)
{
    (void)json, (void)len;
    many_on_threads(many, request);
}

/* The tasks stay attached and where they are; the client is told of their stops once more. */
static void on_restart(struct many *many, const char *json, size_t len,
                       const struct envelope *request)
{
    (void)json, (void)len;
    client_respond(many->client, request->seq, request->name, NULL);
    many_stop_show_all(many, NULL, NULL);
}

static const struct {
    const char *command;
    void (*handle)(struct many *many, const char *json, size_t len, const struct envelope *request);
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
    {"restart", on_restart},
    {"raydbg/takeOver", on_all},
    {"raydbg/release", on_all},
};

void many_request(struct many *many, const char *json, size_t len, const struct envelope *envelope)
{
    const char *command = envelope->name;
    if (many->over || many->leaving) {
        refuse(many, envelope, "the session has ended");
        return;
    }
    if (many->hooks->request(many->verbs, json, len, envelope))
        return;
    if (many_breakpoints_is_set(command)) {
        many_breakpoints_request(many->sets, json, len, envelope);
        return;
    }
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++) {
        if (text_equal(command, handlers[i].command)) {
            handlers[i].handle(many, json, len, envelope);
            return;
        }
    }
    on_routed(many, json, len, envelope);
}
