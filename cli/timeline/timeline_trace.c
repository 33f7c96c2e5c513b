#include "cli/timeline/timeline_trace.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/hash_index.h"
#include "base/text.h"
#include "dap/message.h"

#include <inttypes.h>
#include <string.h>

/* A trace while it is written. Perfetto keeps 0 for the idle process, and its thread ids count for
 * the whole trace: processes are numbered from 1, and threads go on from there. */
struct trace {
    const struct timeline *timeline;
    const struct why_records *records;
    FILE *out;
    struct buf text;         /* of one event */
    struct hash_index tasks; /* the runs, by task id */
    bool begun;
};

static size_t pid_of(const struct trace *trace, const struct timeline_lane *lane)
{
    return lane->node == TIMELINE_NO_NODE ? trace->timeline->node_count + 1 : lane->node + 1;
}

static size_t tid_of(const struct trace *trace, size_t lane)
{
    return trace->timeline->node_count + 2 + lane;
}

/* --- events --- */

static void put_text(struct trace *trace, const char *member, const char *value)
{
    buf_printf(&trace->text, ",\"%s\":", member);
    message_quote(&trace->text, value);
}

static void begin_event(struct trace *trace, const char *phase, size_t pid, size_t tid)
{
    buf_printf(&trace->text, "%s\n{\"ph\":\"%s\",\"pid\":%zu,\"tid\":%zu", trace->begun ? "," : "",
               phase, pid, tid);
    trace->begun = true;
}

static void end_event(struct trace *trace)
{
    buf_add_string(&trace->text, "}");
    fwrite(trace->text.data, 1, trace->text.len, trace->out);
    buf_clear(&trace->text, 1 << 16);
}

static void write_name(struct trace *trace, const char *what, size_t pid, size_t tid,
                       const char *name)
{
    begin_event(trace, "M", pid, tid);
    buf_printf(&trace->text, ",\"name\":\"%s_name\",\"args\":{\"name\":", what);
    message_quote(&trace->text, name);
    buf_printf(&trace->text, "}");
    end_event(trace);
    begin_event(trace, "M", pid, tid);
    buf_printf(&trace->text, ",\"name\":\"%s_sort_index\",\"args\":{\"sort_index\":%zu}", what,
               *what == 'p' ? pid : tid);
    end_event(trace);
}

/* --- names of lanes --- */

static void write_processes(struct trace *trace)
{
    const struct timeline *timeline = trace->timeline;
    char name[300];
    for (size_t i = 0; i < timeline->node_count; i++) {
        const struct ray_node *node = timeline->nodes[i].node;
        if (node)
            snprintf(name, sizeof name, "node %.200s%s%s", node->ip ? node->ip : "",
                     node->is_head ? " (head)" : "", node->is_alive ? "" : " (dead)");
        else
            snprintf(name, sizeof name, "node %.8s",
                     *timeline->nodes[i].node_id ? timeline->nodes[i].node_id : "unknown");
        write_name(trace, "process", i + 1, 0, name);
    }
    if (timeline->lane_count && timeline->lanes[timeline->lane_count - 1].node == TIMELINE_NO_NODE)
        write_name(trace, "process", timeline->node_count + 1, 0, "waiting");
}

static void write_threads(struct trace *trace)
{
    char name[100];
    for (size_t i = 0; i < trace->timeline->lane_count; i++) {
        char number[32] = "";
        const struct timeline_lane *lane = &trace->timeline->lanes[i];
        if (lane->number)
            snprintf(number, sizeof number, " (%zu)", lane->number + 1);
        if (lane->node == TIMELINE_NO_NODE)
            snprintf(name, sizeof name, "waiting%s", number);
        else if (lane->pid)
            snprintf(name, sizeof name, "%s pid %" PRId64 "%s",
                     lane->is_driver ? "driver" : "worker", lane->pid, number);
        else
            snprintf(name, sizeof name, "worker %.8s%s", lane->worker_id, number);
        write_name(trace, "thread", pid_of(trace, lane), tid_of(trace, i), name);
    }
}

/* --- spans --- */

static const char *state_of(const struct timeline_span *span)
{
    static const char *const names[] = {[TIMELINE_FINISHED] = "finished",
                                        [TIMELINE_FAILED] = "failed",
                                        [TIMELINE_GOES_ON] = "running",
                                        [TIMELINE_UNKNOWN] = "unknown"};
    if (span->is_paused)
        return "paused";
    if (span->kind == TIMELINE_WAIT && span->end == TIMELINE_GOES_ON)
        return "waiting";
    return names[span->end];
}

static const char *category_of(const struct timeline_span *span)
{
    switch (span->kind) {
    case TIMELINE_WAIT:
    case TIMELINE_PHASE:
        return "waiting";
    case TIMELINE_EVENT:
        return "event";
    case TIMELINE_PAUSE:
        return "paused";
    default:
        return span->attempt->type == RAY_DRIVER_TASK ? "driver" : "task";
    }
}

/* chrome://tracing's own colours; Perfetto has its own by name. */
static const char *colour_of(const struct timeline_span *span)
{
    if (span->kind == TIMELINE_PAUSE)
        return "bad";
    if (span->kind != TIMELINE_RUN && span->kind != TIMELINE_WAIT)
        return NULL;
    if (span->end == TIMELINE_FAILED)
        return "terrible";
    if (span->kind == TIMELINE_WAIT)
        return "grey";
    return span->is_paused ? "bad" : span->end == TIMELINE_GOES_ON ? "thread_state_running" : NULL;
}

static const char *name_of(const struct timeline_span *span)
{
    if (span->kind == TIMELINE_RUN && span->attempt->type == RAY_DRIVER_TASK)
        return "driver";
    return *span->name ? span->name : "unnamed";
}

static void put_pause(struct trace *trace, const struct timeline_pause *pause)
{
    put_text(trace, "reason", pause->reason);
    if (pause->file) {
        put_text(trace, "file", pause->file);
        buf_printf(&trace->text, ",\"line\":%" PRId64, pause->line);
    }
}

static void write_args(struct trace *trace, const struct timeline_span *span)
{
    const struct ray_attempt *attempt = span->attempt;
    buf_printf(&trace->text, ",\"args\":{\"task_id\":\"%s\",\"job_id\":\"%s\",\"attempt\":%d",
               attempt->task_id, attempt->job_id, attempt->attempt);
    if (*attempt->actor_id)
        buf_printf(&trace->text, ",\"actor_id\":\"%s\"", attempt->actor_id);
    if (span->kind == TIMELINE_RUN || span->kind == TIMELINE_WAIT)
        buf_printf(&trace->text, ",\"state\":\"%s\"", state_of(span));
    if (span->pause)
        put_pause(trace, span->pause);
    if (span->start_unknown)
        buf_printf(&trace->text,
                   ",\"start\":\"unknown: it died before Ray was told of its start\"");
    if (span->end == TIMELINE_FAILED && attempt->has_error) {
        const char *type = ray_error_type_name(attempt->error_type);
        put_text(trace, "error_type", type ? type : "unknown");
        if (attempt->error_message)
            put_text(trace, "error", attempt->error_message);
    }
    buf_printf(&trace->text, "}");
}

static void write_span(struct trace *trace, const struct timeline_span *span)
{
    const struct timeline_lane *lane = &trace->timeline->lanes[span->lane];
    const char *colour = colour_of(span);
    begin_event(trace, "X", pid_of(trace, lane), tid_of(trace, span->lane));
    put_text(trace, "name", name_of(span));
    buf_printf(&trace->text, ",\"cat\":\"%s\",\"ts\":%" PRId64 ",\"dur\":%" PRId64,
               category_of(span), span->start_us, span->end_us - span->start_us);
    if (colour)
        buf_printf(&trace->text, ",\"cname\":\"%s\"", colour);
    write_args(trace, span);
    end_event(trace);
}

/* --- arrows from a submission to the run --- */

static const struct timeline_span *run_at(const struct trace *trace, const char *task_id,
                                          int64_t at_us)
{
    size_t cursor = 0;
    uintptr_t item;
    while (*task_id && hash_index_next(&trace->tasks, hash_text(task_id, 0), &cursor, &item)) {
        const struct timeline_span *span = &trace->timeline->spans[item];
        if (strcmp(span->attempt->task_id, task_id) == 0 && span->start_us <= at_us &&
            at_us <= span->end_us)
            return span;
    }
    return NULL;
}

static void write_arrow_end(struct trace *trace, const char *phase, const struct timeline_span *at,
                            int64_t us, size_t id)
{
    const struct timeline_lane *lane = &trace->timeline->lanes[at->lane];
    begin_event(trace, phase, pid_of(trace, lane), tid_of(trace, at->lane));
    buf_printf(&trace->text,
               ",\"name\":\"submit\",\"cat\":\"submit\",\"id\":%zu,\"ts\":%" PRId64 "%s", id, us,
               *phase == 'f' ? ",\"bp\":\"e\"" : "");
    end_event(trace);
}

static void write_arrow(struct trace *trace, size_t index)
{
    const struct timeline_span *run = &trace->timeline->spans[index];
    int64_t at = run->attempt->timing->state_ns[RAY_ATTEMPT_PENDING_ARGS] / 1000;
    const struct timeline_span *from = run_at(trace, run->attempt->parent_task_id, at);
    if (!at || !from || at > run->start_us)
        return;
    write_arrow_end(trace, "s", from, at, index + 1);
    write_arrow_end(trace, "f", run, run->start_us, index + 1);
}

/* --- deaths --- */

static bool is_intended(const char *exit_type)
{
    return text_starts(exit_type, "INTENDED");
}

static void write_deaths(struct trace *trace)
{
    for (size_t i = 0; i < trace->timeline->lane_count; i++) {
        const struct timeline_lane *lane = &trace->timeline->lanes[i];
        const struct ray_worker *worker = lane->worker;
        if (lane->number || !worker || !worker->end_ms || !worker->exit_type ||
            is_intended(worker->exit_type))
            continue;
        begin_event(trace, "i", pid_of(trace, lane), tid_of(trace, i));
        buf_printf(&trace->text,
                   ",\"name\":\"process died\",\"cat\":\"death\",\"s\":\"t\",\"ts\":%" PRId64,
                   worker->end_ms * 1000);
        buf_printf(&trace->text, ",\"args\":{\"exit_type\":");
        message_quote(&trace->text, worker->exit_type);
        put_text(trace, "detail", worker->exit_detail ? worker->exit_detail : "");
        buf_printf(&trace->text, "}");
        end_event(trace);
    }
}

void timeline_trace_write(const struct timeline *timeline, const struct why_records *records,
                          const char *cluster, FILE *out)
{
    struct trace trace = {.timeline = timeline, .records = records, .out = out};
    buf_printf(&trace.text, "{\"displayTimeUnit\":\"ms\",\"otherData\":{\"made_by\":\"raydbg %s\"",
               RAYDBG_VERSION);
    put_text(&trace, "cluster", cluster);
    buf_printf(&trace.text, ",\"state_changes_dropped_by_ray\":%" PRId64 ",\"waits_left_out\":%zu}",
               records->dropped, timeline->left_out);
    buf_printf(&trace.text, ",\"traceEvents\":[");
    write_processes(&trace);
    write_threads(&trace);
    for (size_t i = 0; i < timeline->count; i++)
        if (timeline->spans[i].kind == TIMELINE_RUN)
            hash_index_add(&trace.tasks, hash_text(timeline->spans[i].attempt->task_id, 0), i);
    for (size_t i = 0; i < timeline->count; i++)
        write_span(&trace, &timeline->spans[i]);
    for (size_t i = 0; i < timeline->count; i++)
        if (timeline->spans[i].kind == TIMELINE_RUN)
            write_arrow(&trace, i);
    write_deaths(&trace);
    if (!trace.begun) /* no event has flushed the head */
        fwrite(trace.text.data, 1, trace.text.len, out);
    fputs("\n]}\n", out);
    hash_index_clear(&trace.tasks);
    buf_free(&trace.text);
}
