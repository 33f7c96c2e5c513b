/* What a worker's references are known to be. */
#include "relay/objects_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/object_origin.h"
#include "relay/object_properties.h"

#include <stdlib.h>
#include <string.h>

int64_t objects_generation(const struct objects *objects)
{
    return objects->generation;
}

int64_t objects_facts(const struct objects *objects)
{
    return objects->facts;
}

enum objects_state objects_state(const struct objects *objects)
{
    return objects->state;
}

const char *objects_problem(const struct objects *objects)
{
    return objects->problem;
}

bool objects_settled(const struct objects *objects)
{
    return objects->state != OBJECTS_ASKING && !objects->again && owners_settled(objects->owners);
}

const struct ray_worker_objects *objects_worker(const struct objects *objects)
{
    return objects->known ? &objects->worker : NULL;
}

bool objects_expects_more(const struct objects *objects)
{
    return objects->known && directory_expects_tasks(objects->directory);
}

static int by_size(const void *a, const void *b)
{
    const struct ray_object_ref *one = *(const struct ray_object_ref *const *)a;
    const struct ray_object_ref *other = *(const struct ray_object_ref *const *)b;
    if (one->size != other->size)
        return one->size < other->size ? 1 : -1;
    return memcmp(one->id.bytes, other->id.bytes, ID_OBJECT_BYTES);
}

const struct ray_object_ref *const *objects_sorted(struct objects *objects, size_t *count)
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

const struct ray_object_ref *objects_ref(const struct objects *objects, const struct object_id *id)
{
    return objects->known ? object_table_get(&objects->refs, id) : NULL;
}

bool objects_count(const struct objects *objects, size_t *count)
{
    *count = objects->known ? objects->worker.ref_count : objects->earlier_count;
    return objects->known || (objects->state == OBJECTS_ASKING && objects->earlier_counted);
}

const struct ray_store_stats *objects_store(const struct objects *objects)
{
    return objects->store_known && objects->state != OBJECTS_NONE ? &objects->store : NULL;
}

const char *objects_node_name(const struct objects *objects, const char *node_id)
{
    return directory_node_name(objects->directory, node_id);
}

/* --- one object --- */

static const char *node_name(void *arg, const char *node_id)
{
    return objects_node_name(arg, node_id);
}

static const char *why_no_ref(const struct objects *objects)
{
    switch (objects->state) {
    case OBJECTS_NONE:
        return "the worker runs";
    case OBJECTS_FAILED:
        return objects->problem;
    case OBJECTS_KNOWN:
        if (!objects->again)
            return "the worker does not list it";
        break;
    case OBJECTS_ASKING:
        break;
    }
    return "the worker has not answered yet";
}

/* Why what is looked for is not known; `end` is why it never will be. */
static const char *why_unknown(const struct objects *objects, const struct finding *finding,
                               bool done, const char *end)
{
    if (objects->state == OBJECTS_NONE || objects->state == OBJECTS_FAILED)
        return why_no_ref(objects);
    if (!finding)
        return "it was not asked for";
    return done ? end : "it is being asked for";
}

static void add_finding(const struct objects *objects, const struct finding *finding,
                        struct object_facts *out)
{
    bool done = finding && finding->done;
    out->owner = done ? finding->owner : OBJECT_OWNER_UNKNOWN;
    out->owner_pid = done ? finding->owner_pid : 0;
    out->owner_node = done ? objects_node_name(objects, finding->owner_node) : NULL;
    out->owner_is_driver = done && finding->owner_is_driver;
    out->owner_why = why_unknown(objects, finding, done, done ? finding->owner_why : "");
    out->location_why = why_unknown(objects, finding, done, done ? finding->location_why : "");
    out->location = done && finding->location.known ? &finding->location : NULL;
}

static void add_creator(const struct objects *objects, const struct finding *finding,
                        struct object_facts *out)
{
    struct object_origin origin;
    object_origin_read(&out->id, &origin);
    const char *hinted = directory_hinted(objects->directory, origin.task_id);
    out->task = directory_known_task(objects->directory, hinted ? hinted : origin.task_id);
    if (origin.kind == ORIGIN_ACTOR)
        out->actor = directory_known_actor(objects->directory, origin.actor_id);
    out->task_why = why_unknown(objects, finding, finding && finding->traced,
                                "Ray has no event of the task that made it");
}

/* One object: its id, and what was found and said of it. */
struct known_object {
    const struct object_id *id;
    struct object_probe probe;
    const struct finding *finding; /* or NULL */
    const struct object_note *earlier;
};

/* What was said at the stop before counts while it is not known anew. */
static void find(const struct objects *objects, const struct object_id *id,
                 struct known_object *out)
{
    out->id = id;
    object_probe(&out->probe, id);
    out->finding = owners_find(objects->owners, &out->probe);
    bool again = objects->state == OBJECTS_ASKING ||
                 (objects->state == OBJECTS_KNOWN && !(out->finding && out->finding->done));
    out->earlier = again ? object_notes_find(&objects->earlier, &out->probe) : NULL;
}

/* All that is known of an object, but for what made it. */
static void collect(const struct objects *objects, const struct known_object *it,
                    struct object_facts *out)
{
    out->id = *it->id;
    out->ref = objects->known ? object_table_find(&objects->refs, &it->probe) : NULL;
    out->ref_why = why_no_ref(objects);
    out->node_name = node_name;
    out->arg = (void *)(uintptr_t)objects;
    out->task = NULL;
    out->actor = NULL;
    out->task_why = "";
    add_finding(objects, it->finding, out);
    out->mine = out->ref && out->ref->status != RAY_TASK_NIL;
    if (out->mine && out->owner == OBJECT_OWNER_UNKNOWN) {
        out->owner = OBJECT_OWNER_ALIVE;
        out->owner_pid = objects->worker.pid;
        out->owner_node = objects_node_name(objects, objects->node_id);
        out->owner_is_driver = objects->worker.type == RAY_DRIVER;
    }
}

static bool can_tell(const struct objects *objects, const struct known_object *it)
{
    return (objects->known && it->finding && it->finding->done) || it->earlier;
}

bool objects_can_tell(const struct objects *objects, const struct object_id *id)
{
    struct known_object it;
    find(objects, id, &it);
    return can_tell(objects, &it);
}

static bool make_note(const struct objects *objects, const struct known_object *it,
                      struct object_note *out)
{
    struct object_facts facts;
    if (it->earlier || !objects->known) {
        *out = it->earlier ? *it->earlier : (struct object_note){.size = -1};
        return it->earlier;
    }
    collect(objects, it, &facts);
    /* What made an object tells how far it is. Of those that are made there are thousands. */
    if (facts.location && facts.location->pending)
        add_creator(objects, it->finding, &facts);
    return object_facts_note(&facts, out);
}

bool objects_note(const struct objects *objects, const struct object_id *id,
                  struct object_note *out)
{
    struct known_object it;
    find(objects, id, &it);
    return make_note(objects, &it, out);
}

struct object_look objects_look(struct objects *objects, const struct object_id *id, bool want,
                                struct object_note *out)
{
    struct known_object it;
    find(objects, id, &it);
    bool asks = want && !it.finding;
    bool known = !asks && make_note(objects, &it, out);
    /* To want once more what is wanted is of use only while it is not made. */
    asks = asks || (want && known && out->state == OBJECT_STATE_PENDING);
    if (asks) {
        objects_want(objects, id);
        find(objects, id, &it);
        known = make_note(objects, &it, out);
    }
    return (struct object_look){can_tell(objects, &it), known};
}

void objects_describe(const struct objects *objects, const struct object_id *id,
                      const struct annotate_options *options,
                      struct object_property out[OBJECT_PROPERTIES])
{
    struct object_facts facts;
    struct known_object it;
    find(objects, id, &it);
    collect(objects, &it, &facts);
    add_creator(objects, it.finding, &facts);
    object_facts_describe(&facts, options, out);
}

bool objects_actor(struct objects *objects, const char *actor_id, struct actor_note *out)
{
    const struct ray_actor *actor;
    *out = (struct actor_note){0};
    if (!objects->client || objects->state == OBJECTS_NONE)
        return false;
    enum directory_answer known = directory_actor(objects->directory, actor_id, &actor);
    if (known != DIRECTORY_YES)
        return false;
    const char *node = objects_node_name(objects, actor->node_id);
    text_copy(out->class_name, sizeof out->class_name, actor->class_name ? actor->class_name : "");
    text_copy(out->name, sizeof out->name, actor->name ? actor->name : "");
    text_copy(out->node, sizeof out->node, *actor->node_id ? node : "");
    text_copy(out->state, sizeof out->state, actor->state ? actor->state : "");
    out->pid = actor->pid;
    return true;
}
