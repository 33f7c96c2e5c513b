#include "relay/sweep/sweep_json.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/sweep/sweep_json_fields.h"

#include <stdlib.h>
#include <string.h>

/* In the order of reading: each refers to earlier ones only. */
enum { NODES, PROCESSES, CALL_SITES, ROWS, LOCATIONS, TASKS, ARRAYS };

/* A row as it is in JSON. */
struct row_json {
    char object_ref[ID_TEXT(ID_OBJECT_BYTES)];
    int64_t process, owner, size, size_here, call_site, attempt, local, submitted, contained_in;
    char reference[32], status[48];
    bool pinned;
};

static const struct json_field row_fields[] = {
    JSON_FIELD(struct row_json, object_ref, "object_ref", JSON_HEX),
    JSON_FIELD(struct row_json, process, "process", JSON_COUNT),
    JSON_FIELD(struct row_json, owner, "owner", JSON_COUNT),
    JSON_FIELD(struct row_json, size, "size", JSON_COUNT),
    JSON_OPTIONAL_FIELD(struct row_json, size_here, "size_here", JSON_COUNT),
    JSON_FIELD(struct row_json, reference, "reference_type", JSON_WORD),
    JSON_FIELD(struct row_json, call_site, "call_site", JSON_COUNT),
    JSON_FIELD(struct row_json, status, "task_status", JSON_WORD),
    JSON_OPTIONAL_FIELD(struct row_json, attempt, "attempt", JSON_COUNT),
    JSON_OPTIONAL_FIELD(struct row_json, local, "local_ref_count", JSON_COUNT),
    JSON_OPTIONAL_FIELD(struct row_json, pinned, "pinned_in_memory", JSON_BOOL),
    JSON_OPTIONAL_FIELD(struct row_json, submitted, "submitted_task_ref_count", JSON_COUNT),
    JSON_OPTIONAL_FIELD(struct row_json, contained_in, "contained_in_owned", JSON_COUNT),
};
static const struct json_table row_table = JSON_TABLE(row_fields);

/* One reading. Rows point into `refs` until hand_out() gives these to their processes. */
struct reading {
    const char *text;
    struct object_sweep *sweep;
    struct ray_object_ref *refs;
    struct err *err;
};

static int wrong(struct err *err, const char *what)
{
    return err_set(err, ERR_FAILED, "%s", what);
}

static int read_node(struct reading *reading, struct span object, size_t index)
{
    struct object_node *node = &reading->sweep->nodes[index];
    struct span store;
    reading->sweep->node_count = index + 1;
    if (json_record_read(&object_node_table, reading->text, object, node, reading->err) != 0)
        return -1;
    reading->sweep->unanswered += !node->asked;
    if (!scan_find(reading->text, object, "store", &store))
        return wrong(reading->err, "\"store\" is missing");
    return json_record_read(&object_store_table, reading->text, store, &node->store, reading->err);
}

static int read_type(struct reading *reading, struct span object, enum ray_worker_type *out)
{
    struct span value;
    for (int i = 0; sweep_json_process_type((enum ray_worker_type)i); i++) {
        *out = (enum ray_worker_type)i;
        if (scan_find(reading->text, object, "type", &value) &&
            scan_string_is(reading->text, value, sweep_json_process_type(*out)))
            return 0;
    }
    return wrong(reading->err, "\"type\" is not what it should be");
}

static int read_process(struct reading *reading, struct span object, size_t index)
{
    struct object_process *process = &reading->sweep->processes[index];
    process->worker = mem_alloc(sizeof *process->worker);
    reading->sweep->process_count = index + 1;
    if (json_record_read(&object_process_table, reading->text, object, process, reading->err) !=
            0 ||
        json_record_read(&object_worker_table, reading->text, object, process->worker,
                         reading->err) != 0)
        return -1;
    if (process->node >= reading->sweep->node_count)
        return wrong(reading->err, "\"node\" is none of the nodes");
    return read_type(reading, object, &process->worker->type);
}

static int read_call_site(struct reading *reading, struct span value, size_t index)
{
    char *site = scan_string(reading->text, value);
    if (!site)
        return wrong(reading->err, "it is no string");
    reading->sweep->call_sites[index] = site;
    reading->sweep->call_site_count = index + 1;
    return 0;
}

/* A status without a name was written as "UNKNOWN": it is read as the first number without one. */
static bool parse_status(const char *name, int8_t *out)
{
    if (!*name)
        return true;
    for (int status = 1; status <= INT8_MAX; status++) {
        if (text_equal(name, ray_task_status_name(status))) {
            *out = (int8_t)status;
            return true;
        }
    }
    return false;
}

static bool parse_reference(const char *name, enum object_reference *out)
{
    for (size_t i = 0; i <= OBJECT_REFERENCE_UNKNOWN; i++) {
        *out = (enum object_reference)i;
        if (text_equal(name, object_reference_name(*out)))
            return true;
    }
    return false;
}

/* The error of a member that points nowhere or is out of range, or NULL. */
static const char *stray(const struct object_sweep *sweep, const struct row_json *row)
{
    int64_t processes = (int64_t)sweep->process_count;
    if (row->process < 0 || row->process >= processes)
        return "\"process\" is none of the processes";
    if (row->owner >= processes)
        return "\"owner\" is none of the processes";
    if (row->call_site >= (int64_t)sweep->call_site_count)
        return "\"call_site\" is none of the call sites";
    if (row->attempt < 1 || row->attempt > INT32_MAX)
        return "\"attempt\" is not what it should be";
    if (row->contained_in < 0 || row->contained_in > UINT32_MAX)
        return "\"contained_in_owned\" is not what it should be";
    return NULL;
}

static bool is_behind(const struct object_row *row, const struct object_row *previous)
{
    int order = memcmp(previous->ref->id.bytes, row->ref->id.bytes, sizeof row->ref->id.bytes);
    return order < 0 || (order == 0 && previous->process < row->process);
}

static int read_row(struct reading *reading, struct span object, size_t index)
{
    struct object_sweep *sweep = reading->sweep;
    struct object_row *out = &sweep->rows[index];
    struct ray_object_ref *ref = &reading->refs[index];
    struct row_json row = {.size_here = INT64_MIN, .attempt = 1, .local = 1};
    if (json_record_read(&row_table, reading->text, object, &row, reading->err) != 0)
        return -1;
    const char *problem = stray(sweep, &row);
    if (!problem && !object_id_parse(row.object_ref, strlen(row.object_ref), &ref->id))
        problem = "\"object_ref\" is not what it should be";
    if (!problem && !parse_status(row.status, &ref->status))
        problem = "\"task_status\" is not what it should be";
    if (!problem && !parse_reference(row.reference, &out->reference))
        problem = "\"reference_type\" is not what it should be";
    if (problem)
        return wrong(reading->err, problem);
    ref->pinned = row.pinned;
    ref->attempt = (int32_t)row.attempt - 1;
    ref->contained_in = (uint32_t)row.contained_in;
    ref->size = row.size_here == INT64_MIN ? row.size : row.size_here;
    ref->local = row.local;
    ref->submitted = row.submitted;
    ref->call_site = row.call_site < 0 ? "" : sweep->call_sites[row.call_site];
    out->ref = ref;
    out->process = (uint32_t)row.process;
    out->owner = (int32_t)row.owner;
    out->size = row.size;
    sweep->row_count = index + 1;
    return index && !is_behind(out, out - 1) ? wrong(reading->err, "the rows are not in order") : 0;
}

static int read_nodes_with(struct reading *reading, struct span array,
                           struct ray_object_location *location)
{
    struct span value;
    size_t cursor = 0;
    while (reading->text[array.at] == '[' && scan_element(reading->text, array, &cursor, &value)) {
        location->node_ids =
            mem_resize(location->node_ids, location->node_count + 1, sizeof *location->node_ids);
        char *id = location->node_ids[location->node_count++];
        char *text = scan_string(reading->text, value);
        uint8_t bytes[ID_UNIQUE_BYTES] = {0};
        bool good = text_unhex(text, bytes, sizeof bytes);
        text_hex(bytes, sizeof bytes, id);
        free(text);
        if (!good)
            return wrong(reading->err, "\"nodes\" has something else than ids");
    }
    return cursor ? 0 : wrong(reading->err, "\"nodes\" is no array");
}

static int read_location(struct reading *reading, struct span object, size_t index)
{
    struct ray_object_location *location = &reading->sweep->locations[index];
    struct span id, nodes;
    reading->sweep->location_count = index + 1;
    if (json_record_read(&object_location_table, reading->text, object, location, reading->err) !=
        0)
        return -1;
    if (!scan_find(reading->text, object, "object_ref", &id) ||
        !scan_find(reading->text, object, "nodes", &nodes))
        return wrong(reading->err, "\"object_ref\" or \"nodes\" is missing");
    char *hex = scan_string(reading->text, id);
    bool good = hex && strlen(hex) == sizeof((struct row_json *)NULL)->object_ref - 1 &&
                object_id_parse(hex, strlen(hex), &location->id);
    free(hex);
    if (!good || (index && memcmp(location[-1].id.bytes, location->id.bytes, ID_OBJECT_BYTES) >= 0))
        return wrong(reading->err, "\"object_ref\" is no id, or not in order");
    return read_nodes_with(reading, nodes, location);
}

static int read_task(struct reading *reading, struct span object, size_t index)
{
    struct ray_task *task = &reading->sweep->tasks[index];
    reading->sweep->task_count = index + 1;
    if (json_record_read(&object_task_table, reading->text, object, task, reading->err) != 0)
        return -1;
    if (index && object_task_compare(task - 1, task) >= 0)
        return wrong(reading->err, "the tasks are not in order");
    return 0;
}

static size_t count_elements(const char *text, struct span array)
{
    struct span value;
    size_t cursor = 0, count = 0;
    while (scan_element(text, array, &cursor, &value))
        count++;
    return count;
}

static void make_room(struct reading *reading, size_t array, size_t count)
{
    struct object_sweep *sweep = reading->sweep;
    switch (array) {
    case NODES:
        sweep->nodes = mem_array(count, sizeof *sweep->nodes);
        break;
    case PROCESSES:
        sweep->processes = mem_array(count, sizeof *sweep->processes);
        break;
    case CALL_SITES:
        sweep->call_sites = mem_array(count, sizeof *sweep->call_sites);
        break;
    case ROWS:
        reading->refs = mem_array(count, sizeof *reading->refs);
        sweep->rows = mem_array(count, sizeof *sweep->rows);
        break;
    case LOCATIONS:
        sweep->locations = mem_array(count, sizeof *sweep->locations);
        break;
    default:
        sweep->tasks = mem_array(count, sizeof *sweep->tasks);
    }
}

static int read_arrays(struct reading *reading, struct span object)
{
    static const struct {
        const char *name;
        int (*read)(struct reading *reading, struct span element, size_t index);
    } arrays[ARRAYS] = {
        [NODES] = {"nodes", read_node},
        [PROCESSES] = {"processes", read_process},
        [CALL_SITES] = {"call_sites", read_call_site},
        [ROWS] = {"rows", read_row},
        [LOCATIONS] = {"locations", read_location},
        [TASKS] = {"tasks", read_task},
    };
    for (size_t i = 0; i < ARRAYS; i++) {
        struct span array, value;
        struct err inner;
        size_t cursor = 0;
        if (!scan_find(reading->text, object, arrays[i].name, &array) ||
            reading->text[array.at] != '[')
            return err_set(reading->err, ERR_FAILED, "\"%s\" is no array", arrays[i].name);
        make_room(reading, i, count_elements(reading->text, array));
        for (size_t k = 0; scan_element(reading->text, array, &cursor, &value); k++) {
            if (arrays[i].read(reading, value, k) == 0)
                continue;
            inner = *reading->err;
            return err_set(reading->err, ERR_FAILED, "%s[%zu]: %s", arrays[i].name, k, inner.what);
        }
    }
    return 0;
}

/* Gives each process its own references. */
static void hand_out(struct reading *reading)
{
    struct object_sweep *sweep = reading->sweep;
    for (size_t i = 0; i < sweep->row_count; i++)
        sweep->processes[sweep->rows[i].process].worker->ref_count++;
    for (size_t i = 0; i < sweep->process_count; i++) {
        struct ray_worker_objects *worker = sweep->processes[i].worker;
        worker->refs = mem_array(worker->ref_count, sizeof *worker->refs);
        worker->ref_count = 0;
    }
    for (size_t i = 0; i < sweep->row_count; i++) {
        struct object_row *row = &sweep->rows[i];
        struct ray_worker_objects *worker = sweep->processes[row->process].worker;
        worker->refs[worker->ref_count] = *row->ref;
        row->ref = &worker->refs[worker->ref_count++];
    }
}

static int read_all(struct reading *reading, size_t len)
{
    struct scan scan;
    struct span all;
    scan_init(&scan, reading->text, len);
    if (!scan_value(&scan, &all) || !scan_end(&scan))
        return err_set(reading->err, ERR_FAILED, "it is no JSON at byte %zu: %s", scan.at,
                       scan.problem ? scan.problem : "there is something behind it");
    if (json_record_read(&object_sweep_table, reading->text, all, reading->sweep, reading->err) !=
        0)
        return -1;
    return read_arrays(reading, all);
}

struct object_sweep *sweep_json_read(const char *json, size_t len, struct err *err)
{
    struct err why;
    struct reading reading = {.text = json, .sweep = mem_alloc(sizeof *reading.sweep), .err = &why};
    if (read_all(&reading, len) == 0) {
        hand_out(&reading);
    } else {
        object_sweep_free(&reading.sweep);
        err_set(err, ERR_FAILED, "this is no sweep of a cluster's objects");
        err_why(err, "%s", why.what);
    }
    free(reading.refs);
    return reading.sweep;
}
