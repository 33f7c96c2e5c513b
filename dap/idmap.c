#include "dap/idmap.h"

#include "base/invariant.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

enum {
    ID_LIMIT = INT32_MAX,
    /* The kind of a thread's stop, which is a row, too: found by slot, this kind and thread. */
    KIND_STOP = ID_KIND_COUNT,
    KIND_BITS = 4,
    PAGE_BITS = 10,
    PAGE_ROWS = 1 << PAGE_BITS,
};

/* Rows are referred to by index; index 0 means no row. */
struct row {
    uint32_t slot_kind; /* slot << KIND_BITS | kind */
    uint32_t foreign;
    uint32_t thread; /* the thread whose stop the id lives in, or 0; of a stop: how many ids do */
    uint32_t id;     /* the session's id, 0 if free; of a stop: the first row that lives in it */
    uint32_t next;   /* the next row of the same stop, or the next free one */
};

/* One debuggee's rows by kind and foreign id: open addressing, at most three quarters full. A slot
 * has 4 bytes, where hash_index has 16, because a session has up to a thousand tables of dozens of
 * ids. */
struct table {
    uint32_t *rows;
    uint32_t size; /* 0, or a power of two */
    uint32_t count;
    bool renumbered; /* for slot 0: the session's ids differ from the debuggee's */
};

/* Rows by the session's id. Numbers are given in order and freed in runs, so that pages tend to be
 * either full or not allocated. */
struct page {
    uint32_t used;
    uint32_t rows[PAGE_ROWS];
};

struct space {
    struct page **pages;
    size_t room;
    uint32_t next; /* the next number to give */
};

struct idmap {
    struct row *rows;
    uint32_t row_end;
    uint32_t row_room;
    uint32_t free_row;
    size_t count;
    struct table *tables;
    uint32_t table_count;
    struct space spaces[ID_KIND_COUNT];
    uint32_t stop; /* the stop that got the last id, or 0: a message has many ids of one stop */
};

static const bool lives_in_stop[ID_KIND_COUNT] = {
    [ID_FRAME] = true,
    [ID_VARIABLES] = true,
    [ID_TARGET] = true,
    [ID_LOCATION] = true,
};

struct idmap *idmap_create(void)
{
    struct idmap *map = mem_alloc(sizeof *map);
    idmap_start(map, ID_FIRST_MAPPED);
    return map;
}

void idmap_start(struct idmap *map, int64_t next)
{
    for (size_t i = 0; i < ID_KIND_COUNT; i++)
        map->spaces[i].next = (uint32_t)next;
}

static void space_free(struct space *space)
{
    for (size_t i = 0; i < space->room; i++)
        free(space->pages[i]);
    free(space->pages);
    space->pages = NULL;
    space->room = 0;
}

void idmap_destroy(struct idmap **map)
{
    struct idmap *it = *map;
    if (!it)
        return;
    *map = NULL;
    for (uint32_t i = 0; i < it->table_count; i++)
        free(it->tables[i].rows);
    for (size_t i = 0; i < ID_KIND_COUNT; i++)
        space_free(&it->spaces[i]);
    free(it->tables);
    free(it->rows);
    free(it);
}

static uint32_t kind_of(const struct row *row)
{
    return row->slot_kind & ((1U << KIND_BITS) - 1);
}

/* --- rows --- */

static uint32_t row_add(struct idmap *map, const struct row *row)
{
    uint32_t index = map->free_row;
    if (index) {
        map->free_row = map->rows[index].next;
    } else {
        if (map->row_end == map->row_room) {
            map->row_room = map->row_room ? map->row_room + map->row_room / 2 : 64;
            map->rows = mem_resize(map->rows, map->row_room, sizeof *map->rows);
        }
        map->row_end += !map->row_end; /* index 0 means no row */
        index = map->row_end++;
    }
    map->rows[index] = *row;
    return index;
}

static void row_remove(struct idmap *map, uint32_t index)
{
    map->rows[index].id = 0;
    map->rows[index].next = map->free_row;
    map->free_row = index;
}

/* --- by foreign id --- */

static uint32_t home(uint32_t kind, uint32_t foreign, uint32_t size)
{
    uint64_t key = (uint64_t)foreign << KIND_BITS | kind;
    return (uint32_t)(key * UINT64_C(0x9E3779B97F4A7C15) >> 32) & (size - 1);
}

static uint32_t home_of(const struct row *row, uint32_t size)
{
    return home(kind_of(row), row->foreign, size);
}

static void table_put(const struct idmap *map, struct table *table, uint32_t index)
{
    uint32_t at = home_of(&map->rows[index], table->size);
    while (table->rows[at])
        at = (at + 1) & (table->size - 1);
    table->rows[at] = index;
    table->count++;
}

/* Leaves out free rows. */
static void table_resize(const struct idmap *map, struct table *table, uint32_t size)
{
    struct table old = *table;
    table->rows = size ? mem_array(size, sizeof *table->rows) : NULL;
    table->size = size;
    table->count = 0;
    for (uint32_t i = 0; size && i < old.size; i++)
        if (old.rows[i] && map->rows[old.rows[i]].id)
            table_put(map, table, old.rows[i]);
    free(old.rows);
}

/* The size to shrink the table to for `count` rows: at least half, unless it is empty, because the
 * next stop has about as many ids again. */
static uint32_t smaller_size(const struct table *table, uint32_t count)
{
    if (!count)
        return 0;
    return table->size > 32 && count < table->size / 8 ? table->size / 2 : table->size;
}

static void table_add(struct idmap *map, struct table *table, uint32_t index)
{
    if (table->count + 1 > table->size / 4 * 3)
        table_resize(map, table, table->size ? table->size * 2 : 8);
    table_put(map, table, index);
}

/* The table's slot that has the row, or else would get it. The table must have a free slot. */
static uint32_t table_seek(const struct idmap *map, const struct table *table, uint32_t kind,
                           uint32_t foreign)
{
    uint32_t at = home(kind, foreign, table->size);
    for (; table->rows[at]; at = (at + 1) & (table->size - 1)) {
        const struct row *row = &map->rows[table->rows[at]];
        if (row->foreign == foreign && kind_of(row) == kind)
            break;
    }
    return at;
}

static uint32_t table_find(const struct idmap *map, uint32_t slot, uint32_t kind, uint32_t foreign)
{
    if (slot >= map->table_count || !map->tables[slot].size)
        return 0;
    const struct table *table = &map->tables[slot];
    return table->rows[table_seek(map, table, kind, foreign)];
}

/* Rows behind the removed one move into the gap, where a search would otherwise end too early. */
static void table_remove(const struct idmap *map, struct table *table, uint32_t index)
{
    const struct row *row = &map->rows[index];
    uint32_t mask = table->size - 1, gap = table_seek(map, table, kind_of(row), row->foreign);
    for (uint32_t at = (gap + 1) & mask; table->rows[at]; at = (at + 1) & mask) {
        uint32_t from = home_of(&map->rows[table->rows[at]], table->size);
        if (((at - from) & mask) >= ((at - gap) & mask)) {
            table->rows[gap] = table->rows[at];
            gap = at;
        }
    }
    table->rows[gap] = 0;
    invariant(table->count > 0);
    table->count--;
}

/* --- by the session's id --- */

static struct page **page_of(const struct space *space, uint32_t id)
{
    size_t page = (id - ID_FIRST_MAPPED) >> PAGE_BITS;
    return id >= ID_FIRST_MAPPED && page < space->room ? &space->pages[page] : NULL;
}

static uint32_t space_find(const struct space *space, uint32_t id)
{
    struct page **page = page_of(space, id);
    return page && *page ? (*page)->rows[id % PAGE_ROWS] : 0;
}

static void space_set(struct space *space, uint32_t id, uint32_t index)
{
    struct page **page = page_of(space, id);
    if (!page) {
        size_t need = ((id - ID_FIRST_MAPPED) >> PAGE_BITS) + 1, room = space->room;
        space->room = need > 2 * room ? need : 2 * room;
        space->pages = mem_resize(space->pages, space->room, sizeof(struct page *));
        memset(space->pages + room, 0, (space->room - room) * sizeof(struct page *));
        page = page_of(space, id);
    }
    if (!*page)
        *page = mem_alloc(sizeof **page);
    (*page)->rows[id % PAGE_ROWS] = index;
    (*page)->used++;
}

static void space_clear(struct space *space, uint32_t id)
{
    struct page **page = page_of(space, id);
    (*page)->rows[id % PAGE_ROWS] = 0;
    if (--(*page)->used)
        return;
    free(*page);
    *page = NULL;
}

/* A free number; at 2^31 numbering starts again and skips numbers that are in use. */
static uint32_t space_next(struct space *space)
{
    uint32_t id;
    do {
        id = space->next;
        space->next = id == ID_LIMIT ? ID_FIRST_MAPPED : id + 1;
    } while (space_find(space, id));
    return id;
}

/* --- ids --- */

static bool is_id(int64_t number)
{
    return number > 0 && number <= ID_LIMIT;
}

static struct table *table_of(struct idmap *map, uint32_t slot)
{
    if (slot >= map->table_count) {
        uint32_t count = slot + 1 + map->table_count / 2;
        map->tables = mem_resize(map->tables, count, sizeof *map->tables);
        memset(map->tables + map->table_count, 0, (count - map->table_count) * sizeof *map->tables);
        map->table_count = count;
    }
    return &map->tables[slot];
}

static uint32_t slot_kind(uint32_t slot, uint32_t kind)
{
    return slot << KIND_BITS | kind;
}

static uint32_t stop_of(struct idmap *map, uint32_t slot, uint32_t thread)
{
    uint32_t last = map->stop;
    if (last && map->rows[last].foreign == thread &&
        map->rows[last].slot_kind == slot_kind(slot, KIND_STOP))
        return last;
    map->stop = table_find(map, slot, KIND_STOP, thread);
    if (!map->stop) {
        map->stop =
            row_add(map, &(struct row){.slot_kind = slot_kind(slot, KIND_STOP), .foreign = thread});
        table_add(map, table_of(map, slot), map->stop);
    }
    return map->stop;
}

/* Adds the row to the list of the thread's stop. */
static void live_in_stop(struct idmap *map, uint32_t slot, uint32_t thread, uint32_t index)
{
    uint32_t stop = stop_of(map, slot, thread);
    map->rows[index].next = map->rows[stop].id;
    map->rows[stop].id = index;
    map->rows[stop].thread++;
}

int64_t idmap_out(struct idmap *map, uint32_t slot, enum id_kind kind, int64_t foreign,
                  int64_t thread)
{
    if (!is_id(foreign))
        return foreign;
    uint32_t own = (uint32_t)foreign, index = table_find(map, slot, kind, own);
    if (index)
        return map->rows[index].id;
    struct table *table = table_of(map, slot);
    bool identity = slot == 0 && !table->renumbered && own < ID_FIRST_MAPPED;
    uint32_t id = identity ? own : space_next(&map->spaces[kind]);
    uint32_t stop = is_id(thread) && lives_in_stop[kind] ? (uint32_t)thread : 0;
    index = row_add(map, &(struct row){slot_kind(slot, kind), own, stop, id, 0});
    table_add(map, table, index);
    if (!identity)
        space_set(&map->spaces[kind], id, index);
    if (stop)
        live_in_stop(map, slot, stop, index);
    map->count++;
    return id;
}

bool idmap_in(const struct idmap *map, enum id_kind kind, int64_t id, struct idmap_entry *out)
{
    if (!is_id(id))
        return false;
    uint32_t index;
    if (id >= ID_FIRST_MAPPED)
        index = space_find(&map->spaces[kind], (uint32_t)id);
    else
        index = table_find(map, 0, kind, (uint32_t)id);
    if (!index)
        return false;
    const struct row *row = &map->rows[index];
    /* Once slot 0 is renumbered, the session does not have its foreign ids. */
    if (row->id != id)
        return false;
    *out = (struct idmap_entry){
        .slot = row->slot_kind >> KIND_BITS,
        .foreign = row->foreign,
        .thread = kind == ID_THREAD ? row->foreign : row->thread,
    };
    return true;
}

/* Removes the row from the space, which has neither aliases nor slot 0's unchanged ids. */
static void unlist(struct idmap *map, uint32_t index)
{
    const struct row *row = &map->rows[index];
    struct space *space = &map->spaces[kind_of(row)];
    if (space_find(space, row->id) == index)
        space_clear(space, row->id);
}

int64_t idmap_number(struct idmap *map, enum id_kind kind)
{
    return space_next(&map->spaces[kind]);
}

void idmap_alias(struct idmap *map, uint32_t slot, enum id_kind kind, int64_t foreign, int64_t id)
{
    if (!is_id(foreign) || !is_id(id))
        return;
    idmap_out(map, slot, kind, foreign, 0);
    uint32_t index = table_find(map, slot, kind, (uint32_t)foreign);
    unlist(map, index);
    map->rows[index].id = (uint32_t)id;
}

/* Frees the row, but leaves it in the table. */
static void forget(struct idmap *map, uint32_t index)
{
    const struct row *row = &map->rows[index];
    uint32_t kind = kind_of(row);
    if (kind != KIND_STOP) {
        unlist(map, index);
        invariant(map->count > 0);
        map->count--;
    }
    row_remove(map, index);
}

/* An empty map frees its memory, but remembers which numbers it has given. */
static void shrink_empty(struct idmap *map)
{
    if (map->count)
        return;
    for (size_t i = 0; i < ID_KIND_COUNT; i++)
        space_free(&map->spaces[i]);
    free(map->rows);
    map->rows = NULL;
    map->row_end = map->row_room = map->free_row = 0;
}

void idmap_end_stop(struct idmap *map, uint32_t slot, int64_t thread)
{
    uint32_t stop = is_id(thread) ? table_find(map, slot, KIND_STOP, (uint32_t)thread) : 0;
    if (!stop)
        return;
    struct table *table = &map->tables[slot];
    uint32_t left = table->count - map->rows[stop].thread - 1, size = smaller_size(table, left);
    /* One sweep over the table removes many rows at once. */
    bool sweep = size < table->size || map->rows[stop].thread > table->size / 16;
    for (uint32_t index = map->rows[stop].id, next; index; index = next) {
        next = map->rows[index].next;
        if (!sweep)
            table_remove(map, table, index);
        forget(map, index);
    }
    if (!sweep)
        table_remove(map, table, stop);
    forget(map, stop);
    if (sweep)
        table_resize(map, table, size);
    map->stop = 0;
    shrink_empty(map);
}

void idmap_drop(struct idmap *map, uint32_t slot)
{
    if (slot >= map->table_count)
        return;
    struct table *table = &map->tables[slot];
    for (uint32_t i = 0; i < table->size; i++)
        if (table->rows[i])
            forget(map, table->rows[i]);
    free(table->rows);
    *table = (struct table){.renumbered = true};
    map->stop = 0;
    shrink_empty(map);
}

size_t idmap_count(const struct idmap *map)
{
    return map->count;
}
