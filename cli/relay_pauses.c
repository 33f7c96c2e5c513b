#include "cli/relay_pauses.h"

#include "base/mem.h"
#include "base/text.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

static const cJSON *member(const cJSON *object, const char *name)
{
    return cJSON_GetObjectItemCaseSensitive(object, name);
}

static char *string_of(const cJSON *object, const char *name)
{
    const char *text = cJSON_GetStringValue(member(object, name));
    return text_empty(text) ? NULL : mem_string(text);
}

static void copy_of(const cJSON *object, const char *name, char *out, size_t size)
{
    const char *text = cJSON_GetStringValue(member(object, name));
    text_copy(out, size, text ? text : "");
}

static int64_t integer_of(const cJSON *object, const char *name, double scale, int64_t otherwise)
{
    const cJSON *item = member(object, name);
    if (!cJSON_IsNumber(item))
        return otherwise;
    double number = item->valuedouble * scale;
    return number > -9e15 && number < 9e15 ? (int64_t)(number + (number < 0 ? -0.5 : 0.5))
                                           : otherwise;
}

/* A hex id; what is none is unknown. */
static void id_of(const cJSON *object, const char *name, char *out, size_t bytes)
{
    uint8_t binary[ID_UNIQUE_BYTES];
    const char *text = cJSON_GetStringValue(member(object, name));
    *out = '\0';
    if (text && text_unhex(text, binary, bytes))
        text_hex(binary, bytes, out);
}

static void read_candidates(struct pause *out, const cJSON *object)
{
    const cJSON *list = member(object, "candidates"), *item;
    uint8_t binary[ID_TASK_BYTES];
    int count = cJSON_IsArray(list) ? cJSON_GetArraySize(list) : 0;
    if (!count)
        return;
    out->candidates = mem_array((size_t)count, sizeof *out->candidates);
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsString(item) && text_unhex(item->valuestring, binary, sizeof binary))
            text_hex(binary, sizeof binary, out->candidates[out->candidate_count++]);
    }
}

static void read_place(struct pause *out, const cJSON *object)
{
    char host[512];
    const char *endpoint = cJSON_GetStringValue(member(object, "endpoint"));
    const cJSON *location = member(object, "location");
    if (endpoint && text_split_host_port(endpoint, host, sizeof host, &out->port))
        out->host = mem_string(host);
    else
        out->host = mem_string("");
    out->file = string_of(location, "file");
    out->line = integer_of(location, "line", 1, 0);
}

/* `held` true is PAUSE_HELD whatever the word of its state is. */
static void read_state(struct pause *out, const cJSON *object)
{
    const char *state = cJSON_GetStringValue(member(object, "state"));
    const char *debugger = cJSON_GetStringValue(member(object, "debugger"));
    if (!state || !pause_state_parse(state, &out->state))
        out->state = PAUSE_WAITING;
    if (cJSON_IsTrue(member(object, "held")))
        out->state = PAUSE_HELD;
    if (text_equal(debugger, pause_debugger_name(PAUSE_PDB)))
        out->debugger = PAUSE_PDB;
    out->ambiguous = cJSON_IsTrue(member(object, "ambiguous"));
    out->paused_threads = integer_of(object, "paused_threads", 1, -1);
    out->since_ms = integer_of(object, "since", 1000, 0);
    out->held_ms = integer_of(object, "held_since", 1000, 0);
    out->clients = integer_of(object, "clients", 1, 0);
    out->driver = string_of(object, "driver");
    out->reason = string_of(object, "reason");
}

static void read_pause(struct pause *out, const cJSON *object)
{
    *out = (struct pause){0};
    id_of(object, "task_id", out->task_id, ID_TASK_BYTES);
    id_of(object, "actor_id", out->actor_id, ID_ACTOR_BYTES);
    id_of(object, "job_id", out->job_id, ID_JOB_BYTES);
    id_of(object, "node_id", out->node_id, ID_UNIQUE_BYTES);
    id_of(object, "worker_id", out->worker_id, ID_UNIQUE_BYTES);
    out->task_name = string_of(object, "task_name");
    out->actor_class = string_of(object, "actor_class");
    out->actor_name = string_of(object, "actor_name");
    out->node_ip = string_of(object, "node_ip");
    out->node_name = string_of(object, "node_name");
    out->pid = integer_of(object, "pid", 1, 0);
    read_candidates(out, object);
    read_place(out, object);
    read_state(out, object);
}

static int malformed(struct err *err)
{
    err_set(err, ERR_FAILED, "the relay's answer could not be read");
    return err_hint(err, "is that a raydbg relay, and as new as this raydbg?");
}

int relay_pauses_parse(struct relay_pauses *out, const char *json, size_t len, struct err *err)
{
    cJSON *root = cJSON_ParseWithLength(json, len);
    const cJSON *list = member(root, "pauses"), *cluster = member(root, "cluster"), *item;
    *out = (struct relay_pauses){.facts.tasks_running = -1};
    if (!cJSON_IsArray(list)) {
        cJSON_Delete(root);
        return malformed(err);
    }
    copy_of(cluster, "address", out->cluster, sizeof out->cluster);
    copy_of(cluster, "ray_version", out->facts.ray_version, sizeof out->facts.ray_version);
    out->facts.nodes_alive = (size_t)llabs(integer_of(cluster, "nodes_alive", 1, 0));
    out->facts.workers_alive = (size_t)llabs(integer_of(cluster, "workers_alive", 1, 0));
    out->pauses.items = mem_array((size_t)cJSON_GetArraySize(list), sizeof *out->pauses.items);
    cJSON_ArrayForEach(item, list)
    {
        if (cJSON_IsObject(item))
            read_pause(&out->pauses.items[out->pauses.count++], item);
    }
    cJSON_Delete(root);
    return 0;
}

int relay_pause_parse(struct pause *out, const char *json, size_t len, struct err *err)
{
    cJSON *root = cJSON_ParseWithLength(json, len);
    bool good = cJSON_IsObject(root);
    if (good)
        read_pause(out, root);
    cJSON_Delete(root);
    return good ? 0 : malformed(err);
}

void relay_pauses_clear(struct relay_pauses *pauses)
{
    pause_list_clear(&pauses->pauses);
    *pauses = (struct relay_pauses){0};
}
