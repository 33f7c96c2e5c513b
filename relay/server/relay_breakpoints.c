/* /v1/breakpoints: the breakpoints by file, and the processes that have dialled the relay. */
#include "relay/server/relay_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/json_record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void answer(struct http_call *call, struct buf *json)
{
    buf_add_string(json, "\n");
    http_call_answer(call, 200, "application/json", json->data, json->len);
    buf_free(json);
}

static void put_breakpoint(const struct file_breakpoint *breakpoint, struct buf *out)
{
    file_breakpoint_json(breakpoint, out);
    if (breakpoint->problem)
        json_member_text(out, "problem", breakpoint->problem);
    if (file_breakpoint_is_spent(breakpoint))
        buf_add_string(out, ",\"spent\":true");
    buf_add_string(out, "}");
}

/* Where agents dial with TLS, and what certificate they must see; null: they dial this host's
 * loopback without. */
static void put_dial(const char *address, const char *fingerprint, struct buf *out)
{
    buf_add_string(out, ",\"dial\":");
    if (address) {
        buf_add_string(out, "{");
        json_member_text(out, "address", address);
        json_member_text(out, "fingerprint", fingerprint);
        buf_add_string(out, "}");
    } else {
        buf_add_string(out, "null");
    }
}

/* The nodes whose agents cannot dial this relay. */
static void put_nodes_away(const struct relay *relay, bool reached, struct buf *out)
{
    const struct cluster *cluster = relay->options.cluster;
    const char *first = NULL;
    size_t count = cluster && !reached ? cluster_nodes_away(cluster, &first) : 0;
    buf_printf(out, ",\"nodes_away\":%zu", count);
    json_member_text(out, "node_away", first);
}

void relay_get_breakpoints(struct relay *relay, struct http_call *call)
{
    struct buf json = {0};
    struct agents_count agents;
    relay_idle_put_off(relay); /* raydbg run asks, and its processes are about to dial */
    const struct file_breakpoint *breakpoint;
    agents_count(relay->agents, &agents);
    buf_printf(&json, "{\"processes\":{\"connected\":%zu,\"debugged\":%zu,\"slowed\":%zu",
               agents.connected, agents.debugged, agents.slowed);
    json_member_text(&json, "problem", agents.problem);
    char *dial = relay_dial_address(relay);
    put_dial(dial, relay->fingerprint, &json);
    put_nodes_away(relay, dial && !relay_dial_is_local(dial), &json);
    free(dial);
    buf_add_string(&json, "},\"breakpoints\":[");
    for (size_t i = 0; (breakpoint = breakpoint_store_at(relay->breakpoints, i)); i++) {
        buf_add_string(&json, i ? ",\n" : "");
        put_breakpoint(breakpoint, &json);
    }
    buf_add_string(&json, "]}");
    answer(call, &json);
}

static void act(struct relay *relay, const struct http_call *call, const char *action,
                const char *file, int64_t line)
{
    char *detail = mem_format("%s:%" PRId64, file, line);
    relay_act(relay, action, http_call_peer(call), http_call_role(call), "http", NULL, detail);
    free(detail);
}

static void set(struct relay *relay, struct http_call *call)
{
    struct file_breakpoint breakpoint;
    struct err err;
    struct scan scan;
    struct span object;
    size_t len;
    const char *body = http_call_body(call, &len);
    scan_init(&scan, body, len);
    if (!scan_value(&scan, &object) || !scan_end(&scan) || body[object.at] != '{') {
        relay_refuse(call, 400, "the body is not a JSON object",
                     "{\"file\": \"/path/train.py\", \"line\": 57}");
        return;
    }
    if (file_breakpoint_read(&breakpoint, body, object, &err) != 0) {
        relay_answer_error(call, 400, &err);
        return;
    }
    breakpoint.hits = 0;
    if (breakpoint_store_add(relay->breakpoints, &breakpoint, &err) != 0) {
        file_breakpoint_clear(&breakpoint);
        relay_answer_error(call, 409, &err);
        return;
    }
    struct buf json = {0};
    act(relay, call, "break", breakpoint.file, breakpoint.line);
    agents_breakpoints_changed(relay->agents, breakpoint.file);
    put_breakpoint(&breakpoint, &json);
    answer(call, &json);
}

static bool clear_one(struct relay *relay, const struct http_call *call, int64_t id)
{
    const struct file_breakpoint *breakpoint = breakpoint_store_find(relay->breakpoints, id);
    if (!breakpoint)
        return false;
    char *file = mem_string(breakpoint->file);
    act(relay, call, "clear", file, breakpoint->line);
    breakpoint_store_remove(relay->breakpoints, id);
    agents_breakpoints_changed(relay->agents, file);
    free(file);
    return true;
}

static void clear_all(struct relay *relay, struct http_call *call)
{
    const struct file_breakpoint *first;
    while ((first = breakpoint_store_at(relay->breakpoints, 0)))
        clear_one(relay, call, first->id);
    relay_get_breakpoints(relay, call);
}

static void clear_named(struct relay *relay, struct http_call *call, const char *rest)
{
    int64_t id = 0;
    char *name = mem_string_n(rest + 1, strcspn(rest + 1, "/"));
    bool sound =
        text_equal(strchr(rest + 1, '/'), "/clear") && text_to_int(name, 1, INT64_MAX, &id);
    free(name);
    if (!sound)
        relay_refuse(call, 404, "there is no such thing to do",
                     "POST /v1/breakpoints, /v1/breakpoints/{id}/clear or /v1/breakpoints/clear");
    else if (!clear_one(relay, call, id))
        relay_refuse(call, 404, "there is no such breakpoint", "raydbg break --list shows them");
    else
        relay_get_breakpoints(relay, call);
}

void relay_post_breakpoints(struct relay *relay, struct http_call *call, const char *rest)
{
    if (http_call_role(call) != AUTH_DRIVER)
        relay_refuse(call, 403, "an observer's token lets one look only", "use a driver's token");
    else if (!*rest)
        set(relay, call);
    else if (text_equal(rest, "/clear"))
        clear_all(relay, call);
    else if (*rest == '/')
        clear_named(relay, call, rest);
    else
        relay_refuse(call, 404, "there is no such page", "see docs/relay.md");
}
