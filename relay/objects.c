#include "relay/objects_state.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/object_client.h"
#include "relay/source.h"

#include <stdlib.h>
#include <string.h>

/* How long the worker may take to answer, in all; how old its node's counters may become before a
 * new stop asks for them again: every process of the node has a part in that answer. */
enum { PATIENCE_MS = 2000, STORE_MS = 1000, LATER_MS = 100 };
/* After a run of so long, what was said before it is not shown again. */
enum { STEP_MS = 1000 };
/* So long after a step nothing is asked only to see whether what was said before it holds: whoever
 * asks and answers shares the cores with the debuggee, which the client asks now. But when one
 * quick step follows the other, it is asked once in PROOF_MS. */
enum { LEISURE_MS = 100, PROOF_MS = 1000 };
/* How old a word on what is not made yet becomes before it is asked for again, if it is wanted. */
enum { PENDING_MS = 1000 };

/* A worker that did not answer is asked again after so long, and then twice as long. */
enum { RETRY_MS = 1000, RETRY_MAX_MS = 8000 };

static void look(struct objects *objects);
static void call_worker(struct objects *objects);

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
    objects->facts++;
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

static void log_once(struct objects *objects, const char *what, const char *why)
{
    size_t at = 0;
    while (at < OBJECTS_CAUSES && objects->causes[at] && !text_equal(objects->causes[at], why))
        at++;
    if (at == OBJECTS_CAUSES || objects->causes[at])
        return;
    objects->causes[at] = mem_string(why);
    log_warn("what worker %.8s %s is not known: %s", objects->worker_id, what, why);
}

static void on_retry(void *arg)
{
    struct objects *objects = arg;
    objects->retry = NULL;
    if (objects->state == OBJECTS_FAILED)
        call_worker(objects);
}

static void retry_later(struct objects *objects)
{
    if (objects->retry || !objects->client)
        return;
    objects->retry = timer_start(objects->loop, objects->retry_ms, on_retry, objects);
    if (objects->retry_ms < RETRY_MAX_MS)
        objects->retry_ms *= 2;
}

static void fail(struct objects *objects, const char *why)
{
    timer_cancel(&objects->patience);
    objects->state = OBJECTS_FAILED;
    objects->urgent = true;
    text_copy(objects->problem, sizeof objects->problem, why);
    log_once(objects, "refers to", why);
    owners_give_up(objects->owners, why);
    retry_later(objects);
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
    timer_cancel(&objects->retry);
    if (objects->state == OBJECTS_FAILED)
        owners_forget(objects->owners); /* what was given up may be wanted again */
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
    objects->address = directory_address(worker->ip, worker->port);
    if (!objects->address) {
        fail(objects, "the cluster does not say where the worker listens");
        return false;
    }
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
        log_once(objects, "has of its node's store", err->what);
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
    char *address = directory_address(node->ip, node->manager_port);
    object_client_node(objects->client, address, false, on_store, objects);
    free(address);
}

/* --- going on --- */

static bool is_mine(void *arg, const struct object_id *id)
{
    const struct ray_object_ref *ref = objects_ref(arg, id);
    return ref && ref->status != RAY_TASK_NIL;
}

static void find_owners(struct objects *objects)
{
    if (!objects->known || objects->again || (!objects->eager && !owners_outdated(objects->owners)))
        return;
    objects->facts++;
    owners_advance(objects->owners, is_mine, objects);
    objects->eager = !objects_settled(objects);
}

/* Right after a step, and nobody wants what was not known before it. */
static bool rests(const struct objects *objects)
{
    return objects->state == OBJECTS_ASKING && objects->leisure;
}

/* Does what can be done by now. */
static void look(struct objects *objects)
{
    if (rests(objects))
        return;
    if (objects->state == OBJECTS_ASKING ||
        (objects->state == OBJECTS_KNOWN && (objects->again || objects->refresh)))
        call_worker(objects);
    if (objects->state == OBJECTS_NONE || !*objects->node_id)
        return;
    call_store(objects);
    find_owners(objects);
}

static bool is_proved(const struct objects *objects)
{
    return loop_now_us() - objects->proved_us < (int64_t)PROOF_MS * 1000;
}

static void on_leisure(void *arg)
{
    struct objects *objects = arg;
    objects->leisure = NULL;
    objects_hurry(objects);
}

static void rest(struct objects *objects)
{
    if (loop_now_us() - objects->store_us >= (int64_t)STORE_MS * 1000)
        objects->store_known = false; /* who wants its counters waits for new ones */
    objects->leisure = timer_start(objects->loop, LEISURE_MS, on_leisure, objects);
}

void objects_ask(struct objects *objects)
{
    if (objects->state != OBJECTS_NONE)
        return;
    if (!objects->client) {
        fail(objects, "the dashboard does not tell it: give the GCS's address");
        return;
    }
    if (loop_now_us() - objects->forgotten_us > (int64_t)STEP_MS * 1000) {
        object_notes_clear(&objects->earlier);
        objects->earlier_counted = false;
    }
    objects->facts++;
    objects->state = OBJECTS_ASKING;
    objects->retry_ms = RETRY_MS;
    objects->patience = timer_start(objects->loop, PATIENCE_MS, on_impatience, objects);
    if (is_proved(objects))
        rest(objects);
    else
        look_soon(objects, false); /* the client is told of the stop first */
}

static void keep_notes(struct objects *objects)
{
    const struct finding *finding;
    struct object_note note;
    for (size_t i = 0; (finding = owners_at(objects->owners, i)); i++)
        if (finding->done && objects_note(objects, &finding->id, &note))
            object_notes_keep(&objects->earlier, &finding->id, &note);
    objects->forgotten_us = loop_now_us();
    if (objects->known) {
        objects->earlier_count = objects->worker.ref_count;
        objects->earlier_counted = true;
        if (objects_settled(objects))
            objects->proved_us = objects->forgotten_us;
    }
}

void objects_forget(struct objects *objects)
{
    if (objects->state == OBJECTS_NONE)
        return;
    keep_notes(objects);
    objects->generation++;
    objects->facts++;
    objects->state = OBJECTS_NONE;
    objects->problem[0] = '\0';
    objects->again = objects->refresh = objects->news = objects->urgent = false;
    objects->store_stale = true;
    timer_cancel(&objects->patience);
    timer_cancel(&objects->retry);
    timer_cancel(&objects->store_due);
    timer_cancel(&objects->leisure);
    objects->eager = false;
    drop_refs(objects);
    owners_forget(objects->owners);
    directory_renew(objects->directory);
}

void objects_hurry(struct objects *objects)
{
    timer_cancel(&objects->leisure);
    if (objects->state == OBJECTS_NONE)
        return;
    objects->eager = true;
    look_soon(objects, false);
}

/* There is no haste: what can be said of it is hardly ever not true any more. */
static bool has_leisure(const struct objects *objects, const struct object_id *id)
{
    return !objects->eager && objects_can_tell(objects, id) && is_proved(objects);
}

/* It may have been made meanwhile, though this worker stands still. */
static void refresh(struct objects *objects, const struct object_id *id)
{
    struct object_note note;
    if (objects->calling || loop_now_us() - objects->answered_us < (int64_t)PENDING_MS * 1000 ||
        !objects_note(objects, id, &note) || note.state != OBJECT_STATE_PENDING)
        return;
    objects->refresh = true;
    owners_renew(objects->owners, id);
    objects_hurry(objects);
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
    if (objects->state == OBJECTS_FAILED) {
        owners_give_up(objects->owners, objects->problem);
        look_soon(objects, true);
    } else if (!has_leisure(objects, id)) {
        objects_hurry(objects);
    } else if (!objects->leisure) {
        objects->leisure = timer_start(objects->loop, LEISURE_MS, on_leisure, objects);
    }
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
    objects->directory = directory_create(loop, objects->source, on_more, objects);
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
    timer_cancel(&it->retry);
    timer_cancel(&it->store_due);
    timer_cancel(&it->soon);
    timer_cancel(&it->later);
    timer_cancel(&it->leisure);
    drop_refs(it);
    object_notes_clear(&it->earlier);
    owners_destroy(&it->owners);
    directory_destroy(&it->directory);
    for (struct listener *next; it->listeners; it->listeners = next) {
        next = it->listeners->next;
        free(it->listeners);
    }
    for (size_t i = 0; i < OBJECTS_CAUSES; i++)
        free(it->causes[i]);
    free(it->address);
    free(it);
}
