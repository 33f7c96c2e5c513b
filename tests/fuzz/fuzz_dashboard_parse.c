/* The bodies of a dashboard's replies: each parser gives records that are whole, or an error. */
#include "fuzz.h"

#include "base/mem.h"
#include "proto/dashboard_parse.h"

static void try_workers(const char *text)
{
    struct ray_worker *rows;
    size_t count;
    struct err err = {0};
    if (dashboard_parse_workers(text, &rows, &count, &err) != 0) {
        check(err.what[0]);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        check_hex(rows[i].worker_id, ID_UNIQUE_BYTES);
        check_hex(rows[i].node_id, ID_UNIQUE_BYTES);
        check(!rows[i].exit_type || !rows[i].is_alive);
    }
    ray_workers_free(rows, count);
}

static void try_tasks(const char *text)
{
    struct ray_task *rows;
    size_t count;
    struct err err = {0};
    if (dashboard_parse_tasks(text, &rows, &count, &err) != 0) {
        check(err.what[0]);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        check_hex(rows[i].task_id, ID_TASK_BYTES);
        check_hex(rows[i].actor_id, ID_ACTOR_BYTES);
        check_hex(rows[i].worker_id, ID_UNIQUE_BYTES);
    }
    ray_tasks_free(rows, count);
}

static void try_actors(const char *text)
{
    struct ray_actor *rows;
    size_t count;
    struct err err = {0};
    if (dashboard_parse_actors(text, &rows, &count, &err) != 0) {
        check(err.what[0]);
        return;
    }
    for (size_t i = 0; i < count; i++)
        check_hex(rows[i].actor_id, ID_ACTOR_BYTES);
    ray_actors_free(rows, count);
}

static void try_nodes(const char *text)
{
    struct ray_node *rows;
    size_t count;
    struct err err = {0};
    if (dashboard_parse_nodes(text, &rows, &count, &err) != 0) {
        check(err.what[0]);
        return;
    }
    for (size_t i = 0; i < count; i++)
        check_hex(rows[i].node_id, ID_UNIQUE_BYTES);
    ray_nodes_free(rows, count);
}

static void try_jobs(const char *text)
{
    struct ray_job *rows;
    size_t count;
    struct err err = {0};
    if (dashboard_parse_jobs(text, &rows, &count, &err) != 0) {
        check(err.what[0]);
        return;
    }
    for (size_t i = 0; i < count; i++)
        check_hex(rows[i].job_id, ID_JOB_BYTES);
    ray_jobs_free(rows, count);
}

static void try_version(const char *text)
{
    char ray[8], python[300];
    struct err err = {0};
    if (dashboard_parse_version(text, ray, sizeof ray, python, sizeof python, &err) != 0)
        check(err.what[0]);
    else
        check(memchr(ray, '\0', sizeof ray) && memchr(python, '\0', sizeof python));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = mem_string_n((const char *)data, size);
    try_workers(text);
    try_tasks(text);
    try_actors(text);
    try_nodes(text);
    try_jobs(text);
    try_version(text);
    free(text);
    return 0;
}
