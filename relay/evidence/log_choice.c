#include "relay/evidence/log_choice.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/job_id.h"
#include "relay/evidence/log_time.h"
#include "relay/evidence/node_log.h"
#include "relay/why_records/why_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

void log_choice_clear(struct log_choice *choice)
{
    for (size_t i = 0; i < choice->count; i++) {
        free(choice->sources[i].file);
        free(choice->sources[i].glob);
        free(choice->sources[i].name);
        free(choice->sources[i].process);
        free(choice->sources[i].only_behind);
    }
    free(choice->sources);
    free(choice->heading);
    free(choice->note);
    *choice = (struct log_choice){0};
}

static struct log_source *add_source(struct log_choice *choice, const struct ray_node *node,
                                     const char *name)
{
    choice->sources = mem_resize(choice->sources, choice->count + 1, sizeof *choice->sources);
    struct log_source *source = &choice->sources[choice->count++];
    *source = (struct log_source){.node = node, .start = -1, .end = -1, .name = mem_string(name)};
    return source;
}

/* "raylet.out", "raylet.1.err", "gcs_server.out", "worker-….err": a name, perhaps a number, and the
 * ending; "old/worker-….err" where Ray has moved it. */
bool log_choice_takes(const char *file)
{
    const char *stream = log_choice_stream(file);
    const char *name = text_starts(file, NODE_LOG_MOVED "worker-") ? text_basename(file) : file;
    return !text_equal(stream, "log") && !strchr(name, '/');
}

char *log_choice_worker_glob(const char *worker_id)
{
    return mem_format("**/worker-%s*", worker_id);
}

const char *log_choice_stream(const char *file)
{
    if (text_ends(file, ".out"))
        return "out";
    return text_ends(file, ".err") ? "err" : "log";
}

/* --- Ray's own --- */

bool log_choice_is_ray(const char *name)
{
    return text_equal(name, "gcs") || text_starts(name, "raylet@");
}

static int choose_ray(const struct why_records *records, const char *name, struct log_choice *out,
                      struct err *err)
{
    bool is_gcs = text_equal(name, "gcs");
    const struct ray_node *node = NULL;
    for (size_t i = 0; is_gcs && i < records->node_count; i++)
        if (records->nodes[i].is_head && records->nodes[i].is_alive)
            node = &records->nodes[i];
    if (!is_gcs)
        node = why_subject_node(records, name + strlen("raylet@"));
    if (!node)
        return err_set(err, ERR_NOT_FOUND,
                       is_gcs ? "the cluster tells of no head node"
                              : "the cluster knows no node '%s'",
                       name + strlen("raylet@"));
    struct log_source *source = add_source(out, node, name);
    source->glob = mem_string(is_gcs ? "gcs_server*" : "raylet*");
    out->heading = mem_format("%s on node %s", is_gcs ? "the GCS" : "the raylet", node->ip);
    return 0;
}

/* --- processes --- */

static int choose_worker(const struct why_records *records, const struct ray_worker *worker,
                         const char *name, struct log_choice *out, struct err *err)
{
    const struct ray_node *node = why_records_node(records, worker->node_id);
    if (!node)
        return err_set(err, ERR_NOT_FOUND, "the node of pid %lld is not known",
                       (long long)worker->pid);
    if (worker->is_driver) {
        err_set(err, ERR_NOT_FOUND, "pid %lld is a driver: Ray keeps no log of it",
                (long long)worker->pid);
        return err_hint(err, "its output is where it was started; of a submitted job give the job");
    }
    struct log_source *source = add_source(out, node, name);
    source->glob = log_choice_worker_glob(worker->worker_id);
    source->process = mem_string(worker->worker_id);
    source->has_markers = true;
    free(out->heading);
    out->heading = mem_format("worker pid %lld@%s", (long long)worker->pid, node->ip);
    return 0;
}

static void add_part(struct log_choice *out, const struct ray_node *node, const char *name,
                     const struct ray_attempt *attempt, const struct ray_log_range *range,
                     const char *stream)
{
    if (!range->file)
        return;
    struct log_source *source = add_source(out, node, name);
    source->file = mem_string(range->file);
    source->start = range->start;
    source->end = range->end;
    source->stream = stream;
    source->process = mem_string(attempt->worker_id);
}

/* Ray has no offsets of an actor's task, and of a task that died within a second of its start. */
static int choose_unbounded(const struct why_records *records, const struct ray_attempt *attempt,
                            const char *name, struct log_choice *out, struct err *err)
{
    const struct ray_worker *worker = why_records_worker(records, attempt->worker_id);
    if (!worker) {
        err_set(err, ERR_NOT_FOUND, "%s has no log: Ray tells of no process that ran it",
                attempt->name);
        return err_hint(err, "raydbg why tells what became of it");
    }
    if (choose_worker(records, worker, name, out, err) != 0)
        return -1;
    if (attempt->type == RAY_NORMAL_TASK) {
        out->sources[out->count - 1].only_behind = mem_string(attempt->name);
        out->note = mem_format(
            "Ray has no offsets of this task: these are the lines of all tasks called %s in this "
            "process",
            attempt->name);
    } else {
        out->note = mem_string(
            "Ray has no offsets of an actor's calls: these are all lines of its process");
    }
    return 0;
}

static int choose_task(const struct why_records *records, const struct ray_attempt *attempt,
                       const char *name, struct log_choice *out, struct err *err)
{
    const struct ray_node *node = why_records_node(records, attempt->node_id);
    if (!node || !attempt->out.file || !attempt->err.file || attempt->out.start < 0)
        return choose_unbounded(records, attempt, name, out, err);
    add_part(out, node, name, attempt, &attempt->out, "out");
    add_part(out, node, name, attempt, &attempt->err, "err");
    if (attempt->state == RAY_ATTEMPT_FAILED) /* it did not live to tell where its output ends */
        for (size_t i = out->count - 2; i < out->count; i++)
            out->sources[i].has_markers = out->sources[i].end < 0;
    out->heading = mem_format("worker pid %lld@%s · task %s, attempt %d", (long long)attempt->pid,
                              node->ip, attempt->name, attempt->attempt + 1);
    return 0;
}

/* --- others --- */

static int choose_job(const struct why_records *records, const struct ray_job *job,
                      struct log_choice *out, struct err *err)
{
    char brief[ID_TEXT(ID_JOB_BYTES)];
    const struct ray_node *node = why_subject_node(records, job->driver_ip ? job->driver_ip : "");
    job_id_brief(job->job_id, brief);
    if (!job->submission_id || !node) {
        err_set(err, ERR_NOT_FOUND, "job %s has no log: Ray keeps that of submitted jobs only",
                brief);
        return err_hint(err, "the driver's output is where it was started");
    }
    struct log_source *source = add_source(out, node, job->submission_id);
    source->file = mem_format("job-driver-%s.log", job->submission_id);
    source->stream = "log";
    out->heading = mem_format("driver of job %s on node %s", brief, node->ip);
    return 0;
}

static int choose_actor(const struct why_records *records, const struct ray_actor *actor,
                        const char *name, struct log_choice *out, struct err *err)
{
    const struct ray_worker *worker = why_records_worker(records, actor->worker_id);
    if (!worker)
        return err_set(err, ERR_NOT_FOUND, "the actor %s has no log: it has, or had, no process",
                       name);
    const struct ray_worker *before = why_records_previous_process(records, actor);
    if (before)
        out->note = mem_format("of its last process only; the one before was %s",
                               why_name_of_worker(records, before, (char[WHY_NAME_TEXT]){0}));
    else if (actor->restarts)
        out->note = mem_string("of its last process only; Ray has no record of the one before");
    return choose_worker(records, worker, name, out, err);
}

int log_choice_make(const struct why_records *records, const char *name,
                    const struct why_subject *subject, struct log_choice *out, struct err *err)
{
    *out = (struct log_choice){0};
    if (log_choice_is_ray(name))
        return choose_ray(records, name, out, err);
    switch (subject->kind) {
    case WHY_TASK:
        return choose_task(records, subject->attempt, name, out, err);
    case WHY_ACTOR:
        return choose_actor(records, subject->actor, name, out, err);
    case WHY_WORKER:
        return choose_worker(records, subject->worker, name, out, err);
    case WHY_JOB:
        return choose_job(records, subject->job, out, err);
    case WHY_NODE: {
        char *raylet = mem_format("raylet@%s", subject->node->node_id);
        int code = choose_ray(records, raylet, out, err);
        free(raylet);
        return code;
    }
    default:
        break;
    }
    err_set(err, ERR_NOT_FOUND, "%s is no thing that writes a log", name);
    return err_hint(
        err, "tasks, actors, processes, nodes and submitted jobs have logs; and gcs, raylet@NODE");
}

/* --- around an event --- */

/* When the process ended, and where; 0 if it lives. */
static int64_t end_of_worker(const struct why_records *records, const struct ray_worker *worker,
                             const struct ray_node **node)
{
    if (!worker)
        return 0;
    *node = why_records_node(records, worker->node_id);
    return why_records_end_ms(records, worker);
}

/* Of a task that runs again it is the end of the attempt before. */
static int64_t end_of_task(const struct why_records *records, const struct ray_attempt *attempt,
                           const struct ray_node **node)
{
    const struct ray_attempt *it = attempt;
    if (!ray_attempt_is_over(it))
        it = why_records_previous(records, attempt);
    if (!it || !ray_attempt_is_over(it))
        return 0;
    const struct ray_worker *worker = why_records_worker(records, it->worker_id);
    *node = why_records_node(records, *it->node_id ? it->node_id : worker ? worker->node_id : "");
    return it->state_ms[it->state];
}

/* When the thing ended, or ended before it was started again, and where; 0 if it has not. */
static int64_t end_of(const struct why_records *records, const struct why_subject *subject,
                      const struct ray_node **node)
{
    const struct ray_actor *actor = subject->actor;
    int64_t ended;
    switch (subject->kind) {
    case WHY_TASK:
        return end_of_task(records, subject->attempt, node);
    case WHY_ACTOR:
        ended = end_of_worker(records, why_records_worker(records, actor->worker_id), node);
        if (!ended && text_equal(actor->state, "DEAD"))
            return actor->end_ms;
        return ended ? ended
                     : end_of_worker(records, why_records_previous_process(records, actor), node);
    case WHY_WORKER:
        return end_of_worker(records, subject->worker, node);
    case WHY_NODE:
        *node = subject->node;
        return subject->node->is_alive ? 0 : subject->node->end_ms;
    case WHY_JOB:
        *node = why_subject_node(records, subject->job->driver_ip ? subject->job->driver_ip : "");
        return subject->job->is_dead ? subject->job->end_ms : 0;
    default:
        return 0;
    }
}

/* The processes that lived then; a node has had many. */
static void add_workers_of(const struct why_records *records, const struct ray_node *node,
                           int64_t from_ms, int64_t to_ms, struct log_choice *out)
{
    enum { MOST = 64 };
    for (size_t i = 0; i < records->worker_count && out->count < MOST; i++) {
        const struct ray_worker *it = &records->workers[i];
        int64_t end_ms = why_records_end_ms(records, it);
        if (it->is_driver || !text_equal(it->node_id, node->node_id) || it->start_ms > to_ms ||
            (end_ms && end_ms < from_ms))
            continue;
        char *name = mem_format("%lld", (long long)it->pid);
        struct log_source *source = add_source(out, node, name);
        source->glob = log_choice_worker_glob(it->worker_id);
        source->has_markers = true;
        source->died_ms = end_ms;
        free(name);
    }
}

int log_choice_around(const struct why_records *records, const struct why_subject *subject,
                      int64_t within_ms, struct log_choice *out, int64_t *at_ms, struct err *err)
{
    const struct ray_node *node = NULL;
    char time[LOG_TIME_TEXT];
    *out = (struct log_choice){0};
    *at_ms = end_of(records, subject, &node);
    if (!*at_ms)
        return err_set(err, ERR_NOT_FOUND, "it has not ended: there is no moment to look around");
    if (!node)
        return err_set(err, ERR_NOT_FOUND, "the node on which it was is not known");
    add_workers_of(records, node, *at_ms - within_ms, *at_ms + within_ms, out);
    add_source(out, node, "raylet")->glob = mem_string("raylet*");
    if (node->is_head)
        add_source(out, node, "gcs")->glob = mem_string("gcs_server*");
    out->heading = mem_format("node %s around %s", node->ip, log_time_text(*at_ms, time));
    return 0;
}
