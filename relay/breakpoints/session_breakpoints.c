#include "relay/breakpoints/session_breakpoints.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "relay/breakpoints/file_breakpoint.h"

#include <inttypes.h>
#include <stdlib.h>

/* The ids of the relay's own breakpoints (breakpoint_store.h) are below own_first. */
enum { ITEMS_MOST = 1000 };
static const int64_t own_first = INT64_C(1) << 40;

struct item {
    int64_t id, line;
    char *dap;     /* the element of setBreakpoints */
    char *problem; /* why the last process that answered has not verified it, or NULL */
    bool verified; /* a process has */
};

/* One owner's breakpoints in one file. */
struct set {
    struct set *next;
    const void *owner;
    char *run, *file;
    struct item *items;
    size_t count;
};

/* An owner for whom tasks of the run that fail stop. */
struct failure_stop {
    struct failure_stop *next;
    const void *owner;
    char *run;
};

struct session_breakpoints {
    struct set *first;
    struct failure_stop *failure_stops;
    int64_t last_id;
};

struct session_breakpoints *session_breakpoints_create(void)
{
    struct session_breakpoints *sets = mem_alloc(sizeof *sets);
    sets->last_id = own_first;
    return sets;
}

static void set_free(struct set *set)
{
    for (size_t i = 0; i < set->count; i++) {
        free(set->items[i].dap);
        free(set->items[i].problem);
    }
    free(set->items);
    free(set->run);
    free(set->file);
    free(set);
}

static void failure_stop_free(struct failure_stop *stop)
{
    free(stop->run);
    free(stop);
}

void session_breakpoints_destroy(struct session_breakpoints **sets)
{
    struct session_breakpoints *it = *sets;
    if (!it)
        return;
    *sets = NULL;
    LIST_FREE(it->first, set_free);
    LIST_FREE(it->failure_stops, failure_stop_free);
    free(it);
}

/* --- the requests --- */

/* A log point becomes one of the agent's: pydevd would send its text to a client, and most
 * processes have none. */
static char *log_point(int64_t id, const char *file, int64_t line, const char *json,
                       struct span item)
{
    struct buf out = {0};
    struct file_breakpoint point = {
        .id = id,
        .file = mem_string(file),
        .line = line,
        .condition = scan_string_at(json, item, "condition"),
        .log = scan_string_at(json, item, "logMessage"),
        .rank = -1,
    };
    file_breakpoint_dap(&point, &out);
    file_breakpoint_clear(&point);
    return buf_take(&out);
}

static void add_item(struct session_breakpoints *sets, struct set *set, const char *json,
                     struct span at)
{
    char *log = scan_string_at(json, at, "logMessage");
    struct item item = {.id = ++sets->last_id};
    scan_integer_at(json, at, "line", &item.line);
    item.dap = text_empty(log) ? mem_string_n(json + at.at, at.len)
                               : log_point(item.id, set->file, item.line, json, at);
    set->items = mem_resize(set->items, set->count + 1, sizeof *set->items);
    set->items[set->count++] = item;
    free(log);
}

static struct set **find(struct session_breakpoints *sets, const void *owner, const char *file)
{
    struct set **at = &sets->first;
    while (*at && ((*at)->owner != owner || (file && !text_equal((*at)->file, file))))
        at = &(*at)->next;
    return at;
}

static void copy_state(const struct set *from, struct item *item)
{
    for (size_t i = 0; i < from->count; i++)
        if (text_equal(from->items[i].dap, item->dap))
            item->verified = from->items[i].verified;
}

const char *session_breakpoints_set(struct session_breakpoints *sets, const void *owner,
                                    const char *run, const char *json, struct span arguments)
{
    struct span list, at;
    size_t cursor = 0;
    char *file = arguments.len ? scan_string_at(json, arguments, "source/path") : NULL;
    struct set *set = mem_alloc(sizeof *set);
    *set = (struct set){.owner = owner, .run = mem_string(run), .file = file};
    if (file && scan_find(json, arguments, "breakpoints", &list) && json[list.at] == '[')
        while (set->count <= ITEMS_MOST && scan_element(json, list, &cursor, &at))
            if (json[at.at] == '{')
                add_item(sets, set, json, at);
    if (!file || file[0] != '/' || set->count > ITEMS_MOST) {
        set_free(set);
        return NULL;
    }
    struct set **link = find(sets, owner, file), *earlier = *link;
    for (size_t i = 0; earlier && i < set->count; i++)
        copy_state(earlier, &set->items[i]);
    set->next = earlier ? earlier->next : NULL;
    *link = set;
    if (earlier)
        set_free(earlier);
    return set->file;
}

char *session_breakpoints_drop(struct session_breakpoints *sets, const void *owner)
{
    struct set **link = find(sets, owner, NULL), *set = *link;
    if (!set)
        return NULL;
    char *file = mem_string(set->file);
    *link = set->next;
    set_free(set);
    return file;
}

/* --- failures --- */

bool session_breakpoints_stops_failures(const struct session_breakpoints *sets, const char *run)
{
    const struct failure_stop *at = sets->failure_stops;
    while (at && !text_equal(at->run, run))
        at = at->next;
    return at != NULL;
}

bool session_breakpoints_stop_failures(struct session_breakpoints *sets, const void *owner,
                                       const char *run, bool stop)
{
    bool before = session_breakpoints_stops_failures(sets, run);
    struct failure_stop **at = &sets->failure_stops;
    while (*at && ((*at)->owner != owner || !text_equal((*at)->run, run)))
        at = &(*at)->next;
    struct failure_stop *own = *at;
    if (own && !stop) {
        *at = own->next;
        failure_stop_free(own);
    } else if (!own && stop) {
        own = mem_alloc(sizeof *own);
        *own = (struct failure_stop){sets->failure_stops, owner, mem_string(run)};
        sets->failure_stops = own;
    }
    return session_breakpoints_stops_failures(sets, run) != before;
}

/* --- for the processes --- */

bool session_breakpoints_concern(const struct session_breakpoints *sets, const char *run)
{
    for (const struct set *set = sets->first; set; set = set->next)
        if (set->count && text_equal(set->run, run))
            return true;
    return false;
}

void session_breakpoints_each_file(const struct session_breakpoints *sets, const char *run,
                                   void (*fn)(void *arg, const char *file), void *arg)
{
    for (const struct set *set = sets->first; set; set = set->next)
        if (text_equal(set->run, run))
            fn(arg, set->file);
}

void session_breakpoints_dap(const struct session_breakpoints *sets, const char *run,
                             const char *file, struct buf *out)
{
    for (const struct set *set = sets->first; set; set = set->next) {
        if (!text_equal(set->run, run) || !text_equal(set->file, file))
            continue;
        for (size_t i = 0; i < set->count; i++) {
            bool first = out->len && out->data[out->len - 1] == '[';
            buf_printf(out, "%s%s", first ? "" : ",", set->items[i].dap);
        }
    }
}

/* --- what becomes of them --- */

static void note_item(struct item *item, bool verified, const char *message)
{
    item->verified = item->verified || verified;
    free(item->problem);
    item->problem = verified ? NULL : mem_string(message);
}

void session_breakpoints_note(struct session_breakpoints *sets, const char *run, const char *json,
                              struct span body)
{
    struct span list, at;
    size_t cursor = 0;
    if (!body.len || !scan_find(json, body, "breakpoints", &list) || json[list.at] != '[')
        return;
    while (scan_element(json, list, &cursor, &at)) {
        int64_t line = 0;
        bool verified = false;
        char *file = scan_string_at(json, at, "source/path");
        char *message = scan_string_at(json, at, "message");
        scan_integer_at(json, at, "line", &line);
        scan_boolean_at(json, at, "verified", &verified);
        for (struct set *set = sets->first; set && file; set = set->next)
            for (size_t i = 0; i < set->count; i++)
                if (set->items[i].line == line && text_equal(set->run, run) &&
                    text_equal(set->file, file))
                    note_item(&set->items[i], verified, message);
        free(file);
        free(message);
    }
}

bool session_breakpoints_note_problem(struct session_breakpoints *sets, int64_t id,
                                      const char *problem)
{
    for (struct set *set = sets->first; set; set = set->next) {
        for (size_t i = 0; i < set->count; i++) {
            if (set->items[i].id != id)
                continue;
            free(set->items[i].problem);
            set->items[i].problem = mem_string(problem);
            return true;
        }
    }
    return id > own_first;
}

static void put_item(const struct item *item, struct buf *out)
{
    buf_printf(out, "{\"verified\":%s,\"line\":%" PRId64, item->verified ? "true" : "false",
               item->line);
    if (item->problem || !item->verified) {
        buf_add_string(out, ",\"message\":");
        message_quote(out, item->problem ? item->problem : "in no process yet");
    }
    buf_add_string(out, "}");
}

bool session_breakpoints_body(const struct session_breakpoints *sets, const void *owner,
                              const char *file, struct buf *out)
{
    for (const struct set *set = sets->first; set; set = set->next) {
        if (set->owner != owner || !text_equal(set->file, file))
            continue;
        buf_add_string(out, "{\"breakpoints\":[");
        for (size_t i = 0; i < set->count; i++) {
            buf_add_string(out, i ? "," : "");
            put_item(&set->items[i], out);
        }
        buf_add_string(out, "]}");
        return true;
    }
    return false;
}
