/* Takes a sweep: asks the GCS for nodes and actors, then all raylets at once.
 *
 * A raylet asks its workers and waits for all of them: a stopped one (by a signal, by gdb) keeps it
 * from answering. Then its workers are asked one by one. */
#include "relay/sweep/object_sweep.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/wall_clock.h"
#include "proto/object_client.h"
#include "relay/sweep/sweep_queue.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RAYLET_PATIENCE_MS = 3000 };

/* The request to one raylet, or to its workers instead. */
struct node_query {
    struct sweep_run *run;
    size_t node;
    bool waits;     /* the raylet has yet to answer */
    size_t pending; /* its workers that have yet to answer, if they were asked */
    size_t asked, told;
    struct ray_node_objects answer;
};

/* The request to one worker. */
struct worker_query {
    struct node_query *node;
};

struct sweep_run {
    struct sweep_request request;
    struct node_query *node_queries; /* one for each node of the sweep */
    size_t node_query_count;
    struct worker_query *worker_queries;
    struct timer *patience;
    struct err failure; /* a raylet's; the result if no process answers */
    struct ray_actor *actors;
    size_t actor_count;
};

static void clear(struct sweep_request *request)
{
    struct sweep_run *run = (struct sweep_run *)request;
    for (size_t i = 0; i < run->node_query_count; i++)
        ray_node_objects_clear(&run->node_queries[i].answer);
    free(run->node_queries);
    free(run->worker_queries);
    timer_cancel(&run->patience);
    ray_actors_free(run->actors, run->actor_count);
}

/* --- when all have answered --- */

static int compare_actors(const void *left, const void *right)
{
    const struct ray_actor *a = left, *b = right;
    return strcmp(a->actor_id, b->actor_id);
}

static const struct ray_actor *find_actor(const struct sweep_run *run, const char *actor_id)
{
    struct ray_actor wanted;
    if (!*actor_id || !run->actor_count)
        return NULL;
    text_copy(wanted.actor_id, sizeof wanted.actor_id, actor_id);
    return bsearch(&wanted, run->actors, run->actor_count, sizeof *run->actors, compare_actors);
}

static void add_process(struct sweep_run *run, size_t node, struct ray_worker_objects *worker)
{
    struct object_sweep *sweep = run->request.sweep;
    struct object_process *process = &sweep->processes[sweep->process_count++];
    const struct ray_actor *actor = find_actor(run, worker->actor_id);
    process->node = node;
    process->worker = mem_alloc(sizeof *process->worker);
    *process->worker = *worker;
    *worker = (struct ray_worker_objects){0};
    process->actor_class = mem_string(actor && actor->class_name ? actor->class_name : "");
    process->actor_name = mem_string(actor && actor->name ? actor->name : "");
}

static void join(struct sweep_run *run)
{
    struct object_sweep *sweep = run->request.sweep;
    size_t count = 0;
    for (size_t i = 0; i < sweep->node_count; i++)
        count += run->node_queries[i].answer.worker_count;
    sweep->processes = mem_array(count, sizeof *sweep->processes);
    if (run->actor_count)
        qsort(run->actors, run->actor_count, sizeof *run->actors, compare_actors);
    for (size_t i = 0; i < sweep->node_count; i++) {
        struct ray_node_objects *answer = &run->node_queries[i].answer;
        sweep->nodes[i].store = answer->store;
        for (size_t k = 0; k < answer->worker_count; k++)
            add_process(run, i, &answer->workers[k]);
    }
    object_sweep_join(sweep);
}

static void conclude(struct sweep_request *request)
{
    struct sweep_run *run = (struct sweep_run *)request;
    bool told = !request->sweep->node_count;
    for (size_t i = 0; i < run->node_query_count; i++)
        told |= request->sweep->nodes[i].asked || run->node_queries[i].told;
    if (told)
        join(run);
    else
        sweep_request_fail(request, &run->failure);
}

/* --- raylets --- */

static void note_problem(struct node_query *node_query, const char *problem)
{
    struct object_sweep *sweep = node_query->run->request.sweep;
    struct object_node *node = &sweep->nodes[node_query->node];
    log_info("node %s does not tell of its objects: %s", node->name, problem);
    free(node->problem);
    node->problem = mem_string(problem);
    sweep->unanswered++;
    node_query->waits = false;
}

static void on_raylet(void *arg, const struct err *err, struct ray_node_objects *answer)
{
    struct node_query *node_query = arg;
    struct sweep_run *run = node_query->run;
    char line[sizeof err->what + sizeof err->why];
    if (err) {
        err_line(err, line, sizeof line);
        run->failure = *err;
        note_problem(node_query, line);
    } else {
        ray_node_objects_clear(&node_query->answer);
        node_query->answer = *answer;
        node_query->waits = false;
        run->request.sweep->nodes[node_query->node].asked = true;
    }
    sweep_request_answered(&run->request);
}

static void query_raylet(struct sweep_run *run, size_t index, const struct ray_node *node)
{
    struct node_query *node_query = &run->node_queries[index];
    *node_query = (struct node_query){.run = run, .node = index, .waits = true};
    char *address = text_join_host_port(node->ip ? node->ip : "", node->manager_port);
    run->request.outstanding++;
    object_client_node(ray_source_objects(sweep_queue_source(run->request.queue)), address, true,
                       on_raylet, node_query);
    free(address);
}

/* --- workers, where a raylet does not answer --- */

/* Ends the wait for the raylet. */
static void give_up(struct node_query *node_query)
{
    struct sweep_run *run = node_query->run;
    char text[128];
    if (!node_query->waits)
        return;
    object_client_forget(ray_source_objects(sweep_queue_source(run->request.queue)), node_query);
    snprintf(text, sizeof text, "its raylet does not answer; %zu of its %zu processes do",
             node_query->told, node_query->asked);
    err_set(&run->failure, ERR_UNREACHABLE, "node %s: %s",
            run->request.sweep->nodes[node_query->node].name, text);
    note_problem(node_query, text);
    sweep_request_answered(&run->request);
}

static void on_worker(void *arg, const struct err *err, struct ray_worker_objects *worker)
{
    struct node_query *node_query = ((struct worker_query *)arg)->node;
    struct ray_node_objects *answer = &node_query->answer;
    struct sweep_run *run = node_query->run;
    if (err) {
        log_info("a worker does not tell of its objects: %s", err->what);
    } else if (run->request.sweep->nodes[node_query->node].asked) {
        ray_worker_objects_clear(worker); /* the raylet has answered meanwhile */
    } else {
        answer->workers =
            mem_resize(answer->workers, answer->worker_count + 1, sizeof *answer->workers);
        answer->workers[answer->worker_count++] = *worker;
        node_query->told++;
    }
    if (--node_query->pending == 0)
        give_up(node_query);
    sweep_request_answered(&run->request);
}

static struct node_query *waiting_for(struct sweep_run *run, const char *node_id)
{
    for (size_t i = 0; i < run->node_query_count; i++)
        if (run->node_queries[i].waits && text_equal(run->request.sweep->nodes[i].node_id, node_id))
            return &run->node_queries[i];
    return NULL;
}

static void query_worker(struct node_query *node_query, const struct ray_worker *worker,
                         struct worker_query *slot)
{
    struct sweep_request *request = &node_query->run->request;
    char *address = text_join_host_port(worker->ip, worker->port);
    slot->node = node_query;
    node_query->asked++;
    node_query->pending++;
    request->outstanding++;
    object_client_worker(ray_source_quick_objects(sweep_queue_source(request->queue)), address,
                         worker->worker_id, on_worker, slot);
    free(address);
}

static void on_workers(void *arg, const struct err *err, struct ray_worker *workers, size_t count)
{
    struct sweep_run *run = arg;
    if (err) {
        log_info("the workers are not known: %s", err->what);
        sweep_request_answered(&run->request);
        return;
    }
    run->worker_queries = mem_array(count, sizeof *run->worker_queries);
    for (size_t i = 0; i < count; i++) {
        struct node_query *node_query =
            workers[i].is_alive && workers[i].port && !text_empty(workers[i].ip)
                ? waiting_for(run, workers[i].node_id)
                : NULL;
        if (node_query)
            query_worker(node_query, &workers[i], &run->worker_queries[i]);
    }
    ray_workers_free(workers, count);
    for (size_t i = 0; i < run->node_query_count; i++)
        if (!run->node_queries[i].pending)
            give_up(&run->node_queries[i]);
    sweep_request_answered(&run->request);
}

static void on_patience(void *arg)
{
    struct sweep_run *run = arg;
    bool waits = false;
    run->patience = NULL;
    for (size_t i = 0; i < run->node_query_count; i++)
        waits |= run->node_queries[i].waits;
    if (!waits)
        return;
    run->request.outstanding++;
    ray_source_workers(sweep_queue_source(run->request.queue), on_workers, run);
}

/* --- nodes --- */

static int compare_nodes(const void *left, const void *right)
{
    const struct ray_node *a = left, *b = right;
    if (a->is_alive != b->is_alive)
        return a->is_alive ? -1 : 1;
    if (a->is_head != b->is_head)
        return a->is_head ? -1 : 1;
    int order = strcmp(a->ip ? a->ip : "", b->ip ? b->ip : "");
    return order ? order : strcmp(a->node_id, b->node_id);
}

/* Several nodes on one machine share its host name: their ip tells them apart. */
static const char *node_name(const struct ray_node *nodes, size_t alive,
                             const struct ray_node *node)
{
    size_t same = 0;
    for (size_t i = 0; i < alive; i++)
        same += text_equal(nodes[i].hostname, node->hostname);
    return same > 1 || text_empty(node->hostname) ? node->ip : node->hostname;
}

static void on_nodes(void *arg, const struct err *err, struct ray_node *nodes, size_t count)
{
    struct sweep_run *run = arg;
    struct object_sweep *sweep = run->request.sweep;
    size_t alive = 0;
    if (err) {
        sweep_request_fail(&run->request, err);
        sweep_request_answered(&run->request);
        return;
    }
    if (count)
        qsort(nodes, count, sizeof *nodes, compare_nodes);
    while (alive < count && nodes[alive].is_alive)
        alive++;
    sweep->nodes = mem_array(alive, sizeof *sweep->nodes);
    run->node_queries = mem_array(alive, sizeof *run->node_queries);
    sweep->node_count = run->node_query_count = alive;
    for (size_t i = 0; i < alive; i++) {
        struct object_node *node = &sweep->nodes[i];
        const char *name = node_name(nodes, alive, &nodes[i]);
        text_copy(node->node_id, sizeof node->node_id, nodes[i].node_id);
        node->ip = mem_string(nodes[i].ip ? nodes[i].ip : "");
        node->name = mem_string(name ? name : "");
        node->problem = mem_string("");
        query_raylet(run, i, &nodes[i]);
    }
    run->patience =
        timer_start(sweep_queue_loop(run->request.queue), RAYLET_PATIENCE_MS, on_patience, run);
    ray_nodes_free(nodes, count);
    sweep_request_answered(&run->request);
}

static void on_actors(void *arg, const struct err *err, struct ray_actor *actors, size_t count)
{
    struct sweep_run *run = arg;
    if (err) {
        log_info("the actors' classes are not known: %s", err->what);
    } else {
        run->actors = actors;
        run->actor_count = count;
    }
    sweep_request_answered(&run->request);
}

/* The object client learns the version from this answer. An error does not end the sweep. */
static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    struct sweep_run *run = arg;
    (void)version, (void)ray_version, (void)python_version;
    if (err)
        log_info("the cluster does not say its version: %s", err->what);
    ray_source_nodes(sweep_queue_source(run->request.queue), on_nodes, run);
}

/* --- the public side --- */

static void refuse_dashboard(struct sweep_request *request, const struct cluster_address *address)
{
    err_set(&request->err, ERR_USAGE, "a dashboard does not tell of objects");
    err_why(&request->err, "%s (from %s) is a dashboard's address", address->text, address->source);
    err_hint(&request->err, "give the address of the cluster's GCS: --address HOST:6379");
}

void object_sweep_take(struct cluster *cluster, object_sweep_fn fn, void *arg)
{
    struct sweep_run *run = sweep_request_create(sweep_queue_of(cluster), sizeof *run, fn, arg);
    struct ray_source *source = cluster_source(cluster);
    run->request.conclude = conclude;
    run->request.clear = clear;
    run->request.own_sweep = true;
    run->request.sweep = mem_alloc(sizeof *run->request.sweep);
    run->request.sweep->taken_ms = wall_clock_ms();
    if (!ray_source_objects(source)) {
        refuse_dashboard(&run->request, cluster_address(cluster));
        sweep_request_sent(&run->request);
        return;
    }
    run->request.outstanding = 2;
    ray_source_version(source, on_version, run);
    ray_source_actors(source, on_actors, run);
}

void object_sweep_cancel(struct cluster *cluster, const void *arg)
{
    sweep_queue_cancel(sweep_queue_of(cluster), arg);
}
