#include "proto/dashboard_parse.h"

#include "base/mem.h"
#include "base/text.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The text of a member, or NULL if it is missing, null or not a string. */
static const char *member_text(const cJSON *row, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(row, name));
}

static char *member_copy(const cJSON *row, const char *name)
{
    return mem_string(member_text(row, name));
}

static int64_t member_int(const cJSON *row, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(row, name);
    if (!cJSON_IsNumber(item) || !(fabs(item->valuedouble) < 9e15))
        return 0;
    return (int64_t)item->valuedouble;
}

static uint16_t member_port(const cJSON *row, const char *name)
{
    int64_t port = member_int(row, name);
    return port > 0 && port <= UINT16_MAX ? (uint16_t)port : 0;
}

static bool member_true(const cJSON *row, const char *name)
{
    return cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(row, name));
}

/* Ids go into file names, URLs and back to the cluster, so anything except `bytes` bytes of hex is
 * unknown (""). So is Ray's nil id, all f. */
static void member_id(const cJSON *row, const char *name, char *out, size_t bytes)
{
    uint8_t raw[ID_UNIQUE_BYTES];
    const char *text = member_text(row, name);
    *out = '\0';
    if (!text_unhex(text, raw, bytes))
        return;
    for (size_t i = 0; i < bytes; i++) {
        if (raw[i] != 0xFF) {
            text_hex(raw, bytes, out);
            return;
        }
    }
}

static int not_the_api(struct err *err, const char *why)
{
    err_set(err, ERR_FAILED, "the dashboard's answer is not what Ray's State API gives");
    err_why(err, "%s", why);
    err_hint(err, "is that the address of a Ray dashboard, and not of something in front of it?");
    return -1;
}

/* A failure that the API itself reports: `msg` has several lines, often a traceback. The first line
 * names the failure. */
static int api_failed(const cJSON *root, struct err *err)
{
    const char *message = member_text(root, "msg");
    size_t len = message ? strcspn(message, "\r\n") : 0;
    char *line = text_printable(message ? message : "", len, "");
    err_set(err, ERR_FAILED, "the dashboard could not answer");
    err_why(err, "%s", *line ? line : "it gave no reason");
    free(line);
    return -1;
}

static cJSON *parse(const char *text, struct err *err)
{
    cJSON *root = cJSON_Parse(text);
    if (!root) {
        not_the_api(err, "it is not JSON");
        return NULL;
    }
    if (cJSON_IsFalse(cJSON_GetObjectItemCaseSensitive(root, "result"))) {
        api_failed(root, err);
        cJSON_Delete(root);
        return NULL;
    }
    return root;
}

/* {"result": true, "data": {"result": {"result": [row…]}}} */
static const cJSON *rows_of(const cJSON *root, struct err *err)
{
    const cJSON *at = cJSON_GetObjectItemCaseSensitive(root, "data");
    at = cJSON_GetObjectItemCaseSensitive(at, "result");
    at = cJSON_GetObjectItemCaseSensitive(at, "result");
    if (!cJSON_IsArray(at)) {
        not_the_api(err, "it has no data.result.result");
        return NULL;
    }
    return at;
}

typedef void (*row_fn)(const cJSON *row, void *record);

/* `*out` gets an array of `size`-byte records, one for each row. */
static int parse_rows(const char *text, row_fn fn, size_t size, void **out, size_t *count,
                      struct err *err)
{
    *out = NULL;
    *count = 0;
    cJSON *root = parse(text, err);
    if (!root)
        return -1;
    const cJSON *rows = rows_of(root, err);
    if (rows) {
        char *records = mem_array((size_t)cJSON_GetArraySize(rows), size);
        const cJSON *row;
        cJSON_ArrayForEach(row, rows)
        {
            if (cJSON_IsObject(row))
                fn(row, records + size * (*count)++);
        }
        *out = records;
    }
    cJSON_Delete(root);
    return rows ? 0 : -1;
}

static void worker_row(const cJSON *row, void *record)
{
    struct ray_worker *worker = record;
    const char *type = member_text(row, "worker_type");
    const char *exit_type = member_text(row, "exit_type");
    member_id(row, "worker_id", worker->worker_id, ID_UNIQUE_BYTES);
    member_id(row, "node_id", worker->node_id, ID_UNIQUE_BYTES);
    worker->ip = member_copy(row, "ip");
    worker->pid = member_int(row, "pid");
    worker->is_alive = member_true(row, "is_alive");
    worker->is_driver = text_equal(type, "DRIVER");
    worker->debugger_port = member_port(row, "debugger_port");
    worker->paused_threads = ray_worker_paused_threads(member_int(row, "num_paused_threads"));
    if (!worker->is_alive && !text_empty(exit_type)) {
        worker->exit_type = mem_string(exit_type);
        worker->exit_detail = member_copy(row, "exit_detail");
    }
    worker->start_ms = member_int(row, "start_time_ms");
    worker->end_ms = member_int(row, "end_time_ms");
}

/* `start_time_ms` is when the task began to run. For older versions of Ray, `events` has it. */
static int64_t running_since(const cJSON *row)
{
    int64_t ms = member_int(row, "start_time_ms");
    const cJSON *event;
    cJSON_ArrayForEach(event, cJSON_GetObjectItemCaseSensitive(row, "events"))
    {
        if (ms == 0 && text_equal(member_text(event, "state"), "RUNNING"))
            ms = member_int(event, "created_ms");
    }
    return ms;
}

static void task_row(const cJSON *row, void *record)
{
    struct ray_task *task = record;
    member_id(row, "task_id", task->task_id, ID_TASK_BYTES);
    member_id(row, "parent_task_id", task->parent_task_id, ID_TASK_BYTES);
    member_id(row, "job_id", task->job_id, ID_JOB_BYTES);
    member_id(row, "actor_id", task->actor_id, ID_ACTOR_BYTES);
    member_id(row, "node_id", task->node_id, ID_UNIQUE_BYTES);
    member_id(row, "worker_id", task->worker_id, ID_UNIQUE_BYTES);
    task->name = member_copy(row, "name");
    task->func_or_class = member_copy(row, "func_or_class_name");
    task->pid = member_int(row, "worker_pid");
    task->attempt = (int)member_int(row, "attempt_number");
    task->running_ms = running_since(row);
}

static void actor_row(const cJSON *row, void *record)
{
    struct ray_actor *actor = record;
    const char *name = member_text(row, "name");
    member_id(row, "actor_id", actor->actor_id, ID_ACTOR_BYTES);
    member_id(row, "job_id", actor->job_id, ID_JOB_BYTES);
    member_id(row, "node_id", actor->node_id, ID_UNIQUE_BYTES);
    actor->class_name = member_copy(row, "class_name");
    actor->name = mem_string(name ? name : "");
    actor->repr_name = member_copy(row, "repr_name");
    actor->state = member_copy(row, "state");
    actor->pid = member_int(row, "pid");
}

static void node_row(const cJSON *row, void *record)
{
    struct ray_node *node = record;
    member_id(row, "node_id", node->node_id, ID_UNIQUE_BYTES);
    node->ip = member_copy(row, "node_ip");
    node->hostname = member_copy(row, "node_name");
    node->is_alive = text_equal(member_text(row, "state"), "ALIVE");
    node->is_head = member_true(row, "is_head_node");
    node->end_ms = member_int(row, "end_time_ms");
    node->end_detail = member_copy(row, "state_message");
}

/* A submission job whose driver has not started has no job_id. */
static void job_row(const cJSON *row, void *record)
{
    struct ray_job *job = record;
    const char *status = member_text(row, "status");
    const cJSON *driver = cJSON_GetObjectItemCaseSensitive(row, "driver_info");
    const char *pid = member_text(driver, "pid");
    member_id(row, "job_id", job->job_id, ID_JOB_BYTES);
    job->is_dead = status && !text_equal(status, "RUNNING") && !text_equal(status, "PENDING");
    job->entrypoint = member_copy(row, "entrypoint");
    job->driver_ip = member_copy(driver, "node_ip_address");
    if (!text_to_int(pid, 0, INT32_MAX, &job->driver_pid))
        job->driver_pid = 0;
}

/* One function for each kind of record: the casts stay here. */
#define PARSE(kind, type)                                                                          \
    int dashboard_parse_##kind##s(const char *text, type **out, size_t *count, struct err *err)    \
    {                                                                                              \
        void *records;                                                                             \
        int result = parse_rows(text, kind##_row, sizeof(type), &records, count, err);             \
        *out = records;                                                                            \
        return result;                                                                             \
    }

PARSE(worker, struct ray_worker)
PARSE(task, struct ray_task)
PARSE(actor, struct ray_actor)
PARSE(node, struct ray_node)
PARSE(job, struct ray_job)

int dashboard_parse_version(const char *text, char *ray, size_t ray_size, char *python,
                            size_t python_size, struct err *err)
{
    cJSON *root = parse(text, err);
    if (!root)
        return -1;
    const char *version = member_text(root, "ray_version");
    const char *interpreter = member_text(root, "python_version");
    bool known = version != NULL;
    text_copy(ray, ray_size, version ? version : "");
    text_copy(python, python_size, interpreter ? interpreter : "");
    cJSON_Delete(root);
    return known ? 0 : not_the_api(err, "it has no ray_version");
}

int dashboard_parse_session(const char *text, char *session, size_t size, struct err *err)
{
    cJSON *root = parse(text, err);
    if (!root)
        return -1;
    const char *name = member_text(root, "session_name");
    bool known = name && text_copy(session, size, name);
    cJSON_Delete(root);
    return known ? 0 : not_the_api(err, "it has no session_name");
}

int dashboard_parse_profiling(const char *text, bool *enabled, struct err *err)
{
    cJSON *root = parse(text, err);
    if (!root)
        return -1;
    const cJSON *data = cJSON_GetObjectItemCaseSensitive(root, "data");
    const cJSON *value = cJSON_GetObjectItemCaseSensitive(data, "profilingEnabled");
    bool known = cJSON_IsBool(value);
    *enabled = cJSON_IsTrue(value);
    cJSON_Delete(root);
    return known ? 0 : not_the_api(err, "it has no profilingEnabled");
}
