#include "relay/objects/object_owner_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/objects/object_origin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Limits of the requests within one stop, so that a container of thousands of references costs its
 * cluster little: objects, ids in one request, raylets when nothing else helps. */
enum { WANTED_MAX = 2000, IDS_MAX = 500, RAYLETS_MAX = 16 };

struct owners *owners_create(struct object_client *client, struct record_cache *records,
                             struct object_table *table, const char *worker_id, loop_fn changed,
                             void *arg)
{
    struct owners *owners = mem_alloc(sizeof *owners);
    owners->client = client;
    owners->records = records;
    owners->table = table;
    owners->changed = changed;
    owners->arg = arg;
    text_copy(owners->worker_id, sizeof owners->worker_id, worker_id);
    return owners;
}

static void request_free(struct request *request)
{
    free(request->address);
    free(request->ids);
    free(request);
}

static void location_clear(struct ray_object_location *location)
{
    free(location->node_ids);
    free(location->spilled_url);
    *location = (struct ray_object_location){0};
}

static void drop_candidates(struct query *query)
{
    for (size_t i = 0; i < query->count; i++)
        free(query->candidates[i].address);
    query->count = 0;
}

static void query_free(struct query *query)
{
    location_clear(&query->finding.location);
    drop_candidates(query);
    free(query);
}

void owners_forget(struct owners *owners)
{
    for (struct request *next; owners->requests; owners->requests = next) {
        next = owners->requests->next;
        object_client_forget(owners->client, owners->requests);
        request_free(owners->requests);
    }
    if (owners->client)
        object_client_forget(owners->client, owners);
    for (size_t i = 0; i < owners->count; i++) {
        object_table_add(owners->table, &owners->queries[i]->finding.id)->query = NULL;
        query_free(owners->queries[i]);
    }
    free(owners->queries);
    owners->queries = NULL;
    owners->count = owners->raylets = 0;
    owners->raylets_asked = false;
}

void owners_destroy(struct owners **owners)
{
    if (!*owners)
        return;
    owners_forget(*owners);
    free(*owners);
    *owners = NULL;
}

static struct query *query_get(const struct owners *owners, const struct object_id *id)
{
    const struct object_entry *entry = object_table_get(owners->table, id);
    return entry ? entry->query : NULL;
}

bool owners_want(struct owners *owners, const struct object_id *id)
{
    if (owners->count >= WANTED_MAX)
        return false;
    struct object_entry *entry = object_table_add(owners->table, id);
    if (entry->query)
        return false;
    struct query *query = entry->query = mem_alloc(sizeof *query);
    query->finding.id = *id;
    owners->queries = mem_resize(owners->queries, owners->count + 1, sizeof(void *));
    owners->queries[owners->count++] = query;
    return true;
}

const struct finding *owners_at(const struct owners *owners, size_t index)
{
    return index < owners->count ? &owners->queries[index]->finding : NULL;
}

bool owners_settled(const struct owners *owners)
{
    for (size_t i = 0; i < owners->count; i++)
        if (!owners->queries[i]->finding.done || !owners->queries[i]->finding.traced)
            return false;
    return true;
}

void owners_enter(const struct owners *owners)
{
    for (size_t i = 0; i < owners->count; i++)
        object_table_add(owners->table, &owners->queries[i]->finding.id)->query =
            owners->queries[i];
}

const struct finding *owners_finding(const struct object_entry *entry)
{
    return entry && entry->query ? &entry->query->finding : NULL;
}

void owners_renew(struct owners *owners, const struct object_id *id)
{
    struct query *query = query_get(owners, id);
    if (!query || !query->owner || query->owner->state == ASKED)
        return;
    query->renew = true;
    if (query->mine) { /* the worker's own, newer reference counts until then */
        location_clear(&query->finding.location);
        text_copy(query->finding.location_why, sizeof query->finding.location_why,
                  "it is being asked for");
    }
}

static void conclude(struct query *query, const char *owner_why, const char *location_why)
{
    struct finding *finding = &query->finding;
    finding->done = true;
    text_copy(finding->owner_why, sizeof finding->owner_why, owner_why);
    text_copy(finding->location_why, sizeof finding->location_why, location_why);
}

static void set_owner(struct query *query, const struct candidate *candidate)
{
    struct finding *finding = &query->finding;
    finding->owner = candidate->how;
    finding->owner_pid = candidate->pid;
    finding->owner_is_driver = candidate->is_driver;
    finding->owner_node = candidate->node;
}

void owners_give_up(struct owners *owners, const char *why)
{
    for (size_t i = 0; i < owners->count; i++) {
        struct query *query = owners->queries[i];
        if (!query->finding.done)
            conclude(query, why, why);
        query->finding.traced = true;
    }
}

/* --- asking the candidates --- */

/* Records the candidate's answer; takes over a location that is known. */
static void take(struct owners *owners, const struct request *request,
                 struct ray_object_location *location, const struct err *err)
{
    struct query *query = query_get(owners, &location->id);
    for (size_t i = 0; query && i < query->count; i++) {
        struct candidate *candidate = &query->candidates[i];
        if (candidate->state != ASKED || !text_equal(candidate->worker_id, request->worker_id))
            continue;
        candidate->state = location->known ? TELLS : err ? SILENT : DENIES;
        if (!location->known || (query->finding.done && query->owner != candidate))
            continue;
        set_owner(query, candidate);
        query->owner = candidate;
        location_clear(&query->finding.location);
        query->finding.location = *location;
        query->finding.done = true;
        *location = (struct ray_object_location){0};
        return;
    }
}

static void on_locations(void *arg, const struct err *err, struct ray_object_location *locations,
                         size_t count)
{
    struct request *request = arg, **at;
    struct owners *owners = request->owners;
    for (size_t i = 0; i < request->count; i++) {
        struct ray_object_location none = {.id = request->ids[i]};
        bool told = !err && i < count;
        take(owners, request, told ? &locations[i] : &none, err);
    }
    ray_object_locations_free(locations, count);
    for (at = &owners->requests; *at != request; at = &(*at)->next)
        continue;
    *at = request->next;
    request_free(request);
    owners->changed(owners->arg);
}

static void enqueue(struct owners *owners, const struct query *query, struct candidate *candidate)
{
    struct request *request = owners->building;
    while (request &&
           (request->count == IDS_MAX || !text_equal(request->worker_id, candidate->worker_id)))
        request = request->next;
    if (!request) {
        request = mem_alloc(sizeof *request);
        request->owners = owners;
        request->address = mem_string(candidate->address);
        request->ids = mem_array(IDS_MAX, sizeof *request->ids);
        text_copy(request->worker_id, sizeof request->worker_id, candidate->worker_id);
        request->next = owners->building;
        owners->building = request;
    }
    request->ids[request->count++] = query->finding.id;
    candidate->state = ASKED;
}

static void send_queries(struct owners *owners)
{
    while (owners->building) {
        struct request *request = owners->building;
        owners->building = request->next;
        request->next = owners->requests;
        owners->requests = request;
        object_client_locations(owners->client, request->address, request->worker_id, request->ids,
                                request->count, on_locations, request);
    }
}

/* --- asking the raylets --- */

/* Adds the process as a candidate for the searched objects that it reports as its own. */
static void read_process(struct owners *owners, const struct ray_worker_objects *process)
{
    const struct ray_worker *worker;
    if (record_cache_worker(owners->records, process->worker_id, &worker) != RECORD_CACHE_YES)
        return;
    for (size_t i = 0; i < process->ref_count; i++) {
        const struct ray_object_ref *ref = &process->refs[i];
        struct query *query = ref->status != RAY_TASK_NIL ? query_get(owners, &ref->id) : NULL;
        if (query && !query->finding.done && query->gathered)
            owners_add_process(owners, query, worker);
    }
}

static void on_node(void *arg, const struct err *err, struct ray_node_objects *node)
{
    struct owners *owners = arg;
    owners->raylets--;
    for (size_t i = 0; !err && i < node->worker_count; i++)
        read_process(owners, &node->workers[i]);
    if (node)
        ray_node_objects_clear(node);
    owners->changed(owners->arg);
}

/* False: wait. */
static bool ask_raylets(struct owners *owners)
{
    const struct ray_node *nodes;
    size_t count;
    if (owners->raylets_asked)
        return owners->raylets == 0;
    enum record_cache_answer known = record_cache_nodes(owners->records, &nodes, &count);
    if (known == RECORD_CACHE_WAIT)
        return false;
    owners->raylets_asked = true;
    for (size_t i = 0; known == RECORD_CACHE_YES && i < count && owners->raylets < RAYLETS_MAX;
         i++) {
        char *address =
            nodes[i].is_alive ? record_cache_address(nodes[i].ip, nodes[i].manager_port) : NULL;
        if (!address)
            continue;
        owners->raylets++;
        object_client_node(owners->client, address, true, on_node, owners);
        free(address);
    }
    return owners->raylets == 0;
}

/* --- going on --- */

static void blame_silent(struct query *query, const struct candidate *silent)
{
    char why[160];
    snprintf(why, sizeof why, "pid %lld@%s does not answer", (long long)silent->pid,
             silent->node->name);
    if (query->mine)
        set_owner(query, silent);
    conclude(query, why, why);
}

/* No live candidate owns the object, so the dead one does, or one of several. */
static void blame_dead(struct query *query, const struct candidate *dead, size_t count)
{
    set_owner(query, dead);
    if (count > 1)
        query->finding.owner_pid = 0; /* it is unknown which one */
    conclude(query, "it died, and several processes may have been it",
             dead->how == OBJECT_OWNER_DEAD ? "the owner died" : "the owner's node died");
}

/* The worker listed the object as its own, but has released it since. */
static void blame_itself(struct query *query)
{
    set_owner(query, &query->candidates[0]);
    conclude(query, "", "the worker has let go of it");
}

/* True if there is, or may be, another process to ask. */
static bool look_further(struct owners *owners, struct query *query)
{
    size_t before = query->count;
    if (!owners_guess(owners, query))
        return true;
    return query->count > before;
}

/* Asks the candidates, and concludes when none is left to ask. */
static void go_on(struct owners *owners, struct query *query)
{
    const struct candidate *dead = NULL, *silent = NULL;
    size_t waiting = 0, deads = 0;
    for (size_t i = 0; i < query->count; i++) {
        struct candidate *candidate = &query->candidates[i];
        if (candidate->how != OBJECT_OWNER_ALIVE) {
            deads++;
            dead = candidate;
        } else if (candidate->state == TO_ASK) {
            enqueue(owners, query, candidate);
        }
        waiting += candidate->state == ASKED;
        if (candidate->state == SILENT)
            silent = candidate;
    }
    if (waiting)
        return;
    if (silent)
        blame_silent(query, silent);
    else if (dead)
        blame_dead(query, dead, deads);
    else if (query->mine && query->count)
        blame_itself(query);
    else if (ask_raylets(owners) && !look_further(owners, query))
        conclude(query, "no process that could be asked says that it owns it",
                 "its owner is not known");
}

/* Fetches the records for the row `created by`. */
static void trace(struct owners *owners, struct query *query)
{
    struct object_origin origin;
    const struct ray_task *task;
    const struct ray_actor *actor;
    enum record_cache_answer known = RECORD_CACHE_NO;
    object_origin_read(&query->finding.id, &origin);
    const char *hinted = record_cache_hinted(owners->records, origin.task_id);
    if (origin.kind == ORIGIN_TASK || origin.kind == ORIGIN_HANDLE)
        known = record_cache_task(owners->records, origin.task_id, &task);
    else if (hinted)
        known = record_cache_task(owners->records, hinted, &task);
    else if (origin.kind == ORIGIN_ACTOR)
        known = record_cache_actor(owners->records, origin.actor_id, &actor);
    query->finding.traced = known != RECORD_CACHE_WAIT;
}

bool owners_outdated(const struct owners *owners)
{
    return owners->came_late != record_cache_came_late(owners->records);
}

/* Restarts the searches that found no owner. */
static void reopen(struct owners *owners)
{
    owners->came_late = record_cache_came_late(owners->records);
    for (size_t i = 0; i < owners->count; i++) {
        struct query *query = owners->queries[i];
        if (!query->finding.done || query->finding.owner != OBJECT_OWNER_UNKNOWN)
            continue;
        drop_candidates(query);
        query->finding.done = query->gathered = false;
    }
}

void owners_advance(struct owners *owners, bool (*is_mine)(void *arg, const struct object_id *id),
                    void *arg)
{
    if (owners_outdated(owners))
        reopen(owners);
    for (size_t i = 0; i < owners->count; i++) {
        struct query *query = owners->queries[i];
        if (!query->finding.traced)
            trace(owners, query);
        if (query->renew)
            enqueue(owners, query, query->owner);
        query->renew = false;
        if (!query->gathered && !query->finding.done) {
            query->mine = is_mine(arg, &query->finding.id);
            query->gathered = owners_gather(owners, query);
        }
        for (size_t known = SIZE_MAX;
             query->gathered && !query->finding.done && known != query->count;) {
            known = query->count;
            go_on(owners, query); /* may add a candidate */
        }
    }
    send_queries(owners);
}
