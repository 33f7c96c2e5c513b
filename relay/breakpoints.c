#include "relay/breakpoints.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "dap/splice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One owner's elements for one source. */
struct set {
    struct set *next;
    const void *owner;
    const struct kind *kind;
    bool armed;
    char *key;    /* the source's path or reference; "" where there is but one set */
    char *source; /* setBreakpoints: the `source` argument as it came; else NULL */
    char **items; /* each element's JSON */
    size_t count;
};

struct breakpoints {
    struct set *first; /* the oldest first */
};

static const struct kind {
    const char *command;
    const char *array;
    const char *mark; /* the member by which a debugger tells the elements apart */
    bool by_source;
    const char *none; /* what the debuggee has if nobody wants anything */
} kinds[] = {
    {"setBreakpoints", "breakpoints", "line", true, ""},
    {"setFunctionBreakpoints", "breakpoints", "name", false, ""},
    /* Without `uncaught` a post-mortem pause does not stop at all (debugpy-facts 0.3). */
    {"setExceptionBreakpoints", "filters", NULL, false, "\"uncaught\""},
};

static const struct kind *find_kind(const char *command)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (text_equal(kinds[i].command, command))
            return &kinds[i];
    return NULL;
}

struct breakpoints *breakpoints_create(void)
{
    return mem_alloc(sizeof(struct breakpoints));
}

static void set_free(struct set *set)
{
    for (size_t i = 0; i < set->count; i++)
        free(set->items[i]);
    free(set->items);
    free(set->key);
    free(set->source);
    free(set);
}

void breakpoints_destroy(struct breakpoints **sets)
{
    struct breakpoints *it = *sets;
    if (!it)
        return;
    *sets = NULL;
    while (it->first) {
        struct set *next = it->first->next;
        set_free(it->first);
        it->first = next;
    }
    free(it);
}

bool breakpoints_is_set(const char *command)
{
    return find_kind(command) != NULL;
}

static char *source_key(const char *json, struct span arguments)
{
    struct span value;
    int64_t reference;
    if (scan_path(json, arguments, "source/path", &value)) {
        char *path = scan_string(json, value);
        if (path)
            return path;
    }
    if (scan_path(json, arguments, "source/sourceReference", &value) &&
        scan_integer(json, value, &reference))
        return mem_format("#%" PRId64, reference);
    return mem_string("");
}

static void read_items(struct set *set, const char *json, struct span arguments)
{
    struct span array, element;
    size_t cursor = 0;
    if (!scan_find(json, arguments, set->kind->array, &array) || json[array.at] != '[')
        return;
    while (scan_element(json, array, &cursor, &element)) {
        set->items = mem_resize(set->items, set->count + 1, sizeof *set->items);
        set->items[set->count++] = mem_string_n(json + element.at, element.len);
    }
}

static struct set *read_set(const char *json, const struct envelope *request)
{
    struct set *set = mem_alloc(sizeof *set);
    struct span source;
    set->kind = find_kind(request->name);
    if (!request->arguments.len) {
        set->key = mem_string("");
        return set;
    }
    set->key = set->kind->by_source ? source_key(json, request->arguments) : mem_string("");
    if (set->kind->by_source && scan_find(json, request->arguments, "source", &source))
        set->source = mem_string_n(json + source.at, source.len);
    read_items(set, json, request->arguments);
    return set;
}

static bool same_place(const struct set *a, const struct set *b)
{
    return a->kind == b->kind && text_equal(a->key, b->key);
}

/* Takes the owner's set for the same source out of the list. */
static void forget(struct breakpoints *sets, const struct set *like)
{
    for (struct set **at = &sets->first; *at; at = &(*at)->next) {
        struct set *set = *at;
        if (set->owner == like->owner && same_place(set, like)) {
            *at = set->next;
            set_free(set);
            return;
        }
    }
}

void breakpoints_note(struct breakpoints *sets, const void *owner, bool armed, const char *json,
                      const struct envelope *request)
{
    struct set *set = read_set(json, request);
    set->owner = owner;
    set->armed = armed;
    forget(sets, set);
    if (!set->count) { /* an empty set is what nobody has */
        set_free(set);
        return;
    }
    struct set **at = &sets->first;
    while (*at)
        at = &(*at)->next;
    *at = set;
}

static bool same_value(const char *a, struct span at, const char *b, struct span in_b)
{
    int64_t number, other;
    if (scan_integer(a, at, &number))
        return scan_integer(b, in_b, &other) && number == other;
    char *text = scan_string(a, at);
    bool same = text && scan_string_is(b, in_b, text);
    free(text);
    return same;
}

/* Two elements that a debugger takes for the same one: equal text, the same line, the same name. */
static bool same_item(const char *a, const char *b, const char *mark)
{
    struct span at, in_b;
    if (strcmp(a, b) == 0)
        return true;
    return mark && *a == '{' && *b == '{' && scan_find(a, (struct span){0, strlen(a)}, mark, &at) &&
           scan_find(b, (struct span){0, strlen(b)}, mark, &in_b) && same_value(a, at, b, in_b);
}

static bool has_item(const struct set *set, const char *item)
{
    for (size_t i = 0; i < set->count; i++)
        if (same_item(set->items[i], item, set->kind->mark))
            return true;
    return false;
}

/* Adds what the other armed owners have for the same source; each line or name once. */
static void add_others(const struct breakpoints *sets, const struct set *own, struct buf *out)
{
    struct set seen = {.kind = own->kind};
    for (size_t i = 0; i < own->count; i++) {
        seen.items = mem_resize(seen.items, seen.count + 1, sizeof *seen.items);
        seen.items[seen.count++] = own->items[i];
    }
    for (const struct set *set = sets->first; set; set = set->next) {
        if (!set->armed || set->owner == own->owner || !same_place(set, own))
            continue;
        for (size_t i = 0; i < set->count; i++) {
            if (has_item(&seen, set->items[i]))
                continue;
            buf_printf(out, "%s%s", seen.count ? "," : "", set->items[i]);
            seen.items = mem_resize(seen.items, seen.count + 1, sizeof *seen.items);
            seen.items[seen.count++] = set->items[i];
        }
    }
    free(seen.items);
}

/* Appends the request with `others` behind the elements of the array called `name`, which need not
 * be there. What is no array has no elements: an array takes its place. */
static void add_merged(const char *json, size_t len, struct span arguments, const char *name,
                       const char *others, struct buf *out)
{
    struct span array, key, value;
    size_t cursor = 0;
    struct edit edit = {{arguments.at + 1, 0}, NULL, 0};
    char *text;
    if (!scan_find(json, arguments, name, &array)) {
        bool more = scan_member(json, arguments, &cursor, &key, &value);
        text = mem_format("\"%s\":[%s]%s", name, others, more ? "," : "");
    } else if (json[array.at] == '[') {
        edit.at = (struct span){array.at + array.len - 1, 0};
        text = mem_string(others);
    } else {
        edit.at = array;
        text = mem_format("[%s]", others);
    }
    edit.with = text;
    edit.len = strlen(text);
    splice_apply(json, len, &edit, 1, out);
    free(text);
}

bool breakpoints_merge(const struct breakpoints *sets, const void *owner, const char *json,
                       size_t len, const struct envelope *request, struct buf *out, size_t *own)
{
    struct set *set = read_set(json, request);
    struct buf others = {0};
    set->owner = owner;
    *own = set->count;
    add_others(sets, set, &others);
    bool merged = others.len > 0 && request->arguments.len && json[request->arguments.at] == '{';
    if (merged)
        add_merged(json, len, request->arguments, set->kind->array, others.data, out);
    buf_free(&others);
    set_free(set);
    return merged;
}

bool breakpoints_trim(const char *json, size_t len, const struct envelope *response, size_t own,
                      struct buf *out)
{
    struct span array, element = {0, 0};
    size_t cursor = 0, count = 0, end;
    if (!response->body.len || !scan_find(json, response->body, "breakpoints", &array) ||
        json[array.at] != '[')
        return false;
    end = array.at + 1;
    while (scan_element(json, array, &cursor, &element)) {
        if (count < own)
            end = element.at + element.len;
        count++;
    }
    if (count <= own)
        return false;
    struct edit edit = {{end, array.at + array.len - 1 - end}, "", 0};
    splice_apply(json, len, &edit, 1, out);
    return true;
}

void breakpoints_unarmed_body(const char *json, const struct envelope *request, const char *why,
                              struct buf *out)
{
    struct set *set = read_set(json, request);
    buf_add_string(out, "{\"breakpoints\":[");
    for (size_t i = 0; i < set->count; i++) {
        const char *item = set->items[i];
        struct span line;
        buf_printf(out, "%s{\"verified\":false,", i ? "," : "");
        if (*item == '{' && scan_find(item, (struct span){0, strlen(item)}, "line", &line))
            buf_printf(out, "\"line\":%.*s,", (int)line.len, item + line.at);
        buf_add_string(out, "\"message\":");
        message_quote(out, why);
        buf_add_string(out, "}");
    }
    buf_add_string(out, "]}");
    set_free(set);
}

/* The arguments of the request that sets what all armed owners have where `like` is. */
static void tell_items(const struct set *like, const char *items, breakpoints_fn fn, void *arg)
{
    struct buf arguments = {0};
    buf_add_string(&arguments, "{");
    if (like->source)
        buf_printf(&arguments, "\"source\":%s,", like->source);
    buf_printf(&arguments, "\"%s\":[%s]}", like->kind->array, items);
    fn(arg, like->kind->command, arguments.data);
    buf_free(&arguments);
}

static void tell(const struct breakpoints *sets, const struct set *like, breakpoints_fn fn,
                 void *arg)
{
    struct set nobody = {.kind = like->kind, .key = like->key};
    struct buf items = {0};
    add_others(sets, &nobody, &items);
    tell_items(like, items.len ? items.data : like->kind->none, fn, arg);
    buf_free(&items);
}

void breakpoints_each(const struct breakpoints *sets, const void *owner, breakpoints_fn fn,
                      void *arg)
{
    for (const struct set *set = sets->first; set; set = set->next) {
        struct buf items = {0};
        if (set->owner != owner)
            continue;
        for (size_t i = 0; i < set->count; i++)
            buf_printf(&items, "%s%s", i ? "," : "", set->items[i]);
        tell_items(set, items.len ? items.data : "", fn, arg);
        buf_free(&items);
    }
}

void breakpoints_arm(struct breakpoints *sets, const void *owner, breakpoints_fn fn, void *arg)
{
    for (struct set *set = sets->first; set; set = set->next) {
        if (set->owner != owner || set->armed)
            continue;
        set->armed = true;
        tell(sets, set, fn, arg);
    }
}

void breakpoints_drop(struct breakpoints *sets, const void *owner, breakpoints_fn fn, void *arg)
{
    struct set **at = &sets->first;
    while (*at) {
        struct set *set = *at;
        if (set->owner != owner) {
            at = &set->next;
            continue;
        }
        *at = set->next;
        if (set->armed)
            tell(sets, set, fn, arg);
        set_free(set);
    }
}

void breakpoints_clearing(const struct breakpoints *sets, struct buf *out)
{
    bool first = true;
    buf_add_string(out, "[");
    for (const struct set *set = sets->first; set; set = set->next) {
        if (!set->armed)
            continue;
        buf_printf(out, "%s{\"command\":\"%s\",\"arguments\":{", first ? "" : ",",
                   set->kind->command);
        if (set->source)
            buf_printf(out, "\"source\":%s,", set->source);
        buf_printf(out, "\"%s\":[%s]}}", set->kind->array, set->kind->none);
        first = false;
    }
    buf_add_string(out, "]");
}
