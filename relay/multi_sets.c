/* What is set once for all the targets of a multi: breakpoints of each source, of functions, of
 * exceptions. */
#include "relay/multi_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "relay/breakpoints.h"
#include "relay/set_merge.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* The client is answered at the latest after ANSWER_MS; a debuggee may take longer. */
enum { ANSWER_MS = 2000, ASK_MS = 30000 };

struct set {
    struct set *next;
    struct multi_sets *sets;
    struct set_merge *merge;
    int64_t seq;    /* the client's request, or 0: it is answered, or there is none */
    size_t waiting; /* debuggees that have not answered yet */
    struct timer *timer;
};

/* A verb's breakpoint. */
struct extra {
    struct extra *next;
    int64_t handle, line;
    char *path;
};

struct multi_sets {
    struct multi *multi;
    struct set *first;
    struct extra *extras;
    int64_t handles;
};

struct multi_sets *multi_sets_create(struct multi *multi)
{
    struct multi_sets *sets = mem_alloc(sizeof *sets);
    sets->multi = multi;
    return sets;
}

bool multi_sets_is_set(const char *command)
{
    return breakpoints_is_set(command);
}

/* --- answering --- */

static void tell_changes(struct set *set)
{
    struct client *client = &set->sets->multi->session->client;
    struct buf body = {0};
    while (!set->seq && set_merge_next_event(set->merge, &body)) {
        client_event(client, "breakpoint", body.data);
        buf_clear(&body, 0);
    }
    buf_free(&body);
}

static void answer(struct set *set)
{
    struct client *client = &set->sets->multi->session->client;
    const char *command = set_merge_command(set->merge);
    struct buf body = {0};
    int64_t seq = set->seq;
    timer_cancel(&set->timer);
    if (!seq)
        return;
    set->seq = 0;
    const char *why = set->waiting ? NULL : set_merge_failure(set->merge);
    set_merge_body(set->merge, &body);
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

static void on_answer(void *arg, struct multi_target *target, const char *json, size_t len,
                      const struct envelope *response)
{
    struct set *set = arg;
    (void)len;
    set->waiting--;
    if (target->state != MULTI_GONE)
        set_merge_answer(set->merge, target->multi->ids, target->slot, json, response);
    if (set->seq && !set->waiting)
        answer(set);
    tell_changes(set);
}

/* --- sending --- */

static char *path_of(const struct set *set)
{
    const char *json = set_merge_arguments(set->merge);
    struct span at;
    if (!text_equal(set_merge_command(set->merge), "setBreakpoints") ||
        !scan_path(json, (struct span){0, strlen(json)}, "source/path", &at))
        return NULL;
    return scan_string(json, at);
}

/* The client's arguments with the verbs' breakpoints behind its own. */
static char *arguments_of(const struct set *set)
{
    const char *json = set_merge_arguments(set->merge);
    char *path = path_of(set);
    struct span all = {0, strlen(json)}, list = {0};
    struct buf more = {0}, out = {0};
    for (const struct extra *at = set->sets->extras; at && path; at = at->next)
        if (text_equal(at->path, path))
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

static void send_to(struct set *set, struct multi_target *target)
{
    char *arguments = arguments_of(set);
    set->waiting++;
    multi_ask(target, set_merge_command(set->merge), arguments, ASK_MS, on_answer, set);
    free(arguments);
}

static void send_to_all(struct set *set)
{
    for (struct multi_target *at = set->sets->multi->targets; at; at = at->next)
        if (at->state == MULTI_READY || at->state == MULTI_RUNNING)
            send_to(set, at);
}

static void set_free(struct set *set)
{
    timer_cancel(&set->timer);
    multi_drop_asks(set->sets->multi, set);
    set_merge_destroy(&set->merge);
    free(set);
}

static struct set *add(struct multi_sets *sets, const char *json, const struct envelope *request)
{
    struct set *set = mem_alloc(sizeof *set), **at = &sets->first;
    set->sets = sets;
    set->merge = set_merge_create(sets->multi->ids, json, request);
    while (*at) {
        struct set *earlier = *at;
        if (!set_merge_replaces(set->merge, earlier->merge)) {
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

void multi_sets_request(struct multi_sets *sets, const char *json, size_t len,
                        const struct envelope *envelope)
{
    struct set *set = add(sets, json, envelope);
    (void)len;
    set->seq = envelope->seq;
    set->waiting++; /* itself: nobody's answer is the last before all are asked */
    send_to_all(set);
    set->waiting--;
    if (!set->waiting)
        answer(set);
    else if (set->seq)
        set->timer = timer_start(sets->multi->loop, ANSWER_MS, on_late, set);
    tell_changes(set);
}

void multi_sets_arm(struct multi_sets *sets, struct multi_target *target)
{
    for (struct set *set = sets->first; set; set = set->next)
        send_to(set, target);
}

/* --- the verbs' own --- */

static struct set *find_path(const struct multi_sets *sets, const char *path)
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

/* The client has named none in this source. */
static struct set *add_path(struct multi_sets *sets, const char *path)
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

static void renew(struct multi_sets *sets, const char *path)
{
    struct set *set = find_path(sets, path);
    if (!set)
        set = add_path(sets, path);
    if (set)
        send_to_all(set);
}

int64_t multi_sets_add(struct multi_sets *sets, const char *path, int64_t line)
{
    struct extra *extra = mem_alloc(sizeof *extra);
    *extra = (struct extra){sets->extras, ++sets->handles, line, mem_string(path)};
    sets->extras = extra;
    renew(sets, path);
    return extra->handle;
}

void multi_sets_remove(struct multi_sets *sets, int64_t handle)
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

bool multi_sets_has(const struct multi_sets *sets, const char *path, int64_t line)
{
    const struct set *set = path ? find_path(sets, path) : NULL;
    const char *json = set ? set_merge_arguments(set->merge) : "";
    struct span list, element, at;
    size_t cursor = 0;
    int64_t own;
    if (!set || !scan_find(json, (struct span){0, strlen(json)}, "breakpoints", &list) ||
        json[list.at] != '[')
        return false;
    while (scan_element(json, list, &cursor, &element))
        if (scan_find(json, element, "line", &at) && scan_integer(json, at, &own) && own == line)
            return true;
    return false;
}

/* --- what changes --- */

void multi_sets_event(struct multi_sets *sets, struct multi_target *target, const char *json,
                      const struct envelope *event)
{
    for (struct set *set = sets->first; set; set = set->next) {
        if (set_merge_event(set->merge, target->slot, json, event)) {
            tell_changes(set);
            return;
        }
    }
}

void multi_sets_gone(struct multi_sets *sets, struct multi_target *target)
{
    for (struct set *set = sets->first; set; set = set->next) {
        set_merge_gone(set->merge, target->slot);
        tell_changes(set);
    }
}

void multi_sets_destroy(struct multi_sets **sets)
{
    struct multi_sets *it = *sets;
    if (!it)
        return;
    *sets = NULL;
    while (it->first) {
        struct set *next = it->first->next;
        set_free(it->first);
        it->first = next;
    }
    while (it->extras) {
        struct extra *next = it->extras->next;
        free(it->extras->path);
        free(it->extras);
        it->extras = next;
    }
    free(it);
}
