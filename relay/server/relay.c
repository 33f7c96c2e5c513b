#include "relay/server/relay.h"

#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/children/child_sessions.h"
#include "relay/io/metrics.h"
#include "relay/server/relay_state.h"

#include <stdlib.h>
#include <string.h>

void relay_act(struct relay *relay, const char *action, const char *peer, enum auth_role role,
               const char *client, const struct pause *pause, const char *detail)
{
    char *id = pause ? relay_pause_id(pause) : NULL;
    struct audit_entry entry = {
        .action = action,
        .peer = peer,
        .role = role == AUTH_NONE ? NULL : auth_role_name(role),
        .client = text_empty(client) ? NULL : client,
        .task = pause ? pause->task_name : NULL,
        .pause = id,
        .detail = text_empty(detail) ? NULL : detail,
    };
    audit_write(relay->audit, &entry);
    free(id);
}

/* --- the listener --- */

/* The user of a connection; one of `client` and `follower` is NULL. */
struct user {
    enum conn_kind kind;
    struct relay_client *client;
    struct follower *follower;
};

static const struct {
    enum metric now, total;
} by_kind[] = {
    [CONN_DAP_TCP] = {METRIC_CONNECTIONS_DAP_TCP, METRIC_CONNECTIONS_DAP_TCP_TOTAL},
    [CONN_DAP_WEBSOCKET] = {METRIC_CONNECTIONS_DAP_WEBSOCKET,
                            METRIC_CONNECTIONS_DAP_WEBSOCKET_TOTAL},
    [CONN_EVENTS] = {METRIC_CONNECTIONS_EVENTS, METRIC_CONNECTIONS_EVENTS_TOTAL},
};

static void *on_open(void *arg, struct conn *conn, enum conn_kind kind, enum auth_role role)
{
    struct relay *relay = relay_checked(arg);
    struct user *user = mem_alloc(sizeof *user);
    user->kind = kind;
    metrics_add(by_kind[kind].now, 1);
    metrics_add(by_kind[kind].total, 1);
    if (kind != CONN_EVENTS) {
        user->client = relay_client_open(relay, conn, role);
        return user;
    }
    user->follower = mem_alloc(sizeof *user->follower);
    *user->follower = (struct follower){.next = relay->followers, .relay = relay, .conn = conn};
    relay->followers = user->follower;
    relay_announce(relay);
    return user;
}

static void on_message(void *arg, const char *json, size_t len)
{
    struct user *user = arg;
    metrics_add(METRIC_MESSAGES_FROM_CLIENT_TOTAL, 1);
    metrics_add(METRIC_BYTES_FROM_CLIENT_TOTAL, (int64_t)len);
    if (user->client)
        relay_client_receive(user->client, json, len);
}

/* Classified by the words of relay/port/refusal.c. */
static void count_refusal(const char *why)
{
    static const struct {
        const char *word;
        enum metric metric;
    } words[] = {
        {"token", METRIC_REFUSED_TOKEN_TOTAL},    {"rigin", METRIC_REFUSED_ORIGIN_TOTAL},
        {"Host", METRIC_REFUSED_HOST_TOTAL},      {"long", METRIC_REFUSED_LIMIT_TOTAL},
        {"many", METRIC_REFUSED_LIMIT_TOTAL},     {"more than", METRIC_REFUSED_LIMIT_TOTAL},
        {"within", METRIC_REFUSED_TIMEOUT_TOTAL},
    };
    enum metric metric = METRIC_REFUSED_PROTOCOL_TOTAL;
    for (size_t i = sizeof words / sizeof *words; i > 0; i--)
        if (strstr(why, words[i - 1].word))
            metric = words[i - 1].metric;
    metrics_add(metric, 1);
}

static void on_broken(void *arg, const char *problem)
{
    struct user *user = arg;
    if (user->client)
        relay_client_broken(user->client, problem);
}

static void on_drain(void *arg)
{
    struct user *user = arg;
    if (user->client)
        relay_client_drained(user->client);
}

static void remove_follower(struct follower *follower)
{
    LIST_REMOVE(follower->relay->followers, follower);
    free(follower);
}

static void on_close(void *arg)
{
    struct user *user = arg;
    struct relay_client *client = user->client;
    metrics_add(by_kind[user->kind].now, -1);
    if (user->follower)
        remove_follower(user->follower);
    free(user);
    if (client)
        relay_client_closed(client);
}

static void on_refused(void *arg, const char *peer, const char *why)
{
    count_refusal(why);
    relay_act(arg, "refused", peer, AUTH_NONE, "", NULL, why);
}

static void on_health(void *arg)
{
    relay_idle_put_off(arg);
}

static void on_debuggee(void *arg, const struct listener_debuggee *debuggee)
{
    struct relay *relay = relay_checked(arg);
    const struct agents_call call = {debuggee->fd, debuggee->line, debuggee->peer,
                                     debuggee->address, debuggee->tls ? relay->fingerprint : NULL};
    agents_accept(relay->agents, &call);
}

static const struct listener_ops listener_ops = {
    .on_open = on_open,
    .on_message = on_message,
    .on_broken = on_broken,
    .on_drain = on_drain,
    .on_close = on_close,
    .on_http = relay_on_http,
    .on_health = on_health,
    .on_debuggee = on_debuggee,
    .on_refused = on_refused,
};

/* --- the hubs --- */

static void on_hub_change(void *arg)
{
    relay_announce(arg);
}

static void on_hub_act(void *arg, const char *action, const struct pause *pause, const char *detail)
{
    relay_act(arg, action, "the relay", AUTH_NONE, "", pause, detail);
}

static void on_debuggee_ready(void *arg, struct hub *hub)
{
    const struct relay *relay = relay_checked(arg);
    agents_hub_ready(relay->agents, hub);
}

static void on_debuggee_change(void *arg, struct hub *hub)
{
    const struct relay *relay = relay_checked(arg);
    agents_hub_changed(relay->agents, hub);
}

static void on_debuggee_end(void *arg, const struct hub *hub)
{
    const struct relay *relay = relay_checked(arg);
    agents_hub_end(relay->agents, hub);
}

static void on_debuggee_set(void *arg, struct hub *hub, const char *json,
                            const struct envelope *response)
{
    const struct relay *relay = relay_checked(arg);
    agents_hub_set(relay->agents, hub, json, response);
}

static void on_released(void *arg, struct hub *hub, const char *problem)
{
    struct relay *relay = relay_checked(arg);
    relay_post_released(relay, hub, problem);
}

static const struct hub_table_ops hub_table_ops = {
    .on_released = on_released,
    .on_ready = on_debuggee_ready,
    .on_own_set = on_debuggee_set,
    .on_end = on_debuggee_end,
    .on_hub_change = on_debuggee_change,
    .on_change = on_hub_change,
    .on_act = on_hub_act,
};

/* --- the agents --- */

static void on_agent_act(void *arg, const char *action, const char *peer, const char *detail)
{
    if (text_equal(action, "refused"))
        count_refusal("token");
    relay_act(arg, action, peer, AUTH_NONE, "", NULL, detail);
}

static void on_agent_problem(void *arg, int64_t breakpoint, const char *error)
{
    const struct relay *relay = relay_checked(arg);
    if (!session_breakpoints_note_problem(relay->session_breakpoints, breakpoint, error))
        breakpoint_store_note_problem(relay->breakpoints, breakpoint, error);
}

static void on_agent_cluster(void *arg, const char *address)
{
    const struct relay *relay = relay_checked(arg);
    if (!relay->options.cluster && relay->options.on_cluster)
        relay->options.on_cluster(relay->options.cluster_arg, address);
}

static const struct agents_ops agents_ops = {
    .on_act = on_agent_act, .on_problem = on_agent_problem, .on_cluster = on_agent_cluster};

static void create_agents(struct relay *relay)
{
    relay->breakpoints = breakpoint_store_create(relay->options.breakpoints_file);
    relay_runs_start(relay);
    const struct agents_options options = {
        .loop = relay->loop,
        .auth = relay->options.listener.auth,
        .hubs = relay->hubs,
        .breakpoints = relay->breakpoints,
        .session_breakpoints = relay->session_breakpoints,
    };
    relay->agents = agents_create(&options, &agents_ops, relay);
}

/* --- life --- */

struct relay *relay_create(const struct relay_options *options, struct err *err)
{
    struct relay *relay = mem_alloc(sizeof *relay);
    relay_set_magic(relay);
    relay->options = *options;
    relay->loop = options->listener.loop;
    relay->audit = audit_open(options->audit_log ? options->audit_log : "none", err);
    if (relay->audit)
        relay->listener = listener_create(&options->listener, &listener_ops, relay, err);
    if (!relay->listener) {
        audit_close(&relay->audit);
        free(relay);
        return NULL;
    }
    if (options->listener.tls_cert)
        certificate_fingerprint(options->listener.tls_cert, relay->fingerprint, err);
    metrics_start();
    relay->name = mem_format("relay %s", listener_address(relay->listener, 0));
    struct hub_table_options hubs = {
        .loop = relay->loop,
        .hold = options->hold,
        .tune = options->tune,
        .max_hold_ms = options->max_hold_ms,
        .keeper = options->keeper,
        .cluster = options->cluster,
        .name = relay->name,
    };
    relay->tickets = tickets_create();
    relay->admission = child_sessions_admission(relay->tickets);
    relay->hubs = hub_table_create(&hubs, &hub_table_ops, relay);
    create_agents(relay);
    relay->taken_over = hub_table_take_over(relay->hubs);
    relay_watch_start(relay);
    relay_idle_start(relay);
    relay_clients_start(relay);
    return relay;
}

void relay_set_cluster(struct relay *relay, struct cluster *cluster)
{
    invariant(!relay->options.cluster);
    relay->options.cluster = cluster;
    hub_table_set_cluster(relay->hubs, cluster);
}

void relay_destroy(struct relay **relay)
{
    struct relay *it = *relay;
    if (!it)
        return;
    *relay = NULL;
    relay_clients_stop(it);
    relay_idle_stop(it);
    relay_watch_stop(it);
    relay_objects_stop(it);
    relay_why_stop(it);
    relay_post_stop(it);
    listener_destroy(&it->listener);
    timer_cancel(&it->announce);
    relay_clients_free(it);
    timer_cancel(&it->announce);
    tickets_destroy(&it->tickets);
    hub_table_destroy(&it->hubs);
    agents_destroy(&it->agents);
    breakpoint_store_destroy(&it->breakpoints);
    session_breakpoints_destroy(&it->session_breakpoints);
    timer_cancel(&it->announce);
    audit_close(&it->audit);
    free(it->name);
    relay_clear_magic(it);
    free(it);
}

const char *relay_address(const struct relay *relay, size_t n)
{
    return listener_address(relay->listener, n);
}

size_t relay_taken_over(const struct relay *relay)
{
    return relay->taken_over;
}
