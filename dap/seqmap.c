#include "dap/seqmap.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct entry {
    struct pending pending;
    bool waits;
};

/* `entries` is in ascending order of upstream seq, so that a response is found by bisection and the
 * oldest request is the first one. A taken entry stays in place, marked, until the array is full
 * and at least half of it is taken. */
struct seqmap {
    struct entry *entries;
    size_t first; /* all entries before it are taken */
    size_t end;
    size_t room;
    size_t waiting;
    int64_t last;
};

struct seqmap *seqmap_create(void)
{
    return mem_alloc(sizeof(struct seqmap));
}

void seqmap_destroy(struct seqmap **map)
{
    if (*map)
        free((*map)->entries);
    free(*map);
    *map = NULL;
}

static void compact(struct seqmap *map)
{
    size_t to = 0;
    for (size_t i = map->first; i < map->end; i++)
        if (map->entries[i].waits)
            map->entries[to++] = map->entries[i];
    map->first = 0;
    map->end = to;
}

static struct entry *append(struct seqmap *map)
{
    if (map->end == map->room && map->waiting <= map->end / 2)
        compact(map);
    if (map->end == map->room) {
        map->room = map->room ? map->room * 2 : 4;
        map->entries = mem_resize(map->entries, map->room, sizeof *map->entries);
    }
    return &map->entries[map->end++];
}

void seqmap_start(struct seqmap *map, int64_t first)
{
    map->last = first - 1;
}

struct upstream_seq seqmap_next(struct seqmap *map)
{
    return (struct upstream_seq){++map->last};
}

struct upstream_seq seqmap_add(struct seqmap *map, void *owner, struct client_seq client,
                               const char *command, void *tag)
{
    struct upstream_seq upstream = seqmap_next(map);
    struct entry *entry = append(map);
    *entry = (struct entry){
        .pending = {.upstream = upstream, .client = client, .owner = owner, .tag = tag},
        .waits = true,
    };
    text_copy(entry->pending.command, sizeof entry->pending.command, command);
    map->waiting++;
    return upstream;
}

static void take(struct seqmap *map, struct entry *entry, struct pending *out)
{
    *out = entry->pending;
    entry->waits = false;
    invariant(map->waiting > 0);
    map->waiting--;
    while (map->first < map->end && !map->entries[map->first].waits)
        map->first++;
    if (map->waiting == 0) { /* an idle link keeps no memory */
        free(map->entries);
        map->entries = NULL;
        map->first = map->end = map->room = 0;
    }
}

static struct entry *find(const struct seqmap *map, struct upstream_seq upstream)
{
    size_t low = map->first, high = map->end;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (map->entries[middle].pending.upstream.value < upstream.value)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == map->end)
        return NULL;
    struct entry *entry = &map->entries[low];
    return entry->waits && entry->pending.upstream.value == upstream.value ? entry : NULL;
}

bool seqmap_take(struct seqmap *map, struct upstream_seq upstream, struct pending *out)
{
    struct entry *entry = find(map, upstream);
    if (entry)
        take(map, entry, out);
    return entry != NULL;
}

const struct pending *seqmap_find(const struct seqmap *map, struct upstream_seq upstream)
{
    const struct entry *entry = find(map, upstream);
    return entry ? &entry->pending : NULL;
}

const struct pending *seqmap_find_client(const struct seqmap *map, const void *owner,
                                         struct client_seq client)
{
    for (size_t i = map->first; i < map->end; i++) {
        const struct entry *entry = &map->entries[i];
        if (entry->waits && entry->pending.owner == owner &&
            entry->pending.client.value == client.value)
            return &entry->pending;
    }
    return NULL;
}

bool seqmap_take_oldest(struct seqmap *map, const void *owner, bool any, struct pending *out)
{
    for (size_t i = map->first; i < map->end; i++) {
        struct entry *entry = &map->entries[i];
        if (entry->waits && (any || entry->pending.owner == owner)) {
            take(map, entry, out);
            return true;
        }
    }
    return false;
}

size_t seqmap_count(const struct seqmap *map)
{
    return map->waiting;
}
