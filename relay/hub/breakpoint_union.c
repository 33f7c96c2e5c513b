#include "relay/hub/breakpoint_union.h"

#include "base/hash.h"
#include "base/hash_index.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "dap/splice.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* One owner's elements for one source. */
struct set {
    struct set *next, *before; /* by age */
    uint64_t hash;             /* of kind and key */
    uint64_t number;           /* by age */
    bool cleared;              /* breakpoint_union_clearing() has written how to clear its source */
    const void *owner;
    const struct kind *kind;
    bool armed;
    char *key;    /* the source's path or reference; "" where there is only one set */
    char *source; /* setBreakpoints: the `source` argument as it came; else NULL */
    char **items; /* each element's JSON */
    size_t count;
};

struct breakpoint_union {
    struct set *first, *last;    /* the oldest first */
    struct hash_index set_index; /* by hash */
    uint64_t number;
    bool no_filters; /* breakpoint_union_no_filters() */
};

static const struct kind {
    const char *command;
    const char *array;
    const char *mark; /* the member by which a debugger tells the elements apart */
    bool by_source;
    const char *none; /* the elements to send if no owner has any */
} kinds[] = {
    {"setBreakpoints", "breakpoints", "line", true, ""},
    {"setFunctionBreakpoints", "breakpoints", "name", false, ""},
    /* Without `uncaught` a post-mortem pause does not stop at all (docs/facts/debugpy.md#0.3). */
    {"setExceptionBreakpoints", "filters", NULL, false, "\"uncaught\""},
};

static const struct kind *find_kind(const char *command)
{
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (text_equal(kinds[i].command, command))
            return &kinds[i];
    return NULL;
}

struct breakpoint_union *breakpoint_union_create(void)
{
    return mem_alloc(sizeof(struct breakpoint_union));
}

void breakpoint_union_no_filters(struct breakpoint_union *sets)
{
    sets->no_filters = true;
}

/* The elements to send for a set without any. */
static const char *none_of(const struct breakpoint_union *sets, const struct kind *kind)
{
    return sets->no_filters ? "" : kind->none;
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

void breakpoint_union_destroy(struct breakpoint_union **sets)
{
    struct breakpoint_union *it = *sets;
    if (!it)
        return;
    *sets = NULL;
    LIST_FREE(it->first, set_free);
    hash_index_clear(&it->set_index);
    free(it);
}

bool breakpoint_union_is_set(const char *command)
{
    return find_kind(command) != NULL;
}

static char *source_key(const char *json, struct span arguments)
{
    int64_t reference;
    char *path = scan_string_at(json, arguments, "source/path");
    if (path)
        return path;
    if (scan_integer_at(json, arguments, "source/sourceReference", &reference))
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

static uint64_t hash_of(const struct set *set)
{
    return hash_text(set->key, (uint64_t)(set->kind - kinds));
}

static struct set *read_set(const char *json, const struct envelope *request)
{
    struct set *set = mem_alloc(sizeof *set);
    struct span source;
    set->kind = find_kind(request->name);
    if (!request->arguments.len) {
        set->key = mem_string("");
        set->hash = hash_of(set);
        return set;
    }
    set->key = set->kind->by_source ? source_key(json, request->arguments) : mem_string("");
    if (set->kind->by_source && scan_find(json, request->arguments, "source", &source))
        set->source = mem_string_n(json + source.at, source.len);
    set->hash = hash_of(set);
    read_items(set, json, request->arguments);
    return set;
}

static bool is_same_source(const struct set *a, const struct set *b)
{
    return a->kind == b->kind && text_equal(a->key, b->key);
}

/* The oldest set of the same source that is younger than `after` (NULL: any), or NULL. */
static struct set *next_at(const struct breakpoint_union *sets, const struct set *like,
                           const struct set *after)
{
    struct set *found = NULL;
    size_t cursor = 0;
    uintptr_t item;
    while (hash_index_next(&sets->set_index, like->hash, &cursor, &item)) {
        struct set *set = (struct set *)item;
        if (is_same_source(set, like) && (!after || set->number > after->number) &&
            (!found || set->number < found->number))
            found = set;
    }
    return found;
}

static void set_remove(struct breakpoint_union *sets, struct set *set)
{
    *(set->before ? &set->before->next : &sets->first) = set->next;
    *(set->next ? &set->next->before : &sets->last) = set->before;
    hash_index_remove(&sets->set_index, set->hash, (uintptr_t)set);
    set_free(set);
}

static void set_add(struct breakpoint_union *sets, struct set *set)
{
    set->number = ++sets->number;
    set->before = sets->last;
    *(sets->last ? &sets->last->next : &sets->first) = set;
    sets->last = set;
    hash_index_add(&sets->set_index, set->hash, (uintptr_t)set);
}

/* Removes the owner's set for the same source. True if that was armed. */
static bool forget(struct breakpoint_union *sets, const struct set *like)
{
    for (struct set *set = next_at(sets, like, NULL); set; set = next_at(sets, like, set)) {
        if (set->owner == like->owner) {
            bool armed = set->armed;
            set_remove(sets, set);
            return armed;
        }
    }
    return false;
}

/* Puts the owner's set in place of its earlier one. True if that was armed. */
static bool put(struct breakpoint_union *sets, const void *owner, bool armed, const char *json,
                const struct envelope *request)
{
    struct set *set = read_set(json, request);
    set->owner = owner;
    set->armed = armed;
    for (const struct set *at = next_at(sets, set, NULL); at; at = next_at(sets, set, at))
        set->cleared |= at->cleared;
    bool was_armed = forget(sets, set);
    if (set->count)
        set_add(sets, set);
    else /* an empty set is like none */
        set_free(set);
    return was_armed;
}

void breakpoint_union_note(struct breakpoint_union *sets, const void *owner, const char *json,
                           const struct envelope *request)
{
    put(sets, owner, true, json, request);
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

/* True if a debugger takes the elements for the same one: equal text, the same line, the same
 * name. */
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

/* Appends the armed elements of the other owners for the same source; each line or name once. */
static void add_others(const struct breakpoint_union *sets, const struct set *own, struct buf *out)
{
    struct set seen = {.kind = own->kind};
    for (size_t i = 0; i < own->count; i++) {
        seen.items = mem_resize(seen.items, seen.count + 1, sizeof *seen.items);
        seen.items[seen.count++] = own->items[i];
    }
    for (const struct set *set = next_at(sets, own, NULL); set; set = next_at(sets, own, set)) {
        if (!set->armed || set->owner == own->owner)
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
 * be there. A value that is no array is replaced by one. */
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

bool breakpoint_union_merge(const struct breakpoint_union *sets, const void *owner,
                            const char *json, size_t len, const struct envelope *request,
                            struct buf *out, size_t *own)
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

bool breakpoint_union_trim(const char *json, size_t len, const struct envelope *response,
                           size_t own, struct buf *out)
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

void breakpoint_union_unarmed_body(const char *json, const struct envelope *request,
                                   const char *why, struct buf *out)
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

/* Gives `fn` the request that sets `items` for the source of `like`. */
static void tell_items(const struct set *like, const char *items, breakpoint_union_fn fn, void *arg)
{
    struct buf arguments = {0};
    buf_add_string(&arguments, "{");
    if (like->source)
        buf_printf(&arguments, "\"source\":%s,", like->source);
    buf_printf(&arguments, "\"%s\":[%s]}", like->kind->array, items);
    fn(arg, like->kind->command, arguments.data);
    buf_free(&arguments);
}

static void tell(const struct breakpoint_union *sets, const struct set *like,
                 breakpoint_union_fn fn, void *arg)
{
    struct set nobody = {.kind = like->kind, .key = like->key, .hash = like->hash};
    struct buf items = {0};
    add_others(sets, &nobody, &items);
    tell_items(like, items.len ? items.data : none_of(sets, like->kind), fn, arg);
    buf_free(&items);
}

bool breakpoint_union_keep(struct breakpoint_union *sets, const void *owner, const char *json,
                           const struct envelope *request, breakpoint_union_fn fn, void *arg)
{
    if (!put(sets, owner, false, json, request))
        return false;
    struct set *like = read_set(json, request);
    tell(sets, like, fn, arg);
    set_free(like);
    return true;
}

bool breakpoint_union_has_filters(const struct breakpoint_union *sets)
{
    const struct set *set = sets->first;
    while (set && !(set->armed && text_equal(set->kind->command, "setExceptionBreakpoints")))
        set = set->next;
    return set != NULL;
}

void breakpoint_union_each(const struct breakpoint_union *sets, const void *owner,
                           breakpoint_union_fn fn, void *arg)
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

void breakpoint_union_arm(struct breakpoint_union *sets, const void *owner, breakpoint_union_fn fn,
                          void *arg)
{
    for (struct set *set = sets->first; set; set = set->next) {
        if (set->owner != owner || set->armed)
            continue;
        set->armed = true;
        tell(sets, set, fn, arg);
    }
}

void breakpoint_union_drop(struct breakpoint_union *sets, const void *owner, breakpoint_union_fn fn,
                           void *arg)
{
    for (struct set *set = sets->first, *next; set; set = next) {
        next = set->next;
        if (set->owner != owner)
            continue;
        struct set like = {
            .kind = set->kind, .key = set->key, .source = set->source, .hash = set->hash};
        bool armed = set->armed;
        set->key = set->source = NULL;
        set_remove(sets, set);
        if (armed)
            tell(sets, &like, fn, arg);
        free(like.key);
        free(like.source);
    }
}

/* Appends the members of a source that a debugger uses: the others may be of any length. */
static void add_source(const char *source, struct buf *out)
{
    static const char *const names[] = {"path", "sourceReference"};
    struct span all = {0, strlen(source)}, value;
    const char *before = "{";
    if (*source != '{') {
        buf_printf(out, "%s", source);
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!scan_find(source, all, names[i], &value))
            continue;
        buf_printf(out, "%s\"%s\":%.*s", before, names[i], (int)value.len, source + value.at);
        before = ",";
    }
    buf_add_string(out, *before == '{' ? "{}" : "}");
}

static void add_clearing(const struct breakpoint_union *sets, struct set *set, const char *before,
                         struct buf *out)
{
    set->cleared = true;
    buf_printf(out, "%s{\"command\":\"%s\",\"arguments\":{", before, set->kind->command);
    if (set->source) {
        buf_add_string(out, "\"source\":");
        add_source(set->source, out);
        buf_add_string(out, ",");
    }
    buf_printf(out, "\"%s\":[%s]}}", set->kind->array, none_of(sets, set->kind));
}

void breakpoint_union_clearing(struct breakpoint_union *sets, struct buf *out)
{
    buf_add_string(out, "[");
    for (struct set *set = sets->first; set; set = set->next) {
        set->cleared = false;
        if (set->armed)
            add_clearing(sets, set, out->data[out->len - 1] == '[' ? "" : ",", out);
    }
    buf_add_string(out, "]");
}

/* New sets are the youngest, and sets that are armed later are written at once: so no set before a
 * written one is missing. */
void breakpoint_union_newly_clearing(struct breakpoint_union *sets, struct buf *out)
{
    size_t begin = out->len;
    for (struct set *set = sets->last; set && !set->cleared; set = set->before)
        if (set->armed)
            add_clearing(sets, set, out->len > begin ? "," : "", out);
}
