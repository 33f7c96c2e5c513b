#include "relay/object_json.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "relay/json_fields.h"
#include "relay/text_keys.h"

#include <stdlib.h>
#include <string.h>

#define COUNT(array) (sizeof array / sizeof *(array))

/* --- tables --- */

static const struct json_field sweep_fields[] = {
    JSON_FIELD(struct object_sweep, taken_ms, "taken", JSON_MS),
};
static const struct json_table sweep_table = JSON_TABLE(sweep_fields);

static const struct json_field node_fields[] = {
    JSON_FIELD(struct object_node, node_id, "node_id", JSON_HEX),
    JSON_FIELD(struct object_node, ip, "ip", JSON_TEXT),
    JSON_FIELD(struct object_node, name, "name", JSON_TEXT),
    JSON_FIELD(struct object_node, asked, "asked", JSON_BOOL),
    JSON_FIELD(struct object_node, problem, "problem", JSON_TEXT),
};
static const struct json_table node_table = JSON_TABLE(node_fields);

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
static const struct json_table store_table = JSON_TABLE(store_fields);

static const struct json_field process_fields[] = {
    JSON_FIELD(struct object_process, node, "node", JSON_INDEX),
    JSON_FIELD(struct object_process, actor_class, "actor_class", JSON_TEXT),
    JSON_FIELD(struct object_process, actor_name, "actor_name", JSON_TEXT),
};
static const struct json_table process_table = JSON_TABLE(process_fields);

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
static const struct json_table worker_table = JSON_TABLE(worker_fields);

static const struct json_field task_fields[] = {
    JSON_FIELD(struct ray_task, task_id, "task_id", JSON_HEX),
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
static const struct json_table task_table = JSON_TABLE(task_fields);

static const struct json_field location_fields[] = {
    JSON_FIELD(struct ray_object_location, known, "known", JSON_BOOL),
    JSON_FIELD(struct ray_object_location, pending, "pending", JSON_BOOL),
    JSON_FIELD(struct ray_object_location, did_spill, "did_spill", JSON_BOOL),
    JSON_FIELD(struct ray_object_location, size, "size", JSON_COUNT),
    JSON_FIELD(struct ray_object_location, spilled_url, "spilled_url", JSON_TEXT),
    JSON_FIELD(struct ray_object_location, spilled_node_id, "spilled_node_id", JSON_HEX),
};
static const struct json_table location_table = JSON_TABLE(location_fields);

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
    JSON_FIELD(struct row_json, size_here, "size_here", JSON_COUNT),
    JSON_FIELD(struct row_json, reference, "reference_type", JSON_WORD),
    JSON_FIELD(struct row_json, call_site, "call_site", JSON_COUNT),
    JSON_FIELD(struct row_json, status, "task_status", JSON_WORD),
    JSON_FIELD(struct row_json, attempt, "attempt", JSON_COUNT),
    JSON_FIELD(struct row_json, local, "local_ref_count", JSON_NUMBER),
    JSON_FIELD(struct row_json, pinned, "pinned_in_memory", JSON_BOOL),
    JSON_FIELD(struct row_json, submitted, "submitted_task_ref_count", JSON_NUMBER),
    JSON_FIELD(struct row_json, contained_in, "contained_in_owned", JSON_COUNT),
};
static const struct json_table row_table = JSON_TABLE(row_fields);

static const char *const process_types[] = {
    [RAY_WORKER] = "worker",
    [RAY_DRIVER] = "driver",
    [RAY_SPILL_WORKER] = "spill-worker",
    [RAY_RESTORE_WORKER] = "restore-worker",
};

/* --- writing --- */

static const char *separator(size_t index)
{
    return index ? ",\n" : "\n";
}

static void write_nodes(const struct object_sweep *sweep, struct buf *out)
{
    buf_add_string(out, ",\"nodes\":[");
    for (size_t i = 0; i < sweep->node_count; i++) {
        buf_printf(out, "%s{", separator(i));
        json_fields_write(&node_table, &sweep->nodes[i], out);
        buf_add_string(out, ",\"store\":{");
        json_fields_write(&store_table, &sweep->nodes[i].store, out);
        buf_add_string(out, "}}");
    }
}

static void write_processes(const struct object_sweep *sweep, struct buf *out)
{
    buf_add_string(out, "],\n\"processes\":[");
    for (size_t i = 0; i < sweep->process_count; i++) {
        const struct ray_worker_objects *worker = sweep->processes[i].worker;
        buf_printf(out, "%s{\"type\":\"%s\",", separator(i),
                   (size_t)worker->type < COUNT(process_types) ? process_types[worker->type]
                                                               : process_types[RAY_WORKER]);
        json_fields_write(&process_table, &sweep->processes[i], out);
        buf_add_string(out, ",");
        json_fields_write(&worker_table, worker, out);
        buf_add_string(out, "}");
    }
}

static void put(struct buf *out, const char *name, int64_t number)
{
    buf_add_string(out, name);
    json_put_number(out, number);
}

static void put_count(struct buf *out, const char *name, int64_t number)
{
    if (number >= 0) {
        put(out, name, number);
    } else {
        buf_add_string(out, name);
        buf_add(out, "null", 4);
    }
}

static void write_row(const struct object_row *row, int64_t call_site, struct buf *out)
{
    const struct ray_object_ref *ref = row->ref;
    enum { HEX = ID_TEXT(ID_OBJECT_BYTES) };
    buf_add_string(out, "{\"object_ref\":\"");
    object_id_hex(&ref->id, buf_reserve(out, HEX));
    out->len += HEX - 1;
    put(out, "\",\"process\":", row->process);
    put_count(out, ",\"owner\":", row->owner);
    put_count(out, ",\"size\":", row->size);
    put_count(out, ",\"size_here\":", ref->size);
    buf_add_string(out, ",\"reference_type\":\"");
    buf_add_string(out, object_reference_name(row->reference));
    put_count(out, "\",\"call_site\":", call_site);
    buf_add_string(out, ",\"task_status\":");
    json_put_text(out, ref->status == RAY_TASK_NIL ? NULL : ray_task_status_name(ref->status));
    put(out, ",\"attempt\":", ref->attempt + 1);
    put(out, ",\"local_ref_count\":", ref->local);
    buf_add_string(out, ref->pinned ? ",\"pinned_in_memory\":true" : ",\"pinned_in_memory\":false");
    put(out, ",\"submitted_task_ref_count\":", ref->submitted);
    put(out, ",\"contained_in_owned\":", ref->contained_in);
    buf_add(out, "}", 1);
}

/* Many rows have the same few call sites, which are written once. */
static void write_rows(const struct object_sweep *sweep, struct buf *out)
{
    enum { ROW_ROOM = 384 };
    struct text_keys sites = {0};
    int64_t *site = mem_array(sweep->row_count, sizeof *site);
    for (size_t i = 0; i < sweep->row_count; i++) {
        const char *text = sweep->rows[i].ref->call_site;
        site[i] = text_empty(text) ? -1 : (int64_t)text_keys_pooled(&sites, text);
    }
    buf_add_string(out, "],\n\"call_sites\":[");
    for (size_t i = 0; i < sites.count; i++) {
        buf_add_string(out, separator(i));
        message_quote(out, sites.texts[i]);
    }
    buf_add_string(out, "],\n\"rows\":[");
    buf_reserve(out, sweep->row_count * ROW_ROOM);
    for (size_t i = 0; i < sweep->row_count; i++) {
        buf_add_string(out, separator(i));
        write_row(&sweep->rows[i], site[i], out);
    }
    text_keys_free(&sites);
    free(site);
}

static void write_locations(const struct object_sweep *sweep, struct buf *out)
{
    buf_add_string(out, "],\n\"locations\":[");
    for (size_t i = 0; i < sweep->location_count; i++) {
        const struct ray_object_location *location = &sweep->locations[i];
        char id[ID_TEXT(ID_OBJECT_BYTES)];
        object_id_hex(&location->id, id);
        buf_printf(out, "%s{\"object_ref\":\"%s\",", separator(i), id);
        json_fields_write(&location_table, location, out);
        buf_add_string(out, ",\"nodes\":[");
        for (size_t k = 0; k < location->node_count; k++)
            buf_printf(out, "%s\"%s\"", k ? "," : "", location->node_ids[k]);
        buf_add_string(out, "]}");
    }
}

void object_sweep_write(const struct object_sweep *sweep, struct buf *out)
{
    buf_add_string(out, "{");
    json_fields_write(&sweep_table, sweep, out);
    write_nodes(sweep, out);
    write_processes(sweep, out);
    write_rows(sweep, out);
    write_locations(sweep, out);
    buf_add_string(out, "],\n\"tasks\":[");
    for (size_t i = 0; i < sweep->task_count; i++) {
        buf_printf(out, "%s{", separator(i));
        json_fields_write(&task_table, &sweep->tasks[i], out);
        buf_add_string(out, "}");
    }
    buf_add_string(out, "]}\n");
}

/* --- reading --- */

/* One reading. Rows point into `refs` until their processes have them. */
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
    if (json_fields_read(&node_table, reading->text, object, node, reading->err) != 0)
        return -1;
    reading->sweep->unanswered += !node->asked;
    if (!scan_find(reading->text, object, "store", &store))
        return wrong(reading->err, "\"store\" is missing");
    return json_fields_read(&store_table, reading->text, store, &node->store, reading->err);
}

static int read_type(struct reading *reading, struct span object, enum ray_worker_type *out)
{
    struct span value;
    for (size_t i = 0; i < COUNT(process_types); i++) {
        if (scan_find(reading->text, object, "type", &value) &&
            scan_string_is(reading->text, value, process_types[i])) {
            *out = (enum ray_worker_type)i;
            return 0;
        }
    }
    return wrong(reading->err, "\"type\" is not what it should be");
}

static int read_process(struct reading *reading, struct span object, size_t index)
{
    struct object_process *process = &reading->sweep->processes[index];
    process->worker = mem_alloc(sizeof *process->worker);
    reading->sweep->process_count = index + 1;
    if (json_fields_read(&process_table, reading->text, object, process, reading->err) != 0 ||
        json_fields_read(&worker_table, reading->text, object, process->worker, reading->err) != 0)
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

/* "UNKNOWN" is what a status was called that has no name; it has no number, either. */
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

/* NULL, or the member that points nowhere. */
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
    struct row_json row = {0};
    if (json_fields_read(&row_table, reading->text, object, &row, reading->err) != 0)
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
    ref->size = row.size_here;
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
        bool good = text && strlen(text) == 2 * ID_UNIQUE_BYTES;
        text_copy(id, sizeof *location->node_ids, good ? text : "");
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
    if (json_fields_read(&location_table, reading->text, object, location, reading->err) != 0)
        return -1;
    if (!scan_find(reading->text, object, "object_ref", &id) ||
        !scan_find(reading->text, object, "nodes", &nodes))
        return wrong(reading->err, "\"object_ref\" or \"nodes\" is missing");
    char *hex = scan_string(reading->text, id);
    bool good = hex && object_id_parse(hex, strlen(hex), &location->id) &&
                strlen(hex) == 2 * ID_OBJECT_BYTES;
    free(hex);
    if (!good || (index && memcmp(location[-1].id.bytes, location->id.bytes, ID_OBJECT_BYTES) >= 0))
        return wrong(reading->err, "\"object_ref\" is no id, or not in order");
    return read_nodes_with(reading, nodes, location);
}

static int read_task(struct reading *reading, struct span object, size_t index)
{
    struct ray_task *task = &reading->sweep->tasks[index];
    reading->sweep->task_count = index + 1;
    if (json_fields_read(&task_table, reading->text, object, task, reading->err) != 0)
        return -1;
    if (index && strcmp(task[-1].task_id, task->task_id) >= 0)
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

/* The arrays in the order in which they need each other. */
enum { ROWS = 3, ARRAYS = 6 };

static void *make_room(struct reading *reading, size_t array, size_t count)
{
    struct object_sweep *sweep = reading->sweep;
    switch (array) {
    case 0:
        return sweep->nodes = mem_array(count, sizeof *sweep->nodes);
    case 1:
        return sweep->processes = mem_array(count, sizeof *sweep->processes);
    case 2:
        return sweep->call_sites = mem_array(count, sizeof *sweep->call_sites);
    case ROWS:
        reading->refs = mem_array(count, sizeof *reading->refs);
        return sweep->rows = mem_array(count, sizeof *sweep->rows);
    case 4:
        return sweep->locations = mem_array(count, sizeof *sweep->locations);
    default:
        return sweep->tasks = mem_array(count, sizeof *sweep->tasks);
    }
}

static int read_arrays(struct reading *reading, struct span object)
{
    static const struct {
        const char *name;
        int (*read)(struct reading *reading, struct span element, size_t index);
    } arrays[ARRAYS] = {
        {"nodes", read_node}, {"processes", read_process},  {"call_sites", read_call_site},
        {"rows", read_row},   {"locations", read_location}, {"tasks", read_task},
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

/* Each process gets the references that are its own. */
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
    if (json_fields_read(&sweep_table, reading->text, all, reading->sweep, reading->err) != 0)
        return -1;
    return read_arrays(reading, all);
}

struct object_sweep *object_sweep_read(const char *json, size_t len, struct err *err)
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
