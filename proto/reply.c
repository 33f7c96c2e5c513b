#include "proto/reply.h"

#include "base/mem.h"
#include "base/text.h"
#include "core_worker.pb-c.h"
#include "gcs.pb-c.h"
#include "node_manager.pb-c.h"
#include "proto/failure_wire.h"
#include "proto/reply_status.h"
#include "proto/request.h"
#include "proto/runtime_env.h"
#include "proto/stats_wire.h"
#include "proto/wire.h"

#include <stdlib.h>
#include <string.h>

/* enum WorkerExitType; the numbers are the same in 2.9.3 and 2.60.0. */
static const char *const exit_types[] = {"SYSTEM_ERROR", "INTENDED_SYSTEM_EXIT", "USER_ERROR",
                                         "INTENDED_USER_EXIT", "NODE_OUT_OF_MEMORY"};
/* enum ActorTableData.ActorState; the same in 2.9.3 and 2.60.0. */
static const char *const actor_states[] = {"DEPENDENCIES_UNREADY", "PENDING_CREATION", "ALIVE",
                                           "RESTARTING", "DEAD"};
/* enum NodeDeathInfo.Reason, from 2.34 on. */
static const char *const node_end_reasons[] = {
    NULL, "EXPECTED_TERMINATION", "UNEXPECTED_TERMINATION", "AUTOSCALER_DRAIN_PREEMPTED",
    "AUTOSCALER_DRAIN_IDLE"};
enum { WORKER_TYPE_DRIVER = 1, NODE_ALIVE = 0 };

/* A copy of the name, or the number as text if it is newer than the table. */
static char *name_of(const char *const *names, size_t count, int32_t value)
{
    if (value >= 0 && (size_t)value < count)
        return mem_string(names[value]);
    return mem_format("%d", value);
}

#define NAME_OF(names, value) name_of(names, sizeof(names) / sizeof *(names), value)

static void set_id(char *out, size_t len, ProtobufCBinaryData id)
{
    record_set_id(out, len, id.data, id.len);
}

static uint16_t port_of(int64_t number)
{
    return number > 0 && number <= UINT16_MAX ? (uint16_t)number : 0;
}

/* Converts a time or count that Ray sends as uint64; 0 if it does not fit. */
static int64_t signed_of(uint64_t number)
{
    return number > INT64_MAX ? 0 : (int64_t)number;
}

/* --- workers --- */

static void set_worker(struct ray_worker *out, const RayWire__WorkerTableData *in)
{
    const RayWire__Address *address = in->worker_address;
    if (address) {
        set_id(out->worker_id, ID_UNIQUE_BYTES, address->worker_id);
        set_id(out->node_id, ID_UNIQUE_BYTES, address->node_id);
        out->port = port_of(address->port);
    }
    out->ip = mem_string(address ? address->ip_address : "");
    out->pid = in->pid;
    out->is_alive = in->is_alive;
    out->is_driver = in->worker_type == WORKER_TYPE_DRIVER;
    out->debugger_port = port_of(in->debugger_port);
    out->paused_threads = ray_worker_paused_threads(in->num_paused_threads);
    out->launch_ms = signed_of(in->worker_launch_time_ms);
    out->start_ms = signed_of(in->start_time_ms);
    out->end_ms = signed_of(in->end_time_ms);
    if (in->is_alive)
        return;
    if (in->exit_is_case == RAY_WIRE__WORKER_TABLE_DATA__EXIT_IS_EXIT_TYPE)
        out->exit_type = NAME_OF(exit_types, in->exit_type);
    if (*in->exit_detail)
        out->exit_detail = mem_string(in->exit_detail);
    if (in->creation_task_exception)
        out->init_error = mem_string(in->creation_task_exception->formatted_exception_string);
    out->memory_at_death = signed_of(in->memory_used_bytes_at_death);
}

/* A list of workers, unpacked one row at a time: 100,000 workers, all unpacked at once, would take
 * ten times their bytes. */
struct worker_rows {
    struct ray_worker *rows;
    size_t count, room;
};

static bool add_row(struct worker_rows *list, const struct wire_field *field)
{
    RayWire__WorkerTableData *row =
        ray_wire__worker_table_data__unpack(NULL, field->len, field->bytes);
    if (!row)
        return false;
    list->rows = mem_grow(list->rows, list->count, &list->room, sizeof *list->rows);
    struct ray_worker *worker = &list->rows[list->count++];
    *worker = (struct ray_worker){0};
    set_worker(worker, row);
    ray_wire__worker_table_data__free_unpacked(row, NULL);
    return true;
}

static int read_status(const struct wire_field *field, struct err *err)
{
    RayWire__GcsStatus *status = ray_wire__gcs_status__unpack(NULL, field->len, field->bytes);
    int failed = status ? reply_status_check(status, "its workers", err)
                        : reply_status_malformed("its workers", err);
    ray_wire__gcs_status__free_unpacked(status, NULL);
    return failed;
}

static int read_workers(struct worker_rows *list, struct wire wire, struct err *err)
{
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.tag == WIRE_TAG(1, WIRE_LENGTH) && read_status(&field, err) != 0)
            return -1;
        if (field.tag == WIRE_TAG(2, WIRE_LENGTH) && !add_row(list, &field))
            return reply_status_malformed("its workers", err);
    }
    return wire.malformed ? reply_status_malformed("its workers", err) : 0;
}

int reply_workers(const uint8_t *bytes, size_t len, struct ray_worker **out, size_t *count,
                  struct err *err)
{
    struct worker_rows list = {0};
    if (read_workers(&list, wire_of(bytes, len), err) != 0) {
        ray_workers_free(list.rows, list.count);
        return -1;
    }
    *out = list.rows;
    *count = list.count;
    return 0;
}

/* --- tasks --- */

/* The time at which the attempt began to run, in ms; 0 if it has not. */
static int64_t running_ms(const RayWire__TaskStateUpdate *in, int running)
{
    int64_t ns = in->running_ts;
    for (size_t i = 0; i < in->n_state_ts_ns; i++)
        if (in->state_ts_ns[i]->state == running)
            ns = in->state_ts_ns[i]->ns;
    return ns > 0 ? ns / 1000000 : 0;
}

static void set_task(struct ray_task *out, const RayWire__TaskEvents *in, int running)
{
    const RayWire__TaskInfoEntry *info = in->task_info;
    const RayWire__TaskStateUpdate *state = in->state_updates;
    set_id(out->task_id, ID_TASK_BYTES, in->task_id);
    set_id(out->job_id, ID_JOB_BYTES, in->job_id);
    out->attempt = in->attempt_number;
    out->name = mem_string(info ? info->name : "");
    out->func_or_class = mem_string(info ? info->func_or_class_name : "");
    if (info) {
        set_id(out->parent_task_id, ID_TASK_BYTES, info->parent_task_id);
        set_id(out->actor_id, ID_ACTOR_BYTES, info->actor_id);
        if (!*out->job_id)
            set_id(out->job_id, ID_JOB_BYTES, info->job_id);
    }
    if (state) {
        set_id(out->node_id, ID_UNIQUE_BYTES, state->node_id);
        set_id(out->worker_id, ID_UNIQUE_BYTES, state->worker_id);
        out->pid = state->worker_pid;
        out->running_ms = running_ms(state, running);
    }
}

/* True if `events` has a later attempt of the same task than events[index]. Quadratic, but we ask
 * for one task at a time, and a task has few attempts. */
static bool is_superseded(RayWire__TaskEvents *const *events, size_t count, size_t index)
{
    const RayWire__TaskEvents *one = events[index];
    for (size_t i = 0; i < count; i++) {
        const RayWire__TaskEvents *other = events[i];
        bool same = i != index && other->task_id.len == one->task_id.len &&
                    (one->task_id.len == 0 ||
                     memcmp(other->task_id.data, one->task_id.data, one->task_id.len) == 0);
        if (same && (other->attempt_number > one->attempt_number ||
                     (other->attempt_number == one->attempt_number && i > index)))
            return true;
    }
    return false;
}

int reply_tasks(const uint8_t *bytes, size_t len, struct ray_version version, struct ray_task **out,
                size_t *count, struct err *err)
{
    RayWire__GetTaskEventsReply *reply = ray_wire__get_task_events_reply__unpack(NULL, len, bytes);
    if (!reply)
        return reply_status_malformed("a task", err);
    int failed = reply_status_check(reply->status, "a task", err);
    if (!failed) {
        int running = task_filter_status_running(version);
        *count = 0;
        *out = mem_array(reply->n_events_by_task, sizeof **out);
        for (size_t i = 0; i < reply->n_events_by_task; i++)
            if (!is_superseded(reply->events_by_task, reply->n_events_by_task, i))
                set_task(&(*out)[(*count)++], reply->events_by_task[i], running);
    }
    ray_wire__get_task_events_reply__free_unpacked(reply, NULL);
    return failed;
}

/* --- actors, nodes, jobs --- */

static void set_actor_life(struct ray_actor *out, const RayWire__ActorTableData *in)
{
    if (in->address)
        set_id(out->worker_id, ID_UNIQUE_BYTES, in->address->worker_id);
    if (in->owner_address)
        set_id(out->owner_id, ID_UNIQUE_BYTES, in->owner_address->worker_id);
    out->max_restarts = in->max_restarts;
    out->restarts = signed_of(in->num_restarts);
    out->start_ms = signed_of(in->start_time);
    out->end_ms = signed_of(in->end_time);
    if (in->death_cause) {
        out->death = mem_alloc(sizeof *out->death);
        failure_wire_death(out->death, in->death_cause);
    }
    if (in->n_required_resources) {
        out->resources = mem_alloc(sizeof *out->resources);
        failure_wire_resources(out->resources, in->required_resources, in->n_required_resources);
    }
    failure_wire_labels(&out->selector, in->label_selector, in->n_label_selector);
    out->installs_packages = failure_wire_installs(in->serialized_runtime_env);
}

static void set_actor(struct ray_actor *out, const RayWire__ActorTableData *in)
{
    set_id(out->actor_id, ID_ACTOR_BYTES, in->actor_id);
    set_id(out->job_id, ID_JOB_BYTES, in->job_id);
    set_id(out->node_id, ID_UNIQUE_BYTES, in->node_id);
    if (!*out->node_id && in->address)
        set_id(out->node_id, ID_UNIQUE_BYTES, in->address->node_id);
    out->class_name = mem_string(in->class_name);
    out->name = mem_string(in->name);
    out->repr_name = mem_string(in->repr_name);
    out->state = NAME_OF(actor_states, in->state);
    out->pid = in->pid;
    set_actor_life(out, in);
}

int reply_actors(const uint8_t *bytes, size_t len, struct ray_actor **out, size_t *count,
                 struct err *err)
{
    RayWire__GetAllActorInfoReply *reply =
        ray_wire__get_all_actor_info_reply__unpack(NULL, len, bytes);
    if (!reply)
        return reply_status_malformed("its actors", err);
    int failed = reply_status_check(reply->status, "its actors", err);
    if (!failed) {
        *count = reply->n_actor_table_data;
        *out = mem_array(*count, sizeof **out);
        for (size_t i = 0; i < *count; i++)
            set_actor(&(*out)[i], reply->actor_table_data[i]);
    }
    ray_wire__get_all_actor_info_reply__free_unpacked(reply, NULL);
    return failed;
}

static void set_node(struct ray_node *out, const RayWire__GcsNodeInfo *in)
{
    set_id(out->node_id, ID_UNIQUE_BYTES, in->node_id);
    out->ip = mem_string(in->node_manager_address);
    out->hostname = mem_string(in->node_manager_hostname);
    out->manager_port = port_of(in->node_manager_port);
    out->is_alive = in->state == NODE_ALIVE;
    out->is_head = in->is_head_node;
    out->agent_port = port_of(in->metrics_agent_port);
    out->metrics_port = port_of(in->metrics_export_port);
    out->start_ms = signed_of(in->start_time_ms);
    out->end_ms = signed_of(in->end_time_ms);
    failure_wire_labels(&out->labels, in->labels, in->n_labels);
    if (!in->death_info)
        return;
    int32_t reason = in->death_info->reason;
    if (reason > 0 && (size_t)reason < sizeof node_end_reasons / sizeof *node_end_reasons)
        out->end_reason = node_end_reasons[reason];
    out->end_detail = mem_string(in->death_info->reason_message);
}

int reply_nodes(const uint8_t *bytes, size_t len, struct ray_node **out, size_t *count,
                struct err *err)
{
    RayWire__GetAllNodeInfoReply *reply =
        ray_wire__get_all_node_info_reply__unpack(NULL, len, bytes);
    if (!reply)
        return reply_status_malformed("its nodes", err);
    int failed = reply_status_check(reply->status, "its nodes", err);
    if (!failed) {
        *count = reply->n_node_info_list;
        *out = mem_array(*count, sizeof **out);
        for (size_t i = 0; i < *count; i++)
            set_node(&(*out)[i], reply->node_info_list[i]);
    }
    ray_wire__get_all_node_info_reply__free_unpacked(reply, NULL);
    return failed;
}

/* Ray's own drivers have namespaces such as "_ray_internal_dashboard". */
static const char internal_namespace[] = "_ray_internal_";

static void set_job(struct ray_job *out, const RayWire__JobTableData *in)
{
    set_id(out->job_id, ID_JOB_BYTES, in->job_id);
    out->is_dead = in->is_dead;
    out->entrypoint = mem_string(in->entrypoint);
    out->driver_ip = mem_string(in->driver_ip_address);
    out->driver_pid = in->driver_pid;
    if (in->config) {
        const RayWire__RuntimeEnvInfo *env = in->config->runtime_env_info;
        out->is_internal = text_starts(in->config->ray_namespace, internal_namespace);
        out->packages = runtime_env_packages(env ? env->serialized_runtime_env : "");
    }
    out->start_ms = signed_of(in->start_time);
    out->end_ms = signed_of(in->end_time);
    for (size_t i = 0; in->config && i < in->config->n_metadata; i++)
        if (text_equal(in->config->metadata[i]->key, "job_submission_id") && !out->submission_id)
            out->submission_id = mem_string(in->config->metadata[i]->value);
    if (!in->job_info)
        return;
    out->submission_status = mem_string(in->job_info->status);
    out->submission_message = mem_string(in->job_info->message);
    out->has_exit_code =
        in->job_info->driver_ended_case == RAY_WIRE__JOBS_APIINFO__DRIVER_ENDED_DRIVER_EXIT_CODE;
    if (out->has_exit_code)
        out->exit_code = in->job_info->driver_exit_code;
}

int reply_jobs(const uint8_t *bytes, size_t len, struct ray_job **out, size_t *count,
               struct err *err)
{
    RayWire__GetAllJobInfoReply *reply = ray_wire__get_all_job_info_reply__unpack(NULL, len, bytes);
    if (!reply)
        return reply_status_malformed("its jobs", err);
    int failed = reply_status_check(reply->status, "its jobs", err);
    if (!failed) {
        *count = reply->n_job_info_list;
        *out = mem_array(*count, sizeof **out);
        for (size_t i = 0; i < *count; i++)
            set_job(&(*out)[i], reply->job_info_list[i]);
    }
    ray_wire__get_all_job_info_reply__free_unpacked(reply, NULL);
    return failed;
}

/* --- a worker's stats --- */

/* Reads the stats in one of the two numberings of their fields. */
#define STATS_READER(number)                                                                       \
    static bool set_stats_v##number(struct ray_worker_stats *out, ProtobufCBinaryData bytes)       \
    {                                                                                              \
        RayWire__CoreWorkerStatsV##number *in =                                                    \
            ray_wire__core_worker_stats_v##number##__unpack(NULL, bytes.len, bytes.data);          \
        if (!in)                                                                                   \
            return false;                                                                          \
        set_id(out->worker_id, ID_UNIQUE_BYTES, in->worker_id);                                    \
        set_id(out->actor_id, ID_ACTOR_BYTES, in->actor_id);                                       \
        set_id(out->job_id, ID_JOB_BYTES, in->job_id);                                             \
        out->pid = in->pid;                                                                        \
        out->running_tasks = in->num_running_tasks;                                                \
        ray_wire__core_worker_stats_v##number##__free_unpacked(in, NULL);                          \
        return true;                                                                               \
    }
STATS_READER(1)
STATS_READER(2)

static bool set_stats(struct ray_worker_stats *out, ProtobufCBinaryData bytes)
{
    switch (stats_numbering_of(bytes.data, bytes.len)) {
    case STATS_V1:
        return set_stats_v1(out, bytes);
    case STATS_V2:
        return set_stats_v2(out, bytes);
    case STATS_UNKNOWN:
        break;
    }
    return false;
}

/* Leaves out ids of a wrong length; `running_tasks` still counts them. */
static void set_running(struct ray_worker_stats *out, const RayWire__GetCoreWorkerStatsReply *in)
{
    out->running_task_ids = mem_array(in->n_running_task_ids, sizeof *out->running_task_ids);
    for (size_t i = 0; i < in->n_running_task_ids; i++) {
        char *id = out->running_task_ids[out->running_task_id_count];
        set_id(id, ID_TASK_BYTES, in->running_task_ids[i]);
        out->running_task_id_count += *id != '\0';
    }
}

int reply_worker_stats(const uint8_t *bytes, size_t len, struct ray_worker_stats *out,
                       struct err *err)
{
    *out = (struct ray_worker_stats){0};
    RayWire__GetCoreWorkerStatsReply *reply =
        ray_wire__get_core_worker_stats_reply__unpack(NULL, len, bytes);
    int failed = !reply || !set_stats(out, reply->core_worker_stats);
    if (failed)
        err_set(err, ERR_FAILED, "the worker's answer about itself could not be read");
    else
        set_running(out, reply);
    if (reply)
        ray_wire__get_core_worker_stats_reply__free_unpacked(reply, NULL);
    return failed ? -1 : 0;
}

int reply_worker_is_dead(const uint8_t *bytes, size_t len, bool *dead, struct err *err)
{
    RayWire__IsLocalWorkerDeadReply *reply =
        ray_wire__is_local_worker_dead_reply__unpack(NULL, len, bytes);
    if (!reply)
        return err_set(err, ERR_FAILED, "the raylet's answer about a worker could not be read");
    *dead = reply->is_dead;
    ray_wire__is_local_worker_dead_reply__free_unpacked(reply, NULL);
    return 0;
}
