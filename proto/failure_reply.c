#include "proto/failure_reply.h"

#include "autoscaler.pb-c.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/failure_wire.h"
#include "proto/reply_status.h"
#include "proto/wire.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static void set_id(char *out, size_t len, ProtobufCBinaryData id)
{
    record_set_id(out, len, id.data, id.len);
}

static char *text_or_null(const char *text)
{
    return *text ? mem_string(text) : NULL;
}

/* --- parts --- */

void failure_wire_resources(struct ray_resources *out, RayWire__ResourceAmount *const *in,
                            size_t count)
{
    out->items = mem_array(count, sizeof *out->items);
    out->count = count;
    for (size_t i = 0; i < count; i++)
        out->items[i] = (struct ray_resource){mem_string(in[i]->name), in[i]->amount};
}

bool failure_wire_installs(const char *serialized)
{
    static const char *const keys[] = {"\"pip\":", "\"uv\":", "\"conda\":"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strstr(serialized, keys[i]))
            return true;
    return false;
}

void failure_wire_labels(struct ray_labels *out, RayWire__LabelEntry *const *in, size_t count)
{
    if (!count)
        return;
    out->items = mem_array(count, sizeof *out->items);
    out->count = count;
    for (size_t i = 0; i < count; i++)
        out->items[i] = (struct ray_label){mem_string(in[i]->key), mem_string(in[i]->value)};
}

static void set_died(struct ray_actor_death *out, const RayWire__ActorDiedErrorContext *in)
{
    out->context = RAY_DEATH_DIED;
    if (in->reason > 0 && in->reason <= RAY_REASON_REF_DELETED)
        out->reason = (enum ray_death_reason)in->reason;
    out->never_started = in->never_started;
    set_id(out->owner_id, ID_UNIQUE_BYTES, in->owner_id);
    out->message = text_or_null(in->error_message);
}

void failure_wire_death(struct ray_actor_death *out, const RayWire__ActorDeathCause *in)
{
    switch (in->context_case) {
    case RAY_WIRE__ACTOR_DEATH_CAUSE__CONTEXT_CREATION_TASK_FAILURE_CONTEXT:
        out->context = RAY_DEATH_CREATION_FAILED;
        out->message = text_or_null(in->creation_task_failure_context->formatted_exception_string);
        break;
    case RAY_WIRE__ACTOR_DEATH_CAUSE__CONTEXT_RUNTIME_ENV_FAILED_CONTEXT:
        out->context = RAY_DEATH_RUNTIME_ENV;
        out->message = text_or_null(in->runtime_env_failed_context->error_message);
        break;
    case RAY_WIRE__ACTOR_DEATH_CAUSE__CONTEXT_ACTOR_DIED_ERROR_CONTEXT:
        set_died(out, in->actor_died_error_context);
        break;
    case RAY_WIRE__ACTOR_DEATH_CAUSE__CONTEXT_ACTOR_UNSCHEDULABLE_CONTEXT:
        out->context = RAY_DEATH_UNSCHEDULABLE;
        out->message = text_or_null(in->actor_unschedulable_context->error_message);
        break;
    case RAY_WIRE__ACTOR_DEATH_CAUSE__CONTEXT_OOM_CONTEXT:
        out->context = RAY_DEATH_OUT_OF_MEMORY;
        out->message = text_or_null(in->oom_context->error_message);
        break;
    default:
        break;
    }
}

/* --- attempts --- */

static void set_info(struct ray_attempt *out, const RayWire__TaskInfoEntry *in)
{
    out->type = in->type;
    out->name = mem_string(in->name);
    out->func_or_class = mem_string(in->func_or_class_name);
    set_id(out->parent_task_id, ID_TASK_BYTES, in->parent_task_id);
    set_id(out->actor_id, ID_ACTOR_BYTES, in->actor_id);
    set_id(out->group_id, ID_GROUP_BYTES, in->placement_group_id);
    if (!*out->job_id)
        set_id(out->job_id, ID_JOB_BYTES, in->job_id);
    failure_wire_resources(&out->resources, in->required_resources, in->n_required_resources);
    failure_wire_labels(&out->selector, in->label_selector, in->n_label_selector);
    out->installs_packages =
        in->runtime_env_info && failure_wire_installs(in->runtime_env_info->serialized_runtime_env);
    out->has_fallback = in->fallback_strategy.len > 0;
}

/* Before 2.39 two of today's states did not exist: those behind them had a smaller number. */
static int state_of(int32_t number, struct ray_version version)
{
    static const int8_t early[] = {0, 1, 2, 3, 4, 5, 8, 9, 10, 11, 12};
    if (number < 0 || number >= RAY_ATTEMPT_STATES)
        return RAY_ATTEMPT_UNKNOWN;
    if (ray_version_compare(version, 2, 39, 0) >= 0)
        return number;
    return (size_t)number < sizeof early ? early[number] : RAY_ATTEMPT_UNKNOWN;
}

static void set_time(struct ray_attempt *out, int state, int64_t ns)
{
    if (ns > 0)
        out->state_ms[state] = ns / 1000000;
}

static void set_times(struct ray_attempt *out, const RayWire__TaskStateUpdate *in,
                      struct ray_version version)
{
    set_time(out, RAY_ATTEMPT_PENDING_ARGS, in->pending_args_avail_ts);
    set_time(out, RAY_ATTEMPT_PENDING_NODE, in->pending_node_assignment_ts);
    set_time(out, RAY_ATTEMPT_SUBMITTED, in->submitted_to_worker_ts);
    set_time(out, RAY_ATTEMPT_RUNNING, in->running_ts);
    set_time(out, RAY_ATTEMPT_FINISHED, in->finished_ts);
    set_time(out, RAY_ATTEMPT_FAILED, in->failed_ts);
    for (size_t i = 0; i < in->n_state_ts_ns; i++)
        set_time(out, state_of(in->state_ts_ns[i]->state, version), in->state_ts_ns[i]->ns);
    out->state_ms[RAY_ATTEMPT_UNKNOWN] = 0;
    for (int state = 1; state <= RAY_ATTEMPT_FAILED; state++)
        if (out->state_ms[state])
            out->state = (enum ray_attempt_state)state;
}

/* --- timing --- */

static void set_ns(struct ray_timing *out, int state, int64_t ns)
{
    if (ns > 0 && state != RAY_ATTEMPT_UNKNOWN)
        out->state_ns[state] = ns;
}

static void set_state_ns(struct ray_timing *out, const RayWire__TaskStateUpdate *in,
                         struct ray_version version)
{
    set_ns(out, RAY_ATTEMPT_PENDING_ARGS, in->pending_args_avail_ts);
    set_ns(out, RAY_ATTEMPT_PENDING_NODE, in->pending_node_assignment_ts);
    set_ns(out, RAY_ATTEMPT_SUBMITTED, in->submitted_to_worker_ts);
    set_ns(out, RAY_ATTEMPT_RUNNING, in->running_ts);
    set_ns(out, RAY_ATTEMPT_FINISHED, in->finished_ts);
    set_ns(out, RAY_ATTEMPT_FAILED, in->failed_ts);
    for (size_t i = 0; i < in->n_state_ts_ns; i++)
        set_ns(out, state_of(in->state_ts_ns[i]->state, version), in->state_ts_ns[i]->ns);
}

static struct ray_timing *timing_of(const RayWire__TaskEvents *in, struct ray_version version)
{
    struct ray_timing *out = mem_alloc(sizeof *out);
    if (in->state_updates)
        set_state_ns(out, in->state_updates, version);
    size_t count = in->profile_events ? in->profile_events->n_events : 0;
    out->events = mem_array(count, sizeof *out->events);
    for (size_t i = 0; i < count; i++) {
        const RayWire__ProfileEvents__Entry *event = in->profile_events->events[i];
        if (event->start_time > 0 && event->end_time >= event->start_time)
            out->events[out->event_count++] = (struct ray_event){
                mem_string(event->event_name), event->start_time, event->end_time};
    }
    return out;
}

/* --- attempts, continued --- */

static void set_error(struct ray_attempt *out, const RayWire__RayErrorInfo *in)
{
    out->has_error = true;
    out->error_type = in->error_type;
    out->error_message = text_or_null(in->error_message);
    if (in->error_case == RAY_WIRE__RAY_ERROR_INFO__ERROR_ACTOR_DIED_ERROR)
        failure_wire_death(&out->death, in->actor_died_error);
    if (in->error_case == RAY_WIRE__RAY_ERROR_INFO__ERROR_RUNTIME_ENV_SETUP_FAILED_ERROR &&
        !out->error_message)
        out->error_message = text_or_null(in->runtime_env_setup_failed_error->error_message);
}

static void set_log(struct ray_attempt *out, const RayWire__TaskLogInfo *in)
{
    out->out = (struct ray_log_range){text_or_null(in->stdout_file), -1, -1};
    out->err = (struct ray_log_range){text_or_null(in->stderr_file), -1, -1};
    if (in->stdout_begins_case == RAY_WIRE__TASK_LOG_INFO__STDOUT_BEGINS_STDOUT_START)
        out->out.start = in->stdout_start;
    if (in->stdout_ends_case == RAY_WIRE__TASK_LOG_INFO__STDOUT_ENDS_STDOUT_END)
        out->out.end = in->stdout_end;
    if (in->stderr_begins_case == RAY_WIRE__TASK_LOG_INFO__STDERR_BEGINS_STDERR_START)
        out->err.start = in->stderr_start;
    if (in->stderr_ends_case == RAY_WIRE__TASK_LOG_INFO__STDERR_ENDS_STDERR_END)
        out->err.end = in->stderr_end;
}

static char *member(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
    return text ? mem_string(text) : NULL;
}

/* Reads how the function ended from the event of its execution. */
static void set_raised(struct ray_attempt *out, const RayWire__ProfileEvents *in)
{
    for (size_t i = 0; i < in->n_events && !out->raised_type; i++) {
        const RayWire__ProfileEvents__Entry *event = in->events[i];
        if (!text_equal(event->event_name, "task:execute") ||
            !strstr(event->extra_data, "\"type\""))
            continue;
        cJSON *extra = cJSON_Parse(event->extra_data);
        out->raised_type = member(extra, "type");
        out->raised_value = member(extra, "value");
        out->raised_traceback = member(extra, "traceback");
        cJSON_Delete(extra);
    }
}

static void set_attempt(struct ray_attempt *out, const RayWire__TaskEvents *in,
                        struct ray_version version)
{
    out->out.start = out->out.end = out->err.start = out->err.end = -1;
    set_id(out->task_id, ID_TASK_BYTES, in->task_id);
    set_id(out->job_id, ID_JOB_BYTES, in->job_id);
    out->attempt = in->attempt_number;
    if (in->task_info)
        set_info(out, in->task_info);
    if (!out->name)
        out->name = mem_string("");
    const RayWire__TaskStateUpdate *state = in->state_updates;
    if (state) {
        set_id(out->node_id, ID_UNIQUE_BYTES, state->node_id);
        set_id(out->worker_id, ID_UNIQUE_BYTES, state->worker_id);
        out->pid = state->worker_pid;
        set_times(out, state, version);
        if (state->error_info)
            set_error(out, state->error_info);
        if (state->task_log_info)
            set_log(out, state->task_log_info);
    }
    if (!in->profile_events)
        return;
    set_raised(out, in->profile_events);
    if (out->type == RAY_ACTOR_CREATION_TASK && !*out->worker_id)
        set_id(out->worker_id, ID_UNIQUE_BYTES, in->profile_events->component_id);
}

static int compare_attempts(const void *left, const void *right)
{
    const struct ray_attempt *a = left, *b = right;
    int order = strcmp(a->task_id, b->task_id);
    return order ? order : (a->attempt > b->attempt) - (a->attempt < b->attempt);
}

/* A list of attempts, unpacked one at a time: 100,000, all unpacked at once, would take five times
 * their bytes. */
struct attempt_rows {
    struct ray_attempt *rows;
    size_t count, room;
    int64_t dropped;
    bool timed;
};

static bool add_attempt(struct attempt_rows *list, const struct wire_field *field,
                        struct ray_version version)
{
    RayWire__TaskEvents *row = ray_wire__task_events__unpack(NULL, field->len, field->bytes);
    if (!row)
        return false;
    list->rows = mem_grow(list->rows, list->count, &list->room, sizeof *list->rows);
    struct ray_attempt *attempt = &list->rows[list->count++];
    *attempt = (struct ray_attempt){0};
    set_attempt(attempt, row, version);
    if (list->timed)
        attempt->timing = timing_of(row, version);
    ray_wire__task_events__free_unpacked(row, NULL);
    return true;
}

static int read_status(const struct wire_field *field, struct err *err)
{
    RayWire__GcsStatus *status = ray_wire__gcs_status__unpack(NULL, field->len, field->bytes);
    int failed = status ? reply_status_check(status, "its tasks", err)
                        : reply_status_malformed("its tasks", err);
    ray_wire__gcs_status__free_unpacked(status, NULL);
    return failed;
}

static int read_attempts(struct attempt_rows *list, struct wire wire, struct ray_version version,
                         struct err *err)
{
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        if (field.tag == WIRE_TAG(1, WIRE_LENGTH) && read_status(&field, err) != 0)
            return -1;
        if (field.tag == WIRE_TAG(2, WIRE_LENGTH) && !add_attempt(list, &field, version))
            return reply_status_malformed("its tasks", err);
        if (field.tag == WIRE_TAG(4, WIRE_VARINT))
            list->dropped = (int32_t)field.value;
    }
    return wire.malformed ? reply_status_malformed("its tasks", err) : 0;
}

int failure_reply_attempts(const uint8_t *bytes, size_t len, struct ray_version version, bool timed,
                           struct ray_attempt **out, size_t *count, int64_t *dropped,
                           struct err *err)
{
    struct attempt_rows list = {.timed = timed};
    if (read_attempts(&list, wire_of(bytes, len), version, err) != 0) {
        ray_attempts_free(list.rows, list.count);
        return -1;
    }
    if (list.count)
        qsort(list.rows, list.count, sizeof *list.rows, compare_attempts);
    *out = list.rows;
    *count = list.count;
    *dropped = list.dropped;
    return 0;
}

/* --- placement groups --- */

static const char *name_in(const char *const *names, size_t count, int32_t number)
{
    return number >= 0 && (size_t)number < count ? names[number] : "UNKNOWN";
}

#define NAME_IN(names, number) name_in(names, sizeof(names) / sizeof *(names), number)

static void set_group(struct ray_group *out, const RayWire__PlacementGroupTableData *in,
                      struct ray_version version)
{
    static const char *const strategies[] = {"PACK", "SPREAD", "STRICT_PACK", "STRICT_SPREAD"};
    static const char *const states[] = {"PENDING", "PREPARED", "CREATED", "REMOVED",
                                         "RESCHEDULING"};
    static const char *const scheduling[] = {"QUEUED",       "REMOVED",    "SCHEDULING_STARTED",
                                             "NO_RESOURCES", "INFEASIBLE", "FAILED_TO_COMMIT",
                                             "FINISHED"};
    /* PREPARED is new in 2.40. */
    bool early = ray_version_compare(version, 2, 40, 0) < 0 && in->state > 0;
    set_id(out->group_id, ID_GROUP_BYTES, in->placement_group_id);
    set_id(out->job_id, ID_JOB_BYTES, in->creator_job_id);
    out->name = mem_string(in->name);
    out->state = NAME_IN(states, in->state + early);
    out->strategy = NAME_IN(strategies, in->strategy);
    out->scheduling_state = NAME_IN(scheduling, in->stats ? in->stats->scheduling_state : -1);
    out->bundles = mem_array(in->n_bundles, sizeof *out->bundles);
    out->bundle_count = in->n_bundles;
    for (size_t i = 0; i < in->n_bundles; i++)
        failure_wire_resources(&out->bundles[i], in->bundles[i]->unit_resources,
                               in->bundles[i]->n_unit_resources);
}

int failure_reply_groups(const uint8_t *bytes, size_t len, struct ray_version version,
                         struct ray_group **out, size_t *count, struct err *err)
{
    RayWire__GetAllPlacementGroupReply *reply =
        ray_wire__get_all_placement_group_reply__unpack(NULL, len, bytes);
    if (!reply)
        return reply_status_malformed("its placement groups", err);
    int failed = reply_status_check(reply->status, "its placement groups", err);
    if (!failed) {
        *count = reply->n_placement_group_table_data;
        *out = mem_array(*count, sizeof **out);
        for (size_t i = 0; i < *count; i++)
            set_group(&(*out)[i], reply->placement_group_table_data[i], version);
    }
    ray_wire__get_all_placement_group_reply__free_unpacked(reply, NULL);
    return failed;
}

/* --- resources --- */

static void set_state(struct ray_resource_state *out, const RayWire__ClusterResourceState *in)
{
    enum { DEAD = 2 };
    out->nodes = mem_array(in->n_node_states, sizeof *out->nodes);
    for (size_t i = 0; i < in->n_node_states; i++) {
        const RayWire__NodeState *node = in->node_states[i];
        if (node->status == DEAD)
            continue;
        struct ray_node_resources *to = &out->nodes[out->node_count++];
        set_id(to->node_id, ID_UNIQUE_BYTES, node->node_id);
        failure_wire_resources(&to->free, node->available_resources, node->n_available_resources);
        failure_wire_resources(&to->total, node->total_resources, node->n_total_resources);
    }
    out->demands = mem_array(in->n_pending_resource_requests, sizeof *out->demands);
    for (size_t i = 0; i < in->n_pending_resource_requests; i++) {
        const RayWire__ResourceRequestByCount *demand = in->pending_resource_requests[i];
        if (!demand->request)
            continue;
        struct ray_demand *to = &out->demands[out->demand_count++];
        to->count = demand->count;
        failure_wire_resources(&to->shape, demand->request->resources_bundle,
                               demand->request->n_resources_bundle);
    }
}

int failure_reply_resources(const uint8_t *bytes, size_t len, struct ray_resource_state *out,
                            struct err *err)
{
    *out = (struct ray_resource_state){0};
    RayWire__GetClusterResourceStateReply *reply =
        ray_wire__get_cluster_resource_state_reply__unpack(NULL, len, bytes);
    if (!reply)
        return reply_status_malformed("its resources", err);
    if (reply->cluster_resource_state)
        set_state(out, reply->cluster_resource_state);
    ray_wire__get_cluster_resource_state_reply__free_unpacked(reply, NULL);
    return 0;
}
