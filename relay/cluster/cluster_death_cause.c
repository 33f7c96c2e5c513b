/* Finds the death cause of a worker whose debugger is gone, from its record, its node's record and
 * its raylet. */
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/cluster/cluster_state.h"
#include "relay/cluster/record_cache.h"

#include <stdio.h>
#include <stdlib.h>

/* --- answering --- */

/* The sentence for a worker that the cluster does not report as ended: the best other
 * explanation. */
static char *other_facts(const struct death_query *query)
{
    const struct cluster *cluster = query->cluster;
    const struct ray_worker *worker = cluster_view_worker(&cluster->view, query->worker_id);
    const char *ip = worker && !text_empty(worker->ip) ? worker->ip : "its node";
    int64_t silent_s = (loop_now_us() - cluster->silent_us) / 1000000;
    char since[32] = "";
    if (cluster->silent_us && silent_s > 1)
        snprintf(since, sizeof since, " for %lld s", (long long)silent_s);
    if (query->err.code == ERR_UNREACHABLE && cluster->address.kind == CLUSTER_ADDRESS_GCS)
        return mem_format(
            "the cluster %s does not answer%s: Ray ends its workers 60 s after it has "
            "lost its GCS",
            cluster->address.text, since);
    if (query->err.code)
        return mem_format("the cluster cannot be asked why: %s", query->err.what);
    if (!worker)
        return mem_string("the cluster does not know the worker");
    if (query->raylet.code)
        return mem_format("its node does not answer either, though Ray has not declared it dead "
                          "yet: %s",
                          query->raylet.what);
    return mem_format("the cluster says that worker pid %lld on %s lives", (long long)worker->pid,
                      ip);
}

static void tell(struct death_query *query)
{
    struct cluster *cluster = query->cluster;
    LIST_REMOVE(cluster->death_queries, query);
    enum death_kind kind;
    char *sentence = cluster_view_death_cause(&cluster->view, query->worker_id, &kind);
    if (!sentence)
        sentence = other_facts(query);
    if (query->fn)
        query->fn(query->arg, kind, sentence);
    free(sentence);
    free(query);
}

/* --- asking --- */

static void on_raylet(void *arg, const struct err *err, struct ray_node_objects *node)
{
    struct death_query *query = arg;
    if (node)
        ray_node_objects_clear(node);
    if (err)
        query->raylet = *err;
    tell(query);
}

/* A killed raylet stops answering some time before Ray declares its node dead. */
static void ask_raylet(struct death_query *query)
{
    const struct cluster_view *view = &query->cluster->view;
    const struct ray_worker *worker = cluster_view_worker(view, query->worker_id);
    const struct ray_node *node = worker ? cluster_view_node(view, worker->node_id) : NULL;
    struct object_client *raylets = ray_source_quick_objects(query->cluster->source);
    if (!query->thorough || query->err.code || !raylets || !worker || !worker->is_alive || !node ||
        !node->is_alive || !node->manager_port || text_empty(node->ip)) {
        tell(query);
        return;
    }
    char *address = record_cache_address(node->ip, node->manager_port);
    object_client_node(raylets, address, false, on_raylet, query);
    free(address);
}

static void on_nodes(void *arg, const struct err *err, struct ray_node *nodes, size_t count)
{
    struct death_query *query = arg;
    if (err)
        query->err = *err;
    else
        cluster_view_set_nodes(&query->cluster->view, nodes, count);
    cluster_view_bury_workers(&query->cluster->view);
    ask_raylet(query);
}

static void on_worker(void *arg, const struct err *err, struct ray_worker *workers, size_t count)
{
    struct death_query *query = arg;
    struct cluster *cluster = query->cluster;
    cluster_note_answer(cluster, err);
    if (err) {
        query->err = *err;
        tell(query);
        return;
    }
    cluster_view_put_workers(&cluster->view, workers, count);
    const struct ray_worker *worker = cluster_view_worker(&cluster->view, query->worker_id);
    if (worker && worker->is_alive)
        ray_source_nodes(cluster->source, on_nodes, query);
    else
        tell(query);
}

/* After an error, the answer comes from what was known before. */
static void on_refreshed(void *arg, const struct err *err)
{
    const struct cluster *cluster = cluster_checked(arg);
    for (struct death_query *query = cluster->death_queries, *next; query; query = next) {
        next = query->next;
        if (query->single || query->refreshed)
            continue;
        query->refreshed = true;
        if (err)
            query->err = *err;
        ask_raylet(query);
    }
}

bool cluster_is_driver(const struct cluster *cluster, const char *worker_id)
{
    const struct ray_worker *worker = cluster_view_worker(&cluster->view, worker_id);
    return worker && worker->is_driver;
}

void cluster_death_cause(struct cluster *cluster, const char *worker_id, bool thorough,
                         cluster_death_cause_fn fn, void *arg)
{
    struct death_query *query = mem_alloc(sizeof *query);
    *query = (struct death_query){.next = cluster->death_queries,
                                  .cluster = cluster,
                                  .thorough = thorough,
                                  .fn = fn,
                                  .arg = arg};
    text_copy(query->worker_id, sizeof query->worker_id, worker_id);
    query->single = ray_source_tells_single(cluster->source);
    cluster->death_queries = query;
    if (query->single) {
        ray_source_worker(cluster->source, worker_id, on_worker, query);
    } else {
        cluster->nodes_known = false;
        cluster_refresh(cluster, on_refreshed, cluster);
    }
}

void cluster_death_cause_cancel(struct cluster *cluster, const void *arg)
{
    for (struct death_query *query = cluster->death_queries; query; query = query->next)
        if (query->arg == arg)
            query->fn = NULL;
}
