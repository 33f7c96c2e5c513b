#include "relay/directory.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/object_table.h"

#include <stdlib.h>
#include <string.h>

/* Tasks are asked one by one: so many at once, and so many are remembered. */
enum { TASKS_AT_ONCE = 64, TASKS_KEPT = 4096 };
/* Of a task whose id is known but for a byte; 256 questions each. */
enum { HINTS_MAX = 64, GUESSES_MAX = 16, GUESSES = 256 };

enum known { UNASKED, ASKING, KNOWN, FAILED };

/* One task's question and its answer. */
struct directory_task {
    struct directory *directory;
    char task_id[ID_TEXT(ID_TASK_BYTES)];
    enum known known;
    struct ray_task *record; /* an array of one; NULL if there is none */
};

struct hint {
    char task_id[ID_TEXT(ID_TASK_BYTES)]; /* whole if `found` */
    bool found;
    bool tried; /* every first byte */
};

struct directory {
    struct source *source;
    loop_fn changed;
    void *arg;
    enum known workers_known, nodes_known, actors_known, jobs_known, version_known;
    struct ray_worker *workers; /* sorted by id */
    size_t worker_count;
    struct ray_node *nodes;
    size_t node_count;
    struct ray_actor *actors;
    size_t actor_count;
    struct ray_job *jobs;
    size_t job_count;
    struct directory_task **tasks; /* in the order they were wanted */
    size_t task_count, asked;      /* those before `asked` are */
    size_t in_flight;
    struct object_table by_task;
    struct hint hints[HINTS_MAX];
    size_t hint_count, next_hint, guesses;
    char problem[512];
};

struct directory *directory_create(struct source *source, loop_fn changed, void *arg)
{
    struct directory *directory = mem_alloc(sizeof *directory);
    directory->source = source;
    directory->changed = changed;
    directory->arg = arg;
    return directory;
}

/* --- answers --- */

static enum known note(struct directory *directory, const struct err *err)
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
    directory->workers_known = note(directory, err);
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
        directory->known = note(directory, err);                                                   \
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

static void ask_tasks(struct directory *directory);

static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    struct directory *directory = arg;
    (void)version, (void)ray_version, (void)python_version;
    directory->version_known = note(directory, err);
    ask_tasks(directory);
}

/* Who asks for tasks, or workers about objects, must know the cluster's version. */
static void ask_version(struct directory *directory)
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
    ask_version(directory);
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

/* --- tasks --- */

/* A task's key in the table; false if it is no task id. */
static bool key_of(const char *task_id, struct object_id *out)
{
    *out = (struct object_id){0};
    return text_unhex(task_id, out->bytes, ID_TASK_BYTES);
}

static void on_task(void *arg, const struct err *err, struct ray_task *tasks, size_t count);

static void ask_tasks(struct directory *directory)
{
    ask_version(directory);
    while (directory->version_known != ASKING && directory->asked < directory->task_count &&
           directory->in_flight < TASKS_AT_ONCE) {
        struct directory_task *task = directory->tasks[directory->asked++];
        directory->in_flight++;
        source_task(directory->source, task->task_id, on_task, task);
    }
}

static void on_task(void *arg, const struct err *err, struct ray_task *tasks, size_t count)
{
    struct directory_task *task = arg;
    struct directory *directory = task->directory;
    task->known = note(directory, err);
    if (count == 1 && text_equal(tasks->task_id, task->task_id))
        task->record = tasks;
    else
        ray_tasks_free(tasks, count);
    directory->in_flight--;
    ask_tasks(directory);
    directory->changed(directory->arg);
}

enum directory_answer directory_task(struct directory *directory, const char *task_id,
                                     const struct ray_task **out)
{
    struct object_id key;
    if (!key_of(task_id, &key))
        return DIRECTORY_NO;
    struct directory_task *task = object_table_get(&directory->by_task, &key);
    if (!task) {
        task = mem_alloc(sizeof *task);
        task->directory = directory;
        task->known = ASKING;
        text_copy(task->task_id, sizeof task->task_id, task_id);
        directory->tasks = mem_resize(directory->tasks, directory->task_count + 1, sizeof(void *));
        directory->tasks[directory->task_count++] = task;
        object_table_set(&directory->by_task, &key, task);
        ask_tasks(directory);
    }
    *out = task->record;
    if (task->known == ASKING)
        return DIRECTORY_WAIT;
    return task->record ? DIRECTORY_YES : DIRECTORY_NO;
}

const struct ray_task *directory_known_task(const struct directory *directory, const char *task_id)
{
    struct object_id key;
    if (!key_of(task_id, &key))
        return NULL;
    const struct directory_task *task = object_table_get(&directory->by_task, &key);
    return task ? task->record : NULL;
}

/* --- tasks whose id's first byte is not known --- */

static struct hint *find_hint(const struct directory *directory, const char *task_id)
{
    for (size_t i = 0; i < directory->hint_count; i++)
        if (text_equal(directory->hints[i].task_id + 2, task_id + 2))
            return (struct hint *)(uintptr_t)&directory->hints[i];
    return NULL;
}

static struct hint *add_hint(struct directory *directory, const char *task_id, bool found)
{
    struct hint *hint = &directory->hints[directory->next_hint];
    directory->next_hint = (directory->next_hint + 1) % HINTS_MAX; /* the oldest makes room */
    if (directory->hint_count < HINTS_MAX)
        directory->hint_count++;
    *hint = (struct hint){.found = found};
    text_copy(hint->task_id, sizeof hint->task_id, task_id);
    return hint;
}

void directory_hint(struct directory *directory, const char *task_id)
{
    if (strlen(task_id) == (size_t)2 * ID_TASK_BYTES && !find_hint(directory, task_id))
        add_hint(directory, task_id, true);
}

const char *directory_hinted(const struct directory *directory, const char *task_id)
{
    const struct hint *hint =
        strlen(task_id) == (size_t)2 * ID_TASK_BYTES ? find_hint(directory, task_id) : NULL;
    return hint && hint->found ? hint->task_id : NULL;
}

/* Asks for all that it can be, and looks who has answered. */
static enum directory_answer guess(struct directory *directory, struct hint *hint,
                                   const struct ray_task **out)
{
    char task_id[sizeof hint->task_id];
    size_t waiting = 0;
    memcpy(task_id, hint->task_id, sizeof task_id);
    for (unsigned i = 0; i < GUESSES; i++) {
        const uint8_t byte = (uint8_t)i;
        text_hex(&byte, 1, task_id);
        task_id[2] = hint->task_id[2];
        enum directory_answer known = directory_task(directory, task_id, out);
        waiting += known == DIRECTORY_WAIT;
        if (known != DIRECTORY_YES)
            continue;
        hint->found = true;
        memcpy(hint->task_id, task_id, sizeof task_id);
        return DIRECTORY_YES;
    }
    hint->tried = waiting == 0;
    return waiting ? DIRECTORY_WAIT : DIRECTORY_NO;
}

enum directory_answer directory_guess_task(struct directory *directory, const char *task_id,
                                           const struct ray_task **out)
{
    if (strlen(task_id) != (size_t)2 * ID_TASK_BYTES)
        return DIRECTORY_NO;
    struct hint *hint = find_hint(directory, task_id);
    if (hint && hint->found)
        return directory_task(directory, hint->task_id, out);
    if (hint && hint->tried)
        return DIRECTORY_NO;
    if (!hint) {
        if (directory->guesses == GUESSES_MAX)
            return DIRECTORY_NO;
        directory->guesses++;
        hint = add_hint(directory, task_id, false);
    }
    return guess(directory, hint, out);
}

static void task_free(struct directory_task *task)
{
    source_kv_forget(task->directory->source, task);
    ray_tasks_free(task->record, task->record ? 1 : 0);
    free(task);
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

/* Keeps what cannot change any more: tasks that somebody has run. */
static void renew_tasks(struct directory *directory)
{
    struct object_id key;
    size_t kept = 0;
    bool none = directory->task_count > TASKS_KEPT;
    object_table_clear(&directory->by_task);
    for (size_t i = 0; i < directory->task_count; i++) {
        struct directory_task *task = directory->tasks[i];
        if (none || !task->record || !*task->record->worker_id || !key_of(task->task_id, &key)) {
            task_free(task);
            continue;
        }
        directory->tasks[kept++] = task;
        object_table_set(&directory->by_task, &key, task);
    }
    directory->task_count = directory->asked = kept;
    directory->in_flight = 0; /* those were forgotten */
    if (directory->version_known == FAILED)
        directory->version_known = UNASKED;
}

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
    renew_tasks(directory);
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
    for (size_t i = 0; i < it->task_count; i++)
        task_free(it->tasks[i]);
    object_table_clear(&it->by_task);
    ray_workers_free(it->workers, it->worker_count);
    ray_nodes_free(it->nodes, it->node_count);
    ray_actors_free(it->actors, it->actor_count);
    ray_jobs_free(it->jobs, it->job_count);
    free(it->tasks);
    free(it);
}
