#include "relay/hub/hit_ids.h"

#include "base/hash.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/splice.h"

#include <inttypes.h>
#include <stdlib.h>

struct hit {
    char *mark; /* the line or the name, as JSON text */
    int64_t id; /* -1: none */
};

struct hit_set {
    struct hit_set *next, **link; /* `link`: what points to this one, if it is one of hit_sets */
    const void *owner;
    size_t own;
    char *key; /* the command and the source's path or reference */
    struct hit *items;
    size_t count;
};

void hit_set_free(struct hit_set **set)
{
    struct hit_set *it = *set;
    *set = NULL;
    if (!it)
        return;
    for (size_t i = 0; i < it->count; i++)
        free(it->items[i].mark);
    free(it->items);
    free(it->key);
    free(it);
}

/* --- sets by owner and source --- */

static uint64_t hash_of(const void *owner, const char *key)
{
    return hash_text(key, hash_number((uintptr_t)owner));
}

static struct hit_set *find(const struct hit_sets *sets, const void *owner, const char *key)
{
    size_t cursor = 0;
    uintptr_t item;
    while (hash_index_next(&sets->by_key, hash_of(owner, key), &cursor, &item)) {
        struct hit_set *set = (struct hit_set *)item;
        if (set->owner == owner && text_equal(set->key, key))
            return set;
    }
    return NULL;
}

static void add_set(struct hit_sets *sets, struct hit_set *set)
{
    set->next = sets->first;
    set->link = &sets->first;
    if (set->next)
        set->next->link = &set->next;
    sets->first = set;
    hash_index_add(&sets->by_key, hash_of(set->owner, set->key), (uintptr_t)set);
}

static void remove_set(struct hit_sets *sets, struct hit_set *set)
{
    *set->link = set->next;
    if (set->next)
        set->next->link = set->link;
    hash_index_remove(&sets->by_key, hash_of(set->owner, set->key), (uintptr_t)set);
    hit_set_free(&set);
}

static void free_set(struct hit_set *set)
{
    hit_set_free(&set);
}

void hit_ids_clear(struct hit_ids *ids)
{
    LIST_FREE(ids->current.first, free_set);
    LIST_FREE(ids->owned.first, free_set);
    LIST_FREE(ids->asked, free_set);
    hash_index_clear(&ids->current.by_key);
    hash_index_clear(&ids->owned.by_key);
    hash_index_clear(&ids->by_id);
}

/* --- requests --- */

/* "" for an element without one: no hit is ever found by it. */
static char *mark_of(const char *json, struct span element, const char *name)
{
    struct span value;
    int64_t number;
    if (json[element.at] != '{' || !scan_find(json, element, name, &value))
        return mem_string("");
    if (scan_integer(json, value, &number))
        return mem_format("%" PRId64, number);
    char *text = scan_string(json, value);
    return text ? text : mem_string("");
}

static void add(struct hit_set *set, char *mark, int64_t id)
{
    set->items = mem_resize(set->items, set->count + 1, sizeof *set->items);
    set->items[set->count++] = (struct hit){mark, id};
}

static char *key_of(const char *command, const char *json, struct span arguments)
{
    int64_t reference = 0;
    char *path = scan_string_at(json, arguments, "source/path");
    scan_integer_at(json, arguments, "source/sourceReference", &reference);
    char *key =
        path ? mem_format("%s %s", command, path) : mem_format("%s #%" PRId64, command, reference);
    free(path);
    return key;
}

struct hit_set *hit_set_read(const char *command, const char *json, struct span arguments,
                             const void *owner, size_t own)
{
    bool lines = text_equal(command, "setBreakpoints");
    struct span list, element;
    size_t cursor = 0;
    if (!arguments.len || (!lines && !text_equal(command, "setFunctionBreakpoints")))
        return NULL;
    struct hit_set *set = mem_alloc(sizeof *set);
    set->owner = owner;
    set->own = own;
    set->key = key_of(command, json, arguments);
    if (scan_find(json, arguments, "breakpoints", &list))
        while (scan_element(json, list, &cursor, &element))
            add(set, mark_of(json, element, lines ? "line" : "name"), -1);
    return set;
}

/* --- answers --- */

/* Puts `set` into the place of the earlier one; a set without elements is like none. */
static void put_owned(struct hit_ids *ids, struct hit_set *set)
{
    struct hit_set *before = find(&ids->owned, set->owner, set->key);
    if (before)
        remove_set(&ids->owned, before);
    if (set->count)
        add_set(&ids->owned, set);
    else
        hit_set_free(&set);
}

/* The same for the debuggee's ids, which are found by themselves, too. */
static void put_current(struct hit_ids *ids, struct hit_set *set)
{
    struct hit_set *before = find(&ids->current, set->owner, set->key);
    for (size_t i = 0; before && i < before->count; i++)
        if (before->items[i].id >= 0)
            hash_index_remove(&ids->by_id, hash_number((uint64_t)before->items[i].id),
                              (uintptr_t)before);
    if (before)
        remove_set(&ids->current, before);
    if (!set->count) {
        hit_set_free(&set);
        return;
    }
    add_set(&ids->current, set);
    for (size_t i = 0; i < set->count; i++)
        if (set->items[i].id >= 0)
            hash_index_add(&ids->by_id, hash_number((uint64_t)set->items[i].id), (uintptr_t)set);
}

static struct hit_set *own_part(const struct hit_set *set)
{
    struct hit_set *part = mem_alloc(sizeof *part);
    part->owner = set->owner;
    part->key = mem_string(set->key);
    for (size_t i = 0; i < set->count && i < set->own; i++)
        add(part, mem_string(set->items[i].mark), set->items[i].id);
    return part;
}

void hit_ids_answer(struct hit_ids *ids, struct hit_set *set, const char *json,
                    const struct envelope *response)
{
    struct span list, element;
    size_t cursor = 0;
    if (!set || !json || !response->success || !response->body.len ||
        !scan_find(json, response->body, "breakpoints", &list)) {
        hit_set_free(&set);
        return;
    }
    for (size_t i = 0; i < set->count && scan_element(json, list, &cursor, &element); i++)
        if (json[element.at] != '{' || !scan_integer_at(json, element, "id", &set->items[i].id))
            set->items[i].id = -1;
    if (set->owner)
        put_owned(ids, own_part(set));
    set->owner = NULL;
    put_current(ids, set);
}

void hit_ids_ask(struct hit_ids *ids, struct hit_set *set)
{
    struct hit_set *last = set ? set : mem_alloc(sizeof *set);
    LIST_APPEND(ids->asked, last);
}

void hit_ids_answer_asked(struct hit_ids *ids, const char *json, const struct envelope *response)
{
    if (!ids->asked)
        return;
    struct hit_set *set = ids->asked;
    ids->asked = set->next;
    if (!set->key)
        hit_set_free(&set);
    hit_ids_answer(ids, set, json, response);
}

void hit_ids_drop(struct hit_ids *ids, const void *owner)
{
    for (struct hit_set *set = ids->owned.first, *next; set; set = next) {
        next = set->next;
        if (set->owner == owner)
            remove_set(&ids->owned, set);
    }
}

/* --- hits --- */

static const struct hit *find_id(const struct hit_ids *ids, int64_t id, const struct hit_set **in)
{
    size_t cursor = 0;
    uintptr_t item;
    while (hash_index_next(&ids->by_id, hash_number((uint64_t)id), &cursor, &item)) {
        *in = (const struct hit_set *)item;
        for (size_t i = 0; i < (*in)->count; i++)
            if ((*in)->items[i].id == id && *(*in)->items[i].mark)
                return &(*in)->items[i];
    }
    return NULL;
}

/* The owner's id of a breakpoint that the debuggee calls `id`; -1: it is another owner's. */
static int64_t own_id(const struct hit_ids *ids, const void *owner, int64_t id)
{
    const struct hit_set *in;
    const struct hit *hit = find_id(ids, id, &in);
    if (!hit)
        return id;
    const struct hit_set *set = find(&ids->owned, owner, in->key);
    for (size_t i = 0; set && i < set->count; i++)
        if (text_equal(set->items[i].mark, hit->mark))
            return set->items[i].id;
    return -1;
}

bool hit_ids_rewrite(const struct hit_ids *ids, const void *owner, const char *json, size_t len,
                     const struct envelope *event, struct buf *out)
{
    struct span list, element;
    struct buf own = {0};
    size_t cursor = 0;
    bool changed = false;
    if (!ids->current.first || !event->body.len ||
        !scan_find(json, event->body, "hitBreakpointIds", &list) || json[list.at] != '[')
        return false;
    buf_add_string(&own, "[");
    while (scan_element(json, list, &cursor, &element)) {
        int64_t id = -1, known;
        if (!scan_integer(json, element, &id))
            continue;
        known = own_id(ids, owner, id);
        changed = changed || known != id;
        if (known >= 0)
            buf_printf(&own, "%s%" PRId64, own.len > 1 ? "," : "", known);
    }
    buf_add_string(&own, "]");
    struct edit edit = {list, own.data, own.len};
    if (changed)
        splice_apply(json, len, &edit, 1, out);
    buf_free(&own);
    return changed;
}
