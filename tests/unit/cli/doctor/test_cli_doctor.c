#include "cmocka_prelude.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/doctor/doctor_debugpy.h"
#include "cli/doctor/doctor_host.h"
#include "cli/doctor/doctor_judge.h"
#include "cli/doctor/doctor_ports.h"
#include "cli/doctor/doctor_queries.h"
#include "cli/doctor/doctor_relay.h"

#include <arpa/inet.h>
#include <cjson/cJSON.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the report --- */

static void test_a_report_is_text_and_json(void **state)
{
    (void)state;
    struct doctor_report report = {0};
    struct buf out = {0};
    err_set(doctor_report_add(&report, "gcs", DOCTOR_OK), ERR_NONE, "answers");
    struct err *words = doctor_report_add(&report, "debugger-ports", DOCTOR_PROBLEM);
    err_set(words, ERR_NONE,
            "1 of 2 \"not\" reach\x1b"
            "able");
    err_hint(words, "run raydbg relay");
    doctor_report_text(&report, false, false, &out);
    assert_string_equal(out.data, "ok       gcs             answers\n"
                                  "problem  debugger-ports  1 of 2 \"not\" reach?able\n"
                                  "                         run raydbg relay\n"
                                  "1 problem\n");
    buf_clear(&out, 0);
    doctor_report_text(&report, true, true, &out);
    assert_non_null(strstr(out.data, "\033[31m\u2717\033[0m  debugger-ports  1 of 2"));
    buf_clear(&out, 0);
    doctor_report_json(&report, &out);
    cJSON *list = cJSON_Parse(out.data);
    const cJSON *second = cJSON_GetArrayItem(list, 1);
    assert_int_equal(cJSON_GetArraySize(list), 2);
    assert_string_equal(cJSON_GetObjectItem(second, "check")->valuestring, "debugger-ports");
    assert_string_equal(cJSON_GetObjectItem(second, "status")->valuestring, "problem");
    assert_string_equal(cJSON_GetObjectItem(second, "what")->valuestring, "1 of 2 \"not\" reach\x1b"
                                                                          "able");
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(second, "why")));
    assert_string_equal(cJSON_GetObjectItem(second, "hint")->valuestring, "run raydbg relay");
    cJSON_Delete(list);
    buf_free(&out);
    doctor_report_clear(&report);
}

static void test_an_exit_code_follows_from_the_worst(void **state)
{
    (void)state;
    struct doctor_report report = {0};
    doctor_report_add(&report, "a", DOCTOR_WARNING);
    assert_int_equal(doctor_report_code(&report), 0);
    doctor_report_add(&report, "b", DOCTOR_PROBLEM);
    assert_int_equal(doctor_report_code(&report), 1);
    report.no_cluster = true;
    assert_int_equal(doctor_report_code(&report), 5);
    doctor_report_clear(&report);
}

/* --- judging --- */

/* A cluster of two nodes where all is well. */
static struct doctor_facts well(void)
{
    struct doctor_facts facts = {0};
    struct doctor_cluster *cluster = &facts.cluster;
    text_copy(cluster->address.text, sizeof cluster->address.text, "10.0.0.5:6379");
    text_copy(cluster->address.source, sizeof cluster->address.source, "RAY_ADDRESS");
    cluster->lookup.answered = cluster->credentials.answered = cluster->version.answered = true;
    cluster->nodes.answered = cluster->workers.answered = cluster->pdbs.answered = true;
    cluster->took_us = 2340;
    cluster->ray = (struct ray_version){2, 60, 0};
    text_copy(cluster->ray_text, sizeof cluster->ray_text, "2.60.0");
    text_copy(cluster->python_text, sizeof cluster->python_text, "3.11.7");
    cluster->nodes_alive = 2;
    cluster->workers_alive = 4;
    doctor_ports_add(&cluster->raylets, "10.0.0.5", 4000, 0);
    doctor_ports_add(&cluster->raylets, "10.0.0.6", 4000, 0);
    doctor_ports_add(&cluster->debuggers, "10.0.0.6", 35589, 77);
    cluster->raylets.items[0].answer = cluster->raylets.items[1].answer = DOCTOR_YES;
    cluster->debuggers.items[0].answer = DOCTOR_YES;
    cluster->workers_waiting = 1;
    facts.relay.wanted = true;
    facts.relay.keeper = -1;
    return facts;
}

static void add_relay(struct doctor_facts *facts)
{
    struct doctor_relay *relay = &facts->relay;
    relay->found = RELAY_GIVEN;
    relay->where = mem_string("head:4713");
    relay->cluster = mem_string("10.0.0.5:6379");
    relay->health.answered = relay->list.answered = relay->metrics.answered = true;
    relay->token = true;
    relay->keeper = 1;
    relay->pauses = 3;
    relay->held = 2;
    text_copy(relay->version, sizeof relay->version, RAYDBG_VERSION);
}

static struct doctor_report judged(struct doctor_facts *facts)
{
    struct doctor_report report = {0};
    doctor_judge(facts, &report);
    doctor_facts_clear(facts);
    return report;
}

static const struct doctor_check *find_check(const struct doctor_report *report, const char *name)
{
    for (size_t i = 0; i < report->count; i++)
        if (text_equal(report->checks[i].name, name))
            return &report->checks[i];
    return NULL;
}

static void assert_check(const struct doctor_report *report, const char *name,
                         enum doctor_status status, const char *part)
{
    const struct doctor_check *check = find_check(report, name);
    char line[2048];
    if (!check) {
        fail_msg("there is no check %s", name);
        return; /* for who does not know that fail_msg() does not come back */
    }
    err_line(&check->words, line, sizeof line);
    if (check->status != status || !strstr(line, part))
        fail_msg("%s is %s: %s", name, doctor_status_name(check->status), line);
    if (status == DOCTOR_PROBLEM || status == DOCTOR_WARNING)
        assert_string_not_equal(check->words.hint, "");
}

static void test_a_cluster_that_is_well(void **state)
{
    (void)state;
    struct doctor_facts facts = well();
    struct doctor_report report = judged(&facts);
    assert_check(&report, "cluster", DOCTOR_OK, "10.0.0.5:6379, from RAY_ADDRESS");
    assert_check(&report, "gcs", DOCTOR_OK, "2.3 ms");
    assert_check(&report, "ray", DOCTOR_OK, "Ray 2.60.0, Python 3.11.7");
    assert_check(&report, "nodes", DOCTOR_OK, "2 alive, 4 workers");
    assert_check(&report, "raylets", DOCTOR_OK, "all 2");
    assert_check(&report, "auth", DOCTOR_OK, "no token");
    assert_check(&report, "relay", DOCTOR_OK, "none runs");
    assert_check(&report, "debuggers", DOCTOR_OK, "1 worker with an open debugger, 1 waits");
    assert_check(&report, "debugger-ports", DOCTOR_OK, "all 1");
    assert_null(find_check(&report, "clocks"));
    assert_null(find_check(&report, "leftovers"));
    assert_int_equal(doctor_report_code(&report), 0);
    doctor_report_clear(&report);
}

static void test_a_debugger_that_is_deaf(void **state)
{
    (void)state;
    struct doctor_facts facts = well();
    facts.cluster.debuggers.items[0].answer = DOCTOR_DEAF;
    struct doctor_report report = judged(&facts);
    assert_check(&report, "debugger-ports", DOCTOR_PROBLEM, "1 debugger accepts nobody any more");
    assert_check(&report, "debugger-ports", DOCTOR_PROBLEM,
                 "if a client is attached that does not read, let it read");
    doctor_report_clear(&report);
}

static void test_ports_that_are_blocked(void **state)
{
    (void)state;
    for (int relayed = 0; relayed < 2; relayed++) {
        struct doctor_facts facts = well();
        facts.cluster.debuggers.items[0].answer = DOCTOR_PENDING;
        facts.cluster.raylets.items[1].answer = DOCTOR_REFUSED;
        facts.cluster.raylets.items[1].why = mem_string("no route to host");
        if (relayed)
            add_relay(&facts);
        struct doctor_report report = judged(&facts);
        assert_check(&report, "debugger-ports", relayed ? DOCTOR_OK : DOCTOR_PROBLEM,
                     "10.0.0.6:35589 (pid 77): no answer in time");
        assert_check(&report, "debugger-ports", relayed ? DOCTOR_OK : DOCTOR_PROBLEM, "relay");
        assert_check(&report, "raylets", relayed ? DOCTOR_OK : DOCTOR_WARNING,
                     "10.0.0.6:4000: no route to host");
        assert_int_equal(doctor_report_code(&report), !relayed);
        doctor_report_clear(&report);
    }
}

static void test_many_blocked_ports_are_counted(void **state)
{
    (void)state;
    struct doctor_facts facts = well();
    for (uint16_t i = 0; i < 300; i++)
        doctor_ports_add(&facts.cluster.debuggers, "10.0.0.7", (uint16_t)(5000 + i), i);
    assert_int_equal(facts.cluster.debuggers.count, 256);
    assert_int_equal(facts.cluster.debuggers.left_out, 45);
    struct doctor_report report = judged(&facts);
    assert_check(&report, "debugger-ports", DOCTOR_PROBLEM, "255 of 256");
    assert_check(&report, "debugger-ports", DOCTOR_PROBLEM, "and 252 more");
    doctor_report_clear(&report);
}

static void test_no_way_to_the_cluster(void **state)
{
    (void)state;
    struct doctor_facts facts = well();
    err_set(&facts.cluster.lookup.err, ERR_UNREACHABLE, "no Ray cluster was found");
    err_hint(&facts.cluster.lookup.err, "give --address");
    struct doctor_report report = judged(&facts);
    assert_check(&report, "cluster", DOCTOR_PROBLEM, "no Ray cluster");
    assert_null(find_check(&report, "gcs"));
    assert_int_equal(doctor_report_code(&report), 5);
    doctor_report_clear(&report);

    facts = well(); /* known, but silent */
    facts.cluster.version.answered = facts.cluster.workers.answered = false;
    report = judged(&facts);
    assert_check(&report, "gcs", DOCTOR_PROBLEM, "does not answer in time");
    assert_int_equal(doctor_report_code(&report), 5);
    doctor_report_clear(&report);

    facts = well(); /* the same, but a relay reaches it */
    facts.cluster.version.answered = facts.cluster.workers.answered = false;
    add_relay(&facts);
    report = judged(&facts);
    assert_check(&report, "gcs", DOCTOR_OK, "the relay reaches it");
    assert_int_equal(doctor_report_code(&report), 0);
    doctor_report_clear(&report);
}

static void test_a_token_that_is_wrong(void **state)
{
    (void)state;
    struct doctor_facts facts = well();
    facts.cluster.has_token = true;
    err_set(&facts.cluster.version.err, ERR_DENIED, "10.0.0.5:6379 wants a token");
    err_hint(&facts.cluster.version.err, "ray get-auth-token prints it");
    facts.cluster.workers.err = facts.cluster.version.err;
    struct doctor_report report = judged(&facts);
    assert_check(&report, "auth", DOCTOR_PROBLEM, "wants a token");
    assert_check(&report, "gcs", DOCTOR_OK, "answers");
    assert_null(find_check(&report, "debuggers"));
    assert_int_equal(doctor_report_code(&report), 1);
    doctor_report_clear(&report);
}

static void test_versions(void **state)
{
    static const struct {
        const char *ray, *python;
        enum doctor_status status;
        const char *part;
    } rows[] = {
        {"2.9.3", "3.9.18", DOCTOR_OK, "Ray 2.9.3"},
        {"2.8.1", "3.9.18", DOCTOR_WARNING, "too old"},
        {"2.61.0", "3.13.0", DOCTOR_WARNING, "newer"},
        {"2.60.0", "3.14.0", DOCTOR_WARNING, "3.9 to 3.13"},
        {"2.60.0", "3.8.20", DOCTOR_WARNING, "3.9 to 3.13"},
        {"2.60.0", "", DOCTOR_OK, "Ray 2.60.0"},
        {"", "", DOCTOR_WARNING, "does not say"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct doctor_facts facts = well();
        struct doctor_cluster *cluster = &facts.cluster;
        cluster->ray = (struct ray_version){0};
        ray_version_parse(rows[i].ray, &cluster->ray);
        text_copy(cluster->ray_text, sizeof cluster->ray_text, rows[i].ray);
        text_copy(cluster->python_text, sizeof cluster->python_text, rows[i].python);
        facts.here.ray_debug = mem_string("1");
        struct doctor_report report = judged(&facts);
        assert_check(&report, "ray", rows[i].status, rows[i].part);
        doctor_report_clear(&report);
    }
}

static void test_ray_debug(void **state)
{
    static const struct {
        const char *value;
        struct ray_version ray;
        enum doctor_status status;
        const char *part;
    } rows[] = {
        {NULL, {2, 60, 0}, DOCTOR_OK, "unset"},
        {"1", {2, 60, 0}, DOCTOR_OK, "is 1"},
        {"legacy", {2, 60, 0}, DOCTOR_WARNING, "pdb"},
        {"0", {2, 60, 0}, DOCTOR_WARNING, "Ray understands 1 and legacy"},
        {NULL, {2, 34, 0}, DOCTOR_WARNING, "set RAY_DEBUG=1"},
        {"1", {2, 34, 0}, DOCTOR_OK, "is 1"},
        {NULL, {0, 0, 0}, DOCTOR_OK, "unset"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct doctor_facts facts = well();
        facts.cluster.ray = rows[i].ray;
        facts.here.ray_debug = mem_string(rows[i].value);
        struct doctor_report report = judged(&facts);
        assert_check(&report, "ray-debug", rows[i].status, rows[i].part);
        doctor_report_clear(&report);
    }
}

static void test_post_mortem(void **state)
{
    static const struct {
        const char *value;
        bool set;
    } rows[] = {{NULL, false}, {"0", false}, {"1", true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct doctor_facts facts = well();
        facts.here.post_mortem = mem_string(rows[i].value);
        struct doctor_report report = judged(&facts);
        assert_check(&report, "ray-debug", DOCTOR_OK, "if its job's runtime_env has");
        const struct err *words = &find_check(&report, "ray-debug")->words;
        assert_int_equal(strstr(words->why, "is set here") != NULL, rows[i].set);
        doctor_report_clear(&report);
    }
}

static void test_debugpy_on_this_node(void **state)
{
    static const struct {
        const char *version;
        enum doctor_status status;
        const char *part;
    } rows[] = {
        {"1.8.14", DOCTOR_OK, "have debugpy 1.8.14"},
        {"", DOCTOR_OK, "have debugpy"},
        {"1.6.7", DOCTOR_WARNING, "older than 1.8.0"},
        {NULL, DOCTOR_WARNING, "/opt/site-packages has Ray and not debugpy"},
        {NULL, DOCTOR_WARNING, "pip install"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct doctor_facts facts = well();
        facts.here.debugpy.packages = mem_string("/opt/site-packages");
        facts.here.debugpy.version = mem_string(rows[i].version);
        struct doctor_report report = judged(&facts);
        assert_check(&report, "debugpy", rows[i].status, rows[i].part);
        doctor_report_clear(&report);
    }
    struct doctor_facts facts = well();
    facts.cluster.workers.answered = false; /* no node here, and nothing known of the others */
    struct doctor_report report = judged(&facts);
    assert_null(find_check(&report, "debugpy"));
    doctor_report_clear(&report);
}

/* What the running jobs bring, beside a node without debugpy, with it, and with no node here. */
static void test_debugpy_of_the_jobs(void **state)
{
    static const struct {
        const char *packages, *version;
        size_t jobs[RUNTIME_PACKAGES_OWN + 1]; /* unknown, node, debugpy, own */
        enum doctor_status status;
        const char *part;
    } rows[] = {
        {"/p", NULL, {0, 0, 2, 0}, DOCTOR_OK, "all running jobs have debugpy"},
        {"/p", NULL, {0, 0, 2, 0}, DOCTOR_OK, "other jobs need it"},
        {"/p", "1.7.0", {0, 0, 1, 0}, DOCTOR_OK, "/p has one older"},
        {"/p",
         NULL,
         {0, 1, 1, 0},
         DOCTOR_WARNING,
         "; 1 running job has debugpy in its runtime_env"},
        {"/p", NULL, {1, 0, 1, 0}, DOCTOR_WARNING, "no debugpy"},
        {"/p", NULL, {0, 0, 1, 1}, DOCTOR_WARNING, "1 running job has an image"},
        {"/p", NULL, {0, 1, 0, 0}, DOCTOR_WARNING, "runtime_env={\"pip\": [\"debugpy>=1.8.0\"]}"},
        {"/p", "1.8.1", {0, 3, 0, 0}, DOCTOR_OK, "have debugpy 1.8.1"},
        {"/p", "1.8.1", {0, 3, 0, 2}, DOCTOR_OK, "2 running jobs have an image"},
        {NULL, NULL, {0, 3, 0, 0}, DOCTOR_OK, "unknown: no node"},
        {NULL, NULL, {0, 0, 0, 0}, DOCTOR_OK, "the 1 worker with an open debugger has it"},
        {NULL, NULL, {0, 1, 2, 0}, DOCTOR_OK, "2 running jobs have debugpy in their runtime_env"},
        {NULL,
         NULL,
         {0, 0, 0, 0},
         DOCTOR_OK,
         "--runtime-env-json '{\"pip\": [\"debugpy>=1.8.0\"]}'"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct doctor_facts facts = well();
        facts.here.debugpy.packages = mem_string(rows[i].packages);
        facts.here.debugpy.version = mem_string(rows[i].version);
        memcpy(facts.cluster.jobs, rows[i].jobs, sizeof rows[i].jobs);
        struct doctor_report report = judged(&facts);
        assert_check(&report, "debugpy", rows[i].status, rows[i].part);
        doctor_report_clear(&report);
    }
}

/* --- a node's packages --- */

static void make(const char *format, ...)
{
    char path[512];
    va_list args;
    va_start(args, format);
    vsnprintf(path, sizeof path, format, args);
    va_end(args);
    assert_int_equal(mkdir(path, 0700), 0);
}

/* A process in `top`/proc whose program is a raylet beside those packages, or another one. */
static void make_process(const char *top, int pid, const char *packages, const char *tail)
{
    char path[512];
    make("%s/proc/%d", top, pid);
    snprintf(path, sizeof path, "%s/proc/%d/cmdline", top, pid);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s/%s%s%c--gcs-address=127.0.0.1:6379%c", top, packages, tail, 0, 0);
    fclose(file);
}

static void check_packages(const char *top, const char *packages, const char *version)
{
    struct doctor_debugpy found = {0};
    char proc[300], expected[300];
    snprintf(proc, sizeof proc, "%s/proc", top);
    snprintf(expected, sizeof expected, "%s/%s", top, packages ? packages : "");
    doctor_debugpy_look(&found, proc);
    assert_true(text_equal(found.packages, packages ? expected : NULL));
    assert_true(text_equal(found.version, version));
    free(found.packages);
    free(found.version);
}

static void test_the_packages_beside_a_raylet(void **state)
{
    static const char raylet[] = "/ray/core/src/ray/raylet/raylet";
    char top[] = "/tmp/raydbg-doctor-XXXXXX", command[100];
    (void)state;
    assert_non_null(mkdtemp(top));
    make("%s/proc", top);
    make("%s/with", top);
    make("%s/with/ray", top);
    make("%s/with/debugpy", top);
    make("%s/without", top);
    make("%s/without/ray", top);
    make_process(top, 1, "with", "/bin/init");
    check_packages(top, NULL, NULL);
    make_process(top, 2, "gone", raylet);
    check_packages(top, NULL, NULL);
    make_process(top, 3, "with", raylet);
    check_packages(top, "with", "");
    make("%s/with/debugpy-1.8.14.dist-info", top);
    check_packages(top, "with", "1.8.14");
    make_process(top, 4, "without", raylet);
    check_packages(top, "without", NULL);
    snprintf(command, sizeof command, "rm -r %s", top);
    assert_int_equal(system(command), 0);
}

static void test_legacy_pdb_call_sites_and_clocks(void **state)
{
    (void)state;
    struct doctor_facts facts = well();
    facts.cluster.pdbs_waiting = 2;
    facts.cluster.refs = 10;
    facts.cluster.ahead_ms = 65000;
    facts.cluster.ahead_ip = mem_string("10.0.0.6");
    struct doctor_report report = judged(&facts);
    assert_check(&report, "legacy-pdb", DOCTOR_WARNING, "2 tasks wait");
    assert_check(&report, "call-sites", DOCTOR_OK, "RAY_record_ref_creation_sites=1");
    assert_check(&report, "clocks", DOCTOR_WARNING, "10.0.0.6 is 65 s");
    doctor_report_clear(&report);
    facts = well();
    facts.cluster.pdbs_stale = 1;
    facts.cluster.refs = facts.cluster.refs_with_site = 3;
    facts.cluster.ahead_ms = 1500;
    report = judged(&facts);
    assert_check(&report, "legacy-pdb", DOCTOR_OK, "1 entry");
    assert_check(&report, "call-sites", DOCTOR_OK, "is recorded");
    assert_null(find_check(&report, "clocks"));
    doctor_report_clear(&report);
}

/* --- the relay --- */

static void test_a_relay(void **state)
{
    (void)state;
    struct doctor_facts facts = well();
    add_relay(&facts);
    struct doctor_report report = judged(&facts);
    assert_check(&report, "relay", DOCTOR_OK, "head:4713 (given)");
    assert_check(&report, "relay-token", DOCTOR_OK, "accepts");
    assert_check(&report, "relay-pauses", DOCTOR_OK, "3 pauses and holds 2");
    assert_check(&report, "relay-version", DOCTOR_OK, RAYDBG_VERSION);
    assert_check(&report, "keeper", DOCTOR_OK, "lives");
    doctor_report_clear(&report);

    facts = well();
    add_relay(&facts);
    facts.relay.keeper = 0;
    text_copy(facts.relay.version, sizeof facts.relay.version, "9.9.9");
    free(facts.relay.cluster);
    facts.relay.cluster = mem_string("10.0.0.9:6379");
    report = judged(&facts);
    assert_check(&report, "keeper", DOCTOR_WARNING, "ends with the relay");
    assert_check(&report, "relay-version", DOCTOR_WARNING, "this raydbg is " RAYDBG_VERSION);
    assert_check(&report, "relay-pauses", DOCTOR_WARNING, "10.0.0.9:6379, not 10.0.0.5:6379");
    doctor_report_clear(&report);
}

static void test_a_relay_that_refuses(void **state)
{
    (void)state;
    for (int token = 0; token < 2; token++) {
        struct doctor_facts facts = well();
        add_relay(&facts);
        facts.relay.token = token;
        facts.relay.denied = true;
        err_set(&facts.relay.list.err, ERR_DENIED, "a token is needed");
        struct doctor_report report = judged(&facts);
        assert_check(&report, "relay-token", DOCTOR_PROBLEM,
                     token ? "does not accept" : "there is none here");
        assert_null(find_check(&report, "relay-pauses"));
        assert_int_equal(doctor_report_code(&report), 1);
        doctor_report_clear(&report);
    }
    struct doctor_facts facts = well();
    add_relay(&facts);
    facts.relay.health.answered = false;
    struct doctor_report report = judged(&facts);
    assert_check(&report, "relay", DOCTOR_PROBLEM, "does not answer in time");
    assert_null(find_check(&report, "relay-token"));
    doctor_report_clear(&report);
}

static void test_a_relay_is_read(void **state)
{
    static const char metrics[] = "# TYPE raydbg_build_info gauge\n"
                                  "raydbg_build_info{version=\"1.2.3\"} 1\n"
                                  "raydbg_keeper_up 0\n";
    static const char list[] =
        "{\"cluster\":{\"address\":\"h:1\",\"nodes_alive\":2},\"relay\":\"x\",\"pauses\":["
        "{\"endpoint\":\"a:1\",\"debugger\":\"debugpy\",\"state\":\"held\",\"held\":true},"
        "{\"endpoint\":\"a:2\",\"debugger\":\"debugpy\",\"state\":\"waiting\",\"held\":false}]}";
    (void)state;
    struct doctor_relay relay = {.keeper = -1};
    struct err err;
    assert_true(doctor_relay_read_metrics(&relay, metrics));
    assert_string_equal(relay.version, "1.2.3");
    assert_int_equal(relay.keeper, 0);
    assert_false(doctor_relay_read_metrics(&relay, "<html>"));
    assert_true(doctor_relay_read_list(&relay, list, sizeof list - 1, &err));
    assert_int_equal(relay.pauses, 2);
    assert_int_equal(relay.held, 1);
    assert_string_equal(relay.cluster, "h:1");
    assert_false(doctor_relay_read_list(&relay, "[]", 2, &err));
    free(relay.cluster);
}

/* --- here --- */

static void test_leftovers_and_extensions(void **state)
{
    char version[32];
    (void)state;
    struct doctor_facts facts = well();
    facts.here.keepers = 1;
    facts.here.extensions = mem_array(1, sizeof *facts.here.extensions);
    facts.here.extensions[0] = mem_string("0.0.9 (~/.vscode/extensions)");
    facts.here.extension_count = 1;
    facts.here.extension_differs = true;
    struct doctor_report report = judged(&facts);
    assert_check(&report, "leftovers", DOCTOR_WARNING, "a keeper here has no relay");
    assert_check(&report, "extension", DOCTOR_WARNING, "0.0.9");
    doctor_report_clear(&report);

    assert_true(doctor_extension_version("raydbg.raydbg-0.1.0", version));
    assert_string_equal(version, "0.1.0");
    assert_true(doctor_extension_version("raydbg.raydbg-0.2.0-linux-x64", version));
    assert_string_equal(version, "0.2.0");
    assert_false(doctor_extension_version("raydbg.raydbg-0.1.0rc", version));
    assert_false(doctor_extension_version("raydbg.raydbg-", version));
    assert_false(doctor_extension_version("ms-python.debugpy-2025.1.0", version));
}

/* --- the command --- */

static void write_program(const char *top, const char *directory, const char *text, mode_t mode)
{
    char path[300];
    snprintf(path, sizeof path, "%s/%s/raydbg", top, directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

/* As pip, uv, an old pip and setuptools write the command of PyPI's raydbg 0.1.0, and what it may
 * be confused with. */
static void test_another_program_of_this_name(void **state)
{
    static const struct {
        const char *text;
        mode_t mode;
        bool other;
    } rows[] = {
        {"#!/v/bin/python\nimport sys\nfrom raydbg.cli import main\n", 0755, true},
        {"#!/v/bin/python\n# EASY-INSTALL-ENTRY-SCRIPT: 'raydbg==0.1.0'\n", 0755, true},
        {"#!/v/bin/python\nfrom raydbg.cli import main\n", 0644, false},
        {"#!/bin/sh\nexec python -m raydbg_bridge \"$@\"\n", 0755, false},
        {"\x7f"
         "ELF raydbg.cli",
         0755, false},
        {"", 0755, false},
    };
    char top[] = "/tmp/raydbg-doctor-XXXXXX", command[100], search[300], expected[300];
    (void)state;
    assert_non_null(mkdtemp(top));
    make("%s/first", top);
    make("%s/second", top);
    make("%s/third", top);
    make("%s/third/raydbg", top);
    snprintf(expected, sizeof expected, "%s/first/raydbg", top);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_program(top, "first", rows[i].text, rows[i].mode);
        snprintf(search, sizeof search, "%s/third:/none:%s/first", top, top);
        char *found = doctor_host_namesake(search);
        assert_true(text_equal(found, rows[i].other ? expected : NULL));
        free(found);
    }
    /* Only the first one counts. */
    write_program(top, "first", rows[0].text, 0755);
    write_program(top, "second",
                  "\x7f"
                  "ELF",
                  0755);
    snprintf(search, sizeof search, "%s/second:%s/first", top, top);
    assert_null(doctor_host_namesake(search));
    assert_null(doctor_host_namesake(NULL));
    assert_null(doctor_host_namesake(""));
    snprintf(command, sizeof command, "rm -r %s", top);
    assert_int_equal(system(command), 0);
}

static void test_another_program_is_a_warning(void **state)
{
    (void)state;
    struct doctor_facts facts = well();
    facts.here.program = mem_string("/w/.venv/bin/raydbg");
    struct doctor_report report = judged(&facts);
    assert_null(find_check(&report, "command"));
    doctor_report_clear(&report);
    facts = well();
    facts.here.program = mem_string("/w/.venv/bin/raydbg");
    facts.here.namesake = mem_string("/usr/local/bin/raydbg");
    report = judged(&facts);
    assert_check(&report, "command", DOCTOR_WARNING, "another program: /usr/local/bin/raydbg");
    assert_check(&report, "command", DOCTOR_WARNING, "put /w/.venv/bin before it on PATH");
    assert_check(&report, "command", DOCTOR_WARNING, "pip uninstall raydbg");
    doctor_report_clear(&report);
}

/* --- ports --- */

static int listen_somewhere(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, len), 0);
    assert_int_equal(listen(fd, 4), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &len), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

static void test_a_knock_is_never_accepted(void **state)
{
    struct doctor_facts facts = {0};
    struct err err;
    const bool never = false;
    uint16_t open, closed;
    (void)state;
    int listener = listen_somewhere(&open);
    close(listen_somewhere(&closed));
    struct doctor_queries asking = {.loop = loop_create(false, &err), .facts = &facts};
    struct doctor_ports *ports = &facts.cluster.debuggers;
    doctor_ports_add(ports, "127.0.0.1", open, 1);
    doctor_ports_add(ports, "127.0.0.1", closed, 2);
    doctor_ports_add(ports, "no.address", 80, 3);
    struct doctor_knock *knock = doctor_knock(&asking, ports);
    assert_true(loop_run_until(asking.loop, &asking.done, 5000));
    assert_int_equal(ports->items[0].answer, DOCTOR_YES);
    assert_int_equal(ports->items[1].answer, DOCTOR_REFUSED);
    assert_string_equal(ports->items[1].why, "connection refused");
    assert_int_equal(ports->items[2].answer, DOCTOR_REFUSED);
    doctor_knock_stop(&knock);
    loop_run_until(asking.loop, &never, 1300); /* the kernel there has asked again by then */
    assert_int_equal(accept(listener, NULL, NULL), -1);
    assert_int_equal(errno, EAGAIN);
    close(listener);
    loop_destroy(&asking.loop);
    doctor_facts_clear(&facts);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_report_is_text_and_json),
        cmocka_unit_test(test_an_exit_code_follows_from_the_worst),
        cmocka_unit_test(test_a_cluster_that_is_well),
        cmocka_unit_test(test_a_debugger_that_is_deaf),
        cmocka_unit_test(test_ports_that_are_blocked),
        cmocka_unit_test(test_many_blocked_ports_are_counted),
        cmocka_unit_test(test_no_way_to_the_cluster),
        cmocka_unit_test(test_a_token_that_is_wrong),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_ray_debug),
        cmocka_unit_test(test_post_mortem),
        cmocka_unit_test(test_debugpy_on_this_node),
        cmocka_unit_test(test_debugpy_of_the_jobs),
        cmocka_unit_test(test_the_packages_beside_a_raylet),
        cmocka_unit_test(test_legacy_pdb_call_sites_and_clocks),
        cmocka_unit_test(test_a_relay),
        cmocka_unit_test(test_a_relay_that_refuses),
        cmocka_unit_test(test_a_relay_is_read),
        cmocka_unit_test(test_leftovers_and_extensions),
        cmocka_unit_test(test_another_program_of_this_name),
        cmocka_unit_test(test_another_program_is_a_warning),
        cmocka_unit_test(test_a_knock_is_never_accepted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
