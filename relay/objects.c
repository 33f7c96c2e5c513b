#include "relay/objects.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/object_client.h"
#include "relay/directory.h"
#include "relay/object_origin.h"
#include "relay/object_owners.h"
#include "relay/object_properties.h"
#include "relay/object_table.h"
#include "relay/source.h"

#include <stdlib.h>
#include <string.h>

/* How long the worker may take to answer, in all; how old its node's counters may become before a
 * new stop asks for them again: every process of the node has a part in that answer. */
enum { PATIENCE_MS = 2000, STORE_MS = 1000, LATER_MS = 100 };
/* How old a word on what is not made yet becomes before it is asked for again, if it is wanted. */
enum { PENDING_MS = 1000 };
/* Different causes of failure that are told in the log. */
enum { CAUSES = 8 };

struct listener {
    struct listener *next;
    objects_fn fn; /* NULL: gone, while others are told */
    void *arg;
};

struct objects {
    struct loop *loop;
    struct cluster *cluster;
    struct source *source;
    struct object_client *client; /* NULL: the cluster has none of this */
    struct directory *directory;
    struct owners *owners;
    char worker_id[ID_TEXT(ID_UNIQUE_BYTES)];
    char node_id[ID_TEXT(ID_UNIQUE_BYTES)]; /* once it is known */
    char *address;                          /* of the worker; the same */
    int64_t generation;
    enum objects_state state;
    char problem[512];
    bool calling;   /* the worker is asked: at most one such call is in flight */
    int64_t called; /* in which generation */
    bool refresh;   /* what it was waiting for may have come */
    int64_t answered_us;
    bool again; /* there is more than the last answer said */
    struct ray_worker_objects worker;
    bool known; /* `worker` is an answer of this generation */
    struct object_table refs;
    const struct ray_object_ref **sorted;
    struct ray_store_stats store;
    bool store_known, store_calling;
    bool store_stale; /* it is of an earlier stop */
    int64_t store_us; /* when it was last asked for */
    struct timer *store_due;
    struct timer *patience;
    struct timer *soon; /* looks what can be done, and tells */
    struct timer *later;
    bool news, urgent; /* to be told; now */
    struct listener *listeners;
    bool telling;
    char *causes[CAUSES];
};

static void look(struct objects *objects);

/* --- listeners --- */

void objects_listen(struct objects *objects, objects_fn fn, void *arg)
{
    struct listener **at = &objects->listeners;
    while (*at)
        at = &(*at)->next;
    *at = mem_alloc(sizeof **at);
    **at = (struct listener){.fn = fn, .arg = arg};
}

static void drop_silenced(struct objects *objects)
{
    for (struct listener **at = &objects->listeners; *at;) {
        struct listener *listener = *at;
        if (listener->fn) {
            at = &listener->next;
            continue;
        }
        *at = listener->next;
        free(listener);
    }
}

void objects_unlisten(struct objects *objects, const void *arg)
{
    for (struct listener *at = objects->listeners; at; at = at->next)
        if (at->arg == arg)
            at->fn = NULL;
    if (!objects->telling)
        drop_silenced(objects);
}

static void tell(struct objects *objects)
{
    objects->news = objects->urgent = false;
    timer_cancel(&objects->later);
    objects->telling = true;
    for (struct listener *at = objects->listeners; at; at = at->next)
        if (at->fn)
            at->fn(at->arg);
    objects->telling = false;
    drop_silenced(objects);
}

static void on_later(void *arg)
{
    struct objects *objects = arg;
    objects->later = NULL;
    if (objects->news)
        tell(objects);
}

/* What is found of one object after the other is told when it is all found, or every LATER_MS. */
static void on_soon(void *arg)
{
    struct objects *objects = arg;
    objects->soon = NULL;
    look(objects);
    if (!objects->news)
        return;
    if (objects->urgent || objects_settled(objects))
        tell(objects);
    else if (!objects->later)
        objects->later = timer_start(objects->loop, LATER_MS, on_later, objects);
}

/* Answers that come together are looked at together. */
static void look_soon(struct objects *objects, bool news)
{
    objects->news |= news;
    if (!objects->soon)
        objects->soon = timer_start(objects->loop, 0, on_soon, objects);
}

static void on_more(void *arg)
{
    struct objects *objects = arg;
    look_soon(objects, objects->known);
}

/* --- failure --- */

static void log_once(struct objects *objects, const char *why)
{
    size_t at = 0;
    while (at < CAUSES && objects->causes[at] && !text_equal(objects->causes[at], why))
        at++;
    if (at == CAUSES || objects->causes[at])
        return;
    objects->causes[at] = mem_string(why);
    log_warn("what worker %.8s refers to is not known: %s", objects->worker_id, why);
}

static void fail(struct objects *objects, const char *why)
{
    timer_cancel(&objects->patience);
    objects->state = OBJECTS_FAILED;
    objects->urgent = true;
    text_copy(objects->problem, sizeof objects->problem, why);
    log_once(objects, why);
    owners_give_up(objects->owners, why);
    look_soon(objects, true);
}

static void on_impatience(void *arg)
{
    struct objects *objects = arg;
    objects->patience = NULL;
    fail(objects, objects->calling ? "the worker does not answer" : "the cluster does not answer");
}

/* --- the worker's references --- */

static void drop_refs(struct objects *objects)
{
    if (objects->known)
        ray_worker_objects_clear(&objects->worker);
    objects->known = false;
    object_table_clear(&objects->refs);
    free(objects->sorted);
    objects->sorted = NULL;
}

static void keep_refs(struct objects *objects, struct ray_worker_objects *worker)
{
    drop_refs(objects);
    objects->worker = *worker;
    objects->known = true;
    for (size_t i = 0; i < worker->ref_count; i++)
        object_table_set(&objects->refs, &worker->refs[i].id, &worker->refs[i]);
    timer_cancel(&objects->patience);
    objects->state = OBJECTS_KNOWN;
    objects->answered_us = loop_now_us();
    objects->urgent = true;
    objects->problem[0] = '\0';
}

static void on_worker(void *arg, const struct err *err, struct ray_worker_objects *worker)
{
    struct objects *objects = arg;
    bool current = objects->called == objects->generation && objects->state != OBJECTS_NONE;
    objects->calling = false;
    if (current)
        objects->again = false;
    if (!err && current)
        keep_refs(objects, worker);
    else if (!err)
        ray_worker_objects_clear(worker);
    else if (current && !objects->known)
        fail(objects, err->what);
    look_soon(objects, current);
}

/* Learns where the worker is. False: wait, or it failed. */
static bool find_worker(struct objects *objects)
{
    const struct ray_worker *worker;
    if (objects->address)
        return true;
    switch (directory_worker(objects->directory, objects->worker_id, &worker)) {
    case DIRECTORY_WAIT:
        return false;
    case DIRECTORY_NO:
        fail(objects, *directory_problem(objects->directory)
                          ? directory_problem(objects->directory)
                          : "the cluster does not list the worker");
        return false;
    case DIRECTORY_YES:
        break;
    }
    if (text_empty(worker->ip) || !worker->port) {
        fail(objects, "the cluster does not say where the worker listens");
        return false;
    }
    objects->address = mem_format(strchr(worker->ip, ':') ? "[%s]:%u" : "%s:%u", worker->ip,
                                  (unsigned)worker->port);
    text_copy(objects->node_id, sizeof objects->node_id, worker->node_id);
    return true;
}

/* The tasks that run in the worker have put what it owns. */
static void hint_tasks(struct objects *objects)
{
    const struct pause_list *pauses = cluster_pauses(objects->cluster);
    for (size_t i = 0; i < pauses->count; i++) {
        const struct pause *pause = &pauses->items[i];
        if (!text_equal(pause->worker_id, objects->worker_id))
            continue;
        directory_hint(objects->directory, pause->task_id);
        for (size_t k = 0; k < pause->candidate_count; k++)
            directory_hint(objects->directory, pause->candidates[k]);
    }
}

static void call_worker(struct objects *objects)
{
    if (objects->calling || !find_worker(objects))
        return;
    hint_tasks(objects);
    objects->calling = true;
    objects->refresh = false;
    objects->called = objects->generation;
    object_client_worker(objects->client, objects->address, objects->worker_id, on_worker, objects);
}

/* --- the node's store --- */

static void on_store(void *arg, const struct err *err, struct ray_node_objects *node)
{
    struct objects *objects = arg;
    objects->store_calling = objects->store_stale = false;
    objects->store_known = !err;
    if (err) {
        log_once(objects, err->what);
    } else {
        objects->store = node->store;
        ray_node_objects_clear(node);
    }
    look_soon(objects, true);
}

static void on_store_due(void *arg)
{
    struct objects *objects = arg;
    objects->store_due = NULL;
    look(objects);
}

/* Asks, once a stop, and not more often than once in STORE_MS: so long the last answer will do. */
static void call_store(struct objects *objects)
{
    const struct ray_node *node;
    int64_t age_ms = (loop_now_us() - objects->store_us) / 1000;
    bool fresh = objects->store_us && !objects->store_stale;
    if (objects->store_calling || objects->store_due || fresh ||
        directory_node(objects->directory, objects->node_id, &node) != DIRECTORY_YES ||
        text_empty(node->ip) || !node->manager_port)
        return;
    if (objects->store_us && age_ms < STORE_MS) {
        objects->store_due = timer_start(objects->loop, STORE_MS - age_ms, on_store_due, objects);
        return;
    }
    objects->store_calling = true;
    objects->store_known = false;
    objects->store_us = loop_now_us();
    char *address = mem_format(strchr(node->ip, ':') ? "[%s]:%u" : "%s:%u", node->ip,
                               (unsigned)node->manager_port);
    object_client_node(objects->client, address, false, on_store, objects);
    free(address);
}

/* --- going on --- */

static bool is_mine(void *arg, const struct object_id *id)
{
    const struct ray_object_ref *ref = objects_ref(arg, id);
    return ref && ref->status != RAY_TASK_NIL;
}

/* Does what can be done by now. */
static void look(struct objects *objects)
{
    if (objects->state == OBJECTS_ASKING ||
        (objects->state == OBJECTS_KNOWN && (objects->again || objects->refresh)))
        call_worker(objects);
    if (objects->state == OBJECTS_NONE || !*objects->node_id)
        return;
    call_store(objects);
    if (objects->known && !objects->again)
        owners_advance(objects->owners, is_mine, objects);
}

void objects_ask(struct objects *objects)
{
    if (objects->state != OBJECTS_NONE)
        return;
    if (!objects->client) {
        fail(objects, "the dashboard does not tell it: give the GCS's address");
        return;
    }
    objects->state = OBJECTS_ASKING;
    objects->patience = timer_start(objects->loop, PATIENCE_MS, on_impatience, objects);
    look(objects);
}

void objects_forget(struct objects *objects)
{
    if (objects->state == OBJECTS_NONE)
        return;
    objects->generation++;
    objects->state = OBJECTS_NONE;
    objects->problem[0] = '\0';
    objects->again = objects->refresh = objects->news = objects->urgent = false;
    objects->store_stale = true;
    timer_cancel(&objects->patience);
    timer_cancel(&objects->store_due);
    drop_refs(objects);
    owners_forget(objects->owners);
    directory_renew(objects->directory);
}

/* It may have been made meanwhile, though this worker stands still. */
static void refresh(struct objects *objects, const struct object_id *id)
{
    struct object_note note;
    if (objects->calling || loop_now_us() - objects->answered_us < PENDING_MS * 1000 ||
        !objects_note(objects, id, &note) || note.state != OBJECT_STATE_PENDING)
        return;
    objects->refresh = true;
    owners_renew(objects->owners, id);
    look_soon(objects, false);
}

void objects_want(struct objects *objects, const struct object_id *id)
{
    if (objects->state == OBJECTS_NONE)
        return;
    if (!owners_want(objects->owners, id)) {
        refresh(objects, id);
        return;
    }
    /* It is newer than the worker's answer: an expression has made it. */
    if (objects->known && !objects_ref(objects, id))
        objects->again = true;
    if (objects->state == OBJECTS_FAILED)
        owners_give_up(objects->owners, objects->problem);
    look_soon(objects, objects->state == OBJECTS_FAILED);
}

/* --- life --- */

struct objects *objects_create(struct loop *loop, struct cluster *cluster, const char *worker_id)
{
    struct objects *objects = mem_alloc(sizeof *objects);
    objects->loop = loop;
    objects->cluster = cluster;
    objects->source = cluster_source(cluster);
    objects->client = source_quick_objects(objects->source);
    text_copy(objects->worker_id, sizeof objects->worker_id, worker_id);
    objects->directory = directory_create(objects->source, on_more, objects);
    objects->owners =
        owners_create(objects->client, objects->directory, worker_id, on_more, objects);
    return objects;
}

void objects_destroy(struct objects **objects)
{
    struct objects *it = *objects;
    if (!it)
        return;
    *objects = NULL;
    if (it->client)
        object_client_forget(it->client, it);
    timer_cancel(&it->patience);
    timer_cancel(&it->store_due);
    timer_cancel(&it->soon);
    timer_cancel(&it->later);
    drop_refs(it);
    owners_destroy(&it->owners);
    directory_destroy(&it->directory);
    for (struct listener *next; it->listeners; it->listeners = next) {
        next = it->listeners->next;
        free(it->listeners);
    }
    for (size_t i = 0; i < CAUSES; i++)
        free(it->causes[i]);
    free(it->address);
    free(it);
}

/* --- what is known --- */

int64_t objects_generation(const struct objects *objects)
{
    return objects->generation;
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
        objects->sorted = mem_array(*count, sizeof *objects->sorted);
        for (size_t i = 0; i < *count; i++)
            objects->sorted[i] = &objects->worker.refs[i];
        qsort(objects->sorted, *count, sizeof *objects->sorted, by_size);
    }
    return objects->sorted;
}

const struct ray_object_ref *objects_ref(const struct objects *objects, const struct object_id *id)
{
    return objects->known ? object_table_get(&objects->refs, id) : NULL;
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
    if (done) {
        out->owner = finding->owner;
        out->owner_pid = finding->owner_pid;
        out->owner_node = objects_node_name(objects, finding->owner_node);
        out->owner_is_driver = finding->owner_is_driver;
    }
    out->owner_why = why_unknown(objects, finding, done, done ? finding->owner_why : "");
    out->location_why = why_unknown(objects, finding, done, done ? finding->location_why : "");
    if (done && finding->location.known)
        out->location = &finding->location;
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

/* All that is known of an object. */
static void collect(const struct objects *objects, const struct object_id *id,
                    struct object_facts *out)
{
    const struct finding *finding = owners_find(objects->owners, id);
    *out = (struct object_facts){
        .id = *id,
        .ref = objects_ref(objects, id),
        .ref_why = why_no_ref(objects),
        .node_name = node_name,
        .arg = (void *)(uintptr_t)objects,
    };
    add_finding(objects, finding, out);
    add_creator(objects, finding, out);
    out->mine = out->ref && out->ref->status != RAY_TASK_NIL;
    if (out->mine && out->owner == OBJECT_OWNER_UNKNOWN) {
        out->owner = OBJECT_OWNER_ALIVE;
        out->owner_pid = objects->worker.pid;
        out->owner_node = objects_node_name(objects, objects->node_id);
        out->owner_is_driver = objects->worker.type == RAY_DRIVER;
    }
}

bool objects_note(const struct objects *objects, const struct object_id *id,
                  struct object_note *out)
{
    struct object_facts facts;
    *out = (struct object_note){.size = -1};
    if (!objects->known)
        return false;
    collect(objects, id, &facts);
    return object_facts_note(&facts, out);
}

void objects_describe(const struct objects *objects, const struct object_id *id,
                      const struct annotate_options *options,
                      struct object_property out[OBJECT_PROPERTIES])
{
    struct object_facts facts;
    collect(objects, id, &facts);
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
