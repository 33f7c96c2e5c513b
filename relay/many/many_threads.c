/* The threads of a session over many tasks: which there are, which are stopped, and how they go
 * on. */
#include "relay/many/many_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "relay/stack/user_threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static struct many_thread *add(struct many_task *task, int64_t own)
{
    struct many *many = task->many;
    task->threads = mem_resize(task->threads, task->thread_count + 1, sizeof *task->threads);
    struct many_thread *thread = &task->threads[task->thread_count++];
    *thread = (struct many_thread){
        .own = own,
        .id = idmap_out(many->ids, task->slot, ID_THREAD, own, 0),
    };
    many_names_add(task, thread);
    return many_thread_find(task, own);
}

/* --- the debuggee's events --- */

static bool read_thread(const char *json, const struct envelope *event, int64_t *own)
{
    return scan_integer_at(json, event->body, "threadId", own) && *own > 0;
}

static void end_stop(struct many_task *task, struct many_thread *thread)
{
    thread->stopped = thread->told = false;
    idmap_end_stop(task->many->ids, task->slot, thread->own);
    many_stack_drop(task, thread);
    free(thread->stopped_event);
    thread->stopped_event = NULL;
}

void many_thread_on_stopped(struct many_task *task, const char *json, size_t len,
                            const struct envelope *event)
{
    int64_t own = 0;
    if (!read_thread(json, event, &own))
        return;
    struct many_thread *thread = many_thread_find(task, own);
    if (!thread)
        thread = add(task, own);
    if (thread->stopped)
        end_stop(task, thread);
    thread->stopped = thread->shown = true;
    thread->stops++;
    thread->stopped_at = ++task->stop_count;
    thread->stopped_event = mem_string_n(json, len);
    char *reason = scan_string_at(json, event->body, "reason");
    text_copy(thread->reason, sizeof thread->reason, reason ? reason : "");
    free(reason);
    many_stack_fetch(task, thread);
    thread = many_thread_find(task, own);
    if (thread && thread->stopped && !task->many->hooks->stopped(task->many->verbs, task, thread) &&
        (thread = many_thread_find(task, own)) && thread->stopped)
        many_stop_note(task, thread);
}

void many_thread_on_continued(struct many_task *task, const char *json,
                              const struct envelope *event)
{
    struct span at;
    int64_t own = 0;
    bool all = true; /* DAP: a missing allThreadsContinued means true */
    if (event->body.len && scan_find(json, event->body, "allThreadsContinued", &at))
        scan_boolean(json, at, &all);
    read_thread(json, event, &own);
    many_thread_runs(task, own, all, true);
}

static void leave(struct many_task *task, struct many_thread *thread)
{
    struct many *many = task->many;
    bool listed = thread->listed;
    int64_t id = thread->id;
    if (thread->stopped)
        end_stop(task, thread);
    thread->shown = thread->listed = thread->asked = false;
    if (many->focus == id)
        many->focus = 0;
    if (listed && !many->leaving)
        many_tell_thread(many, "exited", id);
}

void many_thread_on_thread(struct many_task *task, const char *json, const struct envelope *event)
{
    int64_t own = 0;
    struct span at;
    if (!read_thread(json, event, &own) || !scan_find(json, event->body, "reason", &at))
        return;
    struct many_thread *thread = many_thread_find(task, own);
    if (scan_string_is(json, at, "exited")) {
        if (thread)
            leave(task, thread);
    } else if (task->many->attach->all_threads && !thread) {
        thread = add(task, own);
        thread->shown = true;
        thread->listed = task->many->introduced;
        if (thread->listed)
            many_tell_thread(task->many, "started", thread->id);
    }
}

/* Ends the stops up to the task's stop number `before`. A later stop is a new one: a thread that is
 * let go may stop again before the answer to that is here. */
static void runs(struct many_task *task, int64_t own, bool all, bool tell, int64_t before)
{
    for (size_t i = 0; i < task->thread_count; i++) {
        struct many_thread *thread = &task->threads[i];
        if (!thread->stopped || thread->stopped_at > before || (!all && thread->own != own))
            continue;
        bool told = thread->told;
        int64_t id = thread->id;
        end_stop(task, thread);
        if (task->many->focus == id)
            task->many->focus = 0;
        if (told && (tell || thread->own != own))
            many_tell_continued(task->many, id);
    }
}

void many_thread_runs(struct many_task *task, int64_t own, bool all, bool tell)
{
    runs(task, own, all, tell, task->stop_count);
}

void many_thread_stepped(struct many_task *task, int64_t own, bool success)
{
    struct many_thread *thread = many_thread_find(task, own);
    if (thread && success)
        runs(task, own, false, false, thread->asked_at);
    else if (thread)
        thread->asked = false;
}

void many_threads_leave(struct many_task *task, bool all)
{
    for (size_t i = 0; i < task->thread_count; i++)
        if (task->threads[i].shown && (all || !task->threads[i].stopped))
            leave(task, &task->threads[i]);
}

/* --- the end of a task --- */

/* Time between two questions to a worker without a task whose threads go on. */
enum { IDLE_MS = 2000 };

static bool has_running(const struct many_task *task)
{
    for (size_t i = 0; i < task->thread_count; i++)
        if (task->threads[i].shown && !task->threads[i].stopped)
            return true;
    return false;
}

/* A worker that does not answer is not judged. */
static void on_user_threads(void *arg, struct many_task *task, const char *json, size_t len,
                            const struct envelope *response)
{
    (void)arg, (void)len;
    task->idle_asked = false;
    task->idle_us = loop_now_us() + (int64_t)IDLE_MS * 1000;
    if (task->state == MANY_RUNNING && response && !user_threads_stand(json, response))
        many_threads_leave(task, false);
}

void many_threads_idle(struct many_task *task)
{
    struct buf arguments = {0};
    if (task->state != MANY_RUNNING || !*task->pause.task_id || task->idle_asked ||
        loop_now_us() < task->idle_us || !has_running(task))
        return;
    task->idle_asked = true;
    user_threads_query(&arguments);
    many_ask(task, "evaluate", arguments.data, USER_THREADS_MS, on_user_threads, NULL);
    buf_free(&arguments);
}

void many_threads_free(struct many_task *task)
{
    for (size_t i = 0; i < task->thread_count; i++) {
        struct many_thread *thread = &task->threads[i];
        many_stack_drop(task, thread);
        free(thread->label);
        free(thread->name);
        free(thread->stopped_event);
    }
    free(task->threads);
    task->threads = NULL;
    task->thread_count = 0;
}

void many_on_threads(struct many *many, const struct envelope *request)
{
    struct buf body = {0};
    bool first = true;
    bool eager = many->attach->eager && !many->gathered; /* the others are shown together */
    buf_add_string(&body, "{\"threads\":[");
    for (const struct many_task *at = many->targets; at; at = at->next) {
        for (size_t i = 0; at->state != MANY_GONE && i < at->thread_count; i++) {
            struct many_thread *thread = &at->threads[i];
            if (!thread->shown || (eager && !thread->listed))
                continue;
            buf_printf(&body, "%s{\"id\":%" PRId64 ",\"name\":", first ? "" : ",", thread->id);
            message_quote(&body, thread->name);
            buf_add_string(&body, "}");
            first = false;
        }
    }
    buf_add_string(&body, "]}");
    many->renamed = false;
    client_respond(many->client, request->seq, request->name, body.data);
    buf_free(&body);
}

/* --- going on --- */

struct resume {
    int64_t own;
    struct open_request request; /* the client's `continue` */
    bool all, tell;
    int64_t before; /* the task's stop_count at the request */
};

/* Notes the user's `continue` in the audit log: the inner session's own note is suppressed. */
static void note_continue(struct many_task *task, bool refused)
{
    struct many *many = task->many;
    const struct many_task *before = many->acting;
    many->acting = task;
    session_act(many->session, refused ? "refused" : "continue", refused ? "continue" : "");
    many->acting = before;
}

/* The worker has not let the thread go, for which a verb had kept the stop from the client. */
static void show_kept_stop(struct many_task *task, int64_t own, int64_t before)
{
    struct many_thread *thread = many_thread_find(task, own);
    if (thread && thread->stopped && thread->stopped_at <= before && !thread->told)
        many_stop_note(task, thread);
}

static void on_resumed(void *arg, struct many_task *task, const char *json, size_t len,
                       const struct envelope *response)
{
    struct resume resume = *(struct resume *)arg;
    struct client *client = task->many->client;
    char *why = response && !response->success && response->message.len
                    ? scan_string(json, response->message)
                    : NULL;
    (void)len;
    free(arg);
    if (resume.request.open)
        note_continue(task, response && !response->success);
    if (response && response->success) {
        if (resume.request.open)
            client_respond(client, resume.request.seq, "continue",
                           "{\"allThreadsContinued\":false}");
        runs(task, resume.own, resume.all, resume.tell, resume.before);
    } else if (resume.request.open) {
        client_refuse(client, resume.request.seq, "continue",
                      why ? why : "the worker does not answer", false);
    } else if (response) {
        show_kept_stop(task, resume.own, resume.before);
    }
    free(why);
}

/* debugpy's adapter makes every `continue` one of all threads. Behind it, pydevd lets a single
 * thread go if it is asked by its own id of that thread. */
static const char resume_one[] =
    "__import__('_pydevd_bundle.pydevd_api',fromlist=['a']).PyDevdAPI().request_resume_thread("
    "__import__('_pydevd_bundle._debug_adapter.pydevd_base_schema',fromlist=['a'])"
    ".BaseSchema._dap_id_to_obj_id[%" PRId64 "])";

void many_continue(struct many_task *task, int64_t own, bool all, const struct envelope *request,
                   bool tell)
{
    struct resume *resume = mem_alloc(sizeof *resume);
    bool alone = many_stopped_count(task) < 2;
    struct buf arguments = {0};
    *resume = (struct resume){.own = own, .all = all, .tell = tell, .before = task->stop_count};
    if (request)
        open_request_begin(&resume->request, request->seq);
    if (all || alone || task->pause.debugger == PAUSE_PDB) {
        buf_printf(&arguments, "{\"threadId\":%" PRId64 "}", own);
        many_ask(task, "continue", arguments.data, 0, on_resumed, resume);
    } else {
        char *expression = mem_format(resume_one, own);
        buf_add_string(&arguments, "{\"context\":\"repl\",\"expression\":");
        message_quote(&arguments, expression);
        buf_add_string(&arguments, "}");
        many_ask(task, "evaluate", arguments.data, 0, on_resumed, resume);
        free(expression);
    }
    buf_free(&arguments);
}

void many_resume(struct many_task *task, const struct many_thread *thread, const char *how,
                 bool all, bool tell)
{
    char arguments[64];
    if (text_equal(how, "continue")) {
        many_continue(task, thread->own, all, NULL, tell);
        return;
    }
    struct resume *resume = mem_alloc(sizeof *resume);
    *resume = (struct resume){.own = thread->own, .tell = tell, .before = task->stop_count};
    snprintf(arguments, sizeof arguments, "{\"threadId\":%" PRId64 "}", thread->own);
    many_ask(task, how, arguments, 0, on_resumed, resume);
}
