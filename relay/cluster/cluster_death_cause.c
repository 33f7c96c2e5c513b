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
static char *other_facts(const struct death_question *question)
{
    const struct cluster *cluster = question->cluster;
    const struct ray_worker *worker = cluster_view_worker(&cluster->view, question->worker_id);
    const char *ip = worker && !text_empty(worker->ip) ? worker->ip : "its node";
    int64_t silent_s = (loop_now_us() - cluster->silent_us) / 1000000;
    char since[32] = "";
    if (cluster->silent_us && silent_s > 1)
        snprintf(since, sizeof since, " for %lld s", (long long)silent_s);
    if (question->err.code == ERR_UNREACHABLE && cluster->address.kind == CLUSTER_ADDRESS_GCS)
        return mem_format(
            "the cluster %s does not answer%s: Ray ends its workers 60 s after it has "
            "lost its GCS",
            cluster->address.text, since);
    if (question->err.code)
        return mem_format("the cluster cannot be asked why: %s", question->err.what);
    if (!worker)
        return mem_string("the cluster does not know the worker");
    if (question->raylet.code)
        return mem_format("its node does not answer either, though Ray has not declared it dead "
                          "yet: %s",
                          question->raylet.what);
    return mem_format("the cluster says that worker pid %lld on %s lives", (long long)worker->pid,
                      ip);
}

static void tell(struct death_question *question)
{
    struct cluster *cluster = question->cluster;
    LIST_REMOVE(cluster->death_questions, question);
    enum death_kind kind;
    char *sentence = cluster_view_death_cause(&cluster->view, question->worker_id, &kind);
    if (!sentence)
        sentence = other_facts(question);
    if (question->fn)
        question->fn(question->arg, kind, sentence);
    free(sentence);
    free(question);
}

/* --- asking --- */

static void on_raylet(void *arg, const struct err *err, struct ray_node_objects *node)
{
    struct death_question *question = arg;
    if (node)
        ray_node_objects_clear(node);
    if (err)
        question->raylet = *err;
    tell(question);
}

/* A killed raylet stops answering some time before Ray declares its node dead. */
static void ask_raylet(struct death_question *question)
{
    const struct cluster_view *view = &question->cluster->view;
    const struct ray_worker *worker = cluster_view_worker(view, question->worker_id);
    const struct ray_node *node = worker ? cluster_view_node(view, worker->node_id) : NULL;
    struct object_client *raylets = ray_source_quick_objects(question->cluster->source);
    if (!question->thorough || question->err.code || !raylets || !worker || !worker->is_alive ||
        !node || !node->is_alive || !node->manager_port || text_empty(node->ip)) {
        tell(question);
        return;
    }
    char *address = record_cache_address(node->ip, node->manager_port);
    object_client_node(raylets, address, false, on_raylet, question);
    free(address);
}

static void on_nodes(void *arg, const struct err *err, struct ray_node *nodes, size_t count)
{
    struct death_question *question = arg;
    if (err)
        question->err = *err;
    else
        cluster_view_set_nodes(&question->cluster->view, nodes, count);
    cluster_view_bury_workers(&question->cluster->view);
    ask_raylet(question);
}

static void on_worker(void *arg, const struct err *err, struct ray_worker *workers, size_t count)
{
    struct death_question *question = arg;
    struct cluster *cluster = question->cluster;
    cluster_note_answer(cluster, err);
    if (err) {
        question->err = *err;
        tell(question);
        return;
    }
    cluster_view_put_workers(&cluster->view, workers, count);
    const struct ray_worker *worker = cluster_view_worker(&cluster->view, question->worker_id);
    if (worker && worker->is_alive)
        ray_source_nodes(cluster->source, on_nodes, question);
    else
        tell(question);
}

/* After an error, the answer comes from what was known before. */
static void on_refreshed(void *arg, const struct err *err)
{
    const struct cluster *cluster = cluster_checked(arg);
    for (struct death_question *question = cluster->death_questions, *next; question;
         question = next) {
        next = question->next;
        if (question->single || question->refreshed)
            continue;
        question->refreshed = true;
        if (err)
            question->err = *err;
        ask_raylet(question);
    }
}

void cluster_death_cause(struct cluster *cluster, const char *worker_id, bool thorough,
                         cluster_death_cause_fn fn, void *arg)
{
    struct death_question *question = mem_alloc(sizeof *question);
    *question = (struct death_question){.next = cluster->death_questions,
                                        .cluster = cluster,
                                        .thorough = thorough,
                                        .fn = fn,
                                        .arg = arg};
    text_copy(question->worker_id, sizeof question->worker_id, worker_id);
    question->single = ray_source_tells_single(cluster->source);
    cluster->death_questions = question;
    if (question->single) {
        ray_source_worker(cluster->source, worker_id, on_worker, question);
    } else {
        cluster->nodes_known = false;
        cluster_refresh(cluster, on_refreshed, cluster);
    }
}

void cluster_death_cause_cancel(struct cluster *cluster, const void *arg)
{
    for (struct death_question *question = cluster->death_questions; question;
         question = question->next)
        if (question->arg == arg)
            question->fn = NULL;
}
