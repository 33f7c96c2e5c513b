#include "relay/cluster/record_cache_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct record_cache *record_cache_create(struct loop *loop, struct ray_source *source,
                                         loop_fn changed, void *arg)
{
    struct record_cache *records = mem_alloc(sizeof *records);
    record_cache_set_magic(records);
    records->loop = loop;
    records->source = source;
    records->changed = changed;
    records->arg = arg;
    return records;
}

/* --- answers --- */

enum known record_cache_note(struct record_cache *records, const struct err *err)
{
    if (err)
        text_copy(records->problem, sizeof records->problem, err->what);
    return err ? FAILED : KNOWN;
}

/* Each kind of record begins with its id, and is sorted by it. */
_Static_assert(offsetof(struct ray_worker, worker_id) == 0 &&
                   offsetof(struct ray_node, node_id) == 0 &&
                   offsetof(struct ray_actor, actor_id) == 0 &&
                   offsetof(struct ray_job, job_id) == 0,
               "compare_ids() compares the records' ids");
static int compare_ids(const void *a, const void *b)
{
    return strcmp(a, b);
}

/* A node's name, if `alive` of the nodes with its host name, itself among them, are alive. */
static const char *node_name(const struct ray_node *node, size_t alive)
{
    bool shared = text_empty(node->hostname) || alive > node->is_alive;
    return shared && !text_empty(node->ip) ? node->ip : node->hostname;
}

static int compare_hosts(const void *a, const void *b)
{
    const char *one = (*(const struct ray_node *const *)a)->hostname;
    const char *other = (*(const struct ray_node *const *)b)->hostname;
    return strcmp(one ? one : "", other ? other : "");
}

static void name_nodes(struct record_cache *records)
{
    size_t count = records->node_count, alive, end;
    free(records->node_names);
    records->node_names = NULL;
    if (!count)
        return;
    const struct ray_node **by_host = mem_array(count, sizeof(struct ray_node *));
    records->node_names = mem_array(count, sizeof *records->node_names);
    for (size_t i = 0; i < count; i++)
        by_host[i] = &records->nodes[i];
    qsort(by_host, count, sizeof(const struct ray_node *), compare_hosts);
    for (size_t at = 0; at < count; at = end) {
        for (alive = 0, end = at; end < count && !compare_hosts(&by_host[end], &by_host[at]); end++)
            alive += by_host[end]->is_alive;
        for (size_t i = at; i < end; i++)
            records->node_names[by_host[i] - records->nodes] = node_name(by_host[i], alive);
    }
    free(by_host);
}

static void rename_nodes(struct record_cache *records)
{
    name_nodes(records);
    for (struct named_node *node = records->named_nodes; node; node = node->next)
        node->name = record_cache_node_name(records, node->node_id);
}

static void name_nothing(struct record_cache *records)
{
    (void)records;
}

#define TAKE(name, type, list, counter, known, name_them)                                          \
    static void name(void *arg, const struct err *err, struct type *items, size_t count)           \
    {                                                                                              \
        struct record_cache *records = record_cache_checked(arg);                                  \
        records->known = record_cache_note(records, err);                                          \
        if (!err) {                                                                                \
            type##s_free(records->list, records->counter);                                         \
            records->list = items;                                                                 \
            records->counter = count;                                                              \
            if (count)                                                                             \
                qsort(items, count, sizeof *items, compare_ids);                                   \
            name_them(records);                                                                    \
        }                                                                                          \
        records->changed(records->arg);                                                            \
    }

TAKE(on_workers, ray_worker, workers, worker_count, workers_known, name_nothing)
TAKE(on_nodes, ray_node, nodes, node_count, nodes_known, rename_nodes)
TAKE(on_actors, ray_actor, actors, actor_count, actors_known, name_nothing)
TAKE(on_jobs, ray_job, jobs, job_count, jobs_known, name_nothing)

/* --- the version --- */

static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    struct record_cache *records = record_cache_checked(arg);
    (void)version, (void)ray_version, (void)python_version;
    records->version_known = record_cache_note(records, err);
    record_cache_ask_tasks(records);
}

void record_cache_ask_version(struct record_cache *records)
{
    bool old = records->version_known == KNOWN && ray_source_version_is_old(records->source);
    if (records->version_known != UNASKED && !old)
        return;
    records->version_known = ASKING;
    ray_source_version(records->source, on_version, records);
}

/* --- workers, nodes, actors, jobs --- */

/* Asks if UNASKED, and returns from the caller unless there is an answer. */
#define ASK(records, what)                                                                         \
    do {                                                                                           \
        if ((records)->what##_known == UNASKED) {                                                  \
            (records)->what##_known = ASKING;                                                      \
            ray_source_##what((records)->source, on_##what, records);                              \
        }                                                                                          \
        if ((records)->what##_known == ASKING)                                                     \
            return RECORD_CACHE_WAIT;                                                              \
        if ((records)->what##_known == FAILED)                                                     \
            return RECORD_CACHE_NO;                                                                \
    } while (0)

/* The record with the id, or NULL. */
#define FIND(records, counter, id)                                                                 \
    (*(id) && (counter) ? bsearch(id, records, counter, sizeof *(records), compare_ids) : NULL)

enum record_cache_answer record_cache_worker(struct record_cache *records, const char *worker_id,
                                             const struct ray_worker **out)
{
    record_cache_ask_version(records);
    ASK(records, workers);
    *out = FIND(records->workers, records->worker_count, worker_id);
    return *out ? RECORD_CACHE_YES : RECORD_CACHE_NO;
}

static enum record_cache_answer wait_for_workers(struct record_cache *records)
{
    ASK(records, workers);
    return RECORD_CACHE_YES;
}

enum record_cache_answer record_cache_node(struct record_cache *records, const char *node_id,
                                           const struct ray_node **out)
{
    ASK(records, nodes);
    *out = FIND(records->nodes, records->node_count, node_id);
    return *out ? RECORD_CACHE_YES : RECORD_CACHE_NO;
}

enum record_cache_answer record_cache_nodes(struct record_cache *records,
                                            const struct ray_node **out, size_t *count)
{
    ASK(records, nodes);
    *out = records->nodes;
    *count = records->node_count;
    return RECORD_CACHE_YES;
}

const struct ray_actor *record_cache_known_actor(const struct record_cache *records,
                                                 const char *actor_id)
{
    return FIND(records->actors, records->actor_count, actor_id);
}

enum record_cache_answer record_cache_actor(struct record_cache *records, const char *actor_id,
                                            const struct ray_actor **out)
{
    ASK(records, actors);
    *out = record_cache_known_actor(records, actor_id);
    return *out ? RECORD_CACHE_YES : RECORD_CACHE_NO;
}

enum record_cache_answer record_cache_actor_process(struct record_cache *records,
                                                    const char *actor_id,
                                                    const struct ray_worker **out)
{
    const struct ray_actor *actor;
    enum record_cache_answer workers = wait_for_workers(records);
    enum record_cache_answer found = record_cache_actor(records, actor_id, &actor);
    if (found != RECORD_CACHE_YES || workers != RECORD_CACHE_YES)
        return found == RECORD_CACHE_WAIT || workers == RECORD_CACHE_WAIT ? RECORD_CACHE_WAIT
                                                                          : RECORD_CACHE_NO;
    for (size_t i = 0; i < records->worker_count; i++) {
        *out = &records->workers[i];
        if ((*out)->pid == actor->pid && text_equal((*out)->node_id, actor->node_id))
            return RECORD_CACHE_YES;
    }
    return RECORD_CACHE_NO;
}

static enum record_cache_answer find_job(struct record_cache *records, const char *job_id,
                                         const struct ray_job **out)
{
    ASK(records, jobs);
    *out = FIND(records->jobs, records->job_count, job_id);
    return *out ? RECORD_CACHE_YES : RECORD_CACHE_NO;
}

enum record_cache_answer record_cache_driver(struct record_cache *records, const char *job_id,
                                             const struct ray_worker **out)
{
    const struct ray_job *job = NULL;
    enum record_cache_answer workers = wait_for_workers(records);
    enum record_cache_answer found = find_job(records, job_id, &job);
    if (found != RECORD_CACHE_YES || workers != RECORD_CACHE_YES)
        return found == RECORD_CACHE_WAIT || workers == RECORD_CACHE_WAIT ? RECORD_CACHE_WAIT
                                                                          : RECORD_CACHE_NO;
    for (size_t i = 0; i < records->worker_count; i++) {
        *out = &records->workers[i];
        if ((*out)->is_driver && (*out)->pid == job->driver_pid &&
            text_equal((*out)->ip, job->driver_ip))
            return RECORD_CACHE_YES;
    }
    return RECORD_CACHE_NO;
}

/* --- names --- */

const char *record_cache_node_name(const struct record_cache *records, const char *node_id)
{
    const struct ray_node *node = FIND(records->nodes, records->node_count, node_id);
    return node ? records->node_names[node - records->nodes] : node_id;
}

const struct named_node *record_cache_named_node(struct record_cache *records, const char *node_id)
{
    struct named_node *node = records->named_nodes;
    while (node && !text_equal(node->node_id, node_id))
        node = node->next;
    if (node)
        return node;
    node = mem_alloc(sizeof *node);
    text_copy(node->node_id, sizeof node->node_id, node_id);
    node->name = record_cache_node_name(records, node->node_id);
    node->next = records->named_nodes;
    records->named_nodes = node;
    return node;
}

char *record_cache_address(const char *ip, uint16_t port)
{
    if (text_empty(ip) || !port)
        return NULL;
    return text_join_host_port(ip, port);
}

const char *record_cache_problem(const struct record_cache *records)
{
    return records->problem;
}

/* --- renewal --- */

static enum known renewed(enum known known)
{
    return known == ASKING ? ASKING : UNASKED;
}

void record_cache_renew(struct record_cache *records)
{
    records->workers_known = renewed(records->workers_known);
    records->nodes_known = renewed(records->nodes_known);
    records->actors_known = renewed(records->actors_known);
    records->jobs_known = renewed(records->jobs_known);
    records->problem[0] = '\0';
    record_cache_renew_tasks(records);
    /* Freed now: a cache may hold thousands, and each of thousands of debuggees has one. */
    ray_workers_free(records->workers, records->worker_count);
    ray_actors_free(records->actors, records->actor_count);
    records->workers = NULL;
    records->actors = NULL;
    records->worker_count = records->actor_count = 0;
}

void record_cache_destroy(struct record_cache **records)
{
    struct record_cache *it = *records;
    if (!it)
        return;
    *records = NULL;
    ray_source_kv_forget(it->source, it);
    record_cache_drop_tasks(it);
    ray_workers_free(it->workers, it->worker_count);
    ray_nodes_free(it->nodes, it->node_count);
    free(it->node_names);
    for (struct named_node *next; it->named_nodes; it->named_nodes = next) {
        next = it->named_nodes->next;
        free(it->named_nodes);
    }
    ray_actors_free(it->actors, it->actor_count);
    ray_jobs_free(it->jobs, it->job_count);
    record_cache_clear_magic(it);
    free(it);
}
