#include "relay/pause/pause_json.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/json_record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void put_known(struct buf *out, int64_t number, bool known)
{
    if (known)
        buf_printf(out, "%" PRId64, number);
    else
        buf_add_string(out, "null");
}

#define TEXT_FIELD(name, value)                                                                    \
    static void put_##name(const struct pause *pause, struct buf *out)                             \
    {                                                                                              \
        json_put_text(out, value);                                                                 \
    }

TEXT_FIELD(task_id, pause->task_id)
TEXT_FIELD(task_name, pause->task_name)
TEXT_FIELD(actor_id, pause->actor_id)
TEXT_FIELD(actor_class, pause->actor_class)
TEXT_FIELD(actor_name, pause->actor_name)
TEXT_FIELD(job_id, pause->job_id)
TEXT_FIELD(node_id, pause->node_id)
TEXT_FIELD(node_ip, pause->node_ip)
TEXT_FIELD(worker_id, pause->worker_id)
TEXT_FIELD(debugger, pause_debugger_name(pause->debugger))
TEXT_FIELD(state, pause_state_name(pause->state))
TEXT_FIELD(since_source, pause_since_source(pause))
TEXT_FIELD(reason, pause->reason)
TEXT_FIELD(driver, pause->driver)
TEXT_FIELD(run, pause->run)

static void put_pid(const struct pause *pause, struct buf *out)
{
    put_known(out, pause->pid, pause->pid > 0);
}

static void put_endpoint(const struct pause *pause, struct buf *out)
{
    char *endpoint = text_join_host_port(pause->host, pause->port);
    json_put_text(out, endpoint);
    free(endpoint);
}

static void put_paused_threads(const struct pause *pause, struct buf *out)
{
    put_known(out, pause->paused_threads, pause->paused_threads >= 0);
}

static void put_ambiguous(const struct pause *pause, struct buf *out)
{
    buf_add_string(out, pause->ambiguous ? "true" : "false");
}

static void put_candidates(const struct pause *pause, struct buf *out)
{
    buf_add_string(out, "[");
    for (size_t i = 0; i < pause->candidate_count; i++)
        buf_printf(out, "%s\"%s\"", i ? ", " : "", pause->candidates[i]);
    buf_add_string(out, "]");
}

static void put_location(const struct pause *pause, struct buf *out)
{
    if (!pause->file) {
        buf_add_string(out, "null");
        return;
    }
    buf_add_string(out, "{\"file\": ");
    json_put_text(out, pause->file);
    buf_printf(out, ", \"line\": %" PRId64 "}", pause->line);
}

static void put_since(const struct pause *pause, struct buf *out)
{
    json_put_seconds(out, pause->since_ms);
}

static void put_held_since(const struct pause *pause, struct buf *out)
{
    json_put_seconds(out, pause->held_ms);
}

static void put_stopped_at(const struct pause *pause, struct buf *out)
{
    json_put_seconds(out, pause->stopped_ms);
}

static void put_client_left(const struct pause *pause, struct buf *out)
{
    buf_add_string(out, !pause->stopped_ms ? "null" : pause->client_left ? "true" : "false");
}

static void put_clients(const struct pause *pause, struct buf *out)
{
    put_known(out, pause->clients, pause->held_ms > 0);
}

static const struct {
    const char *name;
    void (*put)(const struct pause *pause, struct buf *out);
} fields[] = {
    {"task_id", put_task_id},
    {"task_name", put_task_name},
    {"actor_id", put_actor_id},
    {"actor_class", put_actor_class},
    {"actor_name", put_actor_name},
    {"job_id", put_job_id},
    {"node_id", put_node_id},
    {"node_ip", put_node_ip},
    {"pid", put_pid},
    {"worker_id", put_worker_id},
    {"debugger", put_debugger},
    {"endpoint", put_endpoint},
    {"state", put_state},
    {"paused_threads", put_paused_threads},
    {"ambiguous", put_ambiguous},
    {"candidates", put_candidates},
    {"location", put_location},
    {"since", put_since},
    {"since_source", put_since_source},
    {"reason", put_reason},
    {"clients", put_clients},
    {"driver", put_driver},
    {"held_since", put_held_since},
    {"stopped_at", put_stopped_at},
    {"client_left", put_client_left},
    {"run", put_run},
};
enum { FIELDS = sizeof fields / sizeof *fields };

void pause_json(const struct pause *pause, struct buf *out)
{
    for (size_t i = 0; i < FIELDS; i++) {
        buf_printf(out, "%s\"%s\": ", i ? ", " : "{", fields[i].name);
        fields[i].put(pause, out);
    }
    buf_add_string(out, "}");
}

void pauses_json(const struct pause_list *list, struct buf *out)
{
    buf_add_string(out, "[");
    for (size_t i = 0; i < list->count; i++) {
        buf_add_string(out, i ? ",\n " : "\n ");
        pause_json(&list->items[i], out);
    }
    buf_add_string(out, list->count ? "\n]\n" : "]\n");
}

/* Writes each value as JSON, which is valid YAML 1.2. */
void pauses_yaml(const struct pause_list *list, struct buf *out)
{
    if (list->count == 0)
        buf_add_string(out, "[]\n");
    for (size_t i = 0; i < list->count; i++) {
        for (size_t k = 0; k < FIELDS; k++) {
            buf_printf(out, "%s%s: ", k ? "  " : "- ", fields[k].name);
            fields[k].put(&list->items[i], out);
            buf_add_string(out, "\n");
        }
    }
}

/* --- reading --- */

/* Copies hex digits that fill `out`, and a NUL; any other text gives "", unknown. */
static void take_id(const char *text, char *out, size_t size)
{
    uint8_t bytes[ID_UNIQUE_BYTES];
    *out = '\0';
    if (text && text_unhex(text, bytes, size / 2))
        text_hex(bytes, size / 2, out);
}

static void get_id(const char *json, struct span object, const char *name, char *out, size_t size)
{
    char *text = scan_string_at(json, object, name);
    take_id(text, out, size);
    free(text);
}

static int64_t get_number(const char *json, struct span object, const char *name, int64_t otherwise)
{
    int64_t number;
    bool known = scan_integer_at(json, object, name, &number);
    return known ? number : otherwise;
}

static bool is_digit(const char *at, const char *end)
{
    return at < end && *at >= '0' && *at <= '9';
}

/* Seconds with a fraction, in milliseconds; 0 if unknown. Without strtod(), because it reads the
 * fraction in the user's locale. */
static int64_t get_time(const char *json, struct span object, const char *name)
{
    enum { SECOND_DIGITS = 12, DECIMALS = 3 };
    struct span value;
    if (!scan_find(json, object, name, &value))
        return 0;
    const char *at = json + value.at, *end = at + value.len;
    int64_t ms = 0;
    for (; is_digit(at, end); at++) {
        if (at == json + value.at + SECOND_DIGITS)
            return 0;
        ms = ms * 10 + (*at - '0');
    }
    if (at < end && *at == '.')
        at++;
    for (int i = 0; i < DECIMALS; i++)
        ms = ms * 10 + (is_digit(at, end) ? *at++ - '0' : 0);
    while (is_digit(at, end))
        at++;
    return at == end ? ms : 0;
}

static bool get_endpoint(struct pause *out, const char *json, struct span object)
{
    char host[256];
    char *text = scan_string_at(json, object, "endpoint");
    bool good = text && text_split_host_port(text, host, sizeof host, &out->port);
    free(text);
    if (good)
        out->host = mem_string(host);
    return good;
}

static bool get_kinds(struct pause *out, const char *json, struct span object)
{
    char *state = scan_string_at(json, object, "state"),
         *debugger = scan_string_at(json, object, "debugger");
    bool good =
        pause_state_parse(state, &out->state) && pause_debugger_parse(debugger, &out->debugger);
    free(state);
    free(debugger);
    return good;
}

static void get_candidates(struct pause *out, const char *json, struct span object)
{
    struct span array, element;
    size_t cursor = 0;
    if (!scan_find(json, object, "candidates", &array) || json[array.at] != '[')
        return;
    while (scan_element(json, array, &cursor, &element)) {
        char *id = scan_string(json, element);
        out->candidates =
            mem_resize(out->candidates, out->candidate_count + 1, sizeof *out->candidates);
        take_id(id, out->candidates[out->candidate_count++], sizeof *out->candidates);
        free(id);
    }
}

static void get_location(struct pause *out, const char *json, struct span object)
{
    struct span location;
    if (!scan_find(json, object, "location", &location) || json[location.at] != '{')
        return;
    out->file = scan_string_at(json, location, "file");
    out->line = get_number(json, location, "line", 0);
}

static void get_run(struct pause *out, const char *json, struct span object)
{
    char *run = scan_string_at(json, object, "run");
    if (!text_copy(out->run, sizeof out->run, run ? run : ""))
        out->run[0] = '\0';
    free(run);
}

bool pause_json_read(struct pause *out, const char *json, struct span object)
{
    *out = (struct pause){0};
    if (json[object.at] != '{')
        return false;
    get_id(json, object, "task_id", out->task_id, sizeof out->task_id);
    get_id(json, object, "actor_id", out->actor_id, sizeof out->actor_id);
    get_id(json, object, "job_id", out->job_id, sizeof out->job_id);
    get_id(json, object, "node_id", out->node_id, sizeof out->node_id);
    get_id(json, object, "worker_id", out->worker_id, sizeof out->worker_id);
    out->task_name = scan_string_at(json, object, "task_name");
    out->actor_class = scan_string_at(json, object, "actor_class");
    out->actor_name = scan_string_at(json, object, "actor_name");
    out->node_ip = scan_string_at(json, object, "node_ip");
    out->reason = scan_string_at(json, object, "reason");
    out->driver = scan_string_at(json, object, "driver");
    out->pid = get_number(json, object, "pid", 0);
    out->paused_threads = get_number(json, object, "paused_threads", -1);
    out->clients = get_number(json, object, "clients", 0);
    out->since_ms = get_time(json, object, "since");
    out->held_ms = get_time(json, object, "held_since");
    out->stopped_ms = get_time(json, object, "stopped_at");
    scan_boolean_at(json, object, "ambiguous", &out->ambiguous);
    scan_boolean_at(json, object, "client_left", &out->client_left);
    get_run(out, json, object);
    get_candidates(out, json, object);
    get_location(out, json, object);
    bool good = get_endpoint(out, json, object) && get_kinds(out, json, object);
    if (!good)
        pause_clear(out);
    return good;
}

bool pauses_json_read(struct pause_list *out, const char *json, struct span array)
{
    struct span element;
    size_t cursor = 0;
    bool good = json[array.at] == '[';
    *out = (struct pause_list){0};
    while (good && scan_element(json, array, &cursor, &element)) {
        out->items = mem_resize(out->items, out->count + 1, sizeof *out->items);
        good = pause_json_read(&out->items[out->count], json, element);
        out->count += good;
    }
    if (!good)
        pause_list_clear(out);
    return good;
}
