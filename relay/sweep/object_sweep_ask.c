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
struct question {
    struct ask *ask;
    size_t node;
    bool waits;     /* the raylet has yet to answer */
    size_t pending; /* its workers that have yet to answer, if they were asked */
    size_t asked, told;
    struct ray_node_objects answer;
};

/* The request to one worker. */
struct worker_question {
    struct question *node;
};

struct ask {
    struct asking asking;
    struct question *questions; /* one for each node of the sweep */
    size_t question_count;
    struct worker_question *worker_questions;
    struct timer *patience;
    struct err failure; /* a raylet's; the result if no process answers */
    struct ray_actor *actors;
    size_t actor_count;
};

static void clear(struct asking *asking)
{
    struct ask *ask = (struct ask *)asking;
    for (size_t i = 0; i < ask->question_count; i++)
        ray_node_objects_clear(&ask->questions[i].answer);
    free(ask->questions);
    free(ask->worker_questions);
    timer_cancel(&ask->patience);
    ray_actors_free(ask->actors, ask->actor_count);
}

/* --- when all have answered --- */

static int compare_actors(const void *left, const void *right)
{
    const struct ray_actor *a = left, *b = right;
    return strcmp(a->actor_id, b->actor_id);
}

static const struct ray_actor *find_actor(const struct ask *ask, const char *actor_id)
{
    struct ray_actor wanted;
    if (!*actor_id || !ask->actor_count)
        return NULL;
    text_copy(wanted.actor_id, sizeof wanted.actor_id, actor_id);
    return bsearch(&wanted, ask->actors, ask->actor_count, sizeof *ask->actors, compare_actors);
}

static void add_process(struct ask *ask, size_t node, struct ray_worker_objects *worker)
{
    struct object_sweep *sweep = ask->asking.sweep;
    struct object_process *process = &sweep->processes[sweep->process_count++];
    const struct ray_actor *actor = find_actor(ask, worker->actor_id);
    process->node = node;
    process->worker = mem_alloc(sizeof *process->worker);
    *process->worker = *worker;
    *worker = (struct ray_worker_objects){0};
    process->actor_class = mem_string(actor && actor->class_name ? actor->class_name : "");
    process->actor_name = mem_string(actor && actor->name ? actor->name : "");
}

static void join(struct ask *ask)
{
    struct object_sweep *sweep = ask->asking.sweep;
    size_t count = 0;
    for (size_t i = 0; i < sweep->node_count; i++)
        count += ask->questions[i].answer.worker_count;
    sweep->processes = mem_array(count, sizeof *sweep->processes);
    if (ask->actor_count)
        qsort(ask->actors, ask->actor_count, sizeof *ask->actors, compare_actors);
    for (size_t i = 0; i < sweep->node_count; i++) {
        struct ray_node_objects *answer = &ask->questions[i].answer;
        sweep->nodes[i].store = answer->store;
        for (size_t k = 0; k < answer->worker_count; k++)
            add_process(ask, i, &answer->workers[k]);
    }
    object_sweep_join(sweep);
}

static void conclude(struct asking *asking)
{
    struct ask *ask = (struct ask *)asking;
    bool told = !asking->sweep->node_count;
    for (size_t i = 0; i < ask->question_count; i++)
        told |= asking->sweep->nodes[i].asked || ask->questions[i].told;
    if (told)
        join(ask);
    else
        asking_fail(asking, &ask->failure);
}

/* --- raylets --- */

static void note_problem(struct question *question, const char *problem)
{
    struct object_sweep *sweep = question->ask->asking.sweep;
    struct object_node *node = &sweep->nodes[question->node];
    log_info("node %s does not tell of its objects: %s", node->name, problem);
    free(node->problem);
    node->problem = mem_string(problem);
    sweep->unanswered++;
    question->waits = false;
}

static void on_raylet(void *arg, const struct err *err, struct ray_node_objects *answer)
{
    struct question *question = arg;
    struct ask *ask = question->ask;
    char line[sizeof err->what + sizeof err->why];
    if (err) {
        err_line(err, line, sizeof line);
        ask->failure = *err;
        note_problem(question, line);
    } else {
        ray_node_objects_clear(&question->answer);
        question->answer = *answer;
        question->waits = false;
        ask->asking.sweep->nodes[question->node].asked = true;
    }
    asking_answered(&ask->asking);
}

static void ask_raylet(struct ask *ask, size_t index, const struct ray_node *node)
{
    struct question *question = &ask->questions[index];
    *question = (struct question){.ask = ask, .node = index, .waits = true};
    char *address = mem_format(strchr(node->ip ? node->ip : "", ':') ? "[%s]:%u" : "%s:%u",
                               node->ip ? node->ip : "", (unsigned)node->manager_port);
    ask->asking.outstanding++;
    object_client_node(ray_source_objects(sweep_queue_source(ask->asking.queue)), address, true,
                       on_raylet, question);
    free(address);
}

/* --- workers, where a raylet does not answer --- */

/* Ends the wait for the raylet. */
static void give_up(struct question *question)
{
    struct ask *ask = question->ask;
    char text[128];
    if (!question->waits)
        return;
    object_client_forget(ray_source_objects(sweep_queue_source(ask->asking.queue)), question);
    snprintf(text, sizeof text, "its raylet does not answer; %zu of its %zu processes do",
             question->told, question->asked);
    err_set(&ask->failure, ERR_UNREACHABLE, "node %s: %s",
            ask->asking.sweep->nodes[question->node].name, text);
    note_problem(question, text);
    asking_answered(&ask->asking);
}

static void on_worker(void *arg, const struct err *err, struct ray_worker_objects *worker)
{
    struct question *question = ((struct worker_question *)arg)->node;
    struct ray_node_objects *answer = &question->answer;
    struct ask *ask = question->ask;
    if (err) {
        log_info("a worker does not tell of its objects: %s", err->what);
    } else if (ask->asking.sweep->nodes[question->node].asked) {
        ray_worker_objects_clear(worker); /* the raylet has answered meanwhile */
    } else {
        answer->workers =
            mem_resize(answer->workers, answer->worker_count + 1, sizeof *answer->workers);
        answer->workers[answer->worker_count++] = *worker;
        question->told++;
    }
    if (--question->pending == 0)
        give_up(question);
    asking_answered(&ask->asking);
}

static struct question *waiting_for(struct ask *ask, const char *node_id)
{
    for (size_t i = 0; i < ask->question_count; i++)
        if (ask->questions[i].waits && text_equal(ask->asking.sweep->nodes[i].node_id, node_id))
            return &ask->questions[i];
    return NULL;
}

static void ask_worker(struct question *question, const struct ray_worker *worker,
                       struct worker_question *slot)
{
    struct asking *asking = &question->ask->asking;
    char *address = mem_format(strchr(worker->ip, ':') ? "[%s]:%u" : "%s:%u", worker->ip,
                               (unsigned)worker->port);
    slot->node = question;
    question->asked++;
    question->pending++;
    asking->outstanding++;
    object_client_worker(ray_source_quick_objects(sweep_queue_source(asking->queue)), address,
                         worker->worker_id, on_worker, slot);
    free(address);
}

static void on_workers(void *arg, const struct err *err, struct ray_worker *workers, size_t count)
{
    struct ask *ask = arg;
    if (err) {
        log_info("the workers are not known: %s", err->what);
        asking_answered(&ask->asking);
        return;
    }
    ask->worker_questions = mem_array(count, sizeof *ask->worker_questions);
    for (size_t i = 0; i < count; i++) {
        struct question *question =
            workers[i].is_alive && workers[i].port && !text_empty(workers[i].ip)
                ? waiting_for(ask, workers[i].node_id)
                : NULL;
        if (question)
            ask_worker(question, &workers[i], &ask->worker_questions[i]);
    }
    ray_workers_free(workers, count);
    for (size_t i = 0; i < ask->question_count; i++)
        if (!ask->questions[i].pending)
            give_up(&ask->questions[i]);
    asking_answered(&ask->asking);
}

static void on_patience(void *arg)
{
    struct ask *ask = arg;
    bool waits = false;
    ask->patience = NULL;
    for (size_t i = 0; i < ask->question_count; i++)
        waits |= ask->questions[i].waits;
    if (!waits)
        return;
    ask->asking.outstanding++;
    ray_source_workers(sweep_queue_source(ask->asking.queue), on_workers, ask);
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
    struct ask *ask = arg;
    struct object_sweep *sweep = ask->asking.sweep;
    size_t alive = 0;
    if (err) {
        asking_fail(&ask->asking, err);
        asking_answered(&ask->asking);
        return;
    }
    if (count)
        qsort(nodes, count, sizeof *nodes, compare_nodes);
    while (alive < count && nodes[alive].is_alive)
        alive++;
    sweep->nodes = mem_array(alive, sizeof *sweep->nodes);
    ask->questions = mem_array(alive, sizeof *ask->questions);
    sweep->node_count = ask->question_count = alive;
    for (size_t i = 0; i < alive; i++) {
        struct object_node *node = &sweep->nodes[i];
        const char *name = node_name(nodes, alive, &nodes[i]);
        text_copy(node->node_id, sizeof node->node_id, nodes[i].node_id);
        node->ip = mem_string(nodes[i].ip ? nodes[i].ip : "");
        node->name = mem_string(name ? name : "");
        node->problem = mem_string("");
        ask_raylet(ask, i, &nodes[i]);
    }
    ask->patience =
        timer_start(sweep_queue_loop(ask->asking.queue), RAYLET_PATIENCE_MS, on_patience, ask);
    ray_nodes_free(nodes, count);
    asking_answered(&ask->asking);
}

static void on_actors(void *arg, const struct err *err, struct ray_actor *actors, size_t count)
{
    struct ask *ask = arg;
    if (err) {
        log_info("the actors' classes are not known: %s", err->what);
    } else {
        ask->actors = actors;
        ask->actor_count = count;
    }
    asking_answered(&ask->asking);
}

/* The object client learns the version from this answer. An error does not end the sweep. */
static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    struct ask *ask = arg;
    (void)version, (void)ray_version, (void)python_version;
    if (err)
        log_info("the cluster does not say its version: %s", err->what);
    ray_source_nodes(sweep_queue_source(ask->asking.queue), on_nodes, ask);
}

/* --- the public side --- */

static void refuse_dashboard(struct asking *asking, const struct cluster_address *address)
{
    err_set(&asking->err, ERR_USAGE, "a dashboard does not tell of objects");
    err_why(&asking->err, "%s (from %s) is a dashboard's address", address->text, address->source);
    err_hint(&asking->err, "give the address of the cluster's GCS: --address HOST:6379");
}

void object_sweep_ask(struct cluster *cluster, object_sweep_fn fn, void *arg)
{
    struct ask *ask = asking_create(sweep_queue_of(cluster), sizeof *ask, fn, arg);
    struct ray_source *source = cluster_source(cluster);
    ask->asking.conclude = conclude;
    ask->asking.clear = clear;
    ask->asking.own_sweep = true;
    ask->asking.sweep = mem_alloc(sizeof *ask->asking.sweep);
    ask->asking.sweep->taken_ms = wall_clock_ms();
    if (!ray_source_objects(source)) {
        refuse_dashboard(&ask->asking, cluster_address(cluster));
        asking_asked(&ask->asking);
        return;
    }
    ask->asking.outstanding = 2;
    ray_source_version(source, on_version, ask);
    ray_source_actors(source, on_actors, ask);
}

void object_sweep_cancel(struct cluster *cluster, const void *arg)
{
    sweep_queue_cancel(sweep_queue_of(cluster), arg);
}
