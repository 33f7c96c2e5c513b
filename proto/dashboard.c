#include "proto/dashboard.h"

#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/dashboard_parse.h"
#include "proto/http.h"

#include <stdlib.h>
#include <string.h>

/* The server allows at most 10,000 rows; 10,000 tasks in detail had 28 MB (docs/facts/ray.md#5). */
#define ROWS "limit=10000&detail=1"
static const size_t max_body = 128u << 20;

struct call;

struct dashboard {
    struct lws_context *context;
    char *url;    /* without a slash at the end */
    char *host;   /* of the url */
    char *prefix; /* its path: "" or "/ray" */
    uint16_t port;
    bool tls;
    char *token;
    int64_t deadline_ms;
    struct call *calls; /* in flight */
};

/* Parses the body (NULL: there is none, `err` says why) and runs the caller's callback. */
typedef void (*answer_fn)(const struct call *call, const char *body, struct err *err);

struct call {
    struct call *next;
    struct dashboard *dashboard;
    struct http_get *get;
    answer_fn answer;
    void (*fn)(void); /* the caller's callback; `answer` casts it to its type */
    void *arg;
    const char *what; /* "/api/v0/workers", for messages */
    int status;       /* of the answer; 0: there is none */
};

static int split_url(struct dashboard *dashboard, const char *url, struct err *err)
{
    const char *rest = strstr(url, "://");
    dashboard->tls = text_starts(url, "https://");
    if (!rest || (!dashboard->tls && !text_starts(url, "http://")))
        return err_set(err, ERR_USAGE, "\"%s\" is not an http:// or https:// URL", url);
    rest += 3;
    size_t len = strcspn(rest, "/");
    char *authority = mem_string_n(rest, len);
    char host[256];
    dashboard->port = dashboard->tls ? 443 : 80;
    bool fits = true;
    if (!text_split_host_port(authority, host, sizeof host, &dashboard->port)) {
        bool v6 = *authority == '[' && len > 2 && authority[len - 1] == ']';
        if (v6)
            authority[len - 1] = '\0';
        fits = len > 0 && (v6 || !strchr(authority, ':')) &&
               text_copy(host, sizeof host, authority + (v6 ? 1 : 0));
    }
    free(authority);
    if (!fits)
        return err_set(err, ERR_USAGE, "\"%s\" has no host that makes sense", url);
    size_t path = strlen(rest + len);
    while (path && rest[len + path - 1] == '/')
        path--;
    dashboard->host = mem_string(host);
    dashboard->prefix = mem_string_n(rest + len, path);
    dashboard->url = mem_string_n(url, (size_t)(rest - url) + len + path);
    return 0;
}

struct dashboard *dashboard_create(struct lws_context *context, const char *url,
                                   const struct credentials *credentials, int64_t deadline_ms,
                                   struct err *err)
{
    struct dashboard *dashboard = mem_alloc(sizeof *dashboard);
    dashboard->context = context;
    dashboard->deadline_ms = deadline_ms;
    dashboard->token = mem_string(credentials ? credentials->token : NULL);
    if (split_url(dashboard, url, err) < 0)
        dashboard_destroy(&dashboard);
    return dashboard;
}

void dashboard_destroy(struct dashboard **dashboard)
{
    struct dashboard *it = *dashboard;
    if (!it)
        return;
    *dashboard = NULL;
    while (it->calls) {
        struct call *call = it->calls;
        it->calls = call->next;
        http_cancel(&call->get);
        free(call);
    }
    if (it->token)
        explicit_bzero(it->token, strlen(it->token));
    free(it->token);
    free(it->url);
    free(it->host);
    free(it->prefix);
    free(it);
}

/* Sets `err` to the reason why there is no complete answer. */
static void explain_transport(const struct call *call, const struct http_reply *reply,
                              struct err *err)
{
    const struct dashboard *dashboard = call->dashboard;
    bool v6 = strchr(dashboard->host, ':');
    switch (reply->result) {
    case HTTP_ANSWERED:
        break;
    case HTTP_NO_CONNECT:
        err_set(err, ERR_UNREACHABLE, "cannot connect to the dashboard at %s", dashboard->url);
        err_why(err, "%s", reply->why);
        err_hint(err, "is the address right, and is that port reachable from this machine?");
        break;
    case HTTP_UNTRUSTED:
        err_set(err, ERR_DENIED, "the dashboard at %s is not trusted", dashboard->url);
        err_why(err, "%s", reply->why);
        err_hint(err, "SSL_CERT_FILE names the CA that signed it, if this system does not know "
                      "it");
        break;
    case HTTP_BROKEN:
        err_set(err, ERR_UNREACHABLE, "the dashboard at %s gave no whole answer", dashboard->url);
        err_why(err, "%s", reply->why);
        err_hint(
            err,
            "is that a Ray dashboard (its port is 8265 as a rule)? for the port of a GCS leave "
            "http:// away: --address %s%s%s:%u",
            v6 ? "[" : "", dashboard->host, v6 ? "]" : "", dashboard->port);
        break;
    case HTTP_TIMEOUT:
        err_set(err, ERR_UNREACHABLE, "the dashboard at %s did not answer %s within %.0f s",
                dashboard->url, call->what, (double)dashboard->deadline_ms / 1000);
        err_why(err, "it is slow or hangs, or a firewall drops what is sent to it");
        err_hint(err, "the GCS answers much faster, where its port can be reached: --address "
                      "HOST:6379");
        break;
    case HTTP_TOO_LARGE:
        err_set(err, ERR_FAILED, "the dashboard's answer to %s is larger than %zu MiB", call->what,
                max_body >> 20);
        err_hint(err, "use the GCS, if its port can be reached: --address HOST:6379");
        break;
    }
}

/* The first line of a body, fit for a message. */
static char *first_line(const struct http_reply *reply)
{
    size_t len = strcspn(reply->body, "\r\n");
    return text_printable(reply->body, len < 200 ? len : 200, "");
}

static void explain_redirect(const struct call *call, const struct http_reply *reply,
                             struct err *err)
{
    char *to = text_printable(reply->location, strlen(reply->location), "");
    err_set(err, ERR_FAILED, "the dashboard's address %s redirects elsewhere",
            call->dashboard->url);
    err_why(err, "HTTP %d to %s", reply->status, *to ? to : "nowhere");
    err_hint(err, "redirects are not followed (a token could go to another host): give the address "
                  "behind it; if that is a login page, forward the dashboard's own port");
    free(to);
}

static void explain_denied(const struct call *call, const struct http_reply *reply, struct err *err)
{
    const struct dashboard *dashboard = call->dashboard;
    bool html = text_equal(reply->type, "text/html");
    char *line = html ? mem_string("") : first_line(reply);
    err_set(err, ERR_DENIED,
            reply->status == 401 ? "the dashboard at %s wants a token"
                                 : "the dashboard at %s refuses access",
            dashboard->url);
    err_why(err, "HTTP %d%s%s%s", reply->status, *line ? ": " : "", line,
            dashboard->token ? " (a token was sent)" : "");
    err_hint(err, dashboard->token ? "is it this cluster's token? it is read from RAY_AUTH_TOKEN, "
                                     "RAY_AUTH_TOKEN_PATH or ~/.ray/auth_token"
                                   : "set RAY_AUTH_TOKEN or RAY_AUTH_TOKEN_PATH, or put it in "
                                     "~/.ray/auth_token");
    free(line);
}

static void explain_page(const struct call *call, const struct http_reply *reply, struct err *err)
{
    err_set(err, ERR_FAILED, "%s answers with a web page where Ray's State API gives JSON",
            call->dashboard->url);
    err_why(err, "HTTP %d, %s", reply->status, reply->type);
    err_hint(err, "is it a login page, a proxy, or the address of something else? forward the "
                  "dashboard's own port (8265)");
}

static void explain_status(const struct call *call, const struct http_reply *reply, struct err *err)
{
    char *line = first_line(reply);
    err_set(err, ERR_FAILED, "the dashboard at %s answers %s with HTTP %d", call->dashboard->url,
            call->what, reply->status);
    err_why(err, "%s", line);
    err_hint(err, reply->status == 404 ? "is that a Ray dashboard? the State API came with Ray 2"
                                       : "the dashboard's log says more (dashboard.log)");
    free(line);
}

/* True if the body may be parsed. */
static bool usable(const struct call *call, const struct http_reply *reply, struct err *err)
{
    /* The State API gives its own failures as JSON, some of them with status 500. */
    bool json = text_equal(reply->type, "application/json");
    if (reply->result != HTTP_ANSWERED)
        explain_transport(call, reply, err);
    else if (reply->status >= 300 && reply->status < 400)
        explain_redirect(call, reply, err);
    else if (reply->status == 401 || reply->status == 403)
        explain_denied(call, reply, err);
    else if (text_equal(reply->type, "text/html"))
        explain_page(call, reply, err);
    else if (reply->status != 200 && !(json && strstr(reply->body, "\"result\": false")))
        explain_status(call, reply, err);
    else
        return true;
    return false;
}

static void unlink_call(struct call *call)
{
    LIST_REMOVE(call->dashboard->calls, call);
}

/* The caller's callback may destroy the dashboard, so the dashboard is not touched afterwards. */
static void on_reply(void *arg, const struct http_reply *reply)
{
    struct call *call = arg;
    struct err err = {0};
    log_debug("dashboard: %s: HTTP %d, %zu bytes", call->what, reply->status, reply->len);
    bool ok = usable(call, reply, &err);
    unlink_call(call);
    call->status = reply->result == HTTP_ANSWERED ? reply->status : 0;
    call->answer(call, ok ? reply->body : NULL, &err);
    free(call);
}

/* `query` is the part behind "?", or "". */
static void ask(struct dashboard *dashboard, const char *what, const char *query, answer_fn answer,
                void (*fn)(void), void *arg)
{
    struct call *call = mem_alloc(sizeof *call);
    *call = (struct call){.next = dashboard->calls,
                          .dashboard = dashboard,
                          .answer = answer,
                          .fn = fn,
                          .arg = arg,
                          .what = what};
    dashboard->calls = call;
    char *path = mem_format("%s%s%s%s", dashboard->prefix, what, *query ? "?" : "", query);
    const struct http_request request = {
        .context = dashboard->context,
        .host = dashboard->host,
        .port = dashboard->port,
        .tls = dashboard->tls,
        .path = path,
        .token = dashboard->token,
        .deadline_ms = dashboard->deadline_ms,
        .max_body = max_body,
    };
    call->get = http_get(&request, on_reply, call);
    free(path);
}

/* The server gives up a second before our deadline, and then explains the failure itself. */
static void ask_rows(struct dashboard *dashboard, const char *what, const char *filters,
                     answer_fn answer, void (*fn)(void), void *arg)
{
    long long seconds = dashboard->deadline_ms / 1000 - 1;
    char *query = mem_format(ROWS "&timeout=%lld%s", seconds > 1 ? seconds : 1, filters);
    ask(dashboard, what, query, answer, fn, arg);
    free(query);
}

static void answer_version(const struct call *call, const char *body, struct err *err)
{
    gcs_version_fn fn = (gcs_version_fn)call->fn;
    char ray[64] = "", python[64] = "";
    struct ray_version version = {0};
    bool ok =
        body && dashboard_parse_version(body, ray, sizeof ray, python, sizeof python, err) == 0;
    if (ok)
        ray_version_parse(ray, &version);
    fn(call->arg, ok ? NULL : err, version, ray, python);
}

void dashboard_version(struct dashboard *dashboard, gcs_version_fn fn, void *arg)
{
    ask(dashboard, "/api/version", "", answer_version, (void (*)(void))fn, arg);
}

static void answer_session(const struct call *call, const char *body, struct err *err)
{
    char session[128] = "";
    bool ok = body && dashboard_parse_session(body, session, sizeof session, err) == 0;
    ((dashboard_session_fn)call->fn)(call->arg, ok ? NULL : err, session);
}

void dashboard_session(struct dashboard *dashboard, dashboard_session_fn fn, void *arg)
{
    ask(dashboard, "/api/version", "", answer_session, (void (*)(void))fn, arg);
}

static void answer_profiling(const struct call *call, const char *body, struct err *err)
{
    bool enabled = false, absent = call->status == 404;
    bool ok = absent || (body && dashboard_parse_profiling(body, &enabled, err) == 0);
    ((dashboard_profiling_fn)call->fn)(call->arg, ok ? NULL : err, enabled || absent);
}

void dashboard_profiling(struct dashboard *dashboard, dashboard_profiling_fn fn, void *arg)
{
    ask(dashboard, "/api/profiling_enabled", "", answer_profiling, (void (*)(void))fn, arg);
}

/* Defines answer_workers() and the others: each parses the body, then calls back. */
#define ANSWER(kind, type)                                                                         \
    static void answer_##kind(const struct call *call, const char *body, struct err *err)          \
    {                                                                                              \
        type *rows = NULL;                                                                         \
        size_t count = 0;                                                                          \
        bool ok = body && dashboard_parse_##kind(body, &rows, &count, err) == 0;                   \
        ((gcs_##kind##_fn)call->fn)(call->arg, ok ? NULL : err, rows, count);                      \
    }

ANSWER(workers, struct ray_worker)
ANSWER(tasks, struct ray_task)
ANSWER(actors, struct ray_actor)
ANSWER(nodes, struct ray_node)
ANSWER(jobs, struct ray_job)

void dashboard_workers(struct dashboard *dashboard, gcs_workers_fn fn, void *arg)
{
    ask_rows(dashboard, "/api/v0/workers", "", answer_workers, (void (*)(void))fn, arg);
}

#define FILTER(key, value) "&filter_keys=" key "&filter_predicates=%%3D&filter_values=" value

void dashboard_tasks(struct dashboard *dashboard, const char *worker_id, gcs_tasks_fn fn, void *arg)
{
    uint8_t raw[ID_UNIQUE_BYTES];
    bool one = text_unhex(worker_id, raw, sizeof raw);
    char *filters =
        one ? mem_format(FILTER("state", "RUNNING") FILTER("worker_id", "%s"), worker_id)
            : mem_format(FILTER("state", "%s"), "RUNNING");
    ask_rows(dashboard, "/api/v0/tasks", filters, answer_tasks, (void (*)(void))fn, arg);
    free(filters);
}

void dashboard_actors(struct dashboard *dashboard, gcs_actors_fn fn, void *arg)
{
    ask_rows(dashboard, "/api/v0/actors", "", answer_actors, (void (*)(void))fn, arg);
}

void dashboard_nodes(struct dashboard *dashboard, gcs_nodes_fn fn, void *arg)
{
    ask_rows(dashboard, "/api/v0/nodes", "", answer_nodes, (void (*)(void))fn, arg);
}

void dashboard_jobs(struct dashboard *dashboard, gcs_jobs_fn fn, void *arg)
{
    ask_rows(dashboard, "/api/v0/jobs", "", answer_jobs, (void (*)(void))fn, arg);
}
