#include "proto/agent_client.h"

#include "agent.pb-c.h"
#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/inflight.h"
#include "proto/rpc_stream.h"

#include <cjson/cJSON.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* memray takes some 30 s to attach itself and to draw, and minutes if there is little CPU. */
enum { MEMORY_MS = 300000 };

struct agent_client {
    struct rpc *rpc;
    int64_t deadline_ms;
    struct inflight *calls; /* lists, stacks and profiles */
};

struct list_call {
    struct inflight inflight;
    agent_list_fn fn;
};

struct stack_call {
    struct inflight inflight;
    agent_stack_fn fn;
    const char *what; /* "stack" */
    int64_t pid;
};

struct agent_log {
    struct rpc_stream *stream;
    char *file;
    bool unreadable; /* a message could not be read */
    const struct agent_log_calls *calls;
    void *arg;
};

struct agent_client *agent_client_create(struct rpc *rpc, int64_t deadline_ms)
{
    struct agent_client *client = mem_alloc(sizeof *client);
    client->rpc = rpc;
    client->deadline_ms = deadline_ms;
    return client;
}

void agent_client_destroy(struct agent_client **client)
{
    struct agent_client *it = *client;
    if (!it)
        return;
    *client = NULL;
    inflight_drop_all(&it->calls);
    free(it);
}

void agent_client_forget(struct agent_client *client, const void *arg)
{
    inflight_drop(&client->calls, arg);
}

static void pack(const ProtobufCMessage *message, struct buf *out)
{
    size_t len = protobuf_c_message_get_packed_size(message);
    protobuf_c_message_pack(message, (uint8_t *)buf_reserve(out, len));
    out->len += len;
}

/* --- where it is --- */

void agent_client_keys(const char *node_id, char newer[AGENT_KEY_TEXT], char older[AGENT_KEY_TEXT])
{
    snprintf(newer, AGENT_KEY_TEXT, "DASHBOARD_AGENT_ADDR_NODE_ID_PREFIX:%.56s", node_id);
    snprintf(older, AGENT_KEY_TEXT, "DASHBOARD_AGENT_PORT_PREFIX:%.56s", node_id);
}

uint16_t agent_client_port(const char *json, size_t len)
{
    cJSON *array = cJSON_ParseWithLength(json, len);
    double port = 0;
    const cJSON *item;
    cJSON_ArrayForEach(item, array) port = cJSON_IsNumber(item) ? item->valuedouble : 0;
    cJSON_Delete(array);
    return port > 0 && port <= UINT16_MAX ? (uint16_t)port : 0;
}

/* --- lists --- */

static void on_list(void *arg, const struct rpc_reply *reply)
{
    struct list_call *call = arg;
    struct err err = reply->err ? *reply->err : (struct err){0};
    RayWire__ListLogsReply *list = NULL;
    if (!inflight_end(&call->inflight)) {
        free(call);
        return;
    }
    if (!reply->err)
        list = ray_wire__list_logs_reply__unpack(NULL, reply->len, reply->bytes);
    if (!reply->err && !list)
        err_set(&err, ERR_FAILED, "an agent's answer about its logs could not be read");
    call->fn(call->inflight.arg, list ? NULL : &err, list ? list->log_files : NULL,
             list ? list->n_log_files : 0);
    ray_wire__list_logs_reply__free_unpacked(list, NULL);
    free(call);
}

void agent_client_list(struct agent_client *client, const char *address, const char *glob,
                       agent_list_fn fn, void *arg)
{
    struct list_call *call = mem_alloc(sizeof *call);
    struct buf bytes = {0};
    RayWire__ListLogsRequest request = RAY_WIRE__LIST_LOGS_REQUEST__INIT;
    char *copy = mem_string(glob);
    inflight_add(&client->calls, &call->inflight, arg);
    call->fn = fn;
    request.glob_filter = copy;
    pack(&request.base, &bytes);
    rpc_call(rpc_channel(client->rpc, address), "/ray.rpc.LogService/ListLogs",
             (const uint8_t *)bytes.data, bytes.len, client->deadline_ms, on_list, call);
    buf_free(&bytes);
    free(copy);
}

/* --- reading --- */

static void on_message(void *arg, const uint8_t *bytes, size_t len)
{
    struct agent_log *log = arg;
    RayWire__StreamLogReply *reply = ray_wire__stream_log_reply__unpack(NULL, len, bytes);
    if (!reply)
        log->unreadable = true;
    else if (reply->data.len)
        log->calls->bytes(log->arg, (const char *)reply->data.data, reply->data.len);
    ray_wire__stream_log_reply__free_unpacked(reply, NULL);
}

/* Ray tells an error of its own in the initial metadata, with the status OK and no data
 * (docs/facts/ray.md#10.12). */
static void on_end(void *arg, const struct err *err, const char *note)
{
    struct agent_log *log = arg;
    struct err own = err ? *err : (struct err){0};
    if (!err && *note && strcmp(note, "OK") != 0 && strcmp(note, "ok") != 0) {
        char *words = text_printable(note, strlen(note), "");
        err_set(&own, ERR_NOT_FOUND, "the log %s cannot be read", log->file);
        err_why(&own, "%s", words);
        free(words);
    } else if (!err && log->unreadable) {
        err_set(&own, ERR_FAILED, "an agent's answer about the log %s could not be read",
                log->file);
    }
    void (*end)(void *, const struct err *) = log->calls->end;
    void *whose = log->arg;
    free(log->file);
    free(log);
    end(whose, own.code ? &own : NULL);
}

static void pack_request(const struct agent_log_part *part, char *file, struct buf *out)
{
    RayWire__StreamLogRequest request = RAY_WIRE__STREAM_LOG_REQUEST__INIT;
    request.log_file_name = file;
    request.keep_alive = part->follow;
    request.last_case = RAY_WIRE__STREAM_LOG_REQUEST__LAST_LINES;
    request.lines = part->lines;
    if (part->follow) {
        request.pause_case = RAY_WIRE__STREAM_LOG_REQUEST__PAUSE_INTERVAL;
        request.interval = 0.25F;
    }
    if (part->start >= 0) {
        request.from_case = RAY_WIRE__STREAM_LOG_REQUEST__FROM_START_OFFSET;
        request.start_offset = (int32_t)part->start;
    }
    if (part->end >= 0) {
        request.to_case = RAY_WIRE__STREAM_LOG_REQUEST__TO_END_OFFSET;
        request.end_offset = (int32_t)part->end;
    }
    pack(&request.base, out);
}

struct agent_log *agent_client_read(struct agent_client *client, const char *address,
                                    const struct agent_log_part *part,
                                    const struct agent_log_calls *calls, void *arg)
{
    static const struct rpc_stream_calls stream_calls = {on_message, on_end};
    struct agent_log *log = mem_alloc(sizeof *log);
    struct buf request = {0};
    log->file = mem_string(part->file);
    log->calls = calls;
    log->arg = arg;
    pack_request(part, log->file, &request);
    log->stream = rpc_stream_start(rpc_channel(client->rpc, address),
                                   "/ray.rpc.LogService/StreamLog", (const uint8_t *)request.data,
                                   request.len, -1, "log_grpc_status", &stream_calls, log);
    buf_free(&request);
    return log;
}

void agent_log_cancel(struct agent_log **log)
{
    struct agent_log *it = *log;
    if (!it)
        return;
    *log = NULL;
    rpc_stream_cancel(&it->stream);
    free(it->file);
    free(it);
}

/* --- stacks and profiles --- */

static void on_stack(void *arg, const struct rpc_reply *reply)
{
    struct stack_call *call = arg;
    struct err err = reply->err ? *reply->err : (struct err){0};
    RayWire__GetTracebackReply *stack = NULL;
    if (!inflight_end(&call->inflight)) {
        free(call);
        return;
    }
    if (!reply->err && reply->len > AGENT_TEXT_MAX)
        err_set(&err, ERR_FAILED, "the %s of process %" PRId64 " is larger than %d MB", call->what,
                call->pid, AGENT_TEXT_MAX >> 20);
    else if (!reply->err)
        stack = ray_wire__get_traceback_reply__unpack(NULL, reply->len, reply->bytes);
    if (!err.code && !stack)
        err_set(&err, ERR_FAILED, "an agent's answer about a %s could not be read", call->what);
    if (stack && !stack->success) {
        err_set(&err, ERR_FAILED, "the agent has no %s of process %" PRId64, call->what, call->pid);
        err_why(&err, "%s", stack->output);
    }
    call->fn(call->inflight.arg, err.code ? &err : NULL,
             stack && stack->success ? stack->output : NULL, stack ? stack->warning : "");
    ray_wire__get_traceback_reply__free_unpacked(stack, NULL);
    free(call);
}

static void call_py_spy(struct agent_client *client, const char *address, const char *method,
                        const ProtobufCMessage *request, int64_t deadline_ms,
                        const struct stack_call *how, void *arg)
{
    struct stack_call *call = mem_alloc(sizeof *call);
    struct buf bytes = {0};
    *call = *how;
    inflight_add(&client->calls, &call->inflight, arg);
    pack(request, &bytes);
    rpc_call(rpc_channel(client->rpc, address), method, (const uint8_t *)bytes.data, bytes.len,
             deadline_ms, on_stack, call);
    buf_free(&bytes);
}

void agent_client_stack(struct agent_client *client, const char *address, int64_t pid, bool native,
                        agent_stack_fn fn, void *arg)
{
    const struct stack_call how = {.fn = fn, .what = "stack", .pid = pid};
    RayWire__GetTracebackRequest request = RAY_WIRE__GET_TRACEBACK_REQUEST__INIT;
    request.pid = (uint32_t)pid;
    request.native = native;
    call_py_spy(client, address, "/ray.rpc.ReporterService/GetTraceback", &request.base,
                client->deadline_ms, &how, arg);
}

void agent_client_profile(struct agent_client *client, const char *address,
                          const struct agent_profile *profile, agent_stack_fn fn, void *arg)
{
    static char folded[] = "raw", html[] = "flamegraph";
    const struct stack_call how = {.fn = fn, .what = "profile", .pid = profile->pid};
    RayWire__CpuProfilingRequest request = RAY_WIRE__CPU_PROFILING_REQUEST__INIT;
    request.pid = (uint32_t)profile->pid;
    request.format = profile->memory ? html : folded;
    request.duration = profile->seconds;
    request.native = profile->native;
    request.idle = profile->idle && !profile->memory;
    call_py_spy(client, address,
                profile->memory ? "/ray.rpc.ReporterService/MemoryProfiling"
                                : "/ray.rpc.ReporterService/CpuProfiling",
                &request.base,
                client->deadline_ms + 1000 * (int64_t)profile->seconds +
                    (profile->memory ? MEMORY_MS : 0),
                &how, arg);
}
