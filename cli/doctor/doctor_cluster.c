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

struct doctor_inquiry {
    struct doctor_asking *asking;
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

static struct doctor_cluster *facts_of(const struct doctor_inquiry *inquiry)
{
    return &inquiry->asking->facts->cluster;
}

/* --- clocks --- */

/* Notes the time of a past event, by the clock of `ip`: a time in our future shows a clock
 * ahead. */
static void note_time(struct doctor_inquiry *inquiry, int64_t ms, const char *ip)
{
    struct doctor_cluster *facts = facts_of(inquiry);
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
    struct doctor_inquiry *inquiry = arg;
    struct doctor_cluster *facts = facts_of(inquiry);
    if (!err) {
        facts->refs_asked++;
        facts->refs += worker->ref_count;
        for (size_t i = 0; i < worker->ref_count; i++)
            facts->refs_with_site += call_site_known(worker->refs[i].call_site);
        ray_worker_objects_clear(worker);
    }
    doctor_asking_end(inquiry->asking);
}

static bool is_up(const struct doctor_inquiry *inquiry, const struct ray_worker *worker)
{
    /* The GCS still reports the workers of a dead node as alive. */
    const struct ray_node *node = cluster_view_node(&inquiry->view, worker->node_id);
    return worker->is_alive && (!node || node->is_alive);
}

static void ask_processes(struct doctor_inquiry *inquiry, bool drivers, size_t *left)
{
    for (size_t i = 0; i < inquiry->view.worker_count && *left; i++) {
        const struct ray_worker *worker = &inquiry->view.workers[i];
        if (worker->is_driver != drivers || !is_up(inquiry, worker) || !worker->port ||
            text_empty(worker->ip))
            continue;
        char *address = mem_format(strchr(worker->ip, ':') ? "[%s]:%u" : "%s:%u", worker->ip,
                                   (unsigned)worker->port);
        doctor_asking_begin(inquiry->asking);
        object_client_worker(inquiry->objects, address, worker->worker_id, on_process, inquiry);
        free(address);
        --*left;
    }
}

/* Uses its own rpc, which refuses replies above PROCESS_MAX. */
static void ask_call_sites(struct doctor_inquiry *inquiry)
{
    struct err err;
    size_t left = PROCESSES;
    if (facts_of(inquiry)->place.kind != CLUSTER_ADDRESS_GCS ||
        credentials_load(&inquiry->credentials, &err) != 0)
        return;
    struct rpc_options options = {
        .credentials = &inquiry->credentials,
        .post = loop_post,
        .post_context = inquiry->asking->loop,
        .max_reply = PROCESS_MAX,
    };
    inquiry->rpc = rpc_create(&options);
    inquiry->objects = object_client_create(inquiry->rpc, PROCESS_MS);
    object_client_set_version(inquiry->objects, facts_of(inquiry)->ray);
    ask_processes(inquiry, true, &left);
    ask_processes(inquiry, false, &left);
}

/* --- debuggers --- */

static void count_pdbs(struct doctor_inquiry *inquiry)
{
    struct doctor_cluster *facts = facts_of(inquiry);
    struct pause_list list = {0};
    cluster_view_pauses(&inquiry->view, &list);
    for (size_t i = 0; i < list.count; i++)
        facts->pdbs_waiting += list.items[i].debugger == PAUSE_PDB;
    facts->pdbs_stale = inquiry->view.pdb_count - facts->pdbs_waiting;
    pause_list_clear(&list);
}

static void look_at_workers(struct doctor_inquiry *inquiry)
{
    struct doctor_cluster *facts = facts_of(inquiry);
    for (size_t i = 0; i < inquiry->view.worker_count; i++) {
        const struct ray_worker *worker = &inquiry->view.workers[i];
        note_time(inquiry, worker->start_ms, worker->ip);
        if (!is_up(inquiry, worker))
            continue;
        facts->workers_alive += !worker->is_driver;
        if (!cluster_view_has_debugger(worker) || text_empty(worker->ip))
            continue;
        facts->workers_waiting += worker->paused_threads > 0;
        doctor_ports_add(&facts->debuggers, worker->ip, worker->debugger_port, worker->pid);
    }
    inquiry->debuggers = doctor_knock(inquiry->asking, &facts->debuggers);
}

/* Called after each answer. Once all have come, it counts pdbs, tries the debuggers' ports and asks
 * for call sites. */
static void go_on(struct doctor_inquiry *inquiry)
{
    struct doctor_cluster *facts = facts_of(inquiry);
    bool all = facts->version.answered && facts->workers.answered && facts->nodes.answered &&
               facts->pdbs.answered && inquiry->jobs_answered;
    if (all && !facts->workers.err.code && !facts->pdbs.err.code) {
        count_pdbs(inquiry);
        look_at_workers(inquiry);
        ask_call_sites(inquiry);
    }
    doctor_asking_end(inquiry->asking);
}

/* --- answers --- */

static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    struct doctor_inquiry *inquiry = arg;
    struct doctor_cluster *facts = facts_of(inquiry);
    facts->took_us = loop_now_us() - inquiry->asked_us;
    doctor_question_answer(&facts->version, err);
    if (!err) {
        facts->ray = version;
        text_copy(facts->ray_text, sizeof facts->ray_text, ray_version);
        text_copy(facts->python_text, sizeof facts->python_text, python_version);
    }
    go_on(inquiry);
}

static void on_workers(void *arg, const struct err *err, struct ray_worker *workers, size_t count)
{
    struct doctor_inquiry *inquiry = arg;
    doctor_question_answer(&facts_of(inquiry)->workers, err);
    inquiry->view.workers = workers;
    inquiry->view.worker_count = count;
    go_on(inquiry);
}

static void on_nodes(void *arg, const struct err *err, struct ray_node *nodes, size_t count)
{
    struct doctor_inquiry *inquiry = arg;
    struct doctor_cluster *facts = facts_of(inquiry);
    doctor_question_answer(&facts->nodes, err);
    inquiry->view.nodes = nodes;
    inquiry->view.node_count = count;
    for (size_t i = 0; i < count; i++) {
        *(nodes[i].is_alive ? &facts->nodes_alive : &facts->nodes_dead) += 1;
        if (nodes[i].is_alive && nodes[i].manager_port && !text_empty(nodes[i].ip))
            doctor_ports_add(&facts->raylets, nodes[i].ip, nodes[i].manager_port, 0);
    }
    inquiry->raylets = doctor_knock(inquiry->asking, &facts->raylets);
    go_on(inquiry);
}

static void on_jobs(void *arg, const struct err *err, struct ray_job *jobs, size_t count)
{
    struct doctor_inquiry *inquiry = arg;
    (void)err; /* without jobs, an entry of the legacy debugger counts as waiting */
    for (size_t i = 0; i < count; i++)
        if (!jobs[i].is_dead && !jobs[i].is_internal)
            facts_of(inquiry)->jobs[jobs[i].packages]++;
    inquiry->view.jobs = jobs;
    inquiry->view.job_count = count;
    inquiry->jobs_answered = true;
    go_on(inquiry);
}

static void on_pdbs(void *arg, const struct err *err, struct ray_pdb *pdbs, size_t count)
{
    struct doctor_inquiry *inquiry = arg;
    doctor_question_answer(&facts_of(inquiry)->pdbs, err);
    inquiry->view.pdbs = pdbs;
    inquiry->view.pdb_count = count;
    go_on(inquiry);
}

static void count_relay(struct doctor_inquiry *inquiry,
                        const struct relay_registration_entry *entry)
{
    struct doctor_cluster *facts = facts_of(inquiry);
    note_time(inquiry, entry->refreshed_ms, entry->host_name);
    if (wall_clock_ms() - entry->refreshed_ms > RELAY_REGISTRATION_STALE_MS)
        facts->relays_stale++;
    else if (inquiry->token && !relay_registration_proves(entry, inquiry->token))
        facts->relays_strange++;
    else
        facts->relays_fresh++;
}

static void on_relays(void *arg, const struct err *err, const struct gcs_kv *entries, size_t count)
{
    struct doctor_inquiry *inquiry = arg;
    for (size_t i = 0; !err && i < count; i++) {
        struct relay_registration_entry entry;
        if (!relay_registration_parse(&entry, entries[i].value, entries[i].len))
            continue;
        count_relay(inquiry, &entry);
        relay_registration_entry_clear(&entry);
    }
    inquiry->relays_known = true;
    doctor_asking_end(inquiry->asking);
}

/* --- life --- */

static void note_credentials(struct doctor_cluster *facts, const struct err *err)
{
    struct credentials credentials;
    doctor_question_answer(&facts->credentials, err);
    if (err || credentials_load(&credentials, NULL) != 0)
        return;
    facts->has_token = credentials.token != NULL;
    facts->has_tls = credentials.use_tls;
    text_copy(facts->token_source, sizeof facts->token_source,
              credentials.token_source ? credentials.token_source : "");
    credentials_clear(&credentials);
}

struct doctor_inquiry *doctor_inquiry_start(struct doctor_asking *asking, const char *token)
{
    struct doctor_cluster *facts = &asking->facts->cluster;
    struct err err;
    struct ray_source *source = ray_source_create(asking->loop, &facts->place, &err);
    note_credentials(facts, source ? NULL : &err);
    if (!source)
        return NULL;
    struct doctor_inquiry *inquiry = mem_alloc(sizeof *inquiry);
    *inquiry = (struct doctor_inquiry){
        .asking = asking,
        .token = token,
        .source = source,
        .asked_us = loop_now_us(),
    };
    for (int i = 0; i < 6; i++) /* some callbacks run before the call returns */
        doctor_asking_begin(asking);
    ray_source_version(source, on_version, inquiry);
    ray_source_workers(source, on_workers, inquiry);
    ray_source_nodes(source, on_nodes, inquiry);
    ray_source_jobs(source, on_jobs, inquiry);
    ray_source_pdbs(source, on_pdbs, inquiry);
    ray_source_kv_get_all(source, RELAY_REGISTRATION_SPACE, RELAY_REGISTRATION_PREFIX, on_relays,
                          inquiry);
    return inquiry;
}

const bool *doctor_inquiry_relays_known(const struct doctor_inquiry *inquiry)
{
    return &inquiry->relays_known;
}

void doctor_inquiry_stop(struct doctor_inquiry **inquiry)
{
    struct doctor_inquiry *it = *inquiry;
    if (!it)
        return;
    *inquiry = NULL;
    doctor_knock_stop(&it->raylets);
    doctor_knock_stop(&it->debuggers);
    object_client_destroy(&it->objects);
    rpc_destroy(&it->rpc);
    credentials_clear(&it->credentials);
    ray_source_destroy(&it->source);
    cluster_view_clear(&it->view);
    free(it);
}
