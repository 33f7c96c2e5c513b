#include "cli/memory/memory_why_full.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/call_site.h"

#include <stdlib.h>

enum { FULL_PERCENT = 90 };

bool memory_is_full(const struct object_node *node)
{
    const struct ray_store_stats *store = &node->store;
    return node->asked &&
           (store->pulls_queued || store->fallback > 0 ||
            (store->available > 0 &&
             (double)store->used * 100 >= (double)store->available * (double)FULL_PERCENT));
}

/* --- locations --- */

static size_t node_index(const struct object_sweep *sweep, const char *node_id)
{
    size_t i = 0;
    while (i < sweep->node_count && !text_equal(sweep->nodes[i].node_id, node_id))
        i++;
    return i;
}

static void locate_object(struct memory_locations *locations, const struct object_sweep *sweep,
                          const struct object_row *row)
{
    const struct ray_object_location *at = object_sweep_location(sweep, &row->ref->id);
    int64_t size = row->size > 0 ? row->size : 0;
    if (row->reference == OBJECT_ACTOR_HANDLE)
        return;
    if ((!at || !at->known) && memory_may_be_inlined(row))
        return;
    if (!at || !at->known) {
        locations->unlocated += size;
        locations->stored += size;
        return;
    }
    for (size_t i = 0; i < at->node_count; i++) {
        size_t node = node_index(sweep, at->node_ids[i]);
        if (node == sweep->node_count)
            continue;
        locations->nodes[node] += size;
        locations->stored += size;
    }
    if (!text_empty(at->spilled_url))
        locations->spilled += size;
}

static int most_stored_first(const void *a, const void *b)
{
    const struct memory_locations *one = a, *two = b;
    if (one->stored != two->stored)
        return one->stored > two->stored ? -1 : 1;
    if (one->spilled != two->spilled)
        return one->spilled > two->spilled ? -1 : 1;
    return one->line < two->line ? -1 : one->line > two->line;
}

static void locate_lines(struct memory_why_full *full)
{
    const struct memory_sites *lines = &full->lines;
    full->locations = mem_array(lines->count + 1, sizeof *full->locations);
    for (size_t i = 0; i < lines->count; i++) {
        struct memory_locations *locations = &full->locations[i];
        locations->line = &lines->lines[i];
        locations->nodes = mem_array(full->sweep->node_count + 1, sizeof *locations->nodes);
        for (size_t row = locations->line->first; row != SIZE_MAX; row = lines->next[row])
            locate_object(locations, full->sweep, &full->sweep->rows[row]);
    }
    if (lines->count)
        qsort(full->locations, lines->count, sizeof *full->locations, most_stored_first);
}

/* True if the process uses a copy that is not primary. A put object's primary copy is with its
 * owner. Ray does not tell a result's: the copy in use counts as primary. */
static bool is_no_primary(const struct object_sweep *sweep, const struct object_row *row)
{
    if (row->owner < 0)
        return true;
    return memory_was_put(&row->ref->id) &&
           sweep->processes[row->owner].node != sweep->processes[row->process].node;
}

static void sum_viewed(struct memory_why_full *full)
{
    const struct object_sweep *sweep = full->sweep;
    size_t *counted = mem_array(sweep->node_count + 1, sizeof *counted), object = 0;
    full->viewed = mem_array(sweep->node_count + 1, sizeof *full->viewed);
    for (size_t i = 0; i < sweep->row_count; i++) {
        const struct object_row *row = &sweep->rows[i];
        size_t node = sweep->processes[row->process].node;
        if (i == 0 || !object_id_equal(&row->ref->id, &row[-1].ref->id))
            object++;
        if (!row->ref->pinned || counted[node] == object || !is_no_primary(sweep, row))
            continue;
        counted[node] = object; /* once, however many processes of the node use it */
        full->viewed[node] += row->size > 0 ? row->size : 0;
    }
    free(counted);
}

int64_t memory_evictable(const struct memory_why_full *full, size_t node)
{
    const struct ray_store_stats *store = &full->sweep->nodes[node].store;
    int64_t bytes = store->used - store->primary_copies_bytes - full->viewed[node];
    return bytes > 0 ? bytes : 0;
}

/* --- processes --- */

static int most_held_first(const void *a, const void *b)
{
    const struct memory_process *one = a, *two = b;
    if (one->bytes != two->bytes)
        return one->bytes > two->bytes ? -1 : 1;
    return one->process < two->process ? -1 : one->process > two->process;
}

/* Lists the processes that refer to anything. */
static void sum_processes(struct memory_why_full *full)
{
    size_t all = full->sweep->process_count;
    struct memory_process *sums = mem_array(all + 1, sizeof *sums);
    for (size_t i = 0; i < all; i++)
        sums[i].process = (uint32_t)i;
    for (size_t i = 0; i < full->lines.count; i++) {
        const struct memory_line *line = &full->lines.lines[i];
        for (size_t k = 0; k < line->holder_count; k++) {
            sums[line->holders[k].process].bytes += line->holders[k].bytes;
            sums[line->holders[k].process].refs += line->holders[k].refs;
        }
    }
    for (size_t i = 0; i < all; i++)
        if (sums[i].refs)
            sums[full->process_count++] = sums[i];
    if (full->process_count)
        qsort(sums, full->process_count, sizeof *sums, most_held_first);
    full->processes = sums;
}

void memory_why_full_make(struct memory_why_full *out, const struct object_sweep *sweep,
                          const struct object_report *report)
{
    *out = (struct memory_why_full){.sweep = sweep};
    memory_sites_make(&out->lines, sweep, report, OBJECT_SORT_SIZE);
    locate_lines(out);
    sum_processes(out);
    sum_viewed(out);
    for (size_t i = 0; i < sweep->node_count; i++)
        out->full += memory_is_full(&sweep->nodes[i]);
}

void memory_why_full_clear(struct memory_why_full *full)
{
    for (size_t i = 0; i < full->lines.count; i++)
        free(full->locations[i].nodes);
    free(full->locations);
    free(full->processes);
    free(full->viewed);
    memory_sites_clear(&full->lines);
    *full = (struct memory_why_full){0};
}

/* --- release --- */

/* The row of a task that got one of the line's objects as an argument and still refers to it. NULL
 * if there is none among the first 64 objects. */
static const struct object_row *find_user(const struct memory_why_full *full,
                                          const struct memory_line *line, const char **name)
{
    const struct object_sweep *sweep = full->sweep;
    int left = 64;
    for (size_t at = line->first; at != SIZE_MAX && left > 0; at = full->lines.next[at], left--) {
        size_t count, first = object_sweep_rows_of(sweep, &sweep->rows[at].ref->id, &count);
        for (size_t i = first; i < first + count; i++) {
            if (call_site_of_argument(sweep->rows[i].ref->call_site, name))
                return &sweep->rows[i];
        }
    }
    return NULL;
}

static void add_user(const struct memory_why_full *full, const struct memory_line *line,
                     struct buf *out)
{
    const char *name = "";
    const struct object_row *user = find_user(full, line, &name);
    if (!user)
        return;
    buf_add_string(out, *name ? " (such as " : " (such as the one in ");
    if (*name)
        buf_printf(out, "%s in ", name);
    memory_process_name(full->sweep, (int32_t)user->process, out);
    buf_add_string(out, ")");
}

/* The release of a variable, by the kind of process that has it. */
static void release_local(const struct object_process *process, const char *name, bool several,
                          struct buf *out)
{
    if (process->worker->type == RAY_DRIVER)
        buf_printf(out, "when the variable%s out of scope in %s", several ? "s go" : " goes", name);
    else if (process->worker->actor_id[0])
        buf_printf(out, "when %s drops %s from its state, or goes", name, several ? "them" : "it");
    else
        buf_printf(out, "when the task in %s drops its variable%s, or ends", name,
                   several ? "s" : "");
}

void memory_release(const struct memory_why_full *full, const struct memory_line *line,
                    const struct memory_holder *holder, struct buf *out)
{
    struct buf name = {0};
    bool several = holder->refs > 1;
    memory_process_name(full->sweep, (int32_t)holder->process, &name);
    switch (holder->reference) {
    case OBJECT_LOCAL_REFERENCE:
        release_local(&full->sweep->processes[holder->process], name.data, several, out);
        break;
    case OBJECT_PINNED_IN_MEMORY:
        buf_printf(out,
                   "when what was read from %s in %s (an array is a view of the store) and any "
                   "variable there go",
                   several ? "them" : "it", name.data);
        break;
    case OBJECT_USED_BY_PENDING:
        buf_printf(out, "when the tasks end that %s has passed %s to", name.data,
                   several ? "them" : "it");
        add_user(full, line, out);
        break;
    case OBJECT_CAPTURED_IN_OBJECT:
        buf_printf(out, "when the object%s that hold%s %s go%s", several ? "s" : "",
                   several ? "" : "s", several ? "them" : "it", several ? "" : "es");
        break;
    case OBJECT_ACTOR_HANDLE:
        buf_printf(out, "when %s drops the actor's handle", name.data);
        break;
    case OBJECT_REFERENCE_UNKNOWN:
        buf_add_string(out, "not known: no reference is counted");
        break;
    }
    buf_free(&name);
}
