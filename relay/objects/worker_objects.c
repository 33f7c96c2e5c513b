#include "relay/objects/worker_objects_state.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/object_client.h"
#include "relay/cluster/ray_source.h"

#include <stdlib.h>
#include <string.h>

/* PATIENCE_MS: the worker must have answered by then. STORE_MS: the age from which on a new stop
 * asks for the node's counters again; every process of the node takes part in that answer.
 * LATER_MS: the longest that news waits for more. */
enum { PATIENCE_MS = 2000, STORE_MS = 1000, LATER_MS = 100 };
/* After a longer run, the notes from before it are not shown again. */
enum { STEP_MS = 1000 };
/* LEISURE_MS: after a step, the check of the notes from before it waits so long: the processes that
 * ask and answer share the cores with the debuggee, which answers the client then. PROOF_MS: while
 * one quick step follows the other, they are checked once in this time. */
enum { LEISURE_MS = 100, PROOF_MS = 1000 };

/* Delay before a worker that did not answer is asked again; it doubles up to RETRY_MAX_MS. */
enum { RETRY_MS = 1000, RETRY_MAX_MS = 8000 };

static void look(struct worker_objects *objects);
static void call_worker(struct worker_objects *objects);

/* --- listeners --- */

void worker_objects_listen(struct worker_objects *objects, worker_objects_fn fn, void *arg)
{
    struct listener **at = &objects->listeners;
    while (*at)
        at = &(*at)->next;
    *at = mem_alloc(sizeof **at);
    **at = (struct listener){.fn = fn, .arg = arg};
}

static void drop_silenced(struct worker_objects *objects)
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

void worker_objects_unlisten(struct worker_objects *objects, const void *arg)
{
    for (struct listener *at = objects->listeners; at; at = at->next)
        if (at->arg == arg)
            at->fn = NULL;
    if (!objects->telling)
        drop_silenced(objects);
}

static void tell(struct worker_objects *objects)
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
    struct worker_objects *objects = worker_objects_checked(arg);
    objects->later = NULL;
    if (objects->news)
        tell(objects);
}

/* Listeners run when all that is wanted is found, or every LATER_MS. */
static void on_soon(void *arg)
{
    struct worker_objects *objects = worker_objects_checked(arg);
    objects->soon = NULL;
    look(objects);
    if (!objects->news)
        return;
    if (objects->urgent || worker_objects_settled(objects))
        tell(objects);
    else if (!objects->later)
        objects->later = timer_start(objects->loop, LATER_MS, on_later, objects);
}

void worker_objects_look_soon(struct worker_objects *objects, bool news)
{
    objects->news |= news;
    if (!objects->soon)
        objects->soon = timer_start(objects->loop, 0, on_soon, objects);
}

static void on_more(void *arg)
{
    struct worker_objects *objects = worker_objects_checked(arg);
    worker_objects_look_soon(objects, objects->known);
}

/* --- failure --- */

static void log_once(struct worker_objects *objects, const char *what, const char *why)
{
    size_t at = 0;
    while (at < WORKER_OBJECTS_CAUSES && objects->causes[at] &&
           !text_equal(objects->causes[at], why))
        at++;
    if (at == WORKER_OBJECTS_CAUSES || objects->causes[at])
        return;
    objects->causes[at] = mem_string(why);
    log_warn("what worker %.8s %s is not known: %s", objects->worker_id, what, why);
}

static void on_retry(void *arg)
{
    struct worker_objects *objects = worker_objects_checked(arg);
    objects->retry = NULL;
    if (objects->state == WORKER_OBJECTS_FAILED)
        call_worker(objects);
}

static void retry_later(struct worker_objects *objects)
{
    if (objects->retry || !objects->client)
        return;
    objects->retry = timer_start(objects->loop, objects->retry_ms, on_retry, objects);
    if (objects->retry_ms < RETRY_MAX_MS)
        objects->retry_ms *= 2;
}

static void fail(struct worker_objects *objects, const char *why)
{
    timer_cancel(&objects->patience);
    objects->state = WORKER_OBJECTS_FAILED;
    objects->urgent = true;
    text_copy(objects->problem, sizeof objects->problem, why);
    log_once(objects, "refers to", why);
    owners_give_up(objects->owners, why);
    retry_later(objects);
    worker_objects_look_soon(objects, true);
}

static void on_impatience(void *arg)
{
    struct worker_objects *objects = worker_objects_checked(arg);
    objects->patience = NULL;
    fail(objects, objects->calling ? "the worker does not answer" : "the cluster does not answer");
}

/* --- the worker's references --- */

static void drop_refs(struct worker_objects *objects)
{
    if (objects->known)
        ray_worker_objects_clear(&objects->worker);
    objects->known = false;
    object_table_clear(&objects->table);
    owners_enter(objects->owners);
    free(objects->sorted);
    objects->sorted = NULL;
}

static void keep_refs(struct worker_objects *objects, struct ray_worker_objects *worker)
{
    drop_refs(objects);
    objects->worker = *worker;
    objects->known = true;
    for (size_t i = 0; i < worker->ref_count; i++)
        object_table_add(&objects->table, &worker->refs[i].id)->ref = &worker->refs[i];
    timer_cancel(&objects->patience);
    timer_cancel(&objects->retry);
    if (objects->state == WORKER_OBJECTS_FAILED)
        owners_forget(objects->owners); /* objects that were given up may be wanted again */
    objects->state = WORKER_OBJECTS_KNOWN;
    objects->answered_us = loop_now_us();
    objects->urgent = true;
    objects->problem[0] = '\0';
}

static void on_worker(void *arg, const struct err *err, struct ray_worker_objects *worker)
{
    struct worker_objects *objects = worker_objects_checked(arg);
    bool current = objects->called == objects->generation && objects->state != WORKER_OBJECTS_NONE;
    objects->calling = false;
    if (current)
        objects->again = false;
    if (!err && current)
        keep_refs(objects, worker);
    else if (!err)
        ray_worker_objects_clear(worker);
    else if (current && !objects->known)
        fail(objects, err->what);
    worker_objects_look_soon(objects, current);
}

/* Finds the worker's address. False: wait, or it failed. */
static bool find_worker(struct worker_objects *objects)
{
    const struct ray_worker *worker;
    if (objects->address)
        return true;
    switch (record_cache_worker(objects->records, objects->worker_id, &worker)) {
    case RECORD_CACHE_WAIT:
        return false;
    case RECORD_CACHE_NO:
        fail(objects, *record_cache_problem(objects->records)
                          ? record_cache_problem(objects->records)
                          : "the cluster does not list the worker");
        return false;
    case RECORD_CACHE_YES:
        break;
    }
    objects->address = record_cache_address(worker->ip, worker->port);
    if (!objects->address) {
        fail(objects, "the cluster does not say where the worker listens");
        return false;
    }
    objects->node = record_cache_named_node(objects->records, worker->node_id);
    return true;
}

/* Gives the record cache the tasks in the worker: they have put the objects that it owns. */
static void hint_tasks(struct worker_objects *objects)
{
    const struct pause_list *pauses = cluster_pauses(objects->cluster);
    for (size_t i = 0; i < pauses->count; i++) {
        const struct pause *pause = &pauses->items[i];
        if (!text_equal(pause->worker_id, objects->worker_id))
            continue;
        record_cache_hint(objects->records, pause->task_id);
        for (size_t k = 0; k < pause->candidate_count; k++)
            record_cache_hint(objects->records, pause->candidates[k]);
    }
}

static void call_worker(struct worker_objects *objects)
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

/* So long does an answer count at the stops that follow. */
static bool store_is_old(const struct worker_objects *objects)
{
    return loop_now_us() - objects->store_us >= (int64_t)STORE_MS * 1000;
}

static void on_store(void *arg, const struct err *err, struct ray_node_objects *node)
{
    struct worker_objects *objects = worker_objects_checked(arg);
    objects->store_calling = false;
    objects->store_stale = objects->store_called != objects->generation;
    objects->store_known = !err && !(objects->store_stale && store_is_old(objects));
    if (err) {
        log_once(objects, "has of its node's store", err->what);
    } else {
        objects->store = node->store;
        ray_node_objects_clear(node);
    }
    worker_objects_look_soon(objects, true);
}

static void on_store_due(void *arg)
{
    struct worker_objects *objects = worker_objects_checked(arg);
    objects->store_due = NULL;
    look(objects);
}

/* Asks once a stop, but at most once in STORE_MS: for so long the last answer counts. */
static void call_store(struct worker_objects *objects)
{
    const struct ray_node *node;
    int64_t age_ms = (loop_now_us() - objects->store_us) / 1000;
    bool fresh = objects->store_us && !objects->store_stale;
    if (objects->store_calling || objects->store_due || fresh ||
        record_cache_node(objects->records, objects->node->node_id, &node) != RECORD_CACHE_YES ||
        text_empty(node->ip) || !node->manager_port)
        return;
    if (objects->store_us && !store_is_old(objects)) {
        objects->store_due = timer_start(objects->loop, STORE_MS - age_ms, on_store_due, objects);
        return;
    }
    objects->store_calling = true;
    objects->store_known = false;
    objects->store_called = objects->generation;
    objects->store_us = loop_now_us();
    char *address = record_cache_address(node->ip, node->manager_port);
    object_client_node(objects->client, address, false, on_store, objects);
    free(address);
}

/* --- going on --- */

static bool is_mine(void *arg, const struct object_id *id)
{
    const struct ray_object_ref *ref = worker_objects_ref(arg, id);
    return ref && ref->status != RAY_TASK_NIL;
}

static void find_owners(struct worker_objects *objects)
{
    if (!objects->known || objects->again || (!objects->eager && !owners_outdated(objects->owners)))
        return;
    owners_advance(objects->owners, is_mine, objects);
    objects->eager = !worker_objects_settled(objects);
}

/* True right after a step, while no client wants more than was known before it. */
static bool rests(const struct worker_objects *objects)
{
    return objects->state == WORKER_OBJECTS_ASKING && objects->leisure;
}

/* Sends the requests that are possible by now. */
static void look(struct worker_objects *objects)
{
    if (rests(objects))
        return;
    if (objects->state == WORKER_OBJECTS_ASKING ||
        (objects->state == WORKER_OBJECTS_KNOWN && (objects->again || objects->refresh)))
        call_worker(objects);
    if (objects->state == WORKER_OBJECTS_NONE || !objects->node)
        return;
    call_store(objects);
    find_owners(objects);
}

bool worker_objects_is_proved(const struct worker_objects *objects)
{
    return loop_now_us() - objects->proved_us < (int64_t)PROOF_MS * 1000;
}

static void on_leisure(void *arg)
{
    struct worker_objects *objects = worker_objects_checked(arg);
    objects->leisure = NULL;
    worker_objects_hurry(objects);
}

void worker_objects_take_leisure(struct worker_objects *objects)
{
    if (!objects->leisure)
        objects->leisure = timer_start(objects->loop, LEISURE_MS, on_leisure, objects);
}

void worker_objects_ask(struct worker_objects *objects)
{
    if (objects->state != WORKER_OBJECTS_NONE)
        return;
    if (!objects->client) {
        fail(objects, "the dashboard does not tell it: give the GCS's address");
        return;
    }
    if (loop_now_us() - objects->forgotten_us > (int64_t)STEP_MS * 1000) {
        object_last_stop_clear(&objects->earlier);
        objects->earlier_counted = false;
    }
    if (store_is_old(objects))
        objects->store_known = false; /* a client that wants the counters waits for new ones */
    objects->state = WORKER_OBJECTS_ASKING;
    objects->retry_ms = RETRY_MS;
    objects->patience = timer_start(objects->loop, PATIENCE_MS, on_impatience, objects);
    if (worker_objects_is_proved(objects))
        worker_objects_take_leisure(objects);
    else
        worker_objects_look_soon(objects, false); /* the client gets the stop first */
}

static void keep_notes(struct worker_objects *objects)
{
    const struct finding *finding;
    struct object_note note;
    for (size_t i = 0; (finding = owners_at(objects->owners, i)); i++)
        if (finding->done) {
            bool noted = worker_objects_note(objects, &finding->id, &note);
            object_last_stop_keep(&objects->earlier, &finding->id, noted ? &note : NULL);
        }
    objects->forgotten_us = loop_now_us();
    if (objects->known) {
        objects->earlier_count = objects->worker.ref_count;
        objects->earlier_counted = true;
        if (worker_objects_settled(objects))
            objects->proved_us = objects->forgotten_us;
    }
}

void worker_objects_forget(struct worker_objects *objects)
{
    if (objects->state == WORKER_OBJECTS_NONE)
        return;
    keep_notes(objects);
    objects->generation++;
    objects->state = WORKER_OBJECTS_NONE;
    objects->problem[0] = '\0';
    objects->again = objects->refresh = objects->news = objects->urgent = false;
    objects->store_stale = true;
    timer_cancel(&objects->patience);
    timer_cancel(&objects->retry);
    timer_cancel(&objects->store_due);
    timer_cancel(&objects->leisure);
    objects->eager = false;
    owners_forget(objects->owners);
    drop_refs(objects);
    record_cache_renew(objects->records);
}

void worker_objects_hurry(struct worker_objects *objects)
{
    timer_cancel(&objects->leisure);
    if (objects->state == WORKER_OBJECTS_NONE)
        return;
    objects->eager = true;
    worker_objects_look_soon(objects, false);
}

/* --- life --- */

struct worker_objects *worker_objects_create(struct loop *loop, struct cluster *cluster,
                                             const char *worker_id)
{
    struct worker_objects *objects = mem_alloc(sizeof *objects);
    worker_objects_set_magic(objects);
    objects->loop = loop;
    objects->cluster = cluster;
    objects->source = cluster_source(cluster);
    objects->client = ray_source_quick_objects(objects->source);
    text_copy(objects->worker_id, sizeof objects->worker_id, worker_id);
    objects->records = record_cache_create(loop, objects->source, on_more, objects);
    objects->owners = owners_create(objects->client, objects->records, &objects->table, worker_id,
                                    on_more, objects);
    return objects;
}

void worker_objects_destroy(struct worker_objects **objects)
{
    struct worker_objects *it = *objects;
    if (!it)
        return;
    *objects = NULL;
    if (it->client)
        object_client_forget(it->client, it);
    timer_cancel(&it->patience);
    timer_cancel(&it->retry);
    timer_cancel(&it->store_due);
    timer_cancel(&it->soon);
    timer_cancel(&it->later);
    timer_cancel(&it->leisure);
    owners_forget(it->owners);
    drop_refs(it);
    object_last_stop_clear(&it->earlier);
    owners_destroy(&it->owners);
    record_cache_destroy(&it->records);
    for (struct listener *next; it->listeners; it->listeners = next) {
        next = it->listeners->next;
        free(it->listeners);
    }
    for (size_t i = 0; i < WORKER_OBJECTS_CAUSES; i++)
        free(it->causes[i]);
    free(it->address);
    worker_objects_clear_magic(it);
    free(it);
}
