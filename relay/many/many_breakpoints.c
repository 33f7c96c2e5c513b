/* Breakpoints set once for all tasks of a session: of each source, of functions, of exceptions. */
#include "relay/many/many_state.h"

#include "base/invariant.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/capabilities.h"
#include "dap/message.h"
#include "relay/hub/breakpoint_union.h"
#include "relay/many/breakpoint_merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The slot of the processes of a run that the session is not attached to. */
#define RUN_SLOT UINT32_MAX
/* The client is answered at the latest after ANSWER_MS; a debuggee may take longer. */
enum { ANSWER_MS = 2000, ASK_MS = 30000 };

struct set {
    struct set *next;
    struct many_breakpoints *sets;
    struct breakpoint_merge *merge;
    struct open_request request; /* the client's */
    size_t waiting;              /* debuggees that have not answered yet */
    struct timer *timer;
    char *run_body; /* the last answer of the run's processes, or NULL */
};

/* A verb's breakpoint. */
struct extra {
    struct extra *next;
    int64_t handle, line;
    char *path;
};

struct many_breakpoints {
    struct many *many;
    struct set *first;
    struct extra *extras;
    int64_t handles;
    bool withheld; /* the processes of the run lack a set: the session observes them */
};

struct many_breakpoints *many_breakpoints_create(struct many *many)
{
    struct many_breakpoints *sets = mem_alloc(sizeof *sets);
    sets->many = many;
    return sets;
}

bool many_breakpoints_is_set(const char *command)
{
    return breakpoint_union_is_set(command);
}

/* --- answering --- */

static void tell_changes(struct set *set)
{
    struct client *client = set->sets->many->client;
    struct buf body = {0};
    while (!set->request.open && breakpoint_merge_next_event(set->merge, &body)) {
        client_event(client, "breakpoint", body.data);
        buf_clear(&body, 0);
    }
    buf_free(&body);
}

static void answer(struct set *set)
{
    struct client *client = set->sets->many->client;
    const char *command = breakpoint_merge_command(set->merge);
    struct buf body = {0};
    timer_cancel(&set->timer);
    if (!set->request.open)
        return;
    int64_t seq = open_request_close(&set->request);
    const char *why = set->waiting ? NULL : breakpoint_merge_failure(set->merge);
    breakpoint_merge_body(set->merge, &body);
    if (why)
        client_refuse(client, seq, command, why, false);
    else
        client_respond(client, seq, command, body.len ? body.data : NULL);
    buf_free(&body);
}

static void on_late(void *arg)
{
    struct set *set = arg;
    set->timer = NULL;
    answer(set);
}

static void on_answer(void *arg, struct many_task *task, const char *json, size_t len,
                      const struct envelope *response)
{
    struct set *set = arg;
    (void)len;
    invariant(set->waiting > 0);
    set->waiting--;
    if (task->state != MANY_GONE)
        breakpoint_merge_answer(set->merge, task->many->ids, task->slot, json, response);
    if (set->request.open && !set->waiting)
        answer(set);
    tell_changes(set);
}

/* --- their arguments --- */

static char *path_of(const struct set *set)
{
    const char *json = breakpoint_merge_arguments(set->merge);
    return text_equal(breakpoint_merge_command(set->merge), "setBreakpoints")
               ? scan_string_at(json, (struct span){0, strlen(json)}, "source/path")
               : NULL;
}

/* Breakpoints of the client at one line. */
enum at_line {
    AT_LINE_NONE,
    AT_LINE_SOME_STOPS, /* it has a condition, a hit condition or a log message */
    AT_LINE_EVERY_STOP,
};

static bool is_plain(const char *json, struct span breakpoint)
{
    static const char *const members[] = {"condition", "hitCondition", "logMessage"};
    bool plain = true;
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
        char *text = scan_string_at(json, breakpoint, members[i]);
        plain = plain && text_empty(text);
        free(text);
    }
    return plain;
}

/* Of several at one line only the last counts in pydevd. */
static enum at_line find_at_line(const char *json, int64_t line)
{
    enum at_line found = AT_LINE_NONE;
    struct span list, element;
    size_t cursor = 0;
    int64_t own;
    if (!scan_find(json, (struct span){0, strlen(json)}, "breakpoints", &list) ||
        json[list.at] != '[')
        return AT_LINE_NONE;
    while (scan_element(json, list, &cursor, &element))
        if (scan_integer_at(json, element, "line", &own) && own == line)
            found = is_plain(json, element) ? AT_LINE_EVERY_STOP : AT_LINE_SOME_STOPS;
    return found;
}

/* The client's arguments, with the verbs' breakpoints behind its own. In pydevd a verb's takes the
 * place of a client's at the same line, so a line where the client has every stop anyway gets none.
 */
static char *arguments_of(const struct set *set)
{
    const char *json = breakpoint_merge_arguments(set->merge);
    char *path = path_of(set);
    struct span all = {0, strlen(json)}, list = {0};
    struct buf more = {0}, out = {0};
    for (const struct extra *at = set->sets->extras; at && path; at = at->next)
        if (text_equal(at->path, path) && find_at_line(json, at->line) != AT_LINE_EVERY_STOP)
            buf_printf(&more, ",{\"line\":%" PRId64 "}", at->line);
    free(path);
    if (!more.len)
        return mem_string(json);
    if (scan_find(json, all, "breakpoints", &list) && json[list.at] == '[') {
        struct span element;
        size_t cursor = 0;
        bool any = scan_element(json, list, &cursor, &element);
        size_t end = list.at + list.len - 1;
        buf_add(&out, json, end);
        buf_add_string(&out, any ? more.data : more.data + 1);
        buf_add_string(&out, json + end);
    } else {
        buf_add(&out, json, all.len - 1);
        buf_printf(&out, "%s\"breakpoints\":[%s]}", all.len > 2 ? "," : "", more.data + 1);
    }
    buf_free(&more);
    return buf_take(&out);
}

/* --- the processes of a run --- */

static const struct session_runs *runs_of(const struct many *many)
{
    return many->attach->run ? many->options->runs : NULL;
}

/* Takes in what the processes answer to the set, as the body of a response. */
static void answer_for_run(struct set *set, const char *body)
{
    struct buf message = {0};
    struct envelope response;
    const char *problem;
    message_response(&message, 0, 0, breakpoint_merge_command(set->merge), body);
    if (envelope_read(&response, message.data, message.len, &problem) == 0)
        breakpoint_merge_answer(set->merge, set->sets->many->ids, RUN_SLOT, message.data,
                                &response);
    buf_free(&message);
}

static void look_at_run(struct set *set)
{
    const struct many *many = set->sets->many;
    const struct session_runs *runs = runs_of(many);
    struct buf body = {0};
    char *path = runs ? path_of(set) : NULL;
    if (path && runs->body(runs->arg, many, path, &body) && !text_equal(body.data, set->run_body)) {
        answer_for_run(set, body.data);
        free(set->run_body);
        set->run_body = buf_take(&body);
    }
    buf_free(&body);
    free(path);
}

void many_breakpoints_look(struct many_breakpoints *sets)
{
    for (struct set *set = sets->first; set && runs_of(sets->many); set = set->next) {
        look_at_run(set);
        tell_changes(set);
    }
}

/* True if the arguments of setExceptionBreakpoints have the filter of post mortem. debugpy does not
 * mind it. */
static bool stops_failures(const char *json, struct span arguments)
{
    struct span list, item;
    size_t cursor = 0;
    if (scan_find(json, arguments, "filters", &list) && json[list.at] == '[')
        while (scan_element(json, list, &cursor, &item))
            if (scan_string_is(json, item, CAPABILITIES_UNCAUGHT_IN_TASKS))
                return true;
    return false;
}

/* A breakpoint runs code in every process of the run. An observer's waits until it drives, which
 * with an observer's token it never does. */
static bool drives_run(const struct many *many)
{
    return session_role(many->session) == AUTH_DRIVER &&
           (!many->attach->observe || session_drives(many->session));
}

/* Answers in place of the processes as an observer of one task is answered. */
static void withhold(struct set *set, const struct envelope *request)
{
    struct buf body = {0};
    set->sets->withheld = true;
    breakpoint_union_unarmed_body(breakpoint_merge_arguments(set->merge), request,
                                  "this session observes: this takes effect when it drives", &body);
    answer_for_run(set, body.data);
    buf_free(&body);
}

static void send_to_run(struct set *set)
{
    const struct many *many = set->sets->many;
    const struct session_runs *runs = runs_of(many);
    const char *json = breakpoint_merge_arguments(set->merge);
    struct envelope request = {.arguments = {0, strlen(json)}};
    text_copy(request.name, sizeof request.name, breakpoint_merge_command(set->merge));
    bool failures = text_equal(request.name, "setExceptionBreakpoints");
    if (!runs || (!failures && !text_equal(request.name, "setBreakpoints")))
        return;
    if (!drives_run(many)) {
        withhold(set, &request);
    } else if (failures) {
        runs->stop_failures(runs->arg, many, many->attach->run,
                            stops_failures(json, request.arguments));
    } else {
        runs->set(runs->arg, many, many->attach->run, json, request.arguments);
        look_at_run(set);
    }
}

void many_breakpoints_drive(struct many_breakpoints *sets)
{
    if (!sets->withheld || !drives_run(sets->many))
        return;
    sets->withheld = false;
    for (struct set *set = sets->first; set; set = set->next) {
        breakpoint_merge_gone(set->merge, RUN_SLOT);
        send_to_run(set);
        tell_changes(set);
    }
}

void many_breakpoints_withdraw(struct many_breakpoints *sets)
{
    const struct session_runs *runs = runs_of(sets->many);
    if (runs)
        runs->drop(runs->arg, sets->many, sets->many->attach->run);
}

/* --- sending to the tasks --- */

static void send_to(struct set *set, struct many_task *task)
{
    char *arguments = arguments_of(set);
    set->waiting++;
    many_ask(task, breakpoint_merge_command(set->merge), arguments, ASK_MS, on_answer, set);
    free(arguments);
}

static void send_to_all(struct set *set)
{
    for (struct many_task *at = set->sets->many->targets; at; at = at->next)
        if (at->state == MANY_READY || at->state == MANY_RUNNING)
            send_to(set, at);
}

static void set_free(struct set *set)
{
    timer_cancel(&set->timer);
    many_drop_requests(set->sets->many, set);
    breakpoint_merge_destroy(&set->merge);
    free(set->run_body);
    free(set);
}

static struct set *add(struct many_breakpoints *sets, const char *json,
                       const struct envelope *request)
{
    struct set *set = mem_alloc(sizeof *set), **at = &sets->first;
    set->sets = sets;
    set->merge = breakpoint_merge_create(sets->many->ids, json, request);
    while (*at) {
        struct set *earlier = *at;
        if (!breakpoint_merge_replaces(set->merge, earlier->merge)) {
            at = &earlier->next;
            continue;
        }
        answer(earlier);
        *at = earlier->next;
        set_free(earlier);
    }
    *at = set;
    return set;
}

void many_breakpoints_request(struct many_breakpoints *sets, const char *json, size_t len,
                              const struct envelope *envelope)
{
    struct set *set = add(sets, json, envelope);
    (void)len;
    open_request_begin(&set->request, envelope->seq);
    set->waiting++; /* one for itself: no answer is the last before all tasks have been asked */
    send_to_run(set);
    send_to_all(set);
    invariant(set->waiting > 0);
    set->waiting--;
    if (!set->waiting)
        answer(set);
    else if (set->request.open)
        set->timer = timer_start(sets->many->loop, ANSWER_MS, on_late, set);
    tell_changes(set);
}

void many_breakpoints_arm(struct many_breakpoints *sets, struct many_task *task)
{
    for (struct set *set = sets->first; set; set = set->next)
        send_to(set, task);
}

/* --- the verbs' own --- */

static struct set *find_path(const struct many_breakpoints *sets, const char *path)
{
    for (struct set *set = sets->first; set; set = set->next) {
        char *own = path_of(set);
        bool found = own && text_equal(own, path);
        free(own);
        if (found)
            return set;
    }
    return NULL;
}

/* Makes an empty set: the client has named no breakpoint in this source. */
static struct set *add_path(struct many_breakpoints *sets, const char *path)
{
    struct buf arguments = {0}, message = {0};
    struct envelope envelope;
    const char *problem;
    struct set *set = NULL;
    buf_add_string(&arguments, "{\"source\":{\"path\":");
    message_quote(&arguments, path);
    buf_add_string(&arguments, "},\"breakpoints\":[]}");
    message_request(&message, 0, "setBreakpoints", arguments.data);
    if (envelope_read(&envelope, message.data, message.len, &problem) == 0)
        set = add(sets, message.data, &envelope);
    buf_free(&message);
    buf_free(&arguments);
    return set;
}

static void renew(struct many_breakpoints *sets, const char *path)
{
    struct set *set = find_path(sets, path);
    if (!set)
        set = add_path(sets, path);
    if (set)
        send_to_all(set);
}

int64_t many_breakpoints_add(struct many_breakpoints *sets, const char *path, int64_t line)
{
    struct extra *extra = mem_alloc(sizeof *extra);
    *extra = (struct extra){sets->extras, ++sets->handles, line, mem_string(path)};
    sets->extras = extra;
    renew(sets, path);
    return extra->handle;
}

void many_breakpoints_remove(struct many_breakpoints *sets, int64_t handle)
{
    struct extra **at = &sets->extras;
    while (*at && (*at)->handle != handle)
        at = &(*at)->next;
    if (!*at)
        return;
    struct extra *extra = *at;
    *at = extra->next;
    renew(sets, extra->path);
    free(extra->path);
    free(extra);
}

static bool has_extra(const struct many_breakpoints *sets, const char *path, int64_t line)
{
    const struct extra *at = sets->extras;
    while (at && (at->line != line || !text_equal(at->path, path)))
        at = at->next;
    return at;
}

bool many_breakpoints_stops(const struct many_breakpoints *sets, const char *path, int64_t line)
{
    const struct set *set = path ? find_path(sets, path) : NULL;
    enum at_line own =
        set ? find_at_line(breakpoint_merge_arguments(set->merge), line) : AT_LINE_NONE;
    return own == AT_LINE_EVERY_STOP || (own == AT_LINE_SOME_STOPS && !has_extra(sets, path, line));
}

/* --- changes --- */

void many_breakpoints_event(struct many_breakpoints *sets, struct many_task *task, const char *json,
                            const struct envelope *event)
{
    for (struct set *set = sets->first; set; set = set->next) {
        if (breakpoint_merge_event(set->merge, task->slot, json, event)) {
            tell_changes(set);
            return;
        }
    }
}

void many_breakpoints_gone(struct many_breakpoints *sets, struct many_task *task)
{
    for (struct set *set = sets->first; set; set = set->next) {
        breakpoint_merge_gone(set->merge, task->slot);
        tell_changes(set);
    }
}

void many_breakpoints_destroy(struct many_breakpoints **sets)
{
    struct many_breakpoints *it = *sets;
    if (!it)
        return;
    *sets = NULL;
    LIST_FREE(it->first, set_free);
    while (it->extras) {
        struct extra *next = it->extras->next;
        free(it->extras->path);
        free(it->extras);
        it->extras = next;
    }
    free(it);
}
