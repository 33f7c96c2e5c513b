#include "relay/sweep/object_sweep.h"

#include "base/mem.h"
#include "base/radix.h"
#include "base/text.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* --- reference types, as in Ray's memory_utils.py --- */

const char *object_reference_name(enum object_reference reference)
{
    static const char *const names[] = {
        [OBJECT_LOCAL_REFERENCE] = "LOCAL_REFERENCE",
        [OBJECT_PINNED_IN_MEMORY] = "PINNED_IN_MEMORY",
        [OBJECT_USED_BY_PENDING] = "USED_BY_PENDING_TASK",
        [OBJECT_CAPTURED_IN_OBJECT] = "CAPTURED_IN_OBJECT",
        [OBJECT_ACTOR_HANDLE] = "ACTOR_HANDLE",
        [OBJECT_REFERENCE_UNKNOWN] = "UNKNOWN_STATUS",
    };
    return names[reference];
}

static bool is_nil(const struct object_id *id)
{
    for (size_t i = 0; i < sizeof id->bytes; i++)
        if (id->bytes[i] != 0xFF)
            return false;
    return true;
}

/* True if it is a row of `ray memory`: an object that only other processes refer to is not. */
static bool is_reference(const struct ray_object_ref *ref)
{
    return (ref->pinned || ref->local || ref->submitted || ref->contained_in) && !is_nil(&ref->id);
}

static enum object_reference reference_of(const struct ray_object_ref *ref)
{
    char actor[ID_TEXT(ID_ACTOR_BYTES)];
    if (object_id_is_actor_handle(&ref->id, actor))
        return OBJECT_ACTOR_HANDLE;
    if (ref->pinned)
        return OBJECT_PINNED_IN_MEMORY;
    if (ref->submitted > 0)
        return OBJECT_USED_BY_PENDING;
    if (ref->local > 0)
        return OBJECT_LOCAL_REFERENCE;
    return ref->contained_in ? OBJECT_CAPTURED_IN_OBJECT : OBJECT_REFERENCE_UNKNOWN;
}

/* --- the join --- */

/* One reference, with its id as words that compare like the bytes. The sort uses nothing else. */
struct entry {
    uint64_t words[3];
    uint32_t index;
    uint32_t process;
    const struct ray_object_ref *ref;
};

struct entries {
    struct entry *items;
    size_t count;
};

static struct entry entry_of(const struct object_id *id)
{
    struct entry entry = {0};
    memcpy(entry.words, id->bytes, sizeof entry.words);
    memcpy(&entry.index, id->bytes + sizeof entry.words, sizeof entry.index);
    for (size_t i = 0; i < 3; i++)
        entry.words[i] = be64toh(entry.words[i]);
    entry.index = be32toh(entry.index);
    return entry;
}

static int compare_ids(const struct entry *a, const struct entry *b)
{
    for (size_t i = 0; i < 3; i++)
        if (a->words[i] != b->words[i])
            return a->words[i] < b->words[i] ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static int compare_entries(const void *left, const void *right)
{
    const struct entry *a = left, *b = right;
    int order = compare_ids(a, b);
    return order ? order : (a->process > b->process) - (a->process < b->process);
}

/* Sorts by id. The sort is stable: entries come by process, and stay so within one id. */
static void sort_entries(struct entries *entries)
{
    struct radix_item *order = mem_array(entries->count, sizeof *order);
    struct entry *sorted = mem_array(entries->count, sizeof *sorted);
    for (size_t i = 0; i < entries->count; i++)
        order[i] = (struct radix_item){entries->items[i].index, (uint32_t)i};
    radix_sort(order, entries->count);
    for (size_t word = 3; word-- > 0;) {
        for (size_t i = 0; i < entries->count; i++)
            order[i].key = entries->items[order[i].index].words[word];
        radix_sort(order, entries->count);
    }
    for (size_t i = 0; i < entries->count; i++)
        sorted[i] = entries->items[order[i].index];
    free(order);
    free(entries->items);
    entries->items = sorted;
}

static struct entries collect(const struct object_sweep *sweep)
{
    struct entries entries = {0};
    size_t count = 0;
    for (size_t i = 0; i < sweep->process_count; i++)
        count += sweep->processes[i].worker->ref_count;
    entries.items = mem_array(count, sizeof *entries.items);
    for (size_t i = 0; i < sweep->process_count; i++) {
        const struct ray_worker_objects *worker = sweep->processes[i].worker;
        for (size_t k = 0; k < worker->ref_count; k++) {
            struct entry *entry = &entries.items[entries.count++];
            *entry = entry_of(&worker->refs[k].id);
            entry->process = (uint32_t)i;
            entry->ref = &worker->refs[k];
        }
    }
    sort_entries(&entries);
    return entries;
}

/* The end of the run of entries with the same id that begins at `first`. */
static size_t run_end(const struct entries *entries, size_t first)
{
    size_t end = first + 1;
    while (end < entries->count && !compare_ids(&entries->items[first], &entries->items[end]))
        end++;
    return end;
}

static bool claims(const struct entries *entries, uint32_t process, const struct object_id *id)
{
    struct entry wanted = entry_of(id);
    wanted.process = process;
    const struct entry *found =
        bsearch(&wanted, entries->items, entries->count, sizeof *entries->items, compare_entries);
    return found && found->ref->status != RAY_TASK_NIL;
}

/* Ray gives a task's status to the process that submitted it, for all objects with the task's id.
 * But objects that the task has put are its worker's; their ids have another first byte
 * (object_id_made_by()), except for one task in 256. */
static bool is_submitter(const struct entries *entries, const struct entry *claim)
{
    static const uint8_t first[] = {1, 0, 0, 0};
    struct object_id first_return = claim->ref->id;
    memcpy(first_return.bytes + ID_TASK_BYTES, first, sizeof first);
    return object_id_is_put(&claim->ref->id) && claims(entries, claim->process, &first_return);
}

static int32_t owner_of(const struct entries *entries, size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        const struct entry *entry = &entries->items[i];
        if (entry->ref->status != RAY_TASK_NIL && !is_submitter(entries, entry))
            return (int32_t)entry->process;
    }
    return -1;
}

void object_sweep_join(struct object_sweep *sweep)
{
    struct entries entries = collect(sweep);
    free(sweep->rows);
    sweep->rows = mem_array(entries.count, sizeof *sweep->rows);
    sweep->row_count = 0;
    for (size_t first = 0, end; first < entries.count; first = end) {
        end = run_end(&entries, first);
        int32_t owner = owner_of(&entries, first, end);
        int64_t size = -1;
        for (size_t i = first; i < end; i++)
            if (entries.items[i].ref->size > size)
                size = entries.items[i].ref->size;
        for (size_t i = first; i < end; i++) {
            const struct entry *entry = &entries.items[i];
            if (is_reference(entry->ref))
                sweep->rows[sweep->row_count++] = (struct object_row){
                    entry->ref, entry->process, owner, reference_of(entry->ref), size};
        }
    }
    free(entries.items);
}

/* --- looking up --- */

size_t object_sweep_rows_of(const struct object_sweep *sweep, const struct object_id *id,
                            size_t *count)
{
    size_t low = 0, high = sweep->row_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (memcmp(sweep->rows[middle].ref->id.bytes, id->bytes, sizeof id->bytes) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *count = 0;
    while (low + *count < sweep->row_count &&
           object_id_equal(&sweep->rows[low + *count].ref->id, id))
        ++*count;
    return low;
}

static int compare_location(const void *id, const void *location)
{
    const struct ray_object_location *it = location;
    return memcmp(id, it->id.bytes, sizeof it->id.bytes);
}

const struct ray_object_location *object_sweep_location(const struct object_sweep *sweep,
                                                        const struct object_id *id)
{
    if (!sweep->location_count)
        return NULL;
    return bsearch(id->bytes, sweep->locations, sweep->location_count, sizeof *sweep->locations,
                   compare_location);
}

int object_task_compare(const void *left, const void *right)
{
    const struct ray_task *a = left, *b = right;
    int order = strcmp(a->task_id + 2, b->task_id + 2);
    return order ? order : strncmp(a->task_id, b->task_id, 2);
}

static int compare_maker(const void *id, const void *task)
{
    const struct ray_task *it = task;
    return strcmp(id, it->task_id + 2);
}

const struct ray_task *object_sweep_task(const struct object_sweep *sweep,
                                         const struct object_id *id)
{
    struct ray_task wanted;
    if (!sweep->task_count)
        return NULL;
    object_id_task(id, wanted.task_id);
    if (object_id_is_put(id))
        return bsearch(wanted.task_id + 2, sweep->tasks, sweep->task_count, sizeof *sweep->tasks,
                       compare_maker);
    return bsearch(&wanted, sweep->tasks, sweep->task_count, sizeof *sweep->tasks,
                   object_task_compare);
}

bool object_id_is_drivers(const struct object_id *id, char job_id[ID_TEXT(ID_JOB_BYTES)])
{
    enum { JOB = ID_TASK_BYTES - ID_JOB_BYTES };
    for (size_t i = object_id_is_put(id) ? 1 : 0; i < JOB; i++)
        if (id->bytes[i] != 0xFF)
            return false;
    text_hex(id->bytes + JOB, ID_JOB_BYTES, job_id);
    return true;
}

/* --- the end --- */

void object_sweep_free(struct object_sweep **sweep)
{
    struct object_sweep *it = *sweep;
    if (!it)
        return;
    *sweep = NULL;
    for (size_t i = 0; i < it->node_count; i++) {
        free(it->nodes[i].ip);
        free(it->nodes[i].name);
        free(it->nodes[i].problem);
    }
    for (size_t i = 0; i < it->process_count; i++) {
        struct object_process *process = &it->processes[i];
        if (process->worker)
            ray_worker_objects_clear(process->worker);
        free(process->worker);
        free(process->actor_class);
        free(process->actor_name);
    }
    ray_object_locations_free(it->locations, it->location_count);
    ray_tasks_free(it->tasks, it->task_count);
    for (size_t i = 0; i < it->call_site_count; i++)
        free(it->call_sites[i]);
    free(it->call_sites);
    free(it->nodes);
    free(it->processes);
    free(it->rows);
    free(it);
}
