#include "relay/sweep/sweep_json_fields.h"

static const struct json_field sweep_fields[] = {
    JSON_FIELD(struct object_sweep, taken_ms, "taken", JSON_MS),
};
const struct json_table object_sweep_table = JSON_TABLE(sweep_fields);

static const struct json_field node_fields[] = {
    JSON_FIELD(struct object_node, node_id, "node_id", JSON_HEX),
    JSON_FIELD(struct object_node, ip, "ip", JSON_TEXT),
    JSON_FIELD(struct object_node, name, "name", JSON_TEXT),
    JSON_FIELD(struct object_node, asked, "asked", JSON_BOOL),
    JSON_FIELD(struct object_node, problem, "problem", JSON_TEXT),
};
const struct json_table object_node_table = JSON_TABLE(node_fields);

static const struct json_field store_fields[] = {
    JSON_FIELD(struct ray_store_stats, used, "used", JSON_NUMBER),
    JSON_FIELD(struct ray_store_stats, available, "capacity", JSON_NUMBER),
    JSON_FIELD(struct ray_store_stats, primary_copies_bytes, "primary_copies_bytes", JSON_NUMBER),
    JSON_FIELD(struct ray_store_stats, fallback, "fallback", JSON_NUMBER),
    JSON_FIELD(struct ray_store_stats, objects, "objects", JSON_NUMBER),
    JSON_FIELD(struct ray_store_stats, primary_copies, "primary_copies", JSON_NUMBER),
    JSON_FIELD(struct ray_store_stats, spilled_bytes, "spilled_bytes", JSON_NUMBER),
    JSON_FIELD(struct ray_store_stats, spilled_objects, "spilled_objects", JSON_NUMBER),
    JSON_FIELD(struct ray_store_stats, spill_seconds, "spill_seconds", JSON_SECONDS),
    JSON_FIELD(struct ray_store_stats, restored_bytes, "restored_bytes", JSON_NUMBER),
    JSON_FIELD(struct ray_store_stats, restored_objects, "restored_objects", JSON_NUMBER),
    JSON_FIELD(struct ray_store_stats, restore_seconds, "restore_seconds", JSON_SECONDS),
    JSON_FIELD(struct ray_store_stats, created_objects, "created_objects", JSON_NUMBER),
    JSON_FIELD(struct ray_store_stats, created_bytes, "created_bytes", JSON_NUMBER),
    JSON_FIELD(struct ray_store_stats, pulls_queued, "pulls_queued", JSON_BOOL),
};
const struct json_table object_store_table = JSON_TABLE(store_fields);

static const struct json_field process_fields[] = {
    JSON_FIELD(struct object_process, node, "node", JSON_INDEX),
    JSON_FIELD(struct object_process, actor_class, "actor_class", JSON_TEXT),
    JSON_FIELD(struct object_process, actor_name, "actor_name", JSON_TEXT),
};
const struct json_table object_process_table = JSON_TABLE(process_fields);

static const struct json_field worker_fields[] = {
    JSON_FIELD(struct ray_worker_objects, worker_id, "worker_id", JSON_HEX),
    JSON_FIELD(struct ray_worker_objects, job_id, "job_id", JSON_HEX),
    JSON_FIELD(struct ray_worker_objects, actor_id, "actor_id", JSON_HEX),
    JSON_FIELD(struct ray_worker_objects, ip, "ip", JSON_TEXT),
    JSON_FIELD(struct ray_worker_objects, port, "port", JSON_PORT),
    JSON_FIELD(struct ray_worker_objects, pid, "pid", JSON_NUMBER),
    JSON_FIELD(struct ray_worker_objects, objects_total, "objects_total", JSON_COUNT),
    JSON_FIELD(struct ray_worker_objects, owned, "owned", JSON_COUNT),
};
const struct json_table object_worker_table = JSON_TABLE(worker_fields);

static const struct json_field task_fields[] = {
    JSON_FIELD(struct ray_task, task_id, "task_id", JSON_HEX),
    JSON_FIELD(struct ray_task, parent_task_id, "parent_task_id", JSON_HEX),
    JSON_FIELD(struct ray_task, job_id, "job_id", JSON_HEX),
    JSON_FIELD(struct ray_task, actor_id, "actor_id", JSON_HEX),
    JSON_FIELD(struct ray_task, node_id, "node_id", JSON_HEX),
    JSON_FIELD(struct ray_task, worker_id, "worker_id", JSON_HEX),
    JSON_FIELD(struct ray_task, name, "name", JSON_TEXT),
    JSON_FIELD(struct ray_task, func_or_class, "func_or_class", JSON_TEXT),
    JSON_FIELD(struct ray_task, pid, "pid", JSON_NUMBER),
    JSON_FIELD(struct ray_task, attempt, "attempt", JSON_INT),
    JSON_FIELD(struct ray_task, running_ms, "running", JSON_MS),
};
const struct json_table object_task_table = JSON_TABLE(task_fields);

static const struct json_field location_fields[] = {
    JSON_FIELD(struct ray_object_location, known, "known", JSON_BOOL),
    JSON_FIELD(struct ray_object_location, pending, "pending", JSON_BOOL),
    JSON_FIELD(struct ray_object_location, did_spill, "did_spill", JSON_BOOL),
    JSON_FIELD(struct ray_object_location, size, "size", JSON_COUNT),
    JSON_FIELD(struct ray_object_location, spilled_url, "spilled_url", JSON_TEXT),
    JSON_FIELD(struct ray_object_location, spilled_node_id, "spilled_node_id", JSON_HEX),
};
const struct json_table object_location_table = JSON_TABLE(location_fields);

static const char *const process_types[] = {
    [RAY_WORKER] = "worker",
    [RAY_DRIVER] = "driver",
    [RAY_SPILL_WORKER] = "spill-worker",
    [RAY_RESTORE_WORKER] = "restore-worker",
};

const char *sweep_json_process_type(enum ray_worker_type type)
{
    return (size_t)type < sizeof process_types / sizeof *process_types ? process_types[type] : NULL;
}
