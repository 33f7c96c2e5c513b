/* The threads of a multi's targets: which there are, what they are called, which of them stand, and
 * what makes them go on. */
#include "relay/multi_names.h"
#include "relay/multi_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { LABEL_MS = 5000 };

struct multi_thread *multi_thread_find(const struct multi_target *target, int64_t own)
{
    for (size_t i = 0; i < target->thread_count; i++)
        if (target->threads[i].own == own)
            return &target->threads[i];
    return NULL;
}

struct multi_thread *multi_thread_by_id(const struct multi *multi, int64_t id,
                                        struct multi_target **target)
{
    struct idmap_entry entry;
    if (!idmap_in(multi->ids, ID_THREAD, id, &entry))
        return NULL;
    struct multi_target *found = multi_find_slot(multi, entry.slot);
    if (target)
        *target = found;
    return found ? multi_thread_find(found, entry.foreign) : NULL;
}

size_t multi_stopped_count(const struct multi_target *target)
{
    size_t count = 0;
    for (size_t i = 0; i < target->thread_count; i++)
        count += target->threads[i].stopped;
    return count;
}

static void tell_thread(struct multi *multi, const char *reason, int64_t id)
{
    char body[80];
    snprintf(body, sizeof body, "{\"reason\":\"%s\",\"threadId\":%" PRId64 "}", reason, id);
    client_event(&multi->session->client, "thread", body);
}

/* --- names --- */

static void name_thread(const struct multi_target *target, struct multi_thread *thread)
{
    const char *label = target->thread_count > 1 ? thread->label : NULL;
    char *name =
        multi_name(target->multi->session->attach.thread_name, &target->pause, target->rank, label);
    bool news = thread->listed && !text_equal(name, thread->name);
    free(thread->name);
    thread->name = name;
    if (news)
        multi_stop_renamed(target->multi);
}

void multi_threads_rename(struct multi_target *target)
{
    for (size_t i = 0; i < target->thread_count; i++)
        name_thread(target, &target->threads[i]);
}

static void read_labels(struct multi_target *target, const char *json,
                        const struct envelope *response)
{
    struct span list, item, at;
    size_t cursor = 0;
    int64_t own;
    if (!response || !response->body.len || !scan_find(json, response->body, "threads", &list) ||
        json[list.at] != '[')
        return;
    while (scan_element(json, list, &cursor, &item)) {
        struct multi_thread *thread =
            scan_find(json, item, "id", &at) && scan_integer(json, at, &own)
                ? multi_thread_find(target, own)
                : NULL;
        if (!thread || !scan_find(json, item, "name", &at))
            continue;
        free(thread->label);
        thread->label = scan_string(json, at);
    }
    multi_threads_rename(target);
}

static void ask_labels(struct multi_target *target);

static void on_labels(void *arg, struct multi_target *target, const char *json, size_t len,
                      const struct envelope *response)
{
    bool again = target->labels_due && response;
    (void)arg, (void)len;
    target->labels_asked = target->labels_due = false;
    read_labels(target, json, response);
    if (again)
        ask_labels(target);
}

/* One question at a time: a pool's hundreds of threads may stop at once. */
static void ask_labels(struct multi_target *target)
{
    target->labels_due = target->labels_asked;
    if (target->labels_asked)
        return;
    target->labels_asked = true;
    multi_ask(target, "threads", NULL, LABEL_MS, on_labels, NULL);
}

static struct multi_thread *add(struct multi_target *target, int64_t own)
{
    struct multi *multi = target->multi;
    target->threads =
        mem_resize(target->threads, target->thread_count + 1, sizeof *target->threads);
    struct multi_thread *thread = &target->threads[target->thread_count++];
    *thread = (struct multi_thread){
        .own = own,
        .id = idmap_out(multi->ids, target->slot, ID_THREAD, own, 0),
    };
    name_thread(target, thread);
    if (target->thread_count > 1) /* only then does the debuggee's name of it tell something */
        ask_labels(target);
    return multi_thread_find(target, own);
}

/* --- what the debuggee says --- */

static bool read_thread(const char *json, const struct envelope *event, int64_t *own)
{
    struct span at;
    return event->body.len && scan_find(json, event->body, "threadId", &at) &&
           scan_integer(json, at, own) && *own > 0;
}

static void end_stop(struct multi_target *target, struct multi_thread *thread)
{
    thread->stopped = thread->told = false;
    idmap_end_stop(target->multi->ids, target->slot, thread->own);
    multi_stack_drop(target, thread);
    free(thread->stopped_event);
    thread->stopped_event = NULL;
}

void multi_thread_on_stopped(struct multi_target *target, const char *json, size_t len,
                             const struct envelope *event)
{
    int64_t own = 0;
    struct span at;
    if (!read_thread(json, event, &own))
        return;
    struct multi_thread *thread = multi_thread_find(target, own);
    if (!thread)
        thread = add(target, own);
    if (thread->stopped)
        end_stop(target, thread);
    thread->stopped = thread->shown = true;
    thread->stops++;
    thread->stopped_at = ++target->stop_count;
    thread->stopped_event = mem_string_n(json, len);
    char *reason = scan_find(json, event->body, "reason", &at) ? scan_string(json, at) : NULL;
    text_copy(thread->reason, sizeof thread->reason, reason ? reason : "");
    free(reason);
    multi_stack_fetch(target, thread);
    thread = multi_thread_find(target, own);
    if (thread && thread->stopped && !multi_verbs_stopped(target->multi->verbs, target, thread) &&
        (thread = multi_thread_find(target, own)) && thread->stopped)
        multi_stop_note(target, thread);
}

void multi_thread_on_continued(struct multi_target *target, const char *json,
                               const struct envelope *event)
{
    struct span at;
    int64_t own = 0;
    bool all = true; /* DAP: a missing allThreadsContinued means true */
    if (event->body.len && scan_find(json, event->body, "allThreadsContinued", &at))
        scan_boolean(json, at, &all);
    read_thread(json, event, &own);
    multi_thread_runs(target, own, all, true);
}

static void leave(struct multi_target *target, struct multi_thread *thread)
{
    struct multi *multi = target->multi;
    bool listed = thread->listed;
    int64_t id = thread->id;
    if (thread->stopped)
        end_stop(target, thread);
    thread->shown = thread->listed = thread->asked = false;
    if (multi->focus == id)
        multi->focus = 0;
    if (listed && !multi->leaving)
        tell_thread(multi, "exited", id);
}

void multi_thread_on_thread(struct multi_target *target, const char *json,
                            const struct envelope *event)
{
    int64_t own = 0;
    struct span at;
    if (!read_thread(json, event, &own) || !scan_find(json, event->body, "reason", &at))
        return;
    struct multi_thread *thread = multi_thread_find(target, own);
    if (scan_string_is(json, at, "exited")) {
        if (thread)
            leave(target, thread);
    } else if (target->multi->session->attach.all_threads && !thread) {
        thread = add(target, own);
        thread->shown = true;
        thread->listed = target->multi->introduced;
        if (thread->listed)
            tell_thread(target->multi, "started", thread->id);
    }
}

static void tell_continued(struct multi *multi, int64_t id)
{
    char body[80];
    snprintf(body, sizeof body, "{\"threadId\":%" PRId64 ",\"allThreadsContinued\":false}", id);
    client_event(&multi->session->client, "continued", body);
}

/* A stop that is later than the first `before` of the target's is a new one: a thread that is let
 * go may stop again before the answer to that is here. */
static void runs(struct multi_target *target, int64_t own, bool all, bool tell, int64_t before)
{
    for (size_t i = 0; i < target->thread_count; i++) {
        struct multi_thread *thread = &target->threads[i];
        if (!thread->stopped || thread->stopped_at > before || (!all && thread->own != own))
            continue;
        bool told = thread->told;
        int64_t id = thread->id;
        end_stop(target, thread);
        if (target->multi->focus == id)
            target->multi->focus = 0;
        if (told && (tell || thread->own != own))
            tell_continued(target->multi, id);
    }
}

void multi_thread_runs(struct multi_target *target, int64_t own, bool all, bool tell)
{
    runs(target, own, all, tell, target->stop_count);
}

void multi_thread_stepped(struct multi_target *target, const struct multi_thread *thread)
{
    runs(target, thread->own, false, false, thread->asked_at);
}

void multi_threads_leave(struct multi_target *target, bool all)
{
    for (size_t i = 0; i < target->thread_count; i++)
        if (target->threads[i].shown && (all || !target->threads[i].stopped))
            leave(target, &target->threads[i]);
}

void multi_threads_free(struct multi_target *target)
{
    for (size_t i = 0; i < target->thread_count; i++) {
        struct multi_thread *thread = &target->threads[i];
        multi_stack_drop(target, thread);
        free(thread->label);
        free(thread->name);
        free(thread->stopped_event);
    }
    free(target->threads);
    target->threads = NULL;
    target->thread_count = 0;
}

void multi_on_threads(struct multi *multi, const struct envelope *request)
{
    struct buf body = {0};
    bool first = true;
    bool eager = multi->session->attach.eager && !multi->gathered; /* the others come together */
    buf_add_string(&body, "{\"threads\":[");
    for (const struct multi_target *at = multi->targets; at; at = at->next) {
        for (size_t i = 0; at->state != MULTI_GONE && i < at->thread_count; i++) {
            struct multi_thread *thread = &at->threads[i];
            if (!thread->shown || (eager && !thread->listed))
                continue;
            buf_printf(&body, "%s{\"id\":%" PRId64 ",\"name\":", first ? "" : ",", thread->id);
            message_quote(&body, thread->name);
            buf_add_string(&body, "}");
            first = false;
        }
    }
    buf_add_string(&body, "]}");
    multi->renamed = false;
    client_respond(&multi->session->client, request->seq, request->name, body.data);
    buf_free(&body);
}

/* --- going on --- */

struct resume {
    int64_t own, client_seq;
    bool all, tell;
    int64_t before; /* the target's count of stops when it was asked */
};

/* For the audit log: the user's own, which the inner session was asked for otherwise. */
static void note_continue(struct multi_target *target, bool refused)
{
    struct multi *multi = target->multi;
    const struct multi_target *before = multi->acting;
    multi->acting = target;
    session_act(multi->session, refused ? "refused" : "continue", refused ? "continue" : "");
    multi->acting = before;
}

static void on_resumed(void *arg, struct multi_target *target, const char *json, size_t len,
                       const struct envelope *response)
{
    struct resume resume = *(struct resume *)arg;
    struct client *client = &target->multi->session->client;
    char *why = response && !response->success && response->message.len
                    ? scan_string(json, response->message)
                    : NULL;
    (void)len;
    free(arg);
    if (resume.client_seq)
        note_continue(target, response && !response->success);
    if (response && response->success) {
        if (resume.client_seq)
            client_respond(client, resume.client_seq, "continue",
                           "{\"allThreadsContinued\":false}");
        runs(target, resume.own, resume.all, resume.tell, resume.before);
    } else if (resume.client_seq) {
        client_refuse(client, resume.client_seq, "continue",
                      why ? why : "the worker does not answer", false);
    }
    free(why);
}

/* debugpy's adapter makes every `continue` one of all threads. Behind it, pydevd lets one go if it
 * is asked by the id that it knows the thread by. */
static const char resume_one[] =
    "__import__('_pydevd_bundle.pydevd_api',fromlist=['a']).PyDevdAPI().request_resume_thread("
    "__import__('_pydevd_bundle._debug_adapter.pydevd_base_schema',fromlist=['a'])"
    ".BaseSchema._dap_id_to_obj_id[%" PRId64 "])";

void multi_continue(struct multi_target *target, int64_t own, bool all, int64_t client_seq,
                    bool tell)
{
    struct resume *resume = mem_alloc(sizeof *resume);
    bool alone = multi_stopped_count(target) < 2;
    struct buf arguments = {0};
    *resume = (struct resume){own, client_seq, all, tell, target->stop_count};
    if (all || alone || target->pause.debugger == PAUSE_PDB) {
        buf_printf(&arguments, "{\"threadId\":%" PRId64 "}", own);
        multi_ask(target, "continue", arguments.data, 0, on_resumed, resume);
    } else {
        char *expression = mem_format(resume_one, own);
        buf_add_string(&arguments, "{\"context\":\"repl\",\"expression\":");
        message_quote(&arguments, expression);
        buf_add_string(&arguments, "}");
        multi_ask(target, "evaluate", arguments.data, 0, on_resumed, resume);
        free(expression);
    }
    buf_free(&arguments);
}

void multi_resume(struct multi_target *target, const struct multi_thread *thread, const char *how,
                  bool all, bool tell)
{
    char arguments[64];
    if (text_equal(how, "continue")) {
        multi_continue(target, thread->own, all, 0, tell);
        return;
    }
    struct resume *resume = mem_alloc(sizeof *resume);
    *resume = (struct resume){.own = thread->own, .tell = tell, .before = target->stop_count};
    snprintf(arguments, sizeof arguments, "{\"threadId\":%" PRId64 "}", thread->own);
    multi_ask(target, how, arguments, 0, on_resumed, resume);
}
