/* A cluster for relay/objects/worker_objects.c: what it asks is counted, and answered from the
 * tables below when the loop runs; what is in `mute` is never answered. It stands in for
 * relay/cluster/cluster.c, relay/cluster/ray_source.c and proto/object_client.c. */
#ifndef RAYDBG_TESTS_OBJECTS_FIXTURE_H
#define RAYDBG_TESTS_OBJECTS_FIXTURE_H

#include "sample_ids.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/object_client.h"
#include "relay/cluster/cluster.h"
#include "relay/cluster/ray_source.h"
#include "relay/io/loop.h"
#include "relay/objects/worker_objects.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum asked {
    VERSION,
    WORKERS,
    NODES,
    ACTORS,
    JOBS,
    TASK,
    WORKER,
    NODE,
    REFS_OF_NODE,
    LOCATIONS,
    ASKED
};

struct question {
    struct question *next;
    enum asked what;
    struct timer *timer;
    union {
        gcs_version_fn version;
        gcs_workers_fn workers;
        gcs_nodes_fn nodes;
        gcs_actors_fn actors;
        gcs_jobs_fn jobs;
        gcs_tasks_fn tasks;
        object_worker_fn worker;
        object_node_fn node;
        object_locations_fn locations;
    } fn;
    void *arg;
    char id[64], address[64];
    struct object_id *ids;
    size_t count;
};

static struct world {
    struct loop *loop;
    struct question *questions;
    size_t asked[ASKED];          /* how often */
    size_t waiting, most_waiting; /* questions to the worker */
    bool mute[ASKED];
    struct err fails; /* of the worker's answer */
    const struct ray_worker *workers;
    const struct ray_node *nodes;
    const struct ray_task *tasks;
    const struct ray_actor *actors;
    const struct ray_job *jobs;
    size_t worker_count, node_count, task_count, actor_count, job_count;
    const struct ray_object_ref *refs; /* of the worker */
    size_t ref_count;
    const struct ray_worker_objects *others; /* what the raylets say of other processes */
    size_t other_count;
    const struct ray_object_location *locations; /* what any process says, if it knows the id */
    size_t location_count;
    char located[512]; /* "ADDRESS " of each who was asked for locations, in their order */
    struct pause_list pauses;
    bool dashboard;
    bool version_is_old; /* until it is told */
} world;

#define COUNT(array) (sizeof(array) / sizeof *(array))

static void question_free(struct question *question)
{
    struct question **at = &world.questions;
    while (*at != question)
        at = &(*at)->next;
    *at = question->next;
    world.waiting -= question->what == WORKER;
    timer_cancel(&question->timer);
    free(question->ids);
    free(question);
}

static void drop_questions(const void *arg)
{
    for (struct question *at = world.questions, *next; at; at = next) {
        next = at->next;
        if (at->arg == arg)
            question_free(at);
    }
}

static void answer(void *arg);

static struct question *ask(enum asked what, void *arg)
{
    struct question *question = mem_alloc(sizeof *question);
    question->next = world.questions;
    question->what = what;
    question->arg = arg;
    world.questions = question;
    world.asked[what]++;
    world.waiting += what == WORKER;
    if (world.waiting > world.most_waiting)
        world.most_waiting = world.waiting;
    if (!world.mute[what])
        question->timer = timer_start(world.loop, 0, answer, question);
    return question;
}

/* --- the seam --- */

struct ray_source *cluster_source(const struct cluster *cluster)
{
    (void)cluster;
    return (struct ray_source *)&world;
}

const struct pause_list *cluster_pauses(const struct cluster *cluster)
{
    (void)cluster;
    return &world.pauses;
}

struct object_client *ray_source_quick_objects(struct ray_source *source)
{
    (void)source;
    return world.dashboard ? NULL : (struct object_client *)&world;
}

#define SOURCE(name, what, type)                                                                   \
    void ray_source_##name(struct ray_source *source, type callback, void *arg)                    \
    {                                                                                              \
        (void)source;                                                                              \
        ask(what, arg)->fn.name = callback;                                                        \
    }

SOURCE(version, VERSION, gcs_version_fn)
SOURCE(workers, WORKERS, gcs_workers_fn)
SOURCE(nodes, NODES, gcs_nodes_fn)
SOURCE(actors, ACTORS, gcs_actors_fn)
SOURCE(jobs, JOBS, gcs_jobs_fn)

bool ray_source_version_is_old(const struct ray_source *source)
{
    (void)source;
    return world.version_is_old;
}

void ray_source_task(struct ray_source *source, const char *task_id, gcs_tasks_fn fn, void *arg)
{
    (void)source;
    struct question *question = ask(TASK, arg);
    question->fn.tasks = fn;
    text_copy(question->id, sizeof question->id, task_id);
}

void ray_source_kv_forget(struct ray_source *source, const void *arg)
{
    (void)source;
    drop_questions(arg);
}

void object_client_forget(struct object_client *client, const void *arg)
{
    (void)client;
    drop_questions(arg);
}

void object_client_worker(struct object_client *client, const char *address, const char *worker_id,
                          object_worker_fn fn, void *arg)
{
    (void)client;
    struct question *question = ask(WORKER, arg);
    question->fn.worker = fn;
    text_copy(question->id, sizeof question->id, worker_id);
    text_copy(question->address, sizeof question->address, address);
}

void object_client_node(struct object_client *client, const char *address, bool with_refs,
                        object_node_fn fn, void *arg)
{
    (void)client;
    struct question *question = ask(with_refs ? REFS_OF_NODE : NODE, arg);
    question->fn.node = fn;
    text_copy(question->address, sizeof question->address, address);
}

void object_client_locations(struct object_client *client, const char *address,
                             const char *worker_id, const struct object_id *ids, size_t count,
                             object_locations_fn fn, void *arg)
{
    (void)client;
    (void)worker_id;
    struct question *question = ask(LOCATIONS, arg);
    question->fn.locations = fn;
    question->ids = mem_array(count, sizeof *ids);
    question->count = count;
    memcpy(question->ids, ids, count * sizeof *ids);
    size_t len = strlen(world.located);
    snprintf(world.located + len, sizeof world.located - len, "%s ", address);
}

/* --- answers: copies that the callee frees --- */

#define COPY(name, type)                                                                           \
    static struct type *copy_##name(void)                                                          \
    {                                                                                              \
        struct type *copy = mem_array(world.name##_count + 1, sizeof *copy);                       \
        memcpy(copy, world.name##s, world.name##_count * sizeof *copy);                            \
        return copy;                                                                               \
    }

COPY(worker, ray_worker)
COPY(node, ray_node)
COPY(actor, ray_actor)
COPY(job, ray_job)

static void answer_workers(const struct question *question)
{
    struct ray_worker *copy = copy_worker();
    for (size_t i = 0; i < world.worker_count; i++)
        copy[i].ip = mem_string(copy[i].ip);
    question->fn.workers(question->arg, NULL, copy, world.worker_count);
}

static void answer_nodes(const struct question *question)
{
    struct ray_node *copy = copy_node();
    for (size_t i = 0; i < world.node_count; i++) {
        copy[i].ip = mem_string(copy[i].ip);
        copy[i].hostname = mem_string(copy[i].hostname);
    }
    question->fn.nodes(question->arg, NULL, copy, world.node_count);
}

static void answer_actors(const struct question *question)
{
    struct ray_actor *copy = copy_actor();
    for (size_t i = 0; i < world.actor_count; i++) {
        copy[i].class_name = mem_string(copy[i].class_name);
        copy[i].name = mem_string(copy[i].name);
        copy[i].state = mem_string(copy[i].state);
    }
    question->fn.actors(question->arg, NULL, copy, world.actor_count);
}

static void answer_jobs(const struct question *question)
{
    struct ray_job *copy = copy_job();
    for (size_t i = 0; i < world.job_count; i++)
        copy[i].driver_ip = mem_string(copy[i].driver_ip);
    question->fn.jobs(question->arg, NULL, copy, world.job_count);
}

static void answer_task(const struct question *question)
{
    struct ray_task *copy = NULL;
    for (size_t i = 0; i < world.task_count && !copy; i++) {
        if (!text_equal(world.tasks[i].task_id, question->id))
            continue;
        copy = mem_alloc(sizeof *copy);
        *copy = world.tasks[i];
        copy->name = mem_string(copy->name);
    }
    question->fn.tasks(question->arg, NULL, copy, copy != NULL);
}

static void copy_refs(struct ray_worker_objects *to, const struct ray_object_ref *refs,
                      size_t count)
{
    to->refs = mem_array(count + 1, sizeof *refs);
    to->ref_count = count;
    if (count)
        memcpy(to->refs, refs, count * sizeof *refs);
}

static void answer_worker(const struct question *question)
{
    struct ray_worker_objects told = {.pid = 100};
    if (world.fails.code) {
        question->fn.worker(question->arg, &world.fails, NULL);
        return;
    }
    text_copy(told.worker_id, sizeof told.worker_id, question->id);
    copy_refs(&told, world.refs, world.ref_count);
    question->fn.worker(question->arg, NULL, &told);
}

static void answer_node(const struct question *question)
{
    struct ray_node_objects told = {.store = {.used = 7, .available = 10}};
    if (question->what == REFS_OF_NODE) {
        told.workers = mem_array(world.other_count + 1, sizeof *told.workers);
        told.worker_count = world.other_count;
        for (size_t i = 0; i < world.other_count; i++) {
            told.workers[i] = world.others[i];
            copy_refs(&told.workers[i], world.others[i].refs, world.others[i].ref_count);
        }
    }
    question->fn.node(question->arg, NULL, &told);
}

static void answer_locations(const struct question *question)
{
    struct ray_object_location *told = mem_array(question->count, sizeof *told);
    for (size_t i = 0; i < question->count; i++) {
        told[i] = (struct ray_object_location){.id = question->ids[i], .size = -1};
        for (size_t k = 0; k < world.location_count; k++) {
            const struct ray_object_location *from = &world.locations[k];
            if (memcmp(&from->id, &question->ids[i], sizeof from->id) != 0)
                continue;
            told[i] = *from;
            told[i].spilled_url = mem_string(from->spilled_url);
            told[i].node_ids = mem_array(from->node_count + 1, sizeof *told[i].node_ids);
            if (from->node_count)
                memcpy(told[i].node_ids, from->node_ids,
                       from->node_count * sizeof *told[i].node_ids);
        }
    }
    question->fn.locations(question->arg, NULL, told, question->count);
}

static void answer_version(const struct question *question)
{
    world.version_is_old = false;
    question->fn.version(question->arg, NULL, (struct ray_version){2, 60, 0}, "2.60.0", "3.11");
}

static void answer(void *arg)
{
    static void (*const answers[ASKED])(const struct question *) = {
        [VERSION] = answer_version,     [WORKERS] = answer_workers, [NODES] = answer_nodes,
        [ACTORS] = answer_actors,       [JOBS] = answer_jobs,       [TASK] = answer_task,
        [WORKER] = answer_worker,       [NODE] = answer_node,       [REFS_OF_NODE] = answer_node,
        [LOCATIONS] = answer_locations,
    };
    struct question *question = arg, copy = *question;
    question->timer = NULL;
    copy.ids = question->ids;
    question->ids = NULL;
    question_free(question); /* it is not under way any more */
    answers[copy.what](&copy);
    free(copy.ids);
}

#endif
