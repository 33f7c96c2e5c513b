#include "relay/evidence/evidence.h"

#include "base/buf.h"
#include "base/invariant.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/wall_clock.h"
#include "proto/gcs_failures.h"
#include "proto/http.h"
#include "relay/cluster/ray_source.h"
#include "relay/evidence/log_choice.h"
#include "relay/evidence/node_log.h"
#include "relay/evidence/pause_evidence.h"
#include "relay/why/why_overview.h"

#include <stdlib.h>
#include <string.h>

/* LAST_LINES of a process's standard error have a crash's stack; LAST_BYTES bound what is kept of
 * them. */
enum { LAST_LINES = 300, LAST_BYTES = 256 << 10 };
/* Between two looks at what may be a deadlock: workers report their tasks once a second. */
enum { SECOND_LOOK_MS = 1500 };
enum { METRICS_MS = 3000, METRICS_BYTES = 16 << 20 };

/* The reading of one process's last words. */
struct last_words {
    struct evidence *evidence;
    struct why_log *log; /* in the records */
    const struct ray_node *node;
    struct buf text;
};

/* The query to one process for its references. */
struct refs_request {
    struct evidence *evidence;
    struct why_refs *refs; /* in the records */
};

/* The reading of one node's metrics. */
struct metrics_request {
    struct evidence *evidence;
    struct why_gauges *gauges; /* in the records */
    struct http_get *get;
};

struct evidence {
    uint32_t magic;
    struct loop *loop;
    struct ray_source *source;
    struct gcs *gcs;
    char *name;
    bool tables_only, timing, looks_twice;
    struct timer *second_look;
    evidence_fn fn;
    void *arg;
    struct why_records records;
    struct why_subject subject;
    int pending; /* answers that this stage waits for */
    struct node_logs *logs;
    struct last_words *words;
    size_t words_count;
    struct refs_request refs[WHY_REFS];
    struct metrics_request metrics[WHY_GAUGES];
};
INVARIANT_MAGIC(evidence, 0x276fbc83)
#define evidence_checked(object) evidence_checked_at(INVARIANT_HERE, object)

/* --- the end --- */

void evidence_free(struct evidence **evidence)
{
    struct evidence *it = *evidence;
    if (!it)
        return;
    *evidence = NULL;
    node_logs_destroy(&it->logs);
    gcs_forget(it->gcs, it);
    ray_source_kv_forget(it->source, it);
    object_client_forget(ray_source_quick_objects(it->source), it);
    for (size_t i = 0; i < WHY_REFS; i++)
        object_client_forget(ray_source_quick_objects(it->source), &it->refs[i]);
    for (size_t i = 0; i < WHY_GAUGES; i++)
        if (it->metrics[i].get)
            http_cancel(&it->metrics[i].get);
    timer_cancel(&it->second_look);
    for (size_t i = 0; i < it->words_count; i++)
        buf_free(&it->words[i].text);
    free(it->words);
    why_records_clear(&it->records);
    free(it->name);
    evidence_clear_magic(it);
    free(it);
}

static void tell(struct evidence *evidence, const struct err *err)
{
    evidence->fn(evidence->arg, err, err ? NULL : &evidence->records,
                 err || !evidence->name ? NULL : &evidence->subject);
}

static void find_needs(const struct evidence *evidence, struct why_needs *needs)
{
    if (evidence->name)
        why_judge_needs(&evidence->records, &evidence->subject, needs);
    else
        why_overview_needs(&evidence->records, needs);
}

static void look_again(void *arg);

/* True if there may be a deadlock, and the second look at it is still to come. */
static bool looks_again(struct evidence *evidence)
{
    struct why_needs needs = {0};
    if (!evidence->looks_twice)
        return false;
    evidence->looks_twice = false;
    find_needs(evidence, &needs);
    if (needs.second_look)
        evidence->second_look = timer_start(evidence->loop, SECOND_LOOK_MS, look_again, evidence);
    return needs.second_look;
}

static void answered(struct evidence *evidence)
{
    if (--evidence->pending == 0 && !looks_again(evidence))
        tell(evidence, NULL);
}

/* --- last words --- */

static void on_words(void *arg, const char *bytes, size_t len)
{
    struct last_words *words = arg;
    buf_add(&words->text, bytes, len);
    if (words->text.len > LAST_BYTES)
        buf_consume(&words->text, words->text.len - LAST_BYTES);
}

static void on_words_end(void *arg, const struct err *err)
{
    struct last_words *words = arg;
    struct evidence *evidence = words->evidence;
    if (err) {
        words->log->problem = mem_string(err->what);
    } else {
        buf_add_string(&words->text, "");
        words->log->text = buf_take(&words->text);
    }
    answered(evidence);
}

static void on_files(void *arg, const struct err *err, char *const *names, size_t count)
{
    static const struct agent_log_calls calls = {on_words, on_words_end};
    struct last_words *words = arg;
    for (size_t i = 0; i < count && !words->log->file; i++)
        if (text_ends(names[i], words->log->of_runtime_env ? ".log" : ".err"))
            words->log->file = mem_string(names[i]);
    if (!words->log->file) {
        words->log->problem = mem_string(err ? err->what : "its node has no log file of it");
        answered(words->evidence);
        return;
    }
    struct agent_log_part part = {words->log->file, LAST_LINES, -1, -1, false};
    node_logs_read(words->evidence->logs, words->node, &part, &calls, words);
}

static void add_words(struct evidence *evidence, const char *worker_id, const struct ray_node *node)
{
    struct why_log *log = &evidence->records.logs[evidence->words_count];
    text_copy(log->worker_id, sizeof log->worker_id, worker_id);
    text_copy(log->node_id, sizeof log->node_id, node->node_id);
    evidence->words[evidence->words_count++] = (struct last_words){evidence, log, node, {0}};
}

static void ask_words(struct evidence *evidence, const struct why_needs *needs)
{
    struct why_records *records = &evidence->records;
    size_t count = needs->log_count + needs->raylet_count * (needs->env_job ? 2 : 1);
    records->logs = mem_array(count, sizeof *records->logs);
    records->log_count = count;
    evidence->words = mem_array(count, sizeof *evidence->words);
    for (size_t i = 0; i < needs->log_count; i++)
        add_words(evidence, needs->logs_of[i]->worker_id,
                  why_records_node(records, needs->logs_of[i]->node_id));
    for (size_t i = 0; i < needs->raylet_count; i++)
        add_words(evidence, "", needs->raylets[i]);
    for (size_t i = 0; needs->env_job && i < needs->raylet_count; i++) {
        records->logs[evidence->words_count].of_runtime_env = true;
        add_words(evidence, "", needs->raylets[i]);
    }
    evidence->pending += (int)count;
    for (size_t i = 0; i < count; i++) {
        const struct why_log *log = &records->logs[i];
        char *glob = log->of_runtime_env ? mem_format("runtime_env_setup-%s*", needs->env_job)
                     : *log->worker_id   ? log_choice_worker_glob(log->worker_id)
                                         : mem_string("raylet*");
        node_logs_list(evidence->logs, evidence->words[i].node, glob, on_files,
                       &evidence->words[i]);
        free(glob);
    }
}

/* --- references --- */

static void on_refs(void *arg, const struct err *err, struct ray_worker_objects *worker)
{
    struct refs_request *request = arg;
    if (worker) {
        request->refs->objects = mem_alloc(sizeof *worker);
        *request->refs->objects = *worker;
    } else {
        request->refs->problem = mem_string(err->what);
    }
    answered(request->evidence);
}

static void ask_refs(struct evidence *evidence, const struct why_needs *needs)
{
    struct why_records *records = &evidence->records;
    records->refs = mem_array(needs->ref_count, sizeof *records->refs);
    records->refs_count = needs->ref_count;
    evidence->pending += (int)needs->ref_count;
    for (size_t i = 0; i < needs->ref_count; i++) {
        const struct ray_worker *worker = needs->refs_of[i];
        char *address = text_join_host_port(worker->ip, worker->port);
        text_copy(records->refs[i].worker_id, sizeof records->refs[i].worker_id, worker->worker_id);
        evidence->refs[i] = (struct refs_request){evidence, &records->refs[i]};
        object_client_worker(ray_source_quick_objects(evidence->source), address, worker->worker_id,
                             on_refs, &evidence->refs[i]);
        free(address);
    }
}

static void on_location(void *arg, const struct err *err, struct ray_object_location *locations,
                        size_t count)
{
    struct evidence *evidence = evidence_checked(arg);
    if (err)
        evidence->records.location.problem = mem_string(err->what);
    else if (count)
        evidence->records.location.location = locations;
    answered(evidence);
}

static void ask_location(struct evidence *evidence, const struct ray_worker *owner)
{
    char *address;
    if (!owner)
        return;
    address = text_join_host_port(owner->ip, owner->port);
    evidence->pending++;
    object_client_locations(ray_source_quick_objects(evidence->source), address, owner->worker_id,
                            &evidence->subject.object, 1, on_location, evidence);
    free(address);
}

/* --- metrics --- */

static void on_metrics(void *arg, const struct http_reply *reply)
{
    struct metrics_request *request = arg;
    request->get = NULL;
    if (reply->result == HTTP_ANSWERED && reply->status == 200)
        task_gauges_read(reply->body, &request->gauges->gauges);
    else
        request->gauges->problem = reply->result == HTTP_ANSWERED
                                       ? mem_format("HTTP status %d", reply->status)
                                       : mem_string("no answer from its agent");
    answered(request->evidence);
}

static void ask_metrics(struct evidence *evidence, const struct why_needs *needs)
{
    struct why_records *records = &evidence->records;
    records->gauges = mem_array(needs->gauges_count, sizeof *records->gauges);
    records->gauges_count = needs->gauges_count;
    evidence->pending += (int)needs->gauges_count;
    for (size_t i = 0; i < needs->gauges_count; i++) {
        const struct ray_node *node = needs->gauges_of[i];
        const struct http_request request = {.context = loop_context(evidence->loop),
                                             .host = node->ip,
                                             .port = node->metrics_port,
                                             .path = "/metrics",
                                             .deadline_ms = METRICS_MS,
                                             .max_body = METRICS_BYTES};
        text_copy(records->gauges[i].node_id, sizeof records->gauges[i].node_id, node->node_id);
        evidence->metrics[i] = (struct metrics_request){evidence, &records->gauges[i], NULL};
        evidence->metrics[i].get = http_get(&request, on_metrics, &evidence->metrics[i]);
    }
}

/* --- tables --- */

static void ask_more(struct evidence *evidence, const struct why_needs *needs)
{
    evidence->pending = 1;
    ask_refs(evidence, needs);
    ask_location(evidence, needs->owner);
    ask_words(evidence, needs);
    answered(evidence);
}

/* The first look's attempts become the earlier ones. Of the name the same task stays the subject:
 * false if the GCS does not have it any more. */
static bool take_second_look(struct evidence *evidence, struct ray_attempt *attempts, size_t count)
{
    struct why_records *records = &evidence->records;
    bool of_task = evidence->name && evidence->subject.kind == WHY_TASK;
    const struct why_records second = {.attempts = attempts, .attempt_count = count};
    const struct ray_attempt *again =
        of_task ? why_records_attempt(&second, evidence->subject.attempt->task_id) : NULL;
    if (of_task && !again)
        return false;
    records->earlier = records->attempts;
    records->earlier_count = records->attempt_count;
    records->earlier_ms = records->now_ms;
    records->attempts = attempts;
    records->attempt_count = count;
    records->now_ms = wall_clock_ms();
    why_records_index(records);
    evidence->subject.attempt = again;
    return true;
}

/* If the second look fails, it is as if there had been none. */
static void on_second_look(void *arg, const struct err *err, struct ray_attempt *attempts,
                           size_t count, int64_t dropped)
{
    struct evidence *evidence = evidence_checked(arg);
    struct why_needs needs = {0};
    (void)dropped;
    if (err || !take_second_look(evidence, attempts, count)) {
        if (!err)
            ray_attempts_free(attempts, count);
        tell(evidence, NULL);
        return;
    }
    find_needs(evidence, &needs);
    why_records_clear_refs(&evidence->records);
    evidence->pending = 1;
    ask_refs(evidence, &needs);
    ask_metrics(evidence, &needs);
    answered(evidence);
}

static void look_again(void *arg)
{
    struct evidence *evidence = evidence_checked(arg);
    evidence->second_look = NULL;
    gcs_attempts(evidence->gcs, NULL, on_second_look, evidence);
}

static void look_closer(struct evidence *evidence)
{
    struct why_needs needs = {0};
    struct err err;
    why_records_index(&evidence->records);
    if (evidence->name &&
        why_subject_find(&evidence->records, evidence->name, &evidence->subject, &err) != 0) {
        tell(evidence, &err);
        return;
    }
    if (evidence->tables_only) {
        tell(evidence, NULL);
        return;
    }
    find_needs(evidence, &needs);
    ask_more(evidence, &needs);
}

/* The workers, the actors and the tasks are what every judgement needs. */
static const struct err *first_problem(const struct evidence *evidence)
{
    for (int part = 0; part < WHY_PARTS; part++)
        if (!evidence->records.problems[part].code)
            return NULL;
    return &evidence->records.problems[WHY_ATTEMPTS];
}

static void one_answered(struct evidence *evidence)
{
    if (--evidence->pending)
        return;
    if (first_problem(evidence))
        tell(evidence, first_problem(evidence));
    else
        look_closer(evidence);
}

static void table_answered(struct evidence *evidence, enum why_part part, const struct err *err)
{
    if (err)
        evidence->records.problems[part] = *err;
    one_answered(evidence);
}

static void on_pdbs(void *arg, const struct err *err, struct ray_pdb *pdbs, size_t count)
{
    struct evidence *evidence = evidence_checked(arg);
    (void)err; /* then a pause in it is not known: all else is */
    pause_evidence_add_pdbs(&evidence->records, pdbs, count);
    ray_pdbs_free(pdbs, count);
    one_answered(evidence);
}

static void on_attempts(void *arg, const struct err *err, struct ray_attempt *attempts,
                        size_t count, int64_t dropped)
{
    struct evidence *evidence = evidence_checked(arg);
    evidence->records.attempts = attempts;
    evidence->records.attempt_count = count;
    evidence->records.dropped = dropped;
    table_answered(evidence, WHY_ATTEMPTS, err);
}

/* Defines on_workers() and the others: each takes the rows over. */
#define ON_ROWS(noun, type, rows, row_count, part)                                                 \
    static void on_##noun(void *arg, const struct err *err, type *those, size_t count)             \
    {                                                                                              \
        struct evidence *evidence = evidence_checked(arg);                                         \
        evidence->records.rows = those;                                                            \
        evidence->records.row_count = count;                                                       \
        table_answered(evidence, part, err);                                                       \
    }

ON_ROWS(workers, struct ray_worker, workers, worker_count, WHY_WORKERS)
ON_ROWS(actors, struct ray_actor, actors, actor_count, WHY_ACTORS)
ON_ROWS(nodes, struct ray_node, nodes, node_count, WHY_NODES)
ON_ROWS(jobs, struct ray_job, jobs, job_count, WHY_JOBS)
ON_ROWS(groups, struct ray_group, groups, group_count, WHY_GROUPS)

static void on_resources(void *arg, const struct err *err, struct ray_resource_state *state)
{
    struct evidence *evidence = evidence_checked(arg);
    if (state)
        evidence->records.resources = *state;
    table_answered(evidence, WHY_RESOURCES, err);
}

static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    struct evidence *evidence = evidence_checked(arg);
    (void)version, (void)ray_version, (void)python_version;
    if (err) {
        tell(evidence, err);
        return;
    }
    evidence->pending = WHY_PARTS;
    if (evidence->timing) {
        gcs_timeline(evidence->gcs, on_attempts, evidence);
    } else {
        evidence->pending++;
        gcs_pdbs(evidence->gcs, on_pdbs, evidence);
        gcs_attempts(evidence->gcs, NULL, on_attempts, evidence);
    }
    gcs_workers(evidence->gcs, on_workers, evidence);
    gcs_all_actors(evidence->gcs, on_actors, evidence);
    gcs_nodes(evidence->gcs, on_nodes, evidence);
    gcs_submitted_jobs(evidence->gcs, on_jobs, evidence);
    gcs_groups(evidence->gcs, on_groups, evidence);
    gcs_resources(evidence->gcs, on_resources, evidence);
}

struct evidence *evidence_ask(struct cluster *cluster, const struct evidence_query *query,
                              evidence_fn fn, void *arg, struct err *err)
{
    struct ray_source *source = cluster_source(cluster);
    if (!ray_source_gcs(source)) {
        err_set(err, ERR_USAGE, "a dashboard does not tell why something failed");
        err_hint(err, "give the GCS's address, --address HOST:6379");
        return NULL;
    }
    struct evidence *evidence = mem_alloc(sizeof *evidence);
    evidence_set_magic(evidence);
    evidence->loop = cluster_loop(cluster);
    evidence->source = source;
    evidence->gcs = ray_source_gcs(source);
    evidence->name = mem_string(query->name);
    evidence->tables_only = query->tables_only;
    evidence->timing = query->timing;
    evidence->looks_twice = query->looks_twice;
    evidence->fn = fn;
    evidence->arg = arg;
    evidence->records.now_ms = wall_clock_ms();
    evidence->records.since_ms = evidence->records.now_ms - query->within_ms;
    evidence->logs = node_logs_create(cluster);
    if (query->pauses)
        pause_evidence_add(&evidence->records, query->pauses, query->relay);
    ray_source_version(source, on_version, evidence);
    return evidence;
}
