/* Asks where the objects of some rows of a sweep are. */
#include "relay/sweep/object_sweep.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/object_client.h"
#include "relay/sweep/sweep_queue.h"

#include <stdlib.h>
#include <string.h>

/* An object and the process that owns it. */
struct wanted {
    struct object_id id;
    int32_t owner;
};

/* One owner's objects. */
struct owner_query {
    struct locate *locate;
    struct object_id *ids;
    size_t count;
};

struct locate {
    struct sweep_request request;
    struct owner_query *queries;
    size_t query_count;
    struct ray_object_location *found;
    size_t found_count;
};

static void clear_locate(struct sweep_request *request)
{
    struct locate *locate = (struct locate *)request;
    for (size_t i = 0; i < locate->query_count; i++)
        free(locate->queries[i].ids);
    free(locate->queries);
    ray_object_locations_free(locate->found, locate->found_count);
}

static int compare_by_id(const void *left, const void *right)
{
    const struct wanted *a = left, *b = right;
    return memcmp(a->id.bytes, b->id.bytes, sizeof a->id.bytes);
}

static int compare_by_owner(const void *left, const void *right)
{
    const struct wanted *a = left, *b = right;
    if (a->owner != b->owner)
        return a->owner < b->owner ? -1 : 1;
    return compare_by_id(a, b);
}

/* The objects with a known owner and no location yet, each once, sorted by owner. Rows come in any
 * order, the important ones first. */
static struct wanted *choose_objects(const struct object_sweep *sweep,
                                     const struct object_row *const *rows, size_t count,
                                     size_t *out)
{
    size_t limit = count < OBJECT_LOCATE_LIMIT ? count : OBJECT_LOCATE_LIMIT, chosen = 0;
    struct wanted *wanted = mem_array(limit, sizeof *wanted);
    for (size_t i = 0; i < count && chosen < limit; i++)
        if (rows[i]->owner >= 0 && !object_sweep_location(sweep, &rows[i]->ref->id))
            wanted[chosen++] = (struct wanted){rows[i]->ref->id, rows[i]->owner};
    qsort(wanted, chosen, sizeof *wanted, compare_by_owner);
    *out = 0;
    for (size_t i = 0; i < chosen; i++)
        if (!*out || compare_by_owner(&wanted[*out - 1], &wanted[i]))
            wanted[(*out)++] = wanted[i];
    return wanted;
}

static int compare_locations(const void *left, const void *right)
{
    const struct ray_object_location *a = left, *b = right;
    return memcmp(a->id.bytes, b->id.bytes, sizeof a->id.bytes);
}

/* Moves the locations into the sweep, which has none of them. */
static void conclude(struct sweep_request *request)
{
    struct locate *locate = (struct locate *)request;
    struct object_sweep *sweep = request->sweep;
    size_t count = sweep->location_count + locate->found_count;
    if (!locate->found_count)
        return;
    sweep->locations = mem_resize(sweep->locations, count, sizeof *sweep->locations);
    memcpy(sweep->locations + sweep->location_count, locate->found,
           locate->found_count * sizeof *locate->found);
    sweep->location_count = count;
    qsort(sweep->locations, count, sizeof *sweep->locations, compare_locations);
    free(locate->found);
    locate->found = NULL;
    locate->found_count = 0;
}

static void on_locations(void *arg, const struct err *err, struct ray_object_location *locations,
                         size_t count)
{
    struct owner_query *query = arg;
    struct locate *locate = query->locate;
    if (err) {
        log_info("an owner does not say where its objects are: %s", err->what);
    } else if (count) {
        locate->found =
            mem_resize(locate->found, locate->found_count + count, sizeof *locate->found);
        memcpy(locate->found + locate->found_count, locations, count * sizeof *locations);
        locate->found_count += count;
    }
    if (!err)
        free(locations);
    sweep_request_answered(&locate->request);
}

static void ask_owner(struct locate *locate, const struct wanted *wanted, size_t count)
{
    const struct ray_worker_objects *owner = locate->request.sweep->processes[wanted->owner].worker;
    struct owner_query *query = &locate->queries[locate->query_count++];
    if (!owner->port || text_empty(owner->ip))
        return;
    *query = (struct owner_query){locate, mem_array(count, sizeof *query->ids), count};
    for (size_t i = 0; i < count; i++)
        query->ids[i] = wanted[i].id;
    char *address = text_join_host_port(owner->ip, owner->port);
    locate->request.outstanding++;
    object_client_locations(ray_source_objects(sweep_queue_source(locate->request.queue)), address,
                            owner->worker_id, query->ids, count, on_locations, query);
    free(address);
}

void object_sweep_locate(struct cluster *cluster, struct object_sweep *sweep,
                         const struct object_row *const *rows, size_t count, object_sweep_fn fn,
                         void *arg)
{
    struct locate *locate = sweep_request_create(sweep_queue_of(cluster), sizeof *locate, fn, arg);
    size_t chosen = 0;
    struct wanted *wanted = NULL;
    locate->request.conclude = conclude;
    locate->request.clear = clear_locate;
    locate->request.sweep = sweep;
    if (ray_source_objects(cluster_source(cluster)))
        wanted = choose_objects(sweep, rows, count, &chosen);
    locate->queries = mem_array(chosen, sizeof *locate->queries);
    for (size_t first = 0, end; first < chosen; first = end) {
        for (end = first; end < chosen && wanted[end].owner == wanted[first].owner;)
            end++;
        ask_owner(locate, wanted + first, end - first);
    }
    free(wanted);
    sweep_request_sent(&locate->request);
}
