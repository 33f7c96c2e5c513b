/* The relay's HTTP API: its table of paths, and the lists. */
#include "relay/server/relay_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/json_record.h"
#include "dap/message.h"
#include "relay/io/metrics.h"
#include "relay/pause/pause_json.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- answers --- */

void relay_answer_json(struct http_call *call, int status, struct buf *json)
{
    http_call_answer(call, status, "application/json", json->data, json->len);
    buf_free(json);
}

void relay_answer_error(struct http_call *call, int status, const struct err *err)
{
    struct buf json = {0};
    buf_add_string(&json, "{\"error\":{");
    json_member_text(&json, "what", err->what);
    json_member_text(&json, "why", err->why);
    json_member_text(&json, "hint", err->hint);
    buf_add_string(&json, "}}");
    relay_answer_json(call, status, &json);
}

void relay_refuse(struct http_call *call, int status, const char *what, const char *hint)
{
    struct err err;
    err_set(&err, ERR_FAILED, "%s", what);
    err_hint(&err, "%s", hint);
    relay_answer_error(call, status, &err);
}

char *relay_pause_id(const struct pause *pause)
{
    if (pause->worker_id[0] && pause->debugger == PAUSE_DEBUGPY)
        return mem_string(pause->worker_id);
    return mem_format("%s:%u", pause->host ? pause->host : "", (unsigned)pause->port);
}

void relay_pause_json(const struct pause *pause, struct buf *out)
{
    struct buf own = {0};
    char *id = relay_pause_id(pause);
    pause_json(pause, &own);
    buf_add_string(out, "{");
    json_member_text(out, "id", id);
    buf_printf(out, ",\"held\":%s,", pause->state == PAUSE_HELD ? "true" : "false");
    buf_add(out, own.data + 1, own.len - 1);
    free(id);
    buf_free(&own);
}

void relay_sessions_json(const struct relay *relay, struct buf *out)
{
    bool first = true;
    buf_add_string(out, "[");
    for (const struct relay_client *at = relay->clients; at; at = at->next) {
        const struct pause *pause = session_pause(at->session);
        if (!at->conn || at->dropped)
            continue;
        char *id = pause ? relay_pause_id(pause) : NULL;
        buf_printf(out, "%s{\"id\":%" PRId64, first ? "" : ",", at->number);
        json_member_text(out, "role",
                         session_drives(at->session) ? "driver"
                         : pause                     ? "observer"
                                                     : NULL);
        json_member_text(out, "client", session_client_name(at->session));
        json_member_text(out, "peer", at->peer);
        json_member_text(out, "pause", id);
        json_member_text(out, "task_name", pause ? pause->task_name : NULL);
        buf_printf(out, ",\"tasks\":%zu,\"since\":", session_count(at->session));
        json_put_seconds(out, at->since_ms);
        buf_add_string(out, "}");
        free(id);
        first = false;
    }
    buf_add_string(out, "]");
}

/* --- GET --- */

static void put_cluster(const struct relay *relay, struct buf *out)
{
    if (!relay->options.cluster) {
        buf_add_string(out, "null");
        return;
    }
    const struct cluster_facts *facts = cluster_facts(relay->options.cluster);
    buf_add_string(out, "{");
    json_member_text(out, "address", cluster_address(relay->options.cluster)->text);
    json_member_text(out, "ray_version", facts->ray_version);
    buf_printf(out, ",\"nodes_alive\":%zu,\"workers_alive\":%zu}", facts->nodes_alive,
               facts->workers_alive);
}

/* A call that waits for a look at the cluster. */
struct list_wait {
    struct relay *relay;
    struct http_call *call;
};

static void on_list_looked(void *arg, const struct err *err, const struct pause_list *pauses)
{
    struct list_wait *waiting = arg;
    struct relay *relay = waiting->relay;
    struct buf json = {0};
    if (err && pauses->count == 0) {
        relay_answer_error(waiting->call, 502, err);
        free(waiting);
        return;
    }
    buf_add_string(&json, "{\"cluster\":");
    put_cluster(relay, &json);
    buf_add_string(&json, ",\"relay\":");
    message_quote(&json, listener_address(relay->listener, 0));
    if (err) {
        buf_add_string(&json, ",\"problem\":");
        message_quote(&json, err->what);
    }
    buf_add_string(&json, ",\"pauses\":[");
    for (size_t i = 0; i < pauses->count; i++) {
        buf_add_string(&json, i ? ",\n" : "");
        relay_pause_json(&pauses->items[i], &json);
    }
    buf_add_string(&json, "]}\n");
    relay_answer_json(waiting->call, 200, &json);
    free(waiting);
}

static void get_pauses(struct relay *relay, struct http_call *call)
{
    struct list_wait *waiting = mem_alloc(sizeof *waiting);
    *waiting = (struct list_wait){relay, call};
    relay_refresh(relay, on_list_looked, waiting);
}

static void get_history(struct relay *relay, struct http_call *call)
{
    struct buf json = {0};
    buf_add_string(&json, "{\"pauses\":");
    pause_history_json(hub_table_history(relay->hubs), &json);
    buf_add_string(&json, "}\n");
    relay_answer_json(call, 200, &json);
}

static void get_sessions(struct relay *relay, struct http_call *call)
{
    struct buf json = {0};
    buf_add_string(&json, "{\"sessions\":");
    relay_sessions_json(relay, &json);
    buf_add_string(&json, "}\n");
    relay_answer_json(call, 200, &json);
}

static void count_pauses(const struct pause_list *pauses)
{
    static const enum metric states[] = {
        [PAUSE_WAITING] = METRIC_PAUSES_WAITING,
        [PAUSE_ATTACHED] = METRIC_PAUSES_ATTACHED,
        [PAUSE_HELD] = METRIC_HELD,
        [PAUSE_IDLE] = METRIC_PAUSES_IDLE,
    };
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        metrics_set(states[i], 0);
    for (size_t i = 0; i < pauses->count; i++)
        metrics_add(states[pauses->items[i].state], 1);
}

static void get_metrics(struct relay *relay, struct http_call *call)
{
    static const struct pause_list none;
    struct pause_list all;
    struct buf text = {0};
    hub_table_list(relay->hubs,
                   relay->options.cluster ? cluster_pauses(relay->options.cluster) : &none, &all);
    count_pauses(&all);
    pause_list_clear(&all);
    metrics_set(METRIC_SESSIONS_DRIVER, 0);
    metrics_set(METRIC_SESSIONS_OBSERVER, 0);
    for (const struct relay_client *at = relay->clients; at; at = at->next)
        if (session_pause(at->session))
            metrics_add(
                session_drives(at->session) ? METRIC_SESSIONS_DRIVER : METRIC_SESSIONS_OBSERVER, 1);
    metrics_set(METRIC_KEEPER_UP, relay->options.keeper && keeper_lives(relay->options.keeper));
    metrics_render(&text);
    http_call_answer(call, 200, "text/plain; version=0.0.4; charset=utf-8", text.data, text.len);
    buf_free(&text);
}

/* --- dispatch --- */

static void get_why(struct relay *relay, struct http_call *call)
{
    relay_get_why(relay, call, NULL);
}

static void get_stack(struct relay *relay, struct http_call *call)
{
    relay_get_stack(relay, call, NULL);
}

static void get_stack_text(struct relay *relay, struct http_call *call)
{
    relay_get_stack_text(relay, call, NULL);
}

static const struct page {
    const char *path;
    void (*get)(struct relay *relay, struct http_call *call);
} pages[] = {
    {"/v1/pauses", get_pauses},
    {"/v1/pauses/history", get_history},
    {"/v1/sessions", get_sessions},
    {"/v1/objects", relay_get_objects},
    {"/v1/breakpoints", relay_get_breakpoints},
    {"/v1/why", get_why},
    {"/v1/stack", get_stack},
    {"/v1/stack.txt", get_stack_text},
    {"/metrics", get_metrics},
};

/* GET: the rest of the path is a name. */
static const struct shelf {
    const char *prefix;
    void (*get)(struct relay *relay, struct http_call *call, const char *name);
} shelves[] = {
    {"/v1/why/", relay_get_why},
    {"/v1/logs/", relay_get_logs},
    {"/v1/stack/", relay_get_stack},
    {"/v1/stack.txt/", relay_get_stack_text},
};

/* POST: the rest of the path says what to do. */
static const struct form {
    const char *prefix;
    void (*post)(struct relay *relay, struct http_call *call, const char *rest);
} forms[] = {
    {"/v1/pauses/", relay_post_pause},
    {"/v1/breakpoints", relay_post_breakpoints},
};

void relay_on_http(void *arg, struct http_call *call)
{
    struct relay *relay = relay_checked(arg);
    const char *path = http_call_path(call), *method = http_call_method(call);
    metrics_add(METRIC_HTTP_REQUESTS_TOTAL, 1);
    bool get = text_equal(method, "GET"), post = text_equal(method, "POST");
    const struct page *page = NULL;
    const struct form *form = NULL;
    const struct shelf *shelf = NULL;
    for (size_t i = 0; i < sizeof shelves / sizeof *shelves; i++)
        if (text_starts(path, shelves[i].prefix) && path[strlen(shelves[i].prefix)])
            shelf = &shelves[i];
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++)
        if (text_equal(path, pages[i].path))
            page = &pages[i];
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (text_starts(path, forms[i].prefix))
            form = &forms[i];
    if (page && get)
        page->get(relay, call);
    else if (shelf && get)
        shelf->get(relay, call, path + strlen(shelf->prefix));
    else if (form && post)
        form->post(relay, call, path + strlen(form->prefix));
    else if (page || form || shelf)
        relay_refuse(call, 405, page || shelf ? "this is for GET" : "this is for POST", "");
    else
        relay_refuse(call, 404, "there is no such page", "see docs/relay.md");
}
