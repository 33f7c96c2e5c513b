/* What Ray's dashboard answers, as records; and what else answers at such an address, as errors.
 * The bodies in data/dashboard-*.json have the fields and the shape of Ray 2.60's State API. */
#include "cmocka_prelude.h"
#include "http_server.h"
#include "sample_ids.h"
#include "test_data.h"

#include "base/buf.h"
#include "base/mem.h"
#include "proto/dashboard.h"
#include "proto/dashboard_parse.h"

#include <stdio.h>
#include <stdlib.h>

#define NODE "9e266305b003a67cacd897fc5be34911cae545ca07a23158d4a034ef"
#define WORKER "28f6b1e87ac0f9ab6df41a1b02a1a0a9fdd0ffb4e0cb4b1a6a0f1f7c"
#define OTHER_WORKER "3c9d01c2b7d54e6f8a9b0c1d2e3f405162738495a6b7c8d9eafb0c1d"
#define ACTOR "9a3d1e2f4b5c6d7e8f90a1b201000000"

/* --- records --- */

/* `name` is "workers.json"; the caller frees. */
static char *load(const char *name)
{
    char path[512];
    struct buf bytes = {0};
    snprintf(path, sizeof path, "%s/dashboard-%s", test_data, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    bytes.len = fread(buf_reserve(&bytes, 1 << 16), 1, (1 << 16) - 1, file);
    fclose(file);
    assert_true(bytes.len > 0);
    return buf_take(&bytes);
}

static void workers(void **state)
{
    (void)state;
    struct ray_worker *rows;
    size_t count;
    struct err err;
    char *text = load("workers.json");
    assert_int_equal(dashboard_parse_workers(text, &rows, &count, &err), 0);
    free(text);
    assert_int_equal(count, 4);
    assert_string_equal(rows[0].worker_id, WORKER);
    assert_string_equal(rows[0].node_id, NODE);
    assert_string_equal(rows[0].ip, "127.0.0.1");
    assert_int_equal(rows[0].pid, 13701);
    assert_int_equal(rows[0].debugger_port, 58541);
    assert_int_equal(rows[0].paused_threads, 1);
    assert_true(rows[0].is_alive);
    assert_false(rows[0].is_driver);
    assert_null(rows[0].exit_type);
    assert_null(rows[0].exit_detail);
    assert_true(rows[0].start_ms == 1763697298100);
    assert_true(rows[0].end_ms == 0);
    assert_int_equal(rows[0].port, 0); /* the API does not tell it */
    assert_int_equal(rows[1].paused_threads, 0);
    assert_false(rows[2].is_alive);
    assert_string_equal(rows[2].exit_type, "SYSTEM_ERROR");
    assert_non_null(strstr(rows[2].exit_detail, "connection error code 2"));
    assert_true(rows[2].end_ms == 1763697310000);
    assert_true(rows[3].is_driver);
    assert_int_equal(rows[3].debugger_port, 0);  /* null */
    assert_int_equal(rows[3].paused_threads, 0); /* null */
    assert_null(rows[3].exit_type);              /* "" */
    ray_workers_free(rows, count);
}

static void tasks(void **state)
{
    (void)state;
    struct ray_task *rows;
    size_t count;
    struct err err;
    char *text = load("tasks.json");
    assert_int_equal(dashboard_parse_tasks(text, &rows, &count, &err), 0);
    free(text);
    assert_int_equal(count, 2);
    assert_string_equal(rows[0].task_id, "c2668a65bdda28bdffffffffffffffffffffffff01000000");
    assert_string_equal(rows[0].parent_task_id, "ffffffffffffffffffffffffffffffffffffffff01000000");
    assert_string_equal(rows[0].job_id, "01000000");
    assert_string_equal(rows[0].actor_id, ""); /* null */
    assert_string_equal(rows[0].node_id, NODE);
    assert_string_equal(rows[0].worker_id, WORKER);
    assert_string_equal(rows[0].name, "square");
    assert_string_equal(rows[0].func_or_class, "square");
    assert_int_equal(rows[0].pid, 13701);
    assert_int_equal(rows[0].attempt, 0);
    assert_true(rows[0].running_ms == 1763697299020);
    assert_string_equal(rows[1].actor_id, ACTOR);
    assert_string_equal(rows[1].worker_id, OTHER_WORKER);
    assert_string_equal(rows[1].name, "Trainer.step");
    assert_int_equal(rows[1].attempt, 2);
    assert_true(rows[1].running_ms == 1763697299020); /* from its events */
    ray_tasks_free(rows, count);
}

static void actors(void **state)
{
    (void)state;
    struct ray_actor *rows;
    size_t count;
    struct err err;
    char *text = load("actors.json");
    assert_int_equal(dashboard_parse_actors(text, &rows, &count, &err), 0);
    free(text);
    assert_int_equal(count, 2);
    assert_string_equal(rows[0].actor_id, ACTOR);
    assert_string_equal(rows[0].job_id, "01000000");
    assert_string_equal(rows[0].node_id, NODE);
    assert_string_equal(rows[0].class_name, "Trainer");
    assert_string_equal(rows[0].name, "bob");
    assert_string_equal(rows[0].state, "ALIVE");
    assert_int_equal(rows[0].pid, 13702);
    assert_string_equal(rows[1].node_id, ""); /* null */
    assert_string_equal(rows[1].name, "");
    assert_string_equal(rows[1].repr_name, "Helper()");
    assert_string_equal(rows[1].state, "DEAD");
    ray_actors_free(rows, count);
}

static void nodes(void **state)
{
    (void)state;
    struct ray_node *rows;
    size_t count;
    struct err err;
    char *text = load("nodes.json");
    assert_int_equal(dashboard_parse_nodes(text, &rows, &count, &err), 0);
    free(text);
    assert_int_equal(count, 2);
    assert_string_equal(rows[0].node_id, NODE);
    assert_string_equal(rows[0].ip, "127.0.0.1");
    assert_true(rows[0].is_alive);
    assert_true(rows[0].is_head);
    assert_string_equal(rows[1].node_id, UNIQUE_ID("ab"));
    assert_string_equal(rows[1].hostname, "node-b");
    assert_false(rows[1].is_alive);
    assert_false(rows[1].is_head);
    assert_int_equal(rows[1].end_ms, 1763697400000);
    assert_string_equal(rows[1].end_detail, "Unexpected termination: health check failed due to "
                                            "missing too many heartbeats");
    ray_nodes_free(rows, count);
}

static void jobs(void **state)
{
    (void)state;
    struct ray_job *rows;
    size_t count;
    struct err err;
    char *text = load("jobs.json");
    assert_int_equal(dashboard_parse_jobs(text, &rows, &count, &err), 0);
    free(text);
    assert_int_equal(count, 4);
    assert_string_equal(rows[0].job_id, "01000000");
    assert_string_equal(rows[0].entrypoint, "python pauses.py");
    assert_string_equal(rows[0].driver_ip, "127.0.0.1");
    assert_int_equal(rows[0].driver_pid, 13600); /* text there */
    assert_false(rows[0].is_dead);
    assert_string_equal(rows[1].job_id, "");
    assert_null(rows[1].driver_ip);
    assert_int_equal(rows[1].driver_pid, 0);
    assert_false(rows[1].is_dead);
    assert_true(rows[2].is_dead);
    assert_true(rows[3].is_dead);
    ray_jobs_free(rows, count);
}

static void version(void **state)
{
    (void)state;
    char ray[32], python[32];
    struct err err;
    char *text = load("version.json");
    assert_int_equal(dashboard_parse_version(text, ray, sizeof ray, python, sizeof python, &err),
                     0);
    free(text);
    assert_string_equal(ray, "2.60.0");
    assert_string_equal(python, "");
    assert_int_equal(dashboard_parse_version("{\"ray_version\":\"2.60.0\",\"python_version\":"
                                             "\"3.11.7\"}",
                                             ray, 3, python, sizeof python, &err),
                     0);
    assert_string_equal(ray, "2."); /* cut */
    assert_string_equal(python, "3.11.7");
    assert_int_equal(dashboard_parse_version("{}", ray, sizeof ray, python, sizeof python, &err),
                     -1);
    assert_non_null(strstr(err.why, "ray_version"));
}

/* --- odd rows --- */

#define ROWS(rows) "{\"result\":true,\"data\":{\"result\":{\"result\":" rows "}}}"

static void rows_with_nothing_in_them(void **state)
{
    (void)state;
    struct err err;
    size_t count;
    struct ray_worker *a;
    assert_int_equal(dashboard_parse_workers(ROWS("[]"), &a, &count, &err), 0);
    assert_int_equal(count, 0);
    ray_workers_free(a, count);
    /* What is no object is no row. */
    assert_int_equal(dashboard_parse_workers(ROWS("[{},7,null,{}]"), &a, &count, &err), 0);
    assert_int_equal(count, 2);
    assert_string_equal(a[0].worker_id, "");
    assert_null(a[0].ip);
    assert_false(a[0].is_alive);
    ray_workers_free(a, count);
    struct ray_task *b;
    assert_int_equal(dashboard_parse_tasks(ROWS("[{}]"), &b, &count, &err), 0);
    assert_null(b[0].name);
    assert_true(b[0].running_ms == 0);
    ray_tasks_free(b, count);
    struct ray_actor *c;
    assert_int_equal(dashboard_parse_actors(ROWS("[{}]"), &c, &count, &err), 0);
    assert_string_equal(c[0].name, "");
    ray_actors_free(c, count);
    struct ray_node *d;
    assert_int_equal(dashboard_parse_nodes(ROWS("[{}]"), &d, &count, &err), 0);
    assert_false(d[0].is_alive);
    ray_nodes_free(d, count);
    struct ray_job *e;
    assert_int_equal(dashboard_parse_jobs(ROWS("[{}]"), &e, &count, &err), 0);
    assert_false(e[0].is_dead); /* nobody said so */
    ray_jobs_free(e, count);
}

/* Ids go back to the cluster, where one of the wrong length kills the GCS. */
static void ids_that_are_none(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "a1a1",          UNIQUE_ID("a1") "a1", TASK_ID("a1") "a1a1a1zz", "../../../etc/passwd",
        UNIQUE_ID("ff"), /* Ray's nil */
        UNIQUE_ID("Ff")};
    struct ray_worker *rows;
    size_t count;
    struct err err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *text = mem_format(ROWS("[{\"worker_id\":\"%s\"}]"), bad[i]);
        assert_int_equal(dashboard_parse_workers(text, &rows, &count, &err), 0);
        assert_string_equal(rows[0].worker_id, "");
        ray_workers_free(rows, count);
        free(text);
    }
    const char *upper = ROWS("[{\"worker_id\":\"" UNIQUE_ID("AB") "\"}]");
    assert_int_equal(dashboard_parse_workers(upper, &rows, &count, &err), 0);
    assert_string_equal(rows[0].worker_id, UNIQUE_ID("ab"));
    ray_workers_free(rows, count);
}

static void members_of_wrong_types(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "{\"pid\":\"7\",\"ip\":7,\"is_alive\":\"true\",\"debugger_port\":\"1\",\"worker_id\":[]}",
        "{\"pid\":1e300,\"debugger_port\":65536,\"num_paused_threads\":-1e999,\"is_alive\":1}",
        "{\"num_paused_threads\":4294967295}", /* -1 */
        "{\"pid\":{},\"debugger_port\":-1,\"is_alive\":null,\"ip\":{\"a\":1}}"};
    struct ray_worker *rows;
    size_t count;
    struct err err;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char *text = mem_format(ROWS("[%s]"), bad[i]);
        assert_int_equal(dashboard_parse_workers(text, &rows, &count, &err), 0);
        assert_int_equal(rows[0].pid, 0);
        assert_int_equal(rows[0].debugger_port, 0);
        assert_int_equal(rows[0].paused_threads, 0);
        assert_null(rows[0].ip);
        assert_false(rows[0].is_alive);
        ray_workers_free(rows, count);
        free(text);
    }
}

/* --- what is not the API's --- */

static void check_no_rows(const char *text, const char *why)
{
    struct ray_worker *rows = (struct ray_worker *)&rows;
    size_t count = 9;
    struct err err = {0};
    assert_int_equal(dashboard_parse_workers(text, &rows, &count, &err), -1);
    assert_null(rows);
    assert_int_equal(count, 0);
    assert_int_equal(err.code, ERR_FAILED);
    assert_string_equal(err.why, why);
}

static void other_bodies(void **state)
{
    (void)state;
    char *page = load("login.html");
    check_no_rows(page, "it is not JSON");
    free(page);
    check_no_rows("", "it is not JSON");
    check_no_rows("{", "it is not JSON");
    check_no_rows("{}", "it has no data.result.result");
    check_no_rows("[]", "it has no data.result.result");
    check_no_rows("7", "it has no data.result.result");
    check_no_rows("null", "it has no data.result.result");
    check_no_rows("{\"result\":true,\"data\":null}", "it has no data.result.result");
    check_no_rows("{\"result\":true,\"data\":{\"result\":[]}}", "it has no data.result.result");
    check_no_rows(ROWS("{}"), "it has no data.result.result");
    check_no_rows(ROWS("null"), "it has no data.result.result");
}

static void the_apis_own_failures(void **state)
{
    (void)state;
    char *text = load("failed.json");
    check_no_rows(text, "Failed to list workers.");
    free(text);
    check_no_rows("{\"result\":false,\"msg\":\"a\\u001b[2Jb\\nc\"}", "a?[2Jb");
    check_no_rows("{\"result\":false}", "it gave no reason");
    check_no_rows("{\"result\":false,\"msg\":\"\"}", "it gave no reason");
    check_no_rows("{\"result\":false,\"msg\":7}", "it gave no reason");
}

/* Whatever is missing at the end: an error, and nothing is leaked. */
static void truncated_bodies(void **state)
{
    (void)state;
    char *text = load("workers.json");
    for (size_t len = strlen(text) - 2; len > 0; len -= len > 7 ? 7 : len) {
        text[len] = '\0';
        check_no_rows(text, "it is not JSON");
    }
    free(text);
}

/* --- over HTTP --- */

struct outcome {
    int times;
    size_t count;
    struct err err;
    char first[ID_TEXT(ID_UNIQUE_BYTES)];
};

static void on_workers(void *arg, const struct err *err, struct ray_worker *rows, size_t count)
{
    struct outcome *outcome = arg;
    outcome->times++;
    outcome->count = count;
    if (err)
        outcome->err = *err;
    else if (count)
        memcpy(outcome->first, rows[0].worker_id, sizeof outcome->first);
    ray_workers_free(rows, count);
}

static void on_tasks(void *arg, const struct err *err, struct ray_task *rows, size_t count)
{
    struct outcome *outcome = arg;
    outcome->times++;
    outcome->count = count;
    if (err)
        outcome->err = *err;
    ray_tasks_free(rows, count);
}

/* A dashboard at the server's port, under `path`. */
static struct dashboard *open_dashboard(struct lws_context *context, uint16_t port,
                                        const char *path, char *token, int64_t deadline_ms)
{
    struct err err = {0};
    const struct credentials credentials = {.token = token};
    char *url = mem_format("http://127.0.0.1:%d%s", port, path);
    struct dashboard *dashboard =
        dashboard_create(context, url, token ? &credentials : NULL, deadline_ms, &err);
    assert_non_null(dashboard);
    free(url);
    return dashboard;
}

static struct outcome ask_workers(struct http_server *server, char *token)
{
    struct outcome outcome = {.times = 0};
    struct lws_context *context = http_client_context();
    http_server_start(server);
    struct dashboard *dashboard = open_dashboard(context, server->port, "/ray/", token, 1500);
    dashboard_workers(dashboard, on_workers, &outcome);
    while (!outcome.times)
        lws_service(context, 0);
    dashboard_destroy(&dashboard);
    assert_null(dashboard);
    lws_context_destroy(context);
    http_server_stop(server);
    assert_int_equal(outcome.times, 1);
    return outcome;
}

#define JSON_HEAD "HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=utf-8\r\n\r\n"

static void workers_over_http(void **state)
{
    (void)state;
    char *body = load("workers.json");
    struct http_server server = {.head = JSON_HEAD, .body = body};
    struct outcome got = ask_workers(&server, "t0ken");
    assert_int_equal(got.err.code, ERR_NONE);
    assert_int_equal(got.count, 4);
    assert_string_equal(got.first, WORKER);
    assert_non_null(strstr(server.request, "GET /ray/api/v0/workers?"));
    assert_non_null(strstr(server.request, "detail=1"));
    assert_non_null(strcasestr(server.request, "Authorization: Bearer t0ken\r\n"));
    free(body);
}

/* What a reply of the server's comes to, if it was no list of workers. */
static void check_error(const char *head, const char *body, char *token, enum err_code code,
                        const char *line)
{
    char text[2000];
    struct http_server server = {.head = head, .body = body};
    struct outcome got = ask_workers(&server, token);
    err_line(&got.err, text, sizeof text);
    if (got.err.code != code || !strstr(text, line))
        print_error("%d: %s\n", got.err.code, text);
    assert_int_equal(got.err.code, code);
    assert_non_null(strstr(text, line));
    assert_null(strchr(text, '\033'));
    assert_null(strstr(text, "t0ken"));
}

static void errors_over_http(void **state)
{
    (void)state;
    char *page = load("login.html"), *failed = load("failed.json");
    check_error("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n", page, NULL, ERR_FAILED,
                "answers with a web page where Ray's State API gives JSON");
    check_error(JSON_HEAD, page, NULL, ERR_FAILED, "it is not JSON");
    check_error(JSON_HEAD, failed, NULL, ERR_FAILED, "Failed to list workers.");
    check_error("HTTP/1.1 500 Oops\r\nContent-Type: application/json\r\n\r\n", failed, NULL,
                ERR_FAILED, "Failed to list workers.");
    check_error("HTTP/1.1 500 Oops\r\nContent-Type: text/plain\r\n\r\n", "it\033[2J broke\nx", NULL,
                ERR_FAILED, "with HTTP 500: it?[2J broke");
    check_error("HTTP/1.1 404 Not Found\r\n\r\n", "404: Not Found", NULL, ERR_FAILED,
                "is that a Ray dashboard?");
    check_error("HTTP/1.1 302 Found\r\nLocation: https://sso/?x=1\r\n\r\n", "", NULL, ERR_FAILED,
                "HTTP 302 to https://sso/?x=1");
    check_error("HTTP/1.1 401 Unauthorized\r\n\r\n", "Unauthorized: Missing authentication token",
                NULL, ERR_DENIED, "set RAY_AUTH_TOKEN");
    check_error("HTTP/1.1 403 Forbidden\r\n\r\n", "Forbidden: Invalid authentication token",
                "t0ken", ERR_DENIED, "Invalid authentication token (a token was sent)");
    check_error("HTTP/1.1 403 Forbidden\r\nContent-Type: text/html\r\n\r\n", page, NULL, ERR_DENIED,
                "refuses access: HTTP 403 (");
    check_error("", "", NULL, ERR_UNREACHABLE, "gave no whole answer");
    check_error("HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", "{", NULL, ERR_UNREACHABLE,
                "gave no whole answer");
    free(page);
    free(failed);
}

static void a_dashboard_that_hangs(void **state)
{
    (void)state;
    struct http_server server = {.head = "", .body = "", .after = HTTP_HOLD};
    struct outcome got = ask_workers(&server, NULL);
    assert_int_equal(got.err.code, ERR_UNREACHABLE);
    assert_non_null(strstr(got.err.what, "did not answer /api/v0/workers within"));
}

static void a_dashboard_that_is_not_there(void **state)
{
    (void)state;
    uint16_t port;
    struct outcome outcome = {.times = 0};
    struct lws_context *context = http_client_context();
    int fd = http_server_bind(&port);
    struct dashboard *dashboard = open_dashboard(context, port, "", NULL, 5000);
    dashboard_workers(dashboard, on_workers, &outcome);
    while (!outcome.times)
        lws_service(context, 0);
    assert_int_equal(outcome.err.code, ERR_UNREACHABLE);
    assert_non_null(
        strstr(outcome.err.what, "cannot connect to the dashboard at http://127.0.0.1"));
    dashboard_destroy(&dashboard);
    lws_context_destroy(context);
    close(fd);
}

/* Only a whole id is sent. */
static void check_task_query(const char *worker_id, const char *expected, const char *unexpected)
{
    char *body = load("tasks.json");
    struct http_server server = {.head = JSON_HEAD, .body = body};
    struct outcome outcome = {.times = 0};
    struct lws_context *context = http_client_context();
    http_server_start(&server);
    struct dashboard *dashboard = open_dashboard(context, server.port, "", NULL, 5000);
    dashboard_tasks(dashboard, worker_id, on_tasks, &outcome);
    while (!outcome.times)
        lws_service(context, 0);
    dashboard_destroy(&dashboard);
    lws_context_destroy(context);
    http_server_stop(&server);
    free(body);
    assert_int_equal(outcome.err.code, ERR_NONE);
    assert_int_equal(outcome.count, 2);
    assert_non_null(strstr(server.request, "GET /api/v0/tasks?"));
    assert_non_null(strstr(server.request, "filter_keys=state&filter_predicates=%3D"
                                           "&filter_values=RUNNING"));
    if (expected)
        assert_non_null(strstr(server.request, expected));
    if (unexpected)
        assert_null(strstr(server.request, unexpected));
}

static void task_queries(void **state)
{
    (void)state;
    check_task_query(
        WORKER, "filter_keys=worker_id&filter_predicates=%3D&filter_values=" WORKER " HTTP", NULL);
    check_task_query(NULL, NULL, "worker_id");
    check_task_query("", NULL, "worker_id");
    check_task_query("28f6b1", NULL, "worker_id");
    check_task_query("x&limit=9 HTTP/1.1\r\nEvil: 1", NULL, "Evil");
}

static void destroyed_with_calls_in_flight(void **state)
{
    (void)state;
    struct http_server server = {.head = "", .body = "", .after = HTTP_HOLD};
    struct outcome outcome = {.times = 0};
    struct lws_context *context = http_client_context();
    http_server_start(&server);
    struct dashboard *dashboard = open_dashboard(context, server.port, "", NULL, 5000);
    dashboard_workers(dashboard, on_workers, &outcome);
    dashboard_workers(dashboard, on_workers, &outcome);
    for (int i = 0; i < 20; i++)
        lws_service(context, -1);
    dashboard_destroy(&dashboard);
    for (int i = 0; i < 20; i++)
        lws_service(context, -1);
    lws_context_destroy(context);
    http_server_stop(&server);
    assert_int_equal(outcome.times, 0);
}

static void urls_that_are_none(void **state)
{
    (void)state;
    static const char *const bad[] = {"",          "127.0.0.1:8265", "ftp://h:1", "http://",
                                      "http:///x", "http://a:b:c",   "http://a:0"};
    struct lws_context *context = http_client_context();
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct err err = {0};
        struct dashboard *dashboard = dashboard_create(context, bad[i], NULL, 1000, &err);
        if (dashboard)
            print_error("'%s' was taken\n", bad[i]);
        assert_null(dashboard);
        assert_int_equal(err.code, ERR_USAGE);
    }
    static const char *const good[] = {"http://h", "https://h:1/a/b/", "http://[::1]",
                                       "http://[::1]:8265/"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        struct err err = {0};
        struct dashboard *dashboard = dashboard_create(context, good[i], NULL, 1000, &err);
        assert_non_null(dashboard);
        dashboard_destroy(&dashboard);
    }
    lws_context_destroy(context);
}

int main(void)
{
    alarm(120); /* a callback that never comes must not hang the run */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(workers),
        cmocka_unit_test(tasks),
        cmocka_unit_test(actors),
        cmocka_unit_test(nodes),
        cmocka_unit_test(jobs),
        cmocka_unit_test(version),
        cmocka_unit_test(rows_with_nothing_in_them),
        cmocka_unit_test(ids_that_are_none),
        cmocka_unit_test(members_of_wrong_types),
        cmocka_unit_test(other_bodies),
        cmocka_unit_test(the_apis_own_failures),
        cmocka_unit_test(truncated_bodies),
        cmocka_unit_test(workers_over_http),
        cmocka_unit_test(errors_over_http),
        cmocka_unit_test(a_dashboard_that_hangs),
        cmocka_unit_test(a_dashboard_that_is_not_there),
        cmocka_unit_test(task_queries),
        cmocka_unit_test(destroyed_with_calls_in_flight),
        cmocka_unit_test(urls_that_are_none),
    };
    return cmocka_run_group_tests_name("dashboard", tests, NULL, NULL);
}
