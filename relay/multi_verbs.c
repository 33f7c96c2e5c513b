#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "relay/multi_verbs_state.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct multi_verbs *multi_verbs_create(struct multi *multi)
{
    struct multi_verbs *verbs = mem_alloc(sizeof *verbs);
    verbs->multi = multi;
    verbs->groups = groups_create();
    return verbs;
}

void multi_verbs_destroy(struct multi_verbs **verbs)
{
    struct multi_verbs *it = *verbs;
    if (!it)
        return;
    inquiry_drop(it);
    run_drop(it);
    meeting_drop(it);
    survey_forget(it);
    groups_destroy(&it->groups);
    free(it);
    *verbs = NULL;
}

/* --- answers --- */

void verbs_answer(struct multi_verbs *verbs, const struct verbs_reply *reply, const char *text,
                  const char *body)
{
    struct buf made = {0};
    if (reply->line) {
        buf_add_string(&made, "{\"result\":");
        message_quote(&made, text);
        buf_printf(&made, ",\"variablesReference\":0%s%s}", body ? ",\"raydbg\":" : "",
                   body ? body : "");
    }
    client_respond(&verbs->multi->session->client, reply->seq, reply->command,
                   reply->line ? made.data : body);
    buf_free(&made);
}

void verbs_refuse(struct multi_verbs *verbs, const struct verbs_reply *reply, const struct err *err)
{
    char line[sizeof err->what + sizeof err->why + sizeof err->hint + 8];
    err_line(err, line, sizeof line);
    client_refuse(&verbs->multi->session->client, reply->seq, reply->command, line, false);
}

/* --- who --- */

static int64_t rank_of(const struct multi_target *target)
{
    int64_t rank;
    return text_to_int(target->rank, 0, INT32_MAX, &rank) ? rank : -1;
}

struct crowd_member verbs_member(const struct multi_target *target,
                                 const struct multi_thread *thread)
{
    return (struct crowd_member){thread->id, rank_of(target), thread->name};
}

static bool has_ranks(const struct multi *multi)
{
    for (const struct multi_target *target = multi->targets; target; target = target->next)
        if (rank_of(target) >= 0)
            return true;
    return false;
}

static bool is_in(const struct multi_verbs *verbs, const char *subject, bool ranked,
                  const struct multi_target *target, const struct multi_thread *thread)
{
    const struct pause *pause = &target->pause;
    char job[ID_TEXT(ID_JOB_BYTES)];
    pause_short_job(pause->job_id, job);
    const struct group_subject who = {
        .thread = thread->id,
        .rank = rank_of(target),
        .ranked = ranked,
        .stopped = thread->stopped,
        .pid = pause->pid,
        .name = thread->name,
        .task = pause->task_name,
        .actor_class = pause->actor_class,
        .actor_name = pause->actor_name,
        .node_ip = pause->node_ip,
        .node_name = pause->node_name,
        .job = job,
    };
    return groups_have(verbs->groups, subject, &who);
}

int verbs_select(const struct multi_verbs *verbs, const char *subject, int64_t **ids, size_t *count,
                 struct err *err)
{
    const struct multi *multi = verbs->multi;
    bool ranked = has_ranks(multi);
    size_t room = 0;
    *ids = NULL;
    *count = 0;
    if (groups_check(verbs->groups, subject, err) != 0)
        return -1;
    for (const struct multi_target *target = multi->targets; target; target = target->next)
        for (size_t i = 0; target->state == MULTI_RUNNING && i < target->thread_count; i++) {
            if (!target->threads[i].shown ||
                !is_in(verbs, subject, ranked, target, &target->threads[i]))
                continue;
            if (*count == room) {
                room = room ? 2 * room : 32;
                *ids = mem_resize(*ids, room, sizeof **ids);
            }
            (*ids)[(*count)++] = target->threads[i].id;
        }
    if (*count)
        return 0;
    if (!subject || text_equal(subject, "all")) {
        err_set(err, ERR_NOT_FOUND, "there is no task yet");
        return err_hint(err, "those that pause join by themselves");
    }
    err_set(err, ERR_NOT_FOUND, "no task is in '%s'", subject);
    return err_hint(err, "/threads lists the tasks, /groups the groups");
}

char *verbs_place(const char *file, int64_t line)
{
    const char *slash = strrchr(file, '/');
    return mem_format("%s:%" PRId64, slash ? slash + 1 : file, line);
}

/* --- help, threads, focus --- */

static void on_help(struct multi_verbs *verbs, const struct many_verb *verb,
                    const struct verbs_reply *reply)
{
    struct buf text = {0};
    struct err err = {0};
    if (many_verb_help(verb->subject, &text)) {
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

/* Where it is, if that is known without asking. */
static void add_place(const struct multi_thread *thread, struct buf *out)
{
    struct envelope envelope;
    const char *problem;
    struct span frames;
    struct stack_place place = {0};
    if (!thread->stopped || !thread->stack ||
        envelope_read(&envelope, thread->stack, thread->stack_len, &problem) != 0 ||
        !envelope.body.len || !scan_find(thread->stack, envelope.body, "stackFrames", &frames) ||
        !stack_place_top(thread->stack, frames, &place))
        return;
    char *where = place.file ? verbs_place(place.file, place.line) : mem_string("");
    buf_printf(out, "  %s %s", where, place.name);
    free(where);
    stack_place_clear(&place);
}

static void on_threads(struct multi_verbs *verbs, const struct many_verb *verb,
                       const struct verbs_reply *reply)
{
    struct buf text = {0};
    struct err err = {0};
    struct multi_target *target;
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
        const struct multi_thread *thread = multi_thread_by_id(verbs->multi, ids[i], &target);
        if (!thread)
            continue;
        buf_printf(&text, "%s%c %9" PRId64 "  %-7s  %s", i ? "\n" : "",
                   thread->id == verbs->multi->focus ? '*' : ' ', thread->id,
                   thread->stopped ? "stopped" : "running", thread->name);
        add_place(thread, &text);
    }
    verbs_answer(verbs, reply, text.data, "{}");
    buf_free(&text);
    free(ids);
}

/* "7", "rank 7": by rank; else the beginning of a name, or a filter. */
static int find_focus(const struct multi_verbs *verbs, const char *text, int64_t *id,
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

/* A client shows what stops; this one stopped before, and is told once more. The answer goes first,
 * and the client may act on it. */
static void on_focus(struct multi_verbs *verbs, const struct many_verb *verb,
                     const struct verbs_reply *reply)
{
    struct multi_target *target;
    struct err err = {0};
    int64_t id = 0;
    struct multi_thread *thread = NULL;
    if (find_focus(verbs, verb->subject, &id, &err) == 0) {
        thread = multi_thread_by_id(verbs->multi, id, &target);
        if (thread && !thread->stopped)
            err_set(&err, ERR_FAILED, "%s is running", thread->name);
    }
    if (!thread || !thread->stopped) {
        verbs_refuse(verbs, reply, &err);
        return;
    }
    char *name = mem_string(thread->name);
    verbs->multi->focus = id;
    verbs_answer(verbs, reply, name, "{}");
    free(name);
    thread = multi_thread_by_id(verbs->multi, id, &target);
    if (thread && thread->stopped)
        multi_stop_show(target, thread);
}

/* --- groups --- */

static void describe_group(const struct multi_verbs *verbs, const char *name, struct buf *text,
                           struct buf *body)
{
    struct crowd crowd = {0};
    struct crowd_set set = {0};
    struct multi_target *target;
    int64_t *ids;
    size_t count;
    const char *filters = groups_filters(verbs->groups, name);
    verbs_select(verbs, name, &ids, &count, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct multi_thread *thread = multi_thread_by_id(verbs->multi, ids[i], &target);
        const struct crowd_member who = verbs_member(target, thread);
        crowd_set_add(&set, crowd_add(&crowd, who.thread, who.rank, who.name));
    }
    crowd_set_sort(&crowd, &set);
    buf_printf(text, "%s  %s%s%zu task%s: ", name, filters ? filters : "", filters ? "  " : "",
               count, count == 1 ? "" : "s");
    crowd_text(&crowd, &set, 6, text);
    buf_add_string(body, "{\"name\":");
    message_quote(body, name);
    buf_add_string(body, ",\"filters\":");
    message_quote(body, filters ? filters : "*");
    buf_add_string(body, ",\"threadIds\":");
    crowd_json(&crowd, &set, body);
    buf_add_string(body, "}");
    crowd_set_clear(&set);
    crowd_clear(&crowd);
    free(ids);
}

static void on_groups(struct multi_verbs *verbs, const struct many_verb *verb,
                      const struct verbs_reply *reply)
{
    struct buf text = {0}, body = {0};
    struct many_verb_groups names = groups_names(verbs->groups);
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

static void on_group(struct multi_verbs *verbs, const struct many_verb *verb,
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

/* --- verbs in --- */

static void execute(struct multi_verbs *verbs, const struct many_verb *verb,
                    const struct verbs_reply *reply)
{
    static void (*const table[])(struct multi_verbs * verbs, const struct many_verb *verb,
                                 const struct verbs_reply *reply) = {
        [VERB_HELP] = on_help,     [VERB_THREADS] = on_threads,      [VERB_GROUP] = on_group,
        [VERB_GROUPS] = on_groups, [VERB_STEP] = run_step,           [VERB_BARRIER] = meeting_verb,
        [VERB_FOCUS] = on_focus,   [VERB_COMPARE] = inquiry_compare, [VERB_STACKS] = inquiry_stacks,
    };
    table[verb->kind](verbs, verb, reply);
}

static void finish_verb(struct multi_verbs *verbs, int rc, struct many_verb *verb,
                        const struct err *err, const struct verbs_reply *reply)
{
    if (rc == 0)
        execute(verbs, verb, reply);
    else
        verbs_refuse(verbs, reply, err);
    many_verb_clear(verb);
}

/* NULL if it is no text. */
static char *text_at(const char *json, struct span object, const char *key)
{
    struct span at;
    return object.len && scan_find(json, object, key, &at) ? scan_string(json, at) : NULL;
}

static bool on_evaluate(struct multi_verbs *verbs, const char *json,
                        const struct envelope *envelope, const struct verbs_reply *reply)
{
    char *expression = text_at(json, envelope->arguments, "expression");
    char *context = text_at(json, envelope->arguments, "context");
    const char *line = expression ? expression + strspn(expression, " \t") : "";
    bool taken = *line == '/' && text_equal(context, "repl");
    if (taken) {
        struct many_verb verb;
        struct err err = {0};
        struct many_verb_groups groups = groups_names(verbs->groups);
        int rc = many_verb_parse(line, &groups, &verb, &err);
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
static bool on_completions(struct multi_verbs *verbs, const char *json,
                           const struct envelope *envelope, const struct verbs_reply *reply)
{
    char *text = text_at(json, envelope->arguments, "text");
    struct completing completing = {0};
    struct span at;
    int64_t column = 0;
    bool taken = text && *text == '/';
    if (taken) {
        size_t len = strlen(text);
        if (scan_find(json, envelope->arguments, "column", &at) &&
            scan_integer(json, at, &column) && column > 0 && (size_t)column - 1 < len)
            text[column - 1] = '\0';
        const char *blank = strrchr(text, ' ');
        completing.start = blank ? (size_t)(blank + 1 - text) : 0;
        completing.length = strlen(text) - completing.start;
        struct many_verb_groups groups = groups_names(verbs->groups);
        many_verb_complete(text, &groups, add_completion, &completing);
        buf_add_string(&completing.body, completing.body.len ? "]}" : "{\"targets\":[]}");
        verbs_answer(verbs, reply, NULL, completing.body.data);
    }
    buf_free(&completing.body);
    free(text);
    return taken;
}

bool multi_verbs_request(struct multi_verbs *verbs, const char *json, size_t len,
                         const struct envelope *envelope)
{
    struct verbs_reply reply = {.seq = envelope->seq};
    struct many_verb verb;
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
    int rc = many_verb_read(envelope->name, json, envelope->arguments, &verb, &known, &err);
    if (known)
        finish_verb(verbs, rc, &verb, &err, &reply);
    return known;
}

/* --- what happens to threads --- */

bool multi_verbs_stopped(struct multi_verbs *verbs, struct multi_target *target,
                         struct multi_thread *thread)
{
    (void)target;
    return meeting_stopped(verbs, thread) || run_stopped(verbs, thread);
}

void multi_verbs_resumed(struct multi_verbs *verbs, int64_t thread)
{
    run_forget(verbs, thread);
    meeting_resumed(verbs, thread);
}

void multi_verbs_gone(struct multi_verbs *verbs, struct multi_target *target)
{
    for (size_t i = 0; i < target->thread_count; i++) {
        int64_t id = target->threads[i].id;
        run_forget(verbs, id);
        meeting_left(verbs, id, "its worker is gone");
    }
}
