/* The known facts about a worker's references. */
#include "relay/objects/worker_objects_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/objects/object_details.h"
#include "relay/objects/object_origin.h"

#include <stdlib.h>
#include <string.h>

int64_t worker_objects_generation(const struct worker_objects *objects)
{
    return objects->generation;
}

enum worker_objects_state worker_objects_state(const struct worker_objects *objects)
{
    return objects->state;
}

const char *worker_objects_problem(const struct worker_objects *objects)
{
    return objects->problem;
}

bool worker_objects_settled(const struct worker_objects *objects)
{
    return objects->state != WORKER_OBJECTS_ASKING && !objects->again &&
           owners_settled(objects->owners);
}

const struct ray_worker_objects *worker_objects_worker(const struct worker_objects *objects)
{
    return objects->known ? &objects->worker : NULL;
}

bool worker_objects_expects_more(const struct worker_objects *objects)
{
    return objects->known && record_cache_expects_tasks(objects->records);
}

static int by_size(const void *a, const void *b)
{
    const struct ray_object_ref *one = *(const struct ray_object_ref *const *)a;
    const struct ray_object_ref *other = *(const struct ray_object_ref *const *)b;
    if (one->size != other->size)
        return one->size < other->size ? 1 : -1;
    return memcmp(one->id.bytes, other->id.bytes, ID_OBJECT_BYTES);
}

const struct ray_object_ref *const *objects_sorted(struct worker_objects *objects, size_t *count)
{
    *count = objects->known ? objects->worker.ref_count : 0;
    if (!objects->sorted && *count) {
        objects->sorted = mem_array(*count, sizeof(struct ray_object_ref *));
        for (size_t i = 0; i < *count; i++)
            objects->sorted[i] = &objects->worker.refs[i];
        qsort(objects->sorted, *count, sizeof(struct ray_object_ref *), by_size);
    }
    return objects->sorted;
}

const struct ray_object_ref *worker_objects_ref(const struct worker_objects *objects,
                                                const struct object_id *id)
{
    const struct object_entry *entry = object_table_get(&objects->table, id);
    return entry ? entry->ref : NULL;
}

bool worker_objects_count(const struct worker_objects *objects, size_t *count)
{
    *count = objects->known ? objects->worker.ref_count : objects->earlier_count;
    return objects->known || (objects->state == WORKER_OBJECTS_ASKING && objects->earlier_counted);
}

const struct ray_store_stats *worker_objects_store(const struct worker_objects *objects)
{
    return objects->store_known && objects->state != WORKER_OBJECTS_NONE ? &objects->store : NULL;
}

const char *worker_objects_node_name(const struct worker_objects *objects, const char *node_id)
{
    return record_cache_node_name(objects->records, node_id);
}

/* --- one object --- */

static const char *node_name(void *arg, const char *node_id)
{
    return worker_objects_node_name(arg, node_id);
}

static const char *why_no_ref(const struct worker_objects *objects)
{
    switch (objects->state) {
    case WORKER_OBJECTS_NONE:
        return "the worker runs";
    case WORKER_OBJECTS_FAILED:
        return objects->problem;
    case WORKER_OBJECTS_KNOWN:
        if (!objects->again)
            return "the worker does not list it";
        break;
    case WORKER_OBJECTS_ASKING:
        break;
    }
    return "the worker has not answered yet";
}

/* Why a fact is not known; `end` is the reason if the search has ended. */
static const char *why_unknown(const struct worker_objects *objects, const struct finding *finding,
                               bool done, const char *end)
{
    if (objects->state == WORKER_OBJECTS_NONE || objects->state == WORKER_OBJECTS_FAILED)
        return why_no_ref(objects);
    if (!finding)
        return "it was not asked for";
    return done ? end : "it is being asked for";
}

static void add_finding(const struct finding *finding, struct object_facts *out)
{
    bool done = finding && finding->done;
    out->owner = done ? finding->owner : OBJECT_OWNER_UNKNOWN;
    out->owner_pid = done ? finding->owner_pid : 0;
    out->owner_node = done && finding->owner_node ? finding->owner_node->name : NULL;
    out->owner_is_driver = done && finding->owner_is_driver;
    out->location = done && finding->location.known ? &finding->location : NULL;
}

/* The task that made the object. */
static void add_creator(const struct worker_objects *objects, struct object_facts *out)
{
    struct object_origin origin;
    object_origin_read(out->id, &origin);
    const char *hinted = record_cache_hinted(objects->records, origin.task_id);
    out->task = record_cache_known_task(objects->records, hinted ? hinted : origin.task_id);
    if (origin.kind == ORIGIN_ACTOR)
        out->actor = record_cache_known_actor(objects->records, origin.actor_id);
}

/* Why facts are not known, and what else a note does not need. */
static void add_reasons(const struct worker_objects *objects, const struct finding *finding,
                        struct object_facts *out)
{
    bool done = finding && finding->done;
    out->ref_why = why_no_ref(objects);
    out->owner_why = why_unknown(objects, finding, done, done ? finding->owner_why : "");
    out->location_why = why_unknown(objects, finding, done, done ? finding->location_why : "");
    out->task_why = why_unknown(objects, finding, finding && finding->traced,
                                "Ray has no event of the task that made it");
    out->node_name = node_name;
    out->arg = (void *)(uintptr_t)objects;
}

/* The note of the previous stop counts until the object is known at this stop. */
struct known_object known_object_find(const struct worker_objects *objects,
                                      const struct object_probe *probe)
{
    const struct object_entry *entry = object_table_find(&objects->table, probe);
    struct known_object it = {
        .probe = probe, .ref = entry ? entry->ref : NULL, .finding = owners_finding(entry)};
    bool again = objects->state == WORKER_OBJECTS_ASKING ||
                 (objects->state == WORKER_OBJECTS_KNOWN && !(it.finding && it.finding->done));
    it.earlier = again ? object_last_stop_find(&objects->earlier, probe) : NULL;
    return it;
}

/* Collects the facts of a note: all that is known of an object, except the task that made it. */
static void collect(const struct worker_objects *objects, const struct known_object *it,
                    struct object_facts *out)
{
    out->id = &it->probe->id;
    out->ref = it->ref;
    out->task = NULL;
    out->actor = NULL;
    add_finding(it->finding, out);
    out->mine = out->ref && out->ref->status != RAY_TASK_NIL;
    if (out->mine && out->owner == OBJECT_OWNER_UNKNOWN) {
        out->owner = OBJECT_OWNER_ALIVE;
        out->owner_pid = objects->worker.pid;
        out->owner_node = objects->node->name;
        out->owner_is_driver = objects->worker.type == RAY_DRIVER;
    }
}

bool known_object_can_tell(const struct worker_objects *objects, const struct known_object *it)
{
    return (objects->known && it->finding && it->finding->done) || it->earlier;
}

bool worker_objects_can_tell(const struct worker_objects *objects, const struct object_id *id)
{
    struct object_probe probe;
    object_probe(&probe, id);
    struct known_object it = known_object_find(objects, &probe);
    return known_object_can_tell(objects, &it);
}

bool known_object_note(const struct worker_objects *objects, const struct known_object *it,
                       struct object_note *out)
{
    struct object_facts facts;
    if (it->earlier || !objects->known) {
        *out = it->earlier ? *it->earlier : (struct object_note){.size = -1};
        return it->earlier;
    }
    collect(objects, it, &facts);
    /* The task that makes an object tells its progress. It is looked up only for a pending object:
     * there may be thousands of others. */
    if (facts.location && facts.location->pending)
        add_creator(objects, &facts);
    return object_facts_note(&facts, out);
}

bool worker_objects_note(const struct worker_objects *objects, const struct object_id *id,
                         struct object_note *out)
{
    struct object_probe probe;
    object_probe(&probe, id);
    struct known_object it = known_object_find(objects, &probe);
    return known_object_note(objects, &it, out);
}

void worker_objects_describe(const struct worker_objects *objects, const struct object_id *id,
                             const struct annotate_options *options,
                             struct object_property out[OBJECT_DETAILS])
{
    struct object_facts facts;
    struct object_probe probe;
    object_probe(&probe, id);
    struct known_object it = known_object_find(objects, &probe);
    collect(objects, &it, &facts);
    add_creator(objects, &facts);
    add_reasons(objects, it.finding, &facts);
    object_facts_describe(&facts, options, out);
}

bool worker_objects_actor(struct worker_objects *objects, const char *actor_id,
                          struct actor_note *out)
{
    const struct ray_actor *actor;
    *out = (struct actor_note){0};
    if (!objects->client || objects->state == WORKER_OBJECTS_NONE)
        return false;
    enum record_cache_answer known = record_cache_actor(objects->records, actor_id, &actor);
    if (known != RECORD_CACHE_YES)
        return false;
    const char *node = worker_objects_node_name(objects, actor->node_id);
    text_copy(out->class_name, sizeof out->class_name, actor->class_name ? actor->class_name : "");
    text_copy(out->name, sizeof out->name, actor->name ? actor->name : "");
    text_copy(out->node, sizeof out->node, *actor->node_id ? node : "");
    text_copy(out->state, sizeof out->state, actor->state ? actor->state : "");
    out->pid = actor->pid;
    return true;
}
