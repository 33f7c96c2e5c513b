/* The GCS's replies, and the entries of its key-value store: each decoder gives records that are
 * whole, or an error; workers, whose list is walked by hand, are those that protobuf-c sees. */
#include "fuzz.h"

#include "gcs.pb-c.h"
#include "proto/failure_reply.h"
#include "proto/reply.h"

static void check_same_workers(const uint8_t *data, size_t size, size_t count)
{
    RayWire__GetAllWorkerInfoReply *want =
        ray_wire__get_all_worker_info_reply__unpack(NULL, size, data);
    if (!want)
        return;
    check(want->n_worker_table_data == count);
    ray_wire__get_all_worker_info_reply__free_unpacked(want, NULL);
}

static void try_workers(const uint8_t *data, size_t size)
{
    struct ray_worker *rows;
    size_t count;
    struct err err = {0};
    if (reply_workers(data, size, &rows, &count, &err) != 0) {
        check(err.what[0]);
        return;
    }
    check_same_workers(data, size, count);
    for (size_t i = 0; i < count; i++) {
        check_hex(rows[i].worker_id, ID_UNIQUE_BYTES);
        check_hex(rows[i].node_id, ID_UNIQUE_BYTES);
        check(rows[i].ip && rows[i].start_ms >= 0 && rows[i].end_ms >= 0);
    }
    ray_workers_free(rows, count);
}

static void try_tasks(const uint8_t *data, size_t size, struct ray_version version)
{
    struct ray_task *rows;
    size_t count;
    struct err err = {0};
    if (reply_tasks(data, size, version, &rows, &count, &err) != 0) {
        check(err.what[0]);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        check_hex(rows[i].task_id, ID_TASK_BYTES);
        check_hex(rows[i].parent_task_id, ID_TASK_BYTES);
        check_hex(rows[i].worker_id, ID_UNIQUE_BYTES);
        check(rows[i].name && rows[i].func_or_class);
        for (size_t k = 0; k < i; k++)
            check(!rows[i].task_id[0] || strcmp(rows[i].task_id, rows[k].task_id) != 0);
    }
    ray_tasks_free(rows, count);
}

static void try_actors_nodes_jobs(const uint8_t *data, size_t size)
{
    struct ray_actor *actors;
    struct ray_node *nodes;
    struct ray_job *jobs;
    size_t count;
    struct err err = {0};
    if (reply_actors(data, size, &actors, &count, &err) == 0) {
        for (size_t i = 0; i < count; i++)
            check(actors[i].class_name && actors[i].name && actors[i].state);
        ray_actors_free(actors, count);
    }
    if (reply_nodes(data, size, &nodes, &count, &err) == 0) {
        for (size_t i = 0; i < count; i++)
            check(nodes[i].ip && nodes[i].hostname);
        ray_nodes_free(nodes, count);
    }
    if (reply_jobs(data, size, &jobs, &count, &err) == 0) {
        for (size_t i = 0; i < count; i++)
            check(jobs[i].entrypoint && jobs[i].driver_ip);
        ray_jobs_free(jobs, count);
    }
}

static void try_failures(const uint8_t *data, size_t size, struct ray_version version)
{
    struct ray_attempt *attempts;
    struct ray_group *groups;
    struct ray_resource_state resources;
    size_t count;
    int64_t dropped;
    struct err err = {0};
    if (failure_reply_attempts(data, size, version, false, &attempts, &count, &dropped, &err) ==
        0) {
        for (size_t i = 0; i < count; i++) {
            check_hex(attempts[i].task_id, ID_TASK_BYTES);
            check(attempts[i].name && attempts[i].state < RAY_ATTEMPT_STATES);
            check(i == 0 || strcmp(attempts[i - 1].task_id, attempts[i].task_id) <= 0);
        }
        ray_attempts_free(attempts, count);
    }
    if (failure_reply_groups(data, size, version, &groups, &count, &err) == 0) {
        for (size_t i = 0; i < count; i++)
            check(groups[i].name && groups[i].state && groups[i].strategy);
        ray_groups_free(groups, count);
    }
    if (failure_reply_resources(data, size, &resources, &err) == 0)
        ray_resource_state_clear(&resources);
}

static void try_stats(const uint8_t *data, size_t size)
{
    struct ray_worker_stats stats = {0};
    struct err err = {0};
    if (reply_worker_stats(data, size, &stats, &err) != 0) {
        check(err.what[0]);
        return;
    }
    check_hex(stats.worker_id, ID_UNIQUE_BYTES);
    for (size_t i = 0; i < stats.running_task_id_count; i++)
        check_hex(stats.running_task_ids[i], ID_TASK_BYTES);
    ray_worker_stats_clear(&stats);
}

/* --- the key-value store --- */

static void try_entry(const char *json, size_t len)
{
    struct ray_pdb *entry = calloc(1, sizeof *entry);
    struct ray_version version = {0};
    char *ray = NULL, *python = NULL;
    struct err err = {0};
    check(entry);
    if (reply_pdb(json, len, entry, &err) == 0) {
        check_hex(entry->node_id, ID_UNIQUE_BYTES);
        check_hex(entry->task_id, ID_TASK_BYTES);
        check(entry->address && entry->file && entry->line >= 0 && entry->since_ms >= 0);
    }
    ray_pdbs_free(entry, 1);
    if (reply_version(json, len, &version, &ray, &python, &err) == 0)
        check(ray && python && version.major >= 0);
    free(ray);
    free(python);
}

static void try_store(const uint8_t *data, size_t size)
{
    char **keys = NULL, *value = NULL, uuid[33];
    size_t count = 0, len = 0;
    struct err err = {0};
    if (reply_kv_keys(data, size, &keys, &count, &err) == 0)
        for (size_t i = 0; i < count; i++) {
            if (kv_parse_pdb_key(keys[i], uuid))
                check(strlen(uuid) == 32);
            free(keys[i]);
        }
    free(keys);
    if (reply_kv_get(data, size, &value, &len, &err) == 0 && value) {
        check(value[len] == '\0');
        try_entry(value, len);
    }
    free(value);
    reply_kv_put(data, size, &err);
    reply_kv_del(data, size, &err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct ray_version versions[] = {{0}, {2, 9, 3}, {2, 44, 1}, {2, 60, 0}};
    uint8_t *bytes = (uint8_t *)copy_exact(data, size);
    try_workers(bytes, size);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        try_tasks(bytes, size, versions[i]);
    for (size_t i = 0; i < sizeof versions / sizeof *versions; i++)
        try_failures(bytes, size, versions[i]);
    try_actors_nodes_jobs(bytes, size);
    try_stats(bytes, size);
    try_store(bytes, size);
    if (size && data[0] == '{')
        try_entry((const char *)bytes, size);
    free(bytes);
    return 0;
}
