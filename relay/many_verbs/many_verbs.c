#include "relay/many_verbs/many_verbs.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "relay/many_verbs/many_verbs_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct many_verbs *many_verbs_create(struct many *many)
{
    struct many_verbs *verbs = mem_alloc(sizeof *verbs);
    many_verbs_set_magic(verbs);
    verbs->many = many;
    verbs->groups = groups_create();
    return verbs;
}

void many_verbs_destroy(struct many_verbs **verbs)
{
    struct many_verbs *it = *verbs;
    if (!it)
        return;
    query_drop(it);
    run_drop(it);
    barrier_run_drop(it);
    path_query_forget(it);
    groups_destroy(&it->groups);
    many_verbs_clear_magic(it);
    free(it);
    *verbs = NULL;
}

/* --- help, threads, focus --- */

static void on_help(struct many_verbs *verbs, const struct verb *verb,
                    const struct verbs_reply *reply)
{
    struct buf text = {0};
    struct err err = {0};
    if (verb_help(verb->subject, &text)) {
        if (text.len && text.data[text.len - 1] == '\n')
            text.data[--text.len] = '\0';
        verbs_answer(verbs, reply, text.data, "{}");
    } else {
        err_set(&err, ERR_NOT_FOUND, "there is no verb '%s'", verb->subject);
        err_hint(&err, "/help lists them");
        verbs_refuse(verbs, reply, &err);
    }
    buf_free(&text);
}

/* Appends the thread's location, if that is known without asking. */
static void add_location(const struct many_thread *thread, struct buf *out)
{
    struct envelope envelope;
    const char *problem;
    struct span frames;
    struct frame_location location = {0};
    if (!thread->stopped || !thread->stack ||
        envelope_read(&envelope, thread->stack, thread->stack_len, &problem) != 0 ||
        !envelope.body.len || !scan_find(thread->stack, envelope.body, "stackFrames", &frames) ||
        !frame_location_top(thread->stack, frames, &location))
        return;
    char *where = location.file ? verbs_location(location.file, location.line) : mem_string("");
    buf_printf(out, "  %s %s", where, location.name);
    free(where);
    frame_location_clear(&location);
}

static void on_threads(struct many_verbs *verbs, const struct verb *verb,
                       const struct verbs_reply *reply)
{
    struct buf text = {0};
    struct err err = {0};
    struct many_task *task;
    int64_t *ids;
    size_t count;
    if (verbs_select(verbs, verb->subject, &ids, &count, &err) != 0) {
        if (err.code == ERR_NOT_FOUND)
            verbs_answer(verbs, reply, err.what, "{}");
        else
            verbs_refuse(verbs, reply, &err);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        const struct many_thread *thread = many_thread_by_id(verbs->many, ids[i], &task);
        if (!thread)
            continue;
        buf_printf(&text, "%s%c %9" PRId64 "  %-7s  %s", i ? "\n" : "",
                   thread->id == verbs->many->focus ? '*' : ' ', thread->id,
                   thread->stopped ? "stopped" : "running", thread->name);
        add_location(thread, &text);
    }
    verbs_answer(verbs, reply, text.data, "{}");
    buf_free(&text);
    free(ids);
}

/* `text` is a rank ("7", "rank 7"), a filter, or the beginning of a name. */
static int find_focus(const struct many_verbs *verbs, const char *text, int64_t *id,
                      struct err *err)
{
    int64_t *ids, rank;
    size_t count;
    const char *number = text_starts(text, "rank ") ? text + 5 : text;
    char *filter = text_to_int(number, 0, INT32_MAX, &rank) ? mem_string(number)
                   : strpbrk(text, "*?[=")                  ? mem_string(text)
                                                            : mem_format("%s*", text);
    int rc = verbs_select(verbs, filter, &ids, &count, err);
    if (rc == 0) {
        *id = ids[0];
        if (count > 1) {
            err_set(err, ERR_NOT_FOUND, "'%s' is %zu tasks", text, count);
            rc = err_hint(err, "/threads lists them with their ids: /focus thread=ID");
        }
    }
    free(filter);
    free(ids);
    return rc;
}

/* A client shows a thread that stops. This one stopped before, so its stop is sent once more. The
 * answer goes first, and the client may act on it. */
static void on_focus(struct many_verbs *verbs, const struct verb *verb,
                     const struct verbs_reply *reply)
{
    struct many_task *task;
    struct err err = {0};
    int64_t id = 0;
    struct many_thread *thread = NULL;
    if (find_focus(verbs, verb->subject, &id, &err) == 0) {
        thread = many_thread_by_id(verbs->many, id, &task);
        if (thread && !thread->stopped)
            err_set(&err, ERR_FAILED, "%s is running", thread->name);
    }
    if (!thread || !thread->stopped) {
        verbs_refuse(verbs, reply, &err);
        return;
    }
    char *name = mem_string(thread->name);
    verbs->many->focus = id;
    verbs_answer(verbs, reply, name, "{}");
    free(name);
    thread = many_thread_by_id(verbs->many, id, &task);
    if (thread && thread->stopped)
        many_stop_show(task, thread);
}

/* --- groups --- */

static void describe_group(const struct many_verbs *verbs, const char *name, struct buf *text,
                           struct buf *body)
{
    struct task_list tasks = {0};
    struct task_set set = {0};
    struct many_task *task;
    int64_t *ids;
    size_t count;
    const char *filters = groups_filters(verbs->groups, name);
    verbs_select(verbs, name, &ids, &count, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct many_thread *thread = many_thread_by_id(verbs->many, ids[i], &task);
        const struct task_list_item who = verbs_member(task, thread);
        task_set_add(&set, task_list_add(&tasks, who.thread, who.rank, who.name));
    }
    task_set_sort(&tasks, &set);
    buf_printf(text, "%s  %s%s%zu task%s: ", name, filters ? filters : "", filters ? "  " : "",
               count, count == 1 ? "" : "s");
    task_set_text(&tasks, &set, 6, text);
    buf_add_string(body, "{\"name\":");
    message_quote(body, name);
    buf_add_string(body, ",\"filters\":");
    message_quote(body, filters ? filters : "*");
    buf_add_string(body, ",\"threadIds\":");
    task_set_json(&tasks, &set, body);
    buf_add_string(body, "}");
    task_set_clear(&set);
    task_list_clear(&tasks);
    free(ids);
}

static void on_groups(struct many_verbs *verbs, const struct verb *verb,
                      const struct verbs_reply *reply)
{
    struct buf text = {0}, body = {0};
    struct verb_groups names = groups_names(verbs->groups);
    (void)verb;
    buf_add_string(&body, "{\"groups\":[");
    describe_group(verbs, "all", &text, &body);
    for (size_t i = 0; i < names.count; i++) {
        buf_add_string(&text, "\n");
        buf_add_string(&body, ",");
        describe_group(verbs, names.names[i], &text, &body);
    }
    buf_add_string(&body, "]}");
    verbs_answer(verbs, reply, text.data, body.data);
    buf_free(&text);
    buf_free(&body);
}

static void on_group(struct many_verbs *verbs, const struct verb *verb,
                     const struct verbs_reply *reply)
{
    struct buf text = {0}, body = {0};
    struct err err = {0};
    const char *name = verb->subject;
    bool known = text_equal(name, "all") || groups_filters(verbs->groups, name);
    if (verb->remove && groups_remove(verbs->groups, name)) {
        buf_printf(&text, "%s is no group any more", name);
        buf_add_string(&body, "{}");
    } else if (!verb->remove && verb->word_count) {
        if (groups_set(verbs->groups, name, (const char *const *)verb->words, verb->word_count,
                       &err) == 0)
            describe_group(verbs, name, &text, &body);
    } else if (known && !verb->remove) {
        describe_group(verbs, name, &text, &body);
    } else {
        err_set(&err, ERR_NOT_FOUND, "there is no group '%s'", name);
        err_hint(&err, "/group %s FILTER… makes it", name);
    }
    if (text.len)
        verbs_answer(verbs, reply, text.data, body.data);
    else
        verbs_refuse(verbs, reply, &err);
    buf_free(&text);
    buf_free(&body);
}

/* --- requests --- */

static void execute(struct many_verbs *verbs, const struct verb *verb,
                    const struct verbs_reply *reply)
{
    static void (*const table[])(struct many_verbs * verbs, const struct verb *verb,
                                 const struct verbs_reply *reply) = {
        [VERB_HELP] = on_help,        [VERB_THREADS] = on_threads,
        [VERB_GROUP] = on_group,      [VERB_GROUPS] = on_groups,
        [VERB_STEP] = run_step,       [VERB_BARRIER] = barrier_run_verb,
        [VERB_FOCUS] = on_focus,      [VERB_COMPARE] = query_compare,
        [VERB_STACKS] = query_stacks,
    };
    table[verb->kind](verbs, verb, reply);
}

static void finish_verb(struct many_verbs *verbs, int rc, struct verb *verb, const struct err *err,
                        const struct verbs_reply *reply)
{
    if (rc == 0)
        execute(verbs, verb, reply);
    else
        verbs_refuse(verbs, reply, err);
    verb_clear(verb);
}

static bool on_evaluate(struct many_verbs *verbs, const char *json, const struct envelope *envelope,
                        const struct verbs_reply *reply)
{
    char *expression = scan_string_at(json, envelope->arguments, "expression");
    char *context = scan_string_at(json, envelope->arguments, "context");
    const char *line = expression ? expression + strspn(expression, " \t") : "";
    bool taken = *line == '/' && text_equal(context, "repl");
    if (taken) {
        struct verb verb;
        struct err err = {0};
        struct verb_groups groups = groups_names(verbs->groups);
        int rc = verb_parse(line, &groups, &verb, &err);
        finish_verb(verbs, rc, &verb, &err, reply);
    }
    free(expression);
    free(context);
    return taken;
}

struct completing {
    struct buf body;
    size_t start, length;
};

static void add_completion(void *arg, const char *word)
{
    struct completing *completing = arg;
    buf_add_string(&completing->body, completing->body.len ? "," : "{\"targets\":[");
    buf_add_string(&completing->body, "{\"label\":");
    message_quote(&completing->body, word);
    buf_printf(&completing->body, ",\"type\":\"keyword\",\"start\":%zu,\"length\":%zu}",
               completing->start, completing->length);
}

/* `start` counts from 0, as debugpy's own does. */
static bool on_completions(struct many_verbs *verbs, const char *json,
                           const struct envelope *envelope, const struct verbs_reply *reply)
{
    char *text = scan_string_at(json, envelope->arguments, "text");
    struct completing completing = {0};
    int64_t column = 0;
    bool taken = text && *text == '/';
    if (taken) {
        size_t len = strlen(text);
        if (scan_integer_at(json, envelope->arguments, "column", &column) && column > 0 &&
            (size_t)column - 1 < len)
            text[column - 1] = '\0';
        const char *blank = strrchr(text, ' ');
        completing.start = blank ? (size_t)(blank + 1 - text) : 0;
        completing.length = strlen(text) - completing.start;
        struct verb_groups groups = groups_names(verbs->groups);
        verb_complete(text, &groups, add_completion, &completing);
        buf_add_string(&completing.body, completing.body.len ? "]}" : "{\"targets\":[]}");
        verbs_answer(verbs, reply, NULL, completing.body.data);
    }
    buf_free(&completing.body);
    free(text);
    return taken;
}

bool many_verbs_request(struct many_verbs *verbs, const char *json, size_t len,
                        const struct envelope *envelope)
{
    struct verbs_reply reply = {.seq = envelope->seq};
    struct verb verb;
    struct err err = {0};
    bool known;
    (void)len;
    text_copy(reply.command, sizeof reply.command, envelope->name);
    if (text_equal(envelope->name, "evaluate")) {
        reply.line = true;
        return on_evaluate(verbs, json, envelope, &reply);
    }
    if (text_equal(envelope->name, "completions"))
        return on_completions(verbs, json, envelope, &reply);
    int rc = verb_read(envelope->name, json, envelope->arguments, &verb, &known, &err);
    if (known)
        finish_verb(verbs, rc, &verb, &err, &reply);
    return known;
}

/* --- changes of threads --- */

bool many_verbs_stopped(struct many_verbs *verbs, struct many_task *task,
                        struct many_thread *thread)
{
    (void)task;
    return barrier_run_stopped(verbs, thread) || run_stopped(verbs, thread);
}

void many_verbs_resumed(struct many_verbs *verbs, int64_t thread)
{
    run_forget(verbs, thread);
    barrier_run_resumed(verbs, thread);
}

void many_verbs_yielded(struct many_verbs *verbs, struct many_task *task)
{
    for (size_t i = 0; i < task->thread_count; i++) {
        run_forget(verbs, task->threads[i].id);
        barrier_run_yielded(verbs, task, &task->threads[i]);
    }
}

void many_verbs_gone(struct many_verbs *verbs, struct many_task *task)
{
    for (size_t i = 0; i < task->thread_count; i++) {
        int64_t id = task->threads[i].id;
        run_forget(verbs, id);
        barrier_run_left(verbs, id, "its worker is gone");
    }
}

const struct many_hooks many_verbs_hooks = {
    .create = many_verbs_create,
    .destroy = many_verbs_destroy,
    .request = many_verbs_request,
    .stopped = many_verbs_stopped,
    .resumed = many_verbs_resumed,
    .yielded = many_verbs_yielded,
    .gone = many_verbs_gone,
};
