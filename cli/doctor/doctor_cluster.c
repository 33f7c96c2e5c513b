#include "cli/doctor/doctor_cluster.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/wall_clock.h"
#include "cli/common/call_site.h"
#include "cli/doctor/doctor_ports.h"
#include "relay/cluster/cluster_view.h"
#include "relay/cluster/ray_source.h"
#include "relay/locate/relay_registration.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The references of a few processes show whether call sites are recorded. Drivers first: they own
 * the most. */
enum { PROCESSES = 6, PROCESS_MS = 1500, PROCESS_MAX = 8 << 20 };

struct doctor_query {
    struct doctor_queries *queries;
    const char *token;
    struct ray_source *source;
    struct cluster_view view; /* workers, nodes, jobs, pdbs */
    int64_t asked_us;
    bool jobs_answered, relays_known;
    struct doctor_knock *raylets, *debuggers;
    struct credentials credentials; /* of the rpc below */
    struct rpc *rpc;
    struct object_client *objects;
};

static struct doctor_cluster *facts_of(const struct doctor_query *query)
{
    return &query->queries->facts->cluster;
}

/* --- clocks --- */

/* Notes the time of a past event, by the clock of `ip`: a time in our future shows a clock
 * ahead. */
static void note_time(struct doctor_query *query, int64_t ms, const char *ip)
{
    struct doctor_cluster *facts = facts_of(query);
    int64_t ahead = ms - wall_clock_ms();
    if (ahead <= facts->ahead_ms)
        return;
    facts->ahead_ms = ahead;
    free(facts->ahead_ip);
    facts->ahead_ip = mem_string(ip);
}

/* --- call sites --- */

static void on_process(void *arg, const struct err *err, struct ray_worker_objects *worker)
{
    struct doctor_query *query = arg;
    struct doctor_cluster *facts = facts_of(query);
    if (!err) {
        facts->refs_asked++;
        facts->refs += worker->ref_count;
        for (size_t i = 0; i < worker->ref_count; i++)
            facts->refs_with_site += call_site_known(worker->refs[i].call_site);
        ray_worker_objects_clear(worker);
    }
    doctor_queries_end(query->queries);
}

static bool is_up(const struct doctor_query *query, const struct ray_worker *worker)
{
    /* The GCS still reports the workers of a dead node as alive. */
    const struct ray_node *node = cluster_view_node(&query->view, worker->node_id);
    return worker->is_alive && (!node || node->is_alive);
}

static void ask_processes(struct doctor_query *query, bool drivers, size_t *left)
{
    for (size_t i = 0; i < query->view.worker_count && *left; i++) {
        const struct ray_worker *worker = &query->view.workers[i];
        if (worker->is_driver != drivers || !is_up(query, worker) || !worker->port ||
            text_empty(worker->ip))
            continue;
        char *address = text_join_host_port(worker->ip, worker->port);
        doctor_queries_begin(query->queries);
        object_client_worker(query->objects, address, worker->worker_id, on_process, query);
        free(address);
        --*left;
    }
}

/* Uses its own rpc, which refuses replies above PROCESS_MAX. */
static void ask_call_sites(struct doctor_query *query)
{
    struct err err;
    size_t left = PROCESSES;
    if (facts_of(query)->address.kind != CLUSTER_ADDRESS_GCS ||
        credentials_load(&query->credentials, &err) != 0)
        return;
    struct rpc_options options = {
        .credentials = &query->credentials,
        .post = loop_post,
        .post_context = query->queries->loop,
        .max_reply = PROCESS_MAX,
    };
    query->rpc = rpc_create(&options);
    query->objects = object_client_create(query->rpc, PROCESS_MS);
    object_client_set_version(query->objects, facts_of(query)->ray);
    ask_processes(query, true, &left);
    ask_processes(query, false, &left);
}

/* --- debuggers --- */

static void count_pdbs(struct doctor_query *query)
{
    struct doctor_cluster *facts = facts_of(query);
    struct pause_list list = {0};
    cluster_view_pauses(&query->view, &list);
    for (size_t i = 0; i < list.count; i++)
        facts->pdbs_waiting += list.items[i].debugger == PAUSE_PDB;
    facts->pdbs_stale = query->view.pdb_count - facts->pdbs_waiting;
    pause_list_clear(&list);
}

static void look_at_workers(struct doctor_query *query)
{
    struct doctor_cluster *facts = facts_of(query);
    for (size_t i = 0; i < query->view.worker_count; i++) {
        const struct ray_worker *worker = &query->view.workers[i];
        note_time(query, worker->start_ms, worker->ip);
        if (!is_up(query, worker))
            continue;
        facts->workers_alive += !worker->is_driver;
        if (!cluster_view_has_debugger(worker) || text_empty(worker->ip))
            continue;
        facts->workers_waiting += worker->paused_threads > 0;
        doctor_ports_add(&facts->debuggers, worker->ip, worker->debugger_port, worker->pid);
    }
    query->debuggers = doctor_knock(query->queries, &facts->debuggers);
}

/* Called after each answer. Once all have come, it counts pdbs, tries the debuggers' ports and asks
 * for call sites. */
static void go_on(struct doctor_query *query)
{
    struct doctor_cluster *facts = facts_of(query);
    bool all = facts->version.answered && facts->workers.answered && facts->nodes.answered &&
               facts->pdbs.answered && query->jobs_answered;
    if (all && !facts->workers.err.code && !facts->pdbs.err.code) {
        count_pdbs(query);
        look_at_workers(query);
        ask_call_sites(query);
    }
    doctor_queries_end(query->queries);
}

/* --- answers --- */

static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    struct doctor_query *query = arg;
    struct doctor_cluster *facts = facts_of(query);
    facts->took_us = loop_now_us() - query->asked_us;
    doctor_answer_note(&facts->version, err);
    if (!err) {
        facts->ray = version;
        text_copy(facts->ray_text, sizeof facts->ray_text, ray_version);
        text_copy(facts->python_text, sizeof facts->python_text, python_version);
    }
    go_on(query);
}

static void on_workers(void *arg, const struct err *err, struct ray_worker *workers, size_t count)
{
    struct doctor_query *query = arg;
    doctor_answer_note(&facts_of(query)->workers, err);
    query->view.workers = workers;
    query->view.worker_count = count;
    go_on(query);
}

static void on_nodes(void *arg, const struct err *err, struct ray_node *nodes, size_t count)
{
    struct doctor_query *query = arg;
    struct doctor_cluster *facts = facts_of(query);
    doctor_answer_note(&facts->nodes, err);
    query->view.nodes = nodes;
    query->view.node_count = count;
    for (size_t i = 0; i < count; i++) {
        *(nodes[i].is_alive ? &facts->nodes_alive : &facts->nodes_dead) += 1;
        if (nodes[i].is_alive && nodes[i].manager_port && !text_empty(nodes[i].ip))
            doctor_ports_add(&facts->raylets, nodes[i].ip, nodes[i].manager_port, 0);
    }
    query->raylets = doctor_knock(query->queries, &facts->raylets);
    go_on(query);
}

static void on_jobs(void *arg, const struct err *err, struct ray_job *jobs, size_t count)
{
    struct doctor_query *query = arg;
    (void)err; /* without jobs, an entry of the legacy debugger counts as waiting */
    for (size_t i = 0; i < count; i++)
        if (!jobs[i].is_dead && !jobs[i].is_internal)
            facts_of(query)->jobs[jobs[i].packages]++;
    query->view.jobs = jobs;
    query->view.job_count = count;
    query->jobs_answered = true;
    go_on(query);
}

static void on_pdbs(void *arg, const struct err *err, struct ray_pdb *pdbs, size_t count)
{
    struct doctor_query *query = arg;
    doctor_answer_note(&facts_of(query)->pdbs, err);
    query->view.pdbs = pdbs;
    query->view.pdb_count = count;
    go_on(query);
}

static void count_relay(struct doctor_query *query, const struct relay_registration_entry *entry)
{
    struct doctor_cluster *facts = facts_of(query);
    note_time(query, entry->refreshed_ms, entry->host_name);
    if (wall_clock_ms() - entry->refreshed_ms > RELAY_REGISTRATION_STALE_MS)
        facts->relays_stale++;
    else if (query->token && !relay_registration_proves(entry, query->token))
        facts->relays_strange++;
    else
        facts->relays_fresh++;
}

static void on_relays(void *arg, const struct err *err, const struct gcs_kv *entries, size_t count)
{
    struct doctor_query *query = arg;
    for (size_t i = 0; !err && i < count; i++) {
        struct relay_registration_entry entry;
        if (!relay_registration_parse(&entry, entries[i].value, entries[i].len))
            continue;
        count_relay(query, &entry);
        relay_registration_entry_clear(&entry);
    }
    query->relays_known = true;
    doctor_queries_end(query->queries);
}

/* --- life --- */

static void note_credentials(struct doctor_cluster *facts, const struct err *err)
{
    struct credentials credentials;
    doctor_answer_note(&facts->credentials, err);
    if (err || credentials_load(&credentials, NULL) != 0)
        return;
    facts->has_token = credentials.token != NULL;
    facts->has_tls = credentials.use_tls;
    text_copy(facts->token_source, sizeof facts->token_source,
              credentials.token_source ? credentials.token_source : "");
    credentials_clear(&credentials);
}

struct doctor_query *doctor_query_start(struct doctor_queries *queries, const char *token)
{
    struct doctor_cluster *facts = &queries->facts->cluster;
    struct err err;
    struct ray_source *source = ray_source_create(queries->loop, &facts->address, &err);
    note_credentials(facts, source ? NULL : &err);
    if (!source)
        return NULL;
    struct doctor_query *query = mem_alloc(sizeof *query);
    *query = (struct doctor_query){
        .queries = queries,
        .token = token,
        .source = source,
        .asked_us = loop_now_us(),
    };
    for (int i = 0; i < 6; i++) /* some callbacks run before the call returns */
        doctor_queries_begin(queries);
    ray_source_version(source, on_version, query);
    ray_source_workers(source, on_workers, query);
    ray_source_nodes(source, on_nodes, query);
    ray_source_jobs(source, on_jobs, query);
    ray_source_pdbs(source, on_pdbs, query);
    ray_source_kv_get_all(source, RELAY_REGISTRATION_SPACE, RELAY_REGISTRATION_PREFIX, on_relays,
                          query);
    return query;
}

const bool *doctor_query_relays_known(const struct doctor_query *query)
{
    return &query->relays_known;
}

void doctor_query_stop(struct doctor_query **query)
{
    struct doctor_query *it = *query;
    if (!it)
        return;
    *query = NULL;
    doctor_knock_stop(&it->raylets);
    doctor_knock_stop(&it->debuggers);
    object_client_destroy(&it->objects);
    rpc_destroy(&it->rpc);
    credentials_clear(&it->credentials);
    ray_source_destroy(&it->source);
    cluster_view_clear(&it->view);
    free(it);
}
