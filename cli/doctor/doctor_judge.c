#include "cli/doctor/doctor_judge.h"

#include "base/buf.h"
#include "base/text.h"
#include "cli/doctor/doctor_judge_parts.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { NAMED = 3 }; /* how many unreached ports are named */
enum { AHEAD_MS = 2000 };

/* True if a relay answers us and knows a cluster: the relay then reaches what cannot be reached
 * from here. */
static bool relay_serves(const struct doctor_facts *facts)
{
    const struct doctor_answer *list = &facts->relay.list;
    return facts->relay.found != RELAY_NONE && list->answered && list->err.code == ERR_NONE &&
           facts->relay.cluster;
}

/* --- the cluster --- */

static void judge_address(const struct doctor_facts *facts, struct doctor_report *report)
{
    const struct doctor_cluster *cluster = &facts->cluster;
    if (cluster->lookup.err.code == ERR_NONE) {
        err_set(doctor_report_add(report, "cluster", DOCTOR_OK), ERR_NONE, "%s, from %s",
                cluster->address.text, cluster->address.source);
    } else if (relay_serves(facts)) {
        err_set(doctor_report_add(report, "cluster", DOCTOR_OK), ERR_NONE, "%s, as the relay says",
                facts->relay.cluster);
    } else {
        *doctor_report_add(report, "cluster", DOCTOR_PROBLEM) = cluster->lookup.err;
        report->no_cluster = true;
    }
}

static const char *answerer(const struct doctor_cluster *cluster)
{
    return cluster->address.kind == CLUSTER_ADDRESS_DASHBOARD ? "the dashboard" : "the GCS";
}

static void add_took(struct err *words, const char *who, int64_t took_us)
{
    err_set(words, ERR_NONE, "%s answers in %" PRId64 ".%" PRId64 " ms", who, took_us / 1000,
            took_us / 100 % 10);
}

static void judge_answer(const struct doctor_facts *facts, struct doctor_report *report)
{
    const struct doctor_cluster *cluster = &facts->cluster;
    const struct doctor_answer *version = &cluster->version;
    bool relayed = relay_serves(facts);
    if (version->answered && (!version->err.code || version->err.code == ERR_DENIED)) {
        add_took(doctor_report_add(report, "gcs", DOCTOR_OK), answerer(cluster), cluster->took_us);
        return;
    }
    struct err *words = doctor_report_add(report, "gcs", relayed ? DOCTOR_OK : DOCTOR_PROBLEM);
    if (version->answered)
        *words = version->err;
    else
        err_set(words, ERR_UNREACHABLE, "%s does not answer in time", answerer(cluster));
    if (relayed)
        err_hint(words, "the relay reaches it: nothing more is needed");
    else if (!words->hint[0])
        err_hint(words, "is the address right, and open to this machine? raydbg relay on a node, "
                        "and --relay here, need one port only");
    report->no_cluster = !relayed;
}

static void judge_versions(const struct doctor_facts *facts, struct doctor_report *report)
{
    static const struct ray_version none;
    const struct doctor_cluster *cluster = &facts->cluster;
    struct ray_version ray = cluster->ray;
    if (ray_version_compare(ray, none.major, none.minor, none.patch) == 0) {
        struct err *words = doctor_report_add(report, "ray", DOCTOR_WARNING);
        err_set(words, ERR_NONE, "the cluster does not say its version");
        err_hint(words, "names of tasks may be missing; Ray 2.9 to 2.60 are supported");
        return;
    }
    bool old = ray_version_compare(ray, 2, 9, 0) < 0, new = ray_version_compare(ray, 2, 61, 0) >= 0;
    struct ray_version python = {0};
    bool known = ray_version_parse(cluster->python_text, &python);
    bool foreign = known && (ray_version_compare(python, 3, 9, 0) < 0 ||
                             ray_version_compare(python, 3, 14, 0) >= 0);
    struct err *words =
        doctor_report_add(report, "ray", old || new || foreign ? DOCTOR_WARNING : DOCTOR_OK);
    err_set(words, ERR_NONE, "Ray %s%s%s", cluster->ray_text, known ? ", Python " : "",
            known ? cluster->python_text : "");
    if (old || new)
        err_hint(words, "raydbg is tested with Ray 2.9 to 2.60: this one is %s",
                 old ? "too old" : "newer");
    else if (foreign)
        err_hint(words, "raydbg is tested with Python 3.9 to 3.13");
}

static void judge_nodes(const struct doctor_facts *facts, struct doctor_report *report)
{
    const struct doctor_cluster *cluster = &facts->cluster;
    if (!cluster->nodes.answered || cluster->nodes.err.code)
        return;
    bool any = cluster->nodes_alive > 0;
    struct err *words = doctor_report_add(report, "nodes", any ? DOCTOR_OK : DOCTOR_PROBLEM);
    struct buf text = {0};
    buf_printf(&text, "%zu alive", cluster->nodes_alive);
    if (cluster->nodes_dead)
        buf_printf(&text, ", %zu gone", cluster->nodes_dead);
    if (cluster->workers.answered && !cluster->workers.err.code)
        buf_printf(&text, ", %zu worker%s", cluster->workers_alive,
                   cluster->workers_alive == 1 ? "" : "s");
    err_set(words, ERR_NONE, "%s", text.data);
    buf_free(&text);
    if (!any)
        err_hint(words, "is that the right cluster? ray status on its head node tells more");
}

/* --- ports --- */

static size_t count_answer(const struct doctor_ports *ports, enum doctor_port_answer answer)
{
    size_t count = 0;
    for (size_t i = 0; i < ports->count; i++)
        count += ports->items[i].answer == answer;
    return count;
}

/* Appends the first few ports that do not accept, with the reasons. */
static void add_unreached(const struct doctor_ports *ports, struct buf *out)
{
    size_t named = 0, bad = ports->count - count_answer(ports, DOCTOR_YES);
    for (size_t i = 0; i < ports->count && named < NAMED; i++) {
        const struct doctor_port *port = &ports->items[i];
        if (port->answer == DOCTOR_YES)
            continue;
        char *address = text_join_host_port(port->host, port->port);
        buf_add_string(out, named++ ? "; " : "");
        buf_add_string(out, address);
        free(address);
        if (port->pid)
            buf_printf(out, " (pid %" PRId64 ")", port->pid);
        buf_printf(out, ": %s",
                   port->why                     ? port->why
                   : port->answer == DOCTOR_DEAF ? "it accepts nobody any more"
                                                 : "no answer in time");
    }
    if (bad > named)
        buf_printf(out, "; and %zu more", bad - named);
}

/* The texts on one kind of port. */
struct reach {
    const char *check;
    const char *all, *all_asked; /* after their number; all_asked, or NULL, if some were left out */
    const char *unreached;       /* after "2 of 5" */
    enum doctor_status without_relay;
    const char *relayed, *cure; /* hint with a relay that serves, and without one */
};

static void judge_reach(const struct doctor_facts *facts, const struct doctor_ports *ports,
                        const struct reach *reach, struct doctor_report *report)
{
    size_t good = count_answer(ports, DOCTOR_YES);
    if (ports->count == 0)
        return;
    if (good == ports->count) {
        err_set(doctor_report_add(report, reach->check, DOCTOR_OK), ERR_NONE, "%s%zu %s",
                ports->left_out && reach->all_asked ? "the " : "all ", good,
                ports->left_out && reach->all_asked ? reach->all_asked : reach->all);
        return;
    }
    bool relayed = relay_serves(facts);
    struct err *words =
        doctor_report_add(report, reach->check, relayed ? DOCTOR_OK : reach->without_relay);
    struct buf why = {0};
    add_unreached(ports, &why);
    err_set(words, ERR_NONE, "%zu of %zu %s", ports->count - good, ports->count, reach->unreached);
    err_why(words, "%s", why.data);
    err_hint(words, "%s", relayed ? reach->relayed : reach->cure);
    buf_free(&why);
}

static void judge_raylets(const struct doctor_facts *facts, struct doctor_report *report)
{
    static const struct reach raylets = {
        .check = "raylets",
        .all = "answer from here",
        .all_asked = "that were asked answer from here",
        .unreached = "do not answer from here",
        .without_relay = DOCTOR_WARNING,
        .relayed = "the relay asks them",
        .cure =
            "raydbg memory needs them: run it on a node, or raydbg relay there and --relay here",
    };
    judge_reach(facts, &facts->cluster.raylets, &raylets, report);
}

static void judge_auth(const struct doctor_facts *facts, struct doctor_report *report)
{
    const struct doctor_cluster *cluster = &facts->cluster;
    if (cluster->credentials.err.code) {
        *doctor_report_add(report, "auth", DOCTOR_PROBLEM) = cluster->credentials.err;
        return;
    }
    if (cluster->version.err.code == ERR_DENIED) {
        *doctor_report_add(report, "auth", DOCTOR_PROBLEM) = cluster->version.err;
        return;
    }
    struct err *words = doctor_report_add(report, "auth", DOCTOR_OK);
    if (cluster->has_token)
        err_set(words, ERR_NONE, "a token, from %s; %s", cluster->token_source,
                cluster->has_tls ? "TLS" : "no TLS");
    else
        err_set(words, ERR_NONE, "no token; %s", cluster->has_tls ? "TLS" : "no TLS");
}

static void judge_clocks(const struct doctor_facts *facts, struct doctor_report *report)
{
    const struct doctor_cluster *cluster = &facts->cluster;
    if (cluster->ahead_ms < AHEAD_MS)
        return;
    struct err *words = doctor_report_add(report, "clocks", DOCTOR_WARNING);
    err_set(words, ERR_NONE, "the clock of %s is %" PRId64 " s or more ahead of this machine's",
            cluster->ahead_ip ? cluster->ahead_ip : "a node", cluster->ahead_ms / 1000);
    err_hint(words, "ages are wrong by that, and a relay may look stale: set the clocks by NTP");
}

static void judge_call_sites(const struct doctor_facts *facts, struct doctor_report *report)
{
    const struct doctor_cluster *cluster = &facts->cluster;
    if (cluster->refs == 0)
        return;
    bool recorded = cluster->refs_with_site > 0;
    struct err *words = doctor_report_add(report, "call-sites", DOCTOR_OK);
    err_set(words, ERR_NONE, "where objects are made is %srecorded", recorded ? "" : "not ");
    if (!recorded)
        err_hint(words, "for raydbg memory by line, start Ray and the driver with "
                        "RAY_record_ref_creation_sites=1");
}

static void judge_cluster(const struct doctor_facts *facts, struct doctor_report *report)
{
    judge_address(facts, report);
    if (facts->cluster.lookup.err.code)
        return;
    if (facts->cluster.credentials.err.code) {
        judge_auth(facts, report);
        return;
    }
    judge_answer(facts, report);
    if (facts->cluster.version.answered && !facts->cluster.version.err.code) {
        judge_versions(facts, report);
        judge_nodes(facts, report);
        judge_raylets(facts, report);
    }
    judge_auth(facts, report);
    judge_clocks(facts, report);
    judge_call_sites(facts, report);
}

/* --- debuggers --- */

static const char ray_debug_hint[] =
    "a driver started here takes it from this environment; its tasks from ray start's, or the "
    "job's runtime_env";

/* Says what turns post mortem on: this environment does so only for what is started in it. */
static void say_post_mortem(const char *value, struct err *words)
{
    if (value && !text_equal(value, "0"))
        err_why(
            words,
            "RAY_DEBUG_POST_MORTEM is set here: tasks whose workers have it wait where they fail");
    err_hint(words, "a task that fails waits, too, if its job's runtime_env has "
                    "{\"env_vars\": {\"RAY_DEBUG_POST_MORTEM\": \"1\"}}");
}

/* Judges `breakpoint()` for workers that have the RAY_DEBUG of this environment. */
static void judge_ray_debug(const struct doctor_facts *facts, struct doctor_report *report)
{
    const char *value = facts->here.ray_debug;
    struct ray_version ray = facts->cluster.ray;
    bool old = ray.major && ray_version_compare(ray, 2, 39, 0) < 0;
    bool on = value ? text_equal(value, "1") || (old && !text_equal(value, "legacy")) : !old;
    struct err *words = doctor_report_add(report, "ray-debug", on ? DOCTOR_OK : DOCTOR_WARNING);
    if (value)
        err_set(words, ERR_NONE, "RAY_DEBUG is %.64s here", value);
    else
        err_set(words, ERR_NONE, "RAY_DEBUG is unset here");
    if (on)
        say_post_mortem(facts->here.post_mortem, words);
    if (!on && !value)
        err_why(words, "before Ray 2.39 breakpoint() then waits in the legacy pdb debugger, which "
                       "knows one thread and no pause");
    else if (text_equal(value, "legacy"))
        err_why(words, "breakpoint() then waits in the legacy pdb debugger, which knows one thread "
                       "and no pause");
    else if (!on)
        err_why(words, "Ray understands 1 and legacy");
    if (!on)
        err_hint(words, "%s RAY_DEBUG%s: %s", value && !old ? "unset" : "set",
                 value && !old ? "" : "=1", ray_debug_hint);
}

static void judge_open(const struct doctor_facts *facts, struct doctor_report *report)
{
    const struct doctor_cluster *cluster = &facts->cluster;
    size_t open = cluster->debuggers.count + cluster->debuggers.left_out;
    struct err *words = doctor_report_add(report, "debuggers", DOCTOR_OK);
    if (open) {
        err_set(words, ERR_NONE, "%zu worker%s with an open debugger, %zu wait%s for a client",
                open, open == 1 ? "" : "s", cluster->workers_waiting,
                cluster->workers_waiting == 1 ? "s" : "");
        return;
    }
    err_set(words, ERR_NONE, "no worker has opened its debugger yet");
    err_hint(words, "a breakpoint() that does not show up: is debugpy installed on the workers "
                    "(pip install debugpy), and RAY_DEBUG unset or 1 there?");
}

/* debugpy's adapter stops accepting for good when a connection closes during its greeting, and for
 * as long as the client that it has does not read. */
static void judge_deaf(const struct doctor_facts *facts, struct doctor_report *report)
{
    const struct doctor_ports *ports = &facts->cluster.debuggers;
    size_t deaf = count_answer(ports, DOCTOR_DEAF);
    struct err *words = doctor_report_add(report, "debugger-ports", DOCTOR_PROBLEM);
    struct buf why = {0};
    add_unreached(ports, &why);
    err_set(words, ERR_NONE, "%zu debugger%s accept%s nobody any more", deaf, deaf == 1 ? "" : "s",
            deaf == 1 ? "s" : "");
    err_why(words, "%s", why.data);
    err_hint(words, "if a client is attached that does not read, let it read, and end its session; "
                    "else a client or a port scanner hung up while it was greeted, and nothing "
                    "revives it: cancel or kill that task, and run it again");
    buf_free(&why);
}

static void judge_ports(const struct doctor_facts *facts, struct doctor_report *report)
{
    static const struct reach ports = {
        .check = "debugger-ports",
        .all = "reachable from here",
        .unreached = "not reachable from here",
        .without_relay = DOCTOR_PROBLEM,
        .relayed = "the relay reaches them: attach goes through it",
        .cure = "the workers listen on their nodes: run raydbg relay on one, and use --relay here",
    };
    if (count_answer(&facts->cluster.debuggers, DOCTOR_DEAF))
        judge_deaf(facts, report);
    else
        judge_reach(facts, &facts->cluster.debuggers, &ports, report);
}

static void judge_pdb(const struct doctor_facts *facts, struct doctor_report *report)
{
    const struct doctor_cluster *cluster = &facts->cluster;
    if (cluster->pdbs_waiting) {
        struct err *words = doctor_report_add(report, "legacy-pdb", DOCTOR_WARNING);
        err_set(words, ERR_NONE, "%zu task%s wait%s in Ray's legacy pdb debugger",
                cluster->pdbs_waiting, cluster->pdbs_waiting == 1 ? "" : "s",
                cluster->pdbs_waiting == 1 ? "s" : "");
        err_why(words, "raydbg attaches to them, but that debugger knows one thread and no pause");
        err_hint(words, "start the driver with RAY_DEBUG=1, not legacy, to have debugpy");
    } else if (cluster->pdbs_stale) {
        err_set(doctor_report_add(report, "legacy-pdb", DOCTOR_OK), ERR_NONE,
                "%zu entr%s of workers that are gone: harmless", cluster->pdbs_stale,
                cluster->pdbs_stale == 1 ? "y" : "ies");
    }
}

static void judge_debuggers(const struct doctor_facts *facts, struct doctor_report *report)
{
    judge_ray_debug(facts, report);
    doctor_judge_debugpy(facts, report);
    if (!facts->cluster.workers.answered || facts->cluster.workers.err.code)
        return;
    judge_open(facts, report);
    judge_ports(facts, report);
    judge_pdb(facts, report);
}

void doctor_judge(const struct doctor_facts *facts, struct doctor_report *report)
{
    judge_cluster(facts, report);
    doctor_judge_relay(facts, report);
    judge_debuggers(facts, report);
    doctor_judge_here(facts, report);
}
