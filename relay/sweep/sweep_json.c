#include "relay/sweep/sweep_json.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/text_numbers.h"
#include "dap/message.h"
#include "relay/sweep/sweep_json_fields.h"

#include <stdlib.h>
#include <string.h>

static const char *separator(size_t index)
{
    return index ? ",\n" : "\n";
}

static void write_nodes(const struct object_sweep *sweep, struct buf *out)
{
    buf_add_string(out, ",\"nodes\":[");
    for (size_t i = 0; i < sweep->node_count; i++) {
        buf_printf(out, "%s{", separator(i));
        json_record_write(&object_node_table, &sweep->nodes[i], out);
        buf_add_string(out, ",\"store\":{");
        json_record_write(&object_store_table, &sweep->nodes[i].store, out);
        buf_add_string(out, "}}");
    }
}

static void write_processes(const struct object_sweep *sweep, struct buf *out)
{
    buf_add_string(out, "],\n\"processes\":[");
    for (size_t i = 0; i < sweep->process_count; i++) {
        const struct ray_worker_objects *worker = sweep->processes[i].worker;
        const char *type = sweep_json_process_type(worker->type);
        buf_printf(out, "%s{\"type\":\"%s\",", separator(i),
                   type ? type : sweep_json_process_type(RAY_WORKER));
        json_record_write(&object_process_table, &sweep->processes[i], out);
        buf_add_string(out, ",");
        json_record_write(&object_worker_table, worker, out);
        buf_add_string(out, "}");
    }
}

/* There are many rows: they are written straight into reserved memory. */
static char *put(char *at, const char *text)
{
    return stpcpy(at, text);
}

static char *put_number(char *at, const char *name, int64_t number)
{
    return json_number(put(at, name), number);
}

static char *put_count(char *at, const char *name, int64_t number)
{
    return number < 0 ? put(put(at, name), "null") : put_number(at, name, number);
}

/* Leaves out the value that most rows have: docs/objects.md gives it. */
static char *put_rare(char *at, const char *name, int64_t number, int64_t usual)
{
    return number == usual ? at : put_count(at, name, number);
}

/* ROW_ROOM: the longest names and eleven numbers of 20 digits. ROW_USUAL: enough for most rows. */
enum { ROW_ROOM = 640, ROW_USUAL = 224, HEX = ID_TEXT(ID_OBJECT_BYTES) - 1 };

static char *write_row(const struct object_row *row, int64_t call_site, char *at)
{
    const struct ray_object_ref *ref = row->ref;
    at = put(at, "{\"object_ref\":\"");
    object_id_hex(&ref->id, at);
    at += HEX;
    at = put_number(at, "\",\"process\":", row->process);
    at = put_count(at, ",\"owner\":", row->owner);
    at = put_count(at, ",\"size\":", row->size);
    at = put_rare(at, ",\"size_here\":", ref->size, row->size);
    at = put(at, ",\"reference_type\":\"");
    at = put(at, object_reference_name(row->reference));
    at = put_count(at, "\",\"call_site\":", call_site);
    at = put(at, ",\"task_status\":");
    if (ref->status == RAY_TASK_NIL) {
        at = put(at, "null");
    } else {
        at = put(put(at, "\""), ray_task_status_name(ref->status));
        at = put(at, "\"");
    }
    at = put_rare(at, ",\"attempt\":", (int64_t)ref->attempt + 1, 1);
    if (ref->pinned)
        at = put(at, ",\"pinned_in_memory\":true");
    at = put_rare(at, ",\"local_ref_count\":", ref->local, 1);
    at = put_rare(at, ",\"submitted_task_ref_count\":", ref->submitted, 0);
    at = put_rare(at, ",\"contained_in_owned\":", ref->contained_in, 0);
    return put(at, "}");
}

/* Many rows share a few call sites, which are written once. */
static void write_rows(const struct object_sweep *sweep, struct buf *out)
{
    struct text_numbers sites = {0};
    int64_t *site = mem_array(sweep->row_count, sizeof *site);
    for (size_t i = 0; i < sweep->row_count; i++) {
        const char *text = sweep->rows[i].ref->call_site;
        site[i] = text_empty(text) ? -1 : (int64_t)text_numbers_pooled(&sites, text);
    }
    buf_add_string(out, "],\n\"call_sites\":[");
    for (size_t i = 0; i < sites.count; i++) {
        buf_add_string(out, separator(i));
        message_quote(out, text_numbers_text(&sites, (uint32_t)i));
    }
    buf_add_string(out, "],\n\"rows\":[");
    buf_reserve(out, sweep->row_count * ROW_USUAL);
    for (size_t i = 0; i < sweep->row_count; i++) {
        char *at = buf_reserve(out, ROW_ROOM);
        char *end = write_row(&sweep->rows[i], site[i], put(at, separator(i)));
        out->len += (size_t)(end - at);
    }
    buf_add_string(out, "");
    text_numbers_free(&sites);
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
        json_record_write(&object_location_table, location, out);
        buf_add_string(out, ",\"nodes\":[");
        for (size_t k = 0; k < location->node_count; k++)
            buf_printf(out, "%s\"%s\"", k ? "," : "", location->node_ids[k]);
        buf_add_string(out, "]}");
    }
}

void sweep_json_write(const struct object_sweep *sweep, struct buf *out)
{
    buf_add_string(out, "{");
    json_record_write(&object_sweep_table, sweep, out);
    write_nodes(sweep, out);
    write_processes(sweep, out);
    write_rows(sweep, out);
    write_locations(sweep, out);
    buf_add_string(out, "],\n\"tasks\":[");
    for (size_t i = 0; i < sweep->task_count; i++) {
        buf_printf(out, "%s{", separator(i));
        json_record_write(&object_task_table, &sweep->tasks[i], out);
        buf_add_string(out, "}");
    }
    buf_add_string(out, "]}\n");
}
