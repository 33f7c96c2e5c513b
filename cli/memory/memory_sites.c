#include "cli/memory/memory_sites.h"

#include "base/hash.h"
#include "base/hash_index.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/common/call_site.h"

#include <stdlib.h>
#include <string.h>

/* --- one object --- */

const char *memory_hold_note(enum memory_hold hold)
{
    static const char *const notes[MEMORY_HOLDS] = {
        [MEMORY_BY_VARIABLE] = "",
        [MEMORY_BY_ACTOR] = "only actors: their state, or a method that runs",
        [MEMORY_BY_TASK] = "",
        [MEMORY_BY_VALUE] = "no reference: only a value that was read from it",
        [MEMORY_BY_OBJECT] = "no variable: only inside of other objects",
        [MEMORY_BY_HANDLE] = "",
        [MEMORY_BY_NOBODY] = "nobody counts a reference",
    };
    return notes[hold];
}

const char *memory_hold_mark(enum memory_hold hold)
{
    static const char *const marks[MEMORY_HOLDS] = {
        [MEMORY_BY_ACTOR] = "actors only",
        [MEMORY_BY_VALUE] = "only a value",
        [MEMORY_BY_OBJECT] = "only in objects",
        [MEMORY_BY_NOBODY] = "nobody",
    };
    return marks[hold] ? marks[hold] : "";
}

enum memory_hold memory_hold_of(const struct object_sweep *sweep, const struct object_row *rows,
                                size_t count)
{
    bool variable = false, actor = false, task = false, value = false, object = false;
    for (size_t i = 0; i < count; i++) {
        const struct ray_object_ref *ref = rows[i].ref;
        if (rows[i].reference == OBJECT_ACTOR_HANDLE)
            return MEMORY_BY_HANDLE;
        bool in_actor = sweep->processes[rows[i].process].worker->actor_id[0] != '\0';
        variable |= ref->local > 0 && !in_actor;
        actor |= ref->local > 0 && in_actor;
        task |= ref->submitted > 0;
        value |= ref->pinned;
        object |= ref->contained_in > 0;
    }
    return variable ? MEMORY_BY_VARIABLE
           : actor  ? MEMORY_BY_ACTOR
           : task   ? MEMORY_BY_TASK
           : value  ? MEMORY_BY_VALUE
           : object ? MEMORY_BY_OBJECT
                    : MEMORY_BY_NOBODY;
}

bool memory_was_put(const struct object_id *id)
{
    enum { FIRST_PUT = 100000001 };
    const uint8_t *index = id->bytes + ID_TASK_BYTES;
    uint32_t number = (uint32_t)index[0] | (uint32_t)index[1] << 8 | (uint32_t)index[2] << 16 |
                      (uint32_t)index[3] << 24;
    return number >= FIRST_PUT;
}

bool memory_may_be_inlined(const struct object_row *row)
{
    return !memory_was_put(&row->ref->id) && row->size < MEMORY_INLINE_BYTES;
}

/* The owner knows where it made the object; a borrower only where it got it. */
static const char *call_site_of(const struct object_row *rows, size_t count, bool by_owner)
{
    for (size_t i = 0; i < count; i++)
        if (call_site_known(rows[i].ref->call_site) &&
            (!by_owner || (int64_t)rows[i].process == rows[i].owner))
            return rows[i].ref->call_site;
    return "";
}

bool memory_has_call_sites(const struct object_sweep *sweep)
{
    const char *name;
    for (size_t i = 0; i < sweep->row_count; i++) {
        const char *site = sweep->rows[i].ref->call_site;
        if (call_site_known(site) && !call_site_of_argument(site, &name))
            return true;
    }
    return false;
}

/* --- lines by their key --- */

struct index {
    struct memory_sites *lines;
    size_t room;
    struct hash_index keys; /* items are lines */
};

static size_t find_line(struct index *index, int32_t owner, const char *site, const char *task)
{
    struct memory_sites *lines = index->lines;
    uint64_t hash = hash_text(task, hash_text(site, (uint64_t)owner));
    size_t cursor = 0;
    uintptr_t at;
    while (hash_index_next(&index->keys, hash, &cursor, &at)) {
        const struct memory_line *line = &lines->lines[at];
        if (line->owner == owner && text_equal(line->call_site, site) &&
            text_equal(line->task_name, task))
            return at;
    }
    lines->lines = mem_grow(lines->lines, lines->count, &index->room, sizeof *lines->lines);
    lines->lines[lines->count] = (struct memory_line){
        .owner = owner, .call_site = site, .task_name = task, .first = SIZE_MAX};
    hash_index_add(&index->keys, hash, lines->count);
    return lines->count++;
}

/* --- holders --- */

/* One reference, before it is added to its line. */
struct hold {
    size_t line;
    struct memory_holder holder;
};

static int compare_holds(const void *a, const void *b)
{
    const struct hold *one = a, *two = b;
    if (one->line != two->line)
        return one->line < two->line ? -1 : 1;
    if (one->holder.process != two->holder.process)
        return one->holder.process < two->holder.process ? -1 : 1;
    return (int)one->holder.reference - (int)two->holder.reference;
}

static int most_bytes_first(const void *a, const void *b)
{
    const struct memory_holder *one = a, *two = b;
    if (one->bytes != two->bytes)
        return one->bytes > two->bytes ? -1 : 1;
    if (one->refs != two->refs)
        return one->refs > two->refs ? -1 : 1;
    return one->process < two->process ? -1 : one->process > two->process;
}

static void add_holders(struct memory_sites *lines, struct hold *holds, size_t count)
{
    size_t end;
    if (count)
        qsort(holds, count, sizeof *holds, compare_holds);
    for (size_t start = 0; start < count; start = end) {
        struct memory_line *line = &lines->lines[holds[start].line];
        size_t different = 0;
        for (end = start; end < count && holds[end].line == holds[start].line; end++)
            different += end == start || compare_holds(&holds[end], &holds[end - 1]) != 0;
        line->holders = mem_array(different, sizeof *line->holders);
        for (size_t i = start; i < end; i++) {
            if (i == start || compare_holds(&holds[i], &holds[i - 1]) != 0) {
                line->holders[line->holder_count++] = holds[i].holder;
                continue;
            }
            line->holders[line->holder_count - 1].refs++;
            line->holders[line->holder_count - 1].bytes += holds[i].holder.bytes;
        }
        qsort(line->holders, line->holder_count, sizeof *line->holders, most_bytes_first);
    }
}

/* --- all of it --- */

static int64_t pid_of(const struct object_sweep *sweep, int32_t process)
{
    return process < 0 ? INT64_MAX : sweep->processes[process].worker->pid;
}

struct order {
    const struct object_sweep *sweep;
    enum object_sort_by by;
};

static int compare_lines(const void *a, const void *b, void *arg)
{
    const struct memory_line *one = a, *two = b;
    const struct order *order = arg;
    if (order->by == OBJECT_SORT_PID) {
        int64_t first = pid_of(order->sweep, one->owner), second = pid_of(order->sweep, two->owner);
        if (first != second)
            return first < second ? -1 : 1;
    }
    if (order->by == OBJECT_SORT_REFS && one->refs != two->refs)
        return one->refs > two->refs ? -1 : 1;
    if (one->bytes != two->bytes)
        return one->bytes > two->bytes ? -1 : 1;
    if (one->refs != two->refs)
        return one->refs > two->refs ? -1 : 1;
    int site = strcmp(one->call_site, two->call_site);
    if (!site)
        site = strcmp(one->task_name, two->task_name);
    return site ? site : one->owner < two->owner ? -1 : one->owner > two->owner;
}

/* Marks the report's rows in the sweep's order, in which the references to an object are
 * adjacent. */
static bool *mark_rows(const struct object_sweep *sweep, const struct object_report *report)
{
    bool *wanted = mem_array(sweep->row_count + 1, sizeof *wanted);
    for (size_t i = 0; i < report->group_count; i++)
        for (size_t k = 0; k < report->groups[i].row_count; k++)
            wanted[report->groups[i].rows[k] - sweep->rows] = true;
    return wanted;
}

static void add_object(struct index *index, const struct object_sweep *sweep,
                       const struct object_row *rows, size_t count, const bool *wanted,
                       struct hold *holds, size_t *hold_count)
{
    const char *site = call_site_of(rows, count, true), *task = "";
    int64_t size = rows->size;
    if (!*site) {
        const struct ray_task *made = object_sweep_task(sweep, &rows->ref->id);
        task = made && made->name ? made->name : "";
        site = *task ? "" : call_site_of(rows, count, false);
    }
    size_t at = find_line(index, rows->owner, site, task);
    struct memory_line *line = &index->lines->lines[at];
    size_t row = (size_t)(rows - sweep->rows);
    index->lines->next[row] = line->first;
    line->first = row;
    line->objects++;
    line->unknown += size < 0;
    line->bytes += size > 0 ? size : 0;
    line->holds[memory_hold_of(sweep, rows, count)]++;
    for (size_t i = 0; i < count; i++) {
        if (!wanted[i])
            continue;
        line->refs++;
        holds[(*hold_count)++] =
            (struct hold){at, {rows[i].process, rows[i].reference, 1, size > 0 ? size : 0}};
    }
}

void memory_sites_make(struct memory_sites *out, const struct object_sweep *sweep,
                       const struct object_report *report, enum object_sort_by sort_by)
{
    struct index index = {.lines = out};
    struct order order = {sweep, sort_by};
    bool *wanted = mark_rows(sweep, report);
    struct hold *holds = mem_array(sweep->row_count + 1, sizeof *holds);
    size_t hold_count = 0, end;
    *out = (struct memory_sites){.next = mem_array(sweep->row_count + 1, sizeof *out->next)};
    for (size_t at = 0; at < sweep->row_count; at = end) {
        bool any = false;
        for (end = at; end < sweep->row_count &&
                       object_id_equal(&sweep->rows[end].ref->id, &sweep->rows[at].ref->id);
             end++)
            any |= wanted[end];
        if (any)
            add_object(&index, sweep, sweep->rows + at, end - at, wanted + at, holds, &hold_count);
    }
    add_holders(out, holds, hold_count);
    if (out->count)
        qsort_r(out->lines, out->count, sizeof *out->lines, compare_lines, &order);
    free(holds);
    free(wanted);
    hash_index_clear(&index.keys);
}

void memory_sites_clear(struct memory_sites *lines)
{
    for (size_t i = 0; i < lines->count; i++)
        free(lines->lines[i].holders);
    free(lines->lines);
    free(lines->next);
    *lines = (struct memory_sites){0};
}
