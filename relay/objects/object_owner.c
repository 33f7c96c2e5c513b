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
                             const char *worker_id, loop_fn changed, void *arg)
{
    struct owners *owners = mem_alloc(sizeof *owners);
    owners->client = client;
    owners->records = records;
    owners->changed = changed;
    owners->arg = arg;
    text_copy(owners->worker_id, sizeof owners->worker_id, worker_id);
    return owners;
}

static void question_free(struct question *question)
{
    free(question->address);
    free(question->ids);
    free(question);
}

static void location_clear(struct ray_object_location *location)
{
    free(location->node_ids);
    free(location->spilled_url);
    *location = (struct ray_object_location){0};
}

static void drop_candidates(struct search *search)
{
    for (size_t i = 0; i < search->count; i++)
        free(search->candidates[i].address);
    search->count = 0;
}

static void search_free(struct search *search)
{
    location_clear(&search->finding.location);
    drop_candidates(search);
    free(search);
}

void owners_forget(struct owners *owners)
{
    for (struct question *next; owners->questions; owners->questions = next) {
        next = owners->questions->next;
        object_client_forget(owners->client, owners->questions);
        question_free(owners->questions);
    }
    if (owners->client)
        object_client_forget(owners->client, owners);
    for (size_t i = 0; i < owners->count; i++)
        search_free(owners->searches[i]);
    object_id_map_clear(&owners->by_id);
    free(owners->searches);
    owners->searches = NULL;
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

bool owners_want(struct owners *owners, const struct object_id *id)
{
    if (owners->count >= WANTED_MAX || object_id_map_get(&owners->by_id, id))
        return false;
    struct search *search = mem_alloc(sizeof *search);
    search->finding.id = *id;
    owners->searches = mem_resize(owners->searches, owners->count + 1, sizeof(void *));
    owners->searches[owners->count++] = search;
    object_id_map_set(&owners->by_id, id, search);
    return true;
}

const struct finding *owners_at(const struct owners *owners, size_t index)
{
    return index < owners->count ? &owners->searches[index]->finding : NULL;
}

bool owners_settled(const struct owners *owners)
{
    for (size_t i = 0; i < owners->count; i++)
        if (!owners->searches[i]->finding.done || !owners->searches[i]->finding.traced)
            return false;
    return true;
}

const struct finding *owners_find(const struct owners *owners, const struct object_probe *probe)
{
    const struct search *search = object_id_map_find(&owners->by_id, probe);
    return search ? &search->finding : NULL;
}

void owners_renew(struct owners *owners, const struct object_id *id)
{
    struct search *search = object_id_map_get(&owners->by_id, id);
    if (!search || !search->owner || search->owner->state == ASKED)
        return;
    search->renew = true;
    if (search->mine) { /* the worker's own, newer reference counts until then */
        location_clear(&search->finding.location);
        text_copy(search->finding.location_why, sizeof search->finding.location_why,
                  "it is being asked for");
    }
}

static void conclude(struct search *search, const char *owner_why, const char *location_why)
{
    struct finding *finding = &search->finding;
    finding->done = true;
    text_copy(finding->owner_why, sizeof finding->owner_why, owner_why);
    text_copy(finding->location_why, sizeof finding->location_why, location_why);
}

static void set_owner(struct search *search, const struct candidate *candidate)
{
    struct finding *finding = &search->finding;
    finding->owner = candidate->how;
    finding->owner_pid = candidate->pid;
    finding->owner_is_driver = candidate->is_driver;
    text_copy(finding->owner_node, sizeof finding->owner_node, candidate->node_id);
}

void owners_give_up(struct owners *owners, const char *why)
{
    for (size_t i = 0; i < owners->count; i++) {
        struct search *search = owners->searches[i];
        if (!search->finding.done)
            conclude(search, why, why);
        search->finding.traced = true;
    }
}

/* --- asking the candidates --- */

/* Records the candidate's answer; takes over a location that is known. */
static void take(struct owners *owners, const struct question *question,
                 struct ray_object_location *location, const struct err *err)
{
    struct search *search = object_id_map_get(&owners->by_id, &location->id);
    for (size_t i = 0; search && i < search->count; i++) {
        struct candidate *candidate = &search->candidates[i];
        if (candidate->state != ASKED || !text_equal(candidate->worker_id, question->worker_id))
            continue;
        candidate->state = location->known ? TELLS : err ? SILENT : DENIES;
        if (!location->known || (search->finding.done && search->owner != candidate))
            continue;
        set_owner(search, candidate);
        search->owner = candidate;
        location_clear(&search->finding.location);
        search->finding.location = *location;
        search->finding.done = true;
        *location = (struct ray_object_location){0};
        return;
    }
}

static void on_locations(void *arg, const struct err *err, struct ray_object_location *locations,
                         size_t count)
{
    struct question *question = arg, **at;
    struct owners *owners = question->owners;
    for (size_t i = 0; i < question->count; i++) {
        struct ray_object_location none = {.id = question->ids[i]};
        bool told = !err && i < count;
        take(owners, question, told ? &locations[i] : &none, err);
    }
    ray_object_locations_free(locations, count);
    for (at = &owners->questions; *at != question; at = &(*at)->next)
        continue;
    *at = question->next;
    question_free(question);
    owners->changed(owners->arg);
}

static void enqueue(struct owners *owners, const struct search *search, struct candidate *candidate)
{
    struct question *question = owners->building;
    while (question &&
           (question->count == IDS_MAX || !text_equal(question->worker_id, candidate->worker_id)))
        question = question->next;
    if (!question) {
        question = mem_alloc(sizeof *question);
        question->owners = owners;
        question->address = mem_string(candidate->address);
        question->ids = mem_array(IDS_MAX, sizeof *question->ids);
        text_copy(question->worker_id, sizeof question->worker_id, candidate->worker_id);
        question->next = owners->building;
        owners->building = question;
    }
    question->ids[question->count++] = search->finding.id;
    candidate->state = ASKED;
}

static void send_questions(struct owners *owners)
{
    while (owners->building) {
        struct question *question = owners->building;
        owners->building = question->next;
        question->next = owners->questions;
        owners->questions = question;
        object_client_locations(owners->client, question->address, question->worker_id,
                                question->ids, question->count, on_locations, question);
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
        struct search *search =
            ref->status != RAY_TASK_NIL ? object_id_map_get(&owners->by_id, &ref->id) : NULL;
        if (search && !search->finding.done && search->gathered)
            owners_add_process(owners, search, worker);
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

static void blame_silent(struct owners *owners, struct search *search,
                         const struct candidate *silent)
{
    char why[160];
    snprintf(why, sizeof why, "pid %lld@%s does not answer", (long long)silent->pid,
             record_cache_node_name(owners->records, silent->node_id));
    if (search->mine)
        set_owner(search, silent);
    conclude(search, why, why);
}

/* No live candidate owns the object, so the dead one does, or one of several. */
static void blame_dead(struct search *search, const struct candidate *dead, size_t count)
{
    set_owner(search, dead);
    if (count > 1)
        search->finding.owner_pid = 0; /* it is unknown which one */
    conclude(search, "it died, and several processes may have been it",
             dead->how == OBJECT_OWNER_DEAD ? "the owner died" : "the owner's node died");
}

/* The worker listed the object as its own, but has released it since. */
static void blame_itself(struct search *search)
{
    set_owner(search, &search->candidates[0]);
    conclude(search, "", "the worker has let go of it");
}

/* True if there is, or may be, another process to ask. */
static bool look_further(struct owners *owners, struct search *search)
{
    size_t before = search->count;
    if (!owners_guess(owners, search))
        return true;
    return search->count > before;
}

/* Asks the candidates, and concludes when none is left to ask. */
static void go_on(struct owners *owners, struct search *search)
{
    const struct candidate *dead = NULL, *silent = NULL;
    size_t waiting = 0, deads = 0;
    for (size_t i = 0; i < search->count; i++) {
        struct candidate *candidate = &search->candidates[i];
        if (candidate->how != OBJECT_OWNER_ALIVE) {
            deads++;
            dead = candidate;
        } else if (candidate->state == TO_ASK) {
            enqueue(owners, search, candidate);
        }
        waiting += candidate->state == ASKED;
        if (candidate->state == SILENT)
            silent = candidate;
    }
    if (waiting)
        return;
    if (silent)
        blame_silent(owners, search, silent);
    else if (dead)
        blame_dead(search, dead, deads);
    else if (search->mine && search->count)
        blame_itself(search);
    else if (ask_raylets(owners) && !look_further(owners, search))
        conclude(search, "no process that could be asked says that it owns it",
                 "its owner is not known");
}

/* Fetches the records for the row `created by`. */
static void trace(struct owners *owners, struct search *search)
{
    struct object_origin origin;
    const struct ray_task *task;
    const struct ray_actor *actor;
    enum record_cache_answer known = RECORD_CACHE_NO;
    object_origin_read(&search->finding.id, &origin);
    const char *hinted = record_cache_hinted(owners->records, origin.task_id);
    if (origin.kind == ORIGIN_TASK || origin.kind == ORIGIN_HANDLE)
        known = record_cache_task(owners->records, origin.task_id, &task);
    else if (hinted)
        known = record_cache_task(owners->records, hinted, &task);
    else if (origin.kind == ORIGIN_ACTOR)
        known = record_cache_actor(owners->records, origin.actor_id, &actor);
    search->finding.traced = known != RECORD_CACHE_WAIT;
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
        struct search *search = owners->searches[i];
        if (!search->finding.done || search->finding.owner != OBJECT_OWNER_UNKNOWN)
            continue;
        drop_candidates(search);
        search->finding.done = search->gathered = false;
    }
}

void owners_advance(struct owners *owners, bool (*is_mine)(void *arg, const struct object_id *id),
                    void *arg)
{
    if (owners_outdated(owners))
        reopen(owners);
    for (size_t i = 0; i < owners->count; i++) {
        struct search *search = owners->searches[i];
        if (!search->finding.traced)
            trace(owners, search);
        if (search->renew)
            enqueue(owners, search, search->owner);
        search->renew = false;
        if (!search->gathered && !search->finding.done) {
            search->mine = is_mine(arg, &search->finding.id);
            search->gathered = owners_gather(owners, search);
        }
        for (size_t known = SIZE_MAX;
             search->gathered && !search->finding.done && known != search->count;) {
            known = search->count;
            go_on(owners, search); /* may add a candidate */
        }
    }
    send_questions(owners);
}
