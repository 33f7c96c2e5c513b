#include "relay/variables/objects_body.h"

#include "base/mem.h"
#include "dap/json_record.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static int64_t read_number(const char *json, struct span arguments, const char *name,
                           int64_t otherwise)
{
    int64_t value;
    return scan_integer_at(json, arguments, name, &value) && value >= 0 ? value : otherwise;
}

struct object_list object_list_read(const char *json, struct span arguments)
{
    static const char *const sorts[] = {
        [LIST_BY_SIZE] = "size", [LIST_BY_CALL_SITE] = "callSite", [LIST_BY_ID] = "id"};
    struct object_list list = {
        .start = read_number(json, arguments, "start", 0),
        .count = read_number(json, arguments, "count", OBJECT_LIST_COUNT),
    };
    struct span at;
    if (!list.count || list.count > OBJECT_LIST_LIMIT)
        list.count = list.count ? OBJECT_LIST_LIMIT : OBJECT_LIST_COUNT;
    for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++)
        if (arguments.len && scan_find(json, arguments, "sort", &at) &&
            scan_string_is(json, at, sorts[i]))
            list.sort = (enum object_list_sort)i;
    return list;
}

/* --- order --- */

static int by_id(const void *a, const void *b)
{
    const struct ray_object_ref *const *left = a, *const *right = b;
    return memcmp((*left)->id.bytes, (*right)->id.bytes, ID_OBJECT_BYTES);
}

static int by_call_site(const void *a, const void *b)
{
    const struct ray_object_ref *const *left = a, *const *right = b;
    int order = strcmp((*left)->call_site, (*right)->call_site);
    if (order == 0 && (*left)->size != (*right)->size)
        order = (*left)->size < (*right)->size ? 1 : -1;
    return order ? order : by_id(a, b);
}

/* The caller frees. */
static const struct ray_object_ref **sorted(const struct object_list *list,
                                            struct worker_objects *objects, size_t *count)
{
    static int (*const orders[])(const void *, const void *) = {
        [LIST_BY_SIZE] = NULL, [LIST_BY_CALL_SITE] = by_call_site, [LIST_BY_ID] = by_id};
    const struct ray_object_ref *const *largest = objects_sorted(objects, count);
    const struct ray_object_ref **refs = mem_array(*count + 1, sizeof(void *));
    for (size_t i = 0; i < *count; i++)
        refs[i] = largest[i];
    if (orders[list->sort])
        qsort(refs, *count, sizeof(void *), orders[list->sort]);
    return refs;
}

/* --- JSON --- */

static const char *state_name(enum object_state state)
{
    static const char *const names[] = {
        [OBJECT_STATE_UNKNOWN] = "unknown", [OBJECT_STATE_READY] = "ready",
        [OBJECT_STATE_PENDING] = "pending", [OBJECT_STATE_SPILLED] = "spilled",
        [OBJECT_STATE_LOST] = "lost",
    };
    return names[state];
}

static void add_properties(const struct row_source *source, const struct object_id *id,
                           struct buf *out)
{
    struct object_property properties[OBJECT_DETAILS];
    worker_objects_describe(source->objects, id, source->options, properties);
    buf_add_string(out, ",\"properties\":{");
    for (size_t i = 0; i < OBJECT_DETAILS; i++) {
        buf_add_string(out, i ? "," : "");
        message_quote(out, properties[i].name);
        buf_add_string(out, ":");
        message_quote(out, properties[i].value);
    }
    buf_add_string(out, "}");
    object_details_clear(properties);
}

static void add_reference(const struct row_source *source, const struct ray_object_ref *ref,
                          struct buf *out)
{
    struct object_note note = {0};
    struct buf owner = {0};
    char hex[ID_TEXT(ID_OBJECT_BYTES)], task[ID_TEXT(ID_TASK_BYTES)];
    object_id_hex(&ref->id, hex);
    object_id_task(&ref->id, task);
    if (!worker_objects_note(source->objects, &ref->id, &note))
        note = (struct object_note){.state = OBJECT_STATE_UNKNOWN, .size = -1};
    buf_printf(out, "{\"objectRef\":\"%s\",\"taskId\":\"%s\"", hex, task);
    json_member_number(out, "size", note.size >= 0 ? note.size : ref->size);
    json_member_text(out, "state", state_name(note.state));
    json_member_text(out, "status", note.status);
    annotate_owner(&note, &owner);
    json_member_text(out, "owner", owner.data);
    buf_free(&owner);
    json_member_text(out, "callSite", ref->call_site);
    json_member_text(out, "taskStatus",
                     ref->status == RAY_TASK_NIL ? "" : ray_task_status_name(ref->status));
    json_member_number(out, "attempt", ref->attempt);
    json_member_number(out, "localReferences", ref->local);
    json_member_number(out, "submittedTasks", ref->submitted);
    json_member_number(out, "containedIn", ref->contained_in);
    buf_printf(out, ",\"pinnedInMemory\":%s", ref->pinned ? "true" : "false");
    json_member_text(out, "variables", known_names(source->known, &ref->id));
    buf_printf(out, ",\"variablesReference\":%" PRId64, row_reference(source, &ref->id));
    add_properties(source, &ref->id, out);
    buf_add_string(out, "}");
}

static void add_store(const struct row_source *source, struct buf *out)
{
    const struct ray_store_stats *store = worker_objects_store(source->objects);
    if (!store) {
        buf_add_string(out, ",\"store\":null");
        return;
    }
    buf_printf(out, ",\"store\":{\"objects\":%" PRId64, store->objects);
    json_member_number(out, "used", store->used);
    json_member_number(out, "capacity", store->available);
    json_member_number(out, "spilledBytes", store->spilled_bytes);
    json_member_number(out, "spilledObjects", store->spilled_objects);
    json_member_number(out, "restoredBytes", store->restored_bytes);
    json_member_number(out, "restoredObjects", store->restored_objects);
    buf_add_string(out, "}");
}

static void add_worker(const struct ray_worker_objects *worker, struct buf *out)
{
    buf_printf(out, ",\"worker\":{\"pid\":%" PRId64, worker->pid);
    json_member_text(out, "workerId", worker->worker_id);
    json_member_text(out, "jobId", worker->job_id);
    json_member_text(out, "actorId", worker->actor_id);
    json_member_text(out, "ip", worker->ip);
    json_member_number(out, "objectsTotal", worker->objects_total);
    json_member_number(out, "objectsOwned", worker->owned);
    buf_add_string(out, "}");
}

void object_list_write(const struct object_list *list, const struct row_source *source,
                       void (*shown)(void *arg, const struct object_id *id), void *arg,
                       struct buf *out)
{
    static const char *const states[] = {
        [WORKER_OBJECTS_NONE] = "running",
        [WORKER_OBJECTS_ASKING] = "asking",
        [WORKER_OBJECTS_KNOWN] = "known",
        [WORKER_OBJECTS_FAILED] = "failed",
    };
    struct worker_objects *objects = source->objects;
    const struct ray_worker_objects *worker = worker_objects_worker(objects);
    size_t unknown, count = 0;
    int64_t bytes = rows_bytes(objects, &unknown);
    buf_printf(out, "{\"state\":\"%s\",\"stop\":%" PRId64, states[worker_objects_state(objects)],
               worker_objects_generation(objects));
    json_member_text(out, "problem",
                     worker_objects_state(objects) == WORKER_OBJECTS_FAILED
                         ? worker_objects_problem(objects)
                         : NULL);
    add_store(source, out);
    if (worker)
        add_worker(worker, out);
    else
        buf_add_string(out, ",\"worker\":null");
    const struct ray_object_ref **refs = worker ? sorted(list, objects, &count) : NULL;
    buf_printf(out,
               ",\"total\":%zu,\"bytes\":%" PRId64 ",\"unknownSizes\":%zu,\"start\":%" PRId64
               ",\"references\":[",
               count, bytes, unknown, list->start);
    size_t start = (uint64_t)list->start < count ? (size_t)list->start : count;
    size_t end = (size_t)list->count < count - start ? start + (size_t)list->count : count;
    for (size_t i = start; i < end; i++) {
        buf_add_string(out, i > start ? "," : "");
        shown(arg, &refs[i]->id);
        add_reference(source, refs[i], out);
    }
    buf_add_string(out, "]}");
    free(refs);
}
