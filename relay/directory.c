#include "relay/directory_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

struct directory *directory_create(struct loop *loop, struct source *source, loop_fn changed,
                                   void *arg)
{
    struct directory *directory = mem_alloc(sizeof *directory);
    directory->loop = loop;
    directory->source = source;
    directory->changed = changed;
    directory->arg = arg;
    return directory;
}

/* --- answers --- */

enum known directory_note(struct directory *directory, const struct err *err)
{
    if (err)
        text_copy(directory->problem, sizeof directory->problem, err->what);
    return err ? FAILED : KNOWN;
}

static int compare_workers(const void *a, const void *b)
{
    return strcmp(((const struct ray_worker *)a)->worker_id,
                  ((const struct ray_worker *)b)->worker_id);
}

static void on_workers(void *arg, const struct err *err, struct ray_worker *workers, size_t count)
{
    struct directory *directory = arg;
    directory->workers_known = directory_note(directory, err);
    if (!err) {
        ray_workers_free(directory->workers, directory->worker_count);
        directory->workers = workers;
        directory->worker_count = count;
        if (count)
            qsort(workers, count, sizeof *workers, compare_workers);
    }
    directory->changed(directory->arg);
}

#define TAKE(name, type, records, counter, known)                                                  \
    static void name(void *arg, const struct err *err, struct type *items, size_t count)           \
    {                                                                                              \
        struct directory *directory = arg;                                                         \
        directory->known = directory_note(directory, err);                                         \
        if (!err) {                                                                                \
            type##s_free(directory->records, directory->counter);                                  \
            directory->records = items;                                                            \
            directory->counter = count;                                                            \
        }                                                                                          \
        directory->changed(directory->arg);                                                        \
    }

TAKE(on_nodes, ray_node, nodes, node_count, nodes_known)
TAKE(on_actors, ray_actor, actors, actor_count, actors_known)
TAKE(on_jobs, ray_job, jobs, job_count, jobs_known)

/* --- the version --- */

static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    struct directory *directory = arg;
    (void)version, (void)ray_version, (void)python_version;
    directory->version_known = directory_note(directory, err);
    directory_ask_tasks(directory);
}

void directory_ask_version(struct directory *directory)
{
    if (directory->version_known != UNASKED)
        return;
    directory->version_known = ASKING;
    source_version(directory->source, on_version, directory);
}

/* --- workers, nodes, actors, jobs --- */

/* UNASKED becomes ASKING by asking; whether there is an answer. */
#define ASK(directory, what)                                                                       \
    do {                                                                                           \
        if ((directory)->what##_known == UNASKED) {                                                \
            (directory)->what##_known = ASKING;                                                    \
            source_##what((directory)->source, on_##what, directory);                              \
        }                                                                                          \
        if ((directory)->what##_known == ASKING)                                                   \
            return DIRECTORY_WAIT;                                                                 \
        if ((directory)->what##_known == FAILED)                                                   \
            return DIRECTORY_NO;                                                                   \
    } while (0)

enum directory_answer directory_worker(struct directory *directory, const char *worker_id,
                                       const struct ray_worker **out)
{
    struct ray_worker key = {0};
    directory_ask_version(directory);
    ASK(directory, workers);
    text_copy(key.worker_id, sizeof key.worker_id, worker_id);
    *out = directory->worker_count && *worker_id
               ? bsearch(&key, directory->workers, directory->worker_count, sizeof key,
                         compare_workers)
               : NULL;
    return *out ? DIRECTORY_YES : DIRECTORY_NO;
}

static enum directory_answer wait_for_workers(struct directory *directory)
{
    ASK(directory, workers);
    return DIRECTORY_YES;
}

static const struct ray_node *find_node(const struct directory *directory, const char *node_id)
{
    for (size_t i = 0; *node_id && i < directory->node_count; i++)
        if (text_equal(directory->nodes[i].node_id, node_id))
            return &directory->nodes[i];
    return NULL;
}

enum directory_answer directory_node(struct directory *directory, const char *node_id,
                                     const struct ray_node **out)
{
    ASK(directory, nodes);
    *out = find_node(directory, node_id);
    return *out ? DIRECTORY_YES : DIRECTORY_NO;
}

enum directory_answer directory_nodes(struct directory *directory, const struct ray_node **out,
                                      size_t *count)
{
    ASK(directory, nodes);
    *out = directory->nodes;
    *count = directory->node_count;
    return DIRECTORY_YES;
}

const struct ray_actor *directory_known_actor(const struct directory *directory,
                                              const char *actor_id)
{
    for (size_t i = 0; *actor_id && i < directory->actor_count; i++)
        if (text_equal(directory->actors[i].actor_id, actor_id))
            return &directory->actors[i];
    return NULL;
}

enum directory_answer directory_actor(struct directory *directory, const char *actor_id,
                                      const struct ray_actor **out)
{
    ASK(directory, actors);
    *out = directory_known_actor(directory, actor_id);
    return *out ? DIRECTORY_YES : DIRECTORY_NO;
}

enum directory_answer directory_actor_process(struct directory *directory, const char *actor_id,
                                              const struct ray_worker **out)
{
    const struct ray_actor *actor;
    enum directory_answer workers = wait_for_workers(directory);
    enum directory_answer found = directory_actor(directory, actor_id, &actor);
    if (found != DIRECTORY_YES || workers != DIRECTORY_YES)
        return found == DIRECTORY_WAIT || workers == DIRECTORY_WAIT ? DIRECTORY_WAIT : DIRECTORY_NO;
    for (size_t i = 0; i < directory->worker_count; i++) {
        *out = &directory->workers[i];
        if ((*out)->pid == actor->pid && text_equal((*out)->node_id, actor->node_id))
            return DIRECTORY_YES;
    }
    return DIRECTORY_NO;
}

static enum directory_answer find_job(struct directory *directory, const char *job_id,
                                      const struct ray_job **out)
{
    ASK(directory, jobs);
    for (size_t i = 0; *job_id && i < directory->job_count; i++) {
        *out = &directory->jobs[i];
        if (text_equal(directory->jobs[i].job_id, job_id))
            return DIRECTORY_YES;
    }
    return DIRECTORY_NO;
}

enum directory_answer directory_driver(struct directory *directory, const char *job_id,
                                       const struct ray_worker **out)
{
    const struct ray_job *job = NULL;
    enum directory_answer workers = wait_for_workers(directory);
    enum directory_answer found = find_job(directory, job_id, &job);
    if (found != DIRECTORY_YES || workers != DIRECTORY_YES)
        return found == DIRECTORY_WAIT || workers == DIRECTORY_WAIT ? DIRECTORY_WAIT : DIRECTORY_NO;
    for (size_t i = 0; i < directory->worker_count; i++) {
        *out = &directory->workers[i];
        if ((*out)->is_driver && (*out)->pid == job->driver_pid &&
            text_equal((*out)->ip, job->driver_ip))
            return DIRECTORY_YES;
    }
    return DIRECTORY_NO;
}

/* --- names --- */

const char *directory_node_name(const struct directory *directory, const char *node_id)
{
    const struct ray_node *node = find_node(directory, node_id);
    if (!node)
        return node_id;
    bool shared = text_empty(node->hostname);
    for (size_t i = 0; i < directory->node_count; i++)
        shared |= &directory->nodes[i] != node && directory->nodes[i].is_alive &&
                  text_equal(directory->nodes[i].hostname, node->hostname);
    return shared && !text_empty(node->ip) ? node->ip : node->hostname;
}

char *directory_address(const char *ip, uint16_t port)
{
    if (text_empty(ip) || !port)
        return NULL;
    return mem_format(strchr(ip, ':') ? "[%s]:%u" : "%s:%u", ip, (unsigned)port);
}

const char *directory_problem(const struct directory *directory)
{
    return directory->problem;
}

/* --- renewal --- */

static enum known renewed(enum known known)
{
    return known == ASKING ? ASKING : UNASKED;
}

void directory_renew(struct directory *directory)
{
    directory->workers_known = renewed(directory->workers_known);
    directory->nodes_known = renewed(directory->nodes_known);
    directory->actors_known = renewed(directory->actors_known);
    directory->jobs_known = renewed(directory->jobs_known);
    directory->problem[0] = '\0';
    directory_renew_tasks(directory);
    /* There may be thousands, and as many debuggees. */
    ray_workers_free(directory->workers, directory->worker_count);
    ray_actors_free(directory->actors, directory->actor_count);
    directory->workers = NULL;
    directory->actors = NULL;
    directory->worker_count = directory->actor_count = 0;
}

void directory_destroy(struct directory **directory)
{
    struct directory *it = *directory;
    if (!it)
        return;
    *directory = NULL;
    source_kv_forget(it->source, it);
    directory_drop_tasks(it);
    ray_workers_free(it->workers, it->worker_count);
    ray_nodes_free(it->nodes, it->node_count);
    ray_actors_free(it->actors, it->actor_count);
    ray_jobs_free(it->jobs, it->job_count);
    free(it);
}
