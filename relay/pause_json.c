#include "relay/pause_json.h"

#include "base/text.h"
#include "dap/message.h"

#include <inttypes.h>
#include <string.h>

/* As JSON, in which what a terminal would act on is always escaped: message_quote() leaves DEL and
 * C1, which JSON allows. */
static void put_quoted(struct buf *out, const char *text)
{
    struct buf quoted = {0};
    message_quote(&quoted, text);
    for (size_t i = 0; i < quoted.len; i++) {
        const unsigned char *c = (const unsigned char *)quoted.data + i;
        if (c[0] == 0x7F)
            buf_add_string(out, "\\u007f");
        else if (c[0] == 0xC2 && c[1] < 0xA0)
            buf_printf(out, "\\u%04x", quoted.data[++i] & 0xFF);
        else
            buf_add(out, c, 1);
    }
    buf_free(&quoted);
}

static void put_text(struct buf *out, const char *text)
{
    if (text_empty(text))
        buf_add_string(out, "null");
    else
        put_quoted(out, text);
}

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
        put_text(out, value);                                                                      \
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

static void put_pid(const struct pause *pause, struct buf *out)
{
    put_known(out, pause->pid, pause->pid > 0);
}

static void put_endpoint(const struct pause *pause, struct buf *out)
{
    struct buf text = {0};
    buf_printf(&text, strchr(pause->host, ':') ? "[%s]:%u" : "%s:%u", pause->host,
               (unsigned)pause->port);
    put_text(out, text.data);
    buf_free(&text);
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
    put_text(out, pause->file);
    buf_printf(out, ", \"line\": %" PRId64 "}", pause->line);
}

/* Seconds since the epoch, with milliseconds. */
static void put_time(struct buf *out, int64_t ms)
{
    if (ms > 0)
        buf_printf(out, "%" PRId64 ".%03d", ms / 1000, (int)(ms % 1000));
    else
        buf_add_string(out, "null");
}

static void put_since(const struct pause *pause, struct buf *out)
{
    put_time(out, pause->since_ms);
}

static void put_held_since(const struct pause *pause, struct buf *out)
{
    put_time(out, pause->held_ms);
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

/* Each value is JSON, which YAML 1.2 contains. */
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
