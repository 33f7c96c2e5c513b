#include "relay/relay.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "relay/metrics.h"
#include "relay/relay_state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A driver that has so many bytes to read stops its debuggee; an observer loses its place. */
enum { DRIVER_HIGH = 1024 * 1024, OBSERVER_HIGH = 2 * 1024 * 1024 };
enum { PATIENCE_MS = 30000, NETWORK_MS = 4000 };

static int64_t epoch_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

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

/* --- clients --- */

static void client_free(struct relay_client *client)
{
    timer_cancel(&client->patience);
    session_destroy(&client->session);
    ahead_destroy(&client->ahead);
    buf_free(&client->late);
    free(client->peer);
    free(client);
}

static void sweep(void *arg)
{
    struct relay *relay = arg;
    relay->sweep = NULL;
    for (struct relay_client **at = &relay->clients; *at;) {
        struct relay_client *client = *at;
        if (client->conn || !client->ended) {
            at = &client->next;
            continue;
        }
        *at = client->next;
        client_free(client);
    }
    relay_announce(relay);
}

static void sweep_soon(struct relay *relay)
{
    if (!relay->sweep)
        relay->sweep = timer_start(relay->loop, 0, sweep, relay);
}

static void act(struct relay_client *client, const char *action, const char *detail)
{
    relay_act(client->relay, action, client->peer, client->role,
              session_client_name(client->session), session_pause(client->session), detail);
}

static void give_up(void *arg)
{
    struct relay_client *client = arg;
    client->patience = NULL;
    if (client->conn)
        conn_close(client->conn);
}

/* Not from within the message that was one too many. */
static void leave_dropped(void *arg)
{
    struct relay_client *client = arg;
    client->patience = timer_start(client->relay->loop, PATIENCE_MS, give_up, client);
    session_client_gone(client->session);
    relay_announce(client->relay);
}

/* It gets no more but the reason, and some time to read it behind what it has not read yet. */
static void drop(struct relay_client *client)
{
    struct buf text = {0};
    client->dropped = true;
    act(client, "dropped", "it lags behind");
    message_output(&text, 0, "important",
                   "raydbg: this observer lags behind and was dropped: attach again\n");
    conn_send(client->conn, text.data, text.len);
    buf_free(&text);
    client->patience = timer_start(client->relay->loop, 0, leave_dropped, client);
}

/* After something was sent: a slow reader slows its debuggee if it drives, and else goes. */
static void watch_flow(struct relay_client *client)
{
    size_t queued = conn_queued(client->conn);
    bool drives = session_drives(client->session) || !session_pause(client->session);
    if (!drives && queued > OBSERVER_HIGH) {
        drop(client);
    } else if (queued > DRIVER_HIGH && !client->halted && drives) {
        client->halted = true;
        session_flow(client->session, false);
    }
}

static void note_sent(struct relay_client *client, size_t len)
{
    metrics_add(METRIC_MESSAGES_TO_CLIENT_TOTAL, 1);
    metrics_add(METRIC_BYTES_TO_CLIENT_TOTAL, (int64_t)len);
    if (client->session) /* not yet, while it is being created */
        watch_flow(client);
}

void relay_client_send(struct relay_client *client, const char *json, size_t len)
{
    if (!client->conn || client->dropped)
        return;
    conn_send(client->conn, json, len);
    note_sent(client, len);
}

static void on_session_message(void *arg, const char *json, size_t len)
{
    struct relay_client *client = arg;
    if (!relay_client_withholds(client, json, len, "", 0))
        relay_client_send(client, json, len);
}

static void on_session_halves(void *arg, const char *head, size_t head_len, const char *rest,
                              size_t rest_len)
{
    struct relay_client *client = arg;
    if (!client->conn || client->dropped ||
        relay_client_withholds(client, head, head_len, rest, rest_len))
        return;
    conn_send_halves(client->conn, head, head_len, rest, rest_len);
    note_sent(client, head_len + rest_len);
}

static void on_session_large(void *arg, size_t total)
{
    struct relay_client *client = arg;
    client->part_left = total;
    if (client->conn && !client->dropped)
        conn_send_begin(client->conn, total);
    metrics_add(METRIC_MESSAGES_TO_CLIENT_TOTAL, 1);
    metrics_add(METRIC_BYTES_TO_CLIENT_TOTAL, (int64_t)total);
}

static void on_session_part(void *arg, const char *bytes, size_t len)
{
    struct relay_client *client = arg;
    if (!client->conn || client->dropped)
        return;
    conn_send_part(client->conn, bytes, len);
    watch_flow(client);
    relay_client_part(client, len);
}

static void on_session_end(void *arg)
{
    struct relay_client *client = arg;
    client->ended = true;
    if (client->conn && !client->dropped)
        conn_close(client->conn);
    sweep_soon(client->relay);
}

static void on_session_flow(void *arg, bool flows)
{
    struct relay_client *client = arg;
    if (client->conn)
        conn_read_enable(client->conn, flows);
}

static void on_session_role(void *arg, enum auth_role role)
{
    struct relay_client *client = arg;
    client->role = role;
    if (client->conn)
        conn_authenticate(client->conn, role);
}

static void on_session_act(void *arg, const char *action, const char *detail)
{
    act(arg, action, detail);
}

static void on_session_disturbed(void *arg)
{
    const struct relay_client *client = arg;
    ahead_disturb(client->ahead);
}

static const struct session_ops session_ops = {
    .on_message = on_session_message,
    .on_end = on_session_end,
    .on_halves = on_session_halves,
    .on_large = on_session_large,
    .on_part = on_session_part,
    .on_flow = on_session_flow,
    .on_role = on_session_role,
    .on_act = on_session_act,
    .on_disturbed = on_session_disturbed,
};

static struct relay_client *open_client(struct relay *relay, struct conn *conn, enum auth_role role)
{
    struct relay_client *client = mem_alloc(sizeof *client);
    *client = (struct relay_client){
        .next = relay->clients,
        .relay = relay,
        .conn = conn,
        .role = role,
        .number = ++relay->client_count,
        .since_ms = epoch_ms(),
        .peer = mem_string(conn_peer(conn)),
    };
    struct session_options options = {
        .loop = relay->loop,
        .cluster = relay->options.cluster,
        .tune = relay->options.tune,
        .kill = relay->options.kill,
        .hubs = relay->hubs,
        .auth = relay->options.listener.auth,
        .role = role,
        .peer = client->peer,
        .allow_connect = relay->options.allow_connect,
        .tickets = relay->tickets,
    };
    relay->clients = client;
    client->session = session_create(&options, &session_ops, client);
    act(client, "connect", "");
    relay_announce(relay);
    return client;
}

/* --- the listener --- */

/* What stands behind a connection. */
struct user {
    enum conn_kind kind;
    struct relay_client *client; /* or */
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
    struct relay *relay = arg;
    struct user *user = mem_alloc(sizeof *user);
    user->kind = kind;
    metrics_add(by_kind[kind].now, 1);
    metrics_add(by_kind[kind].total, 1);
    if (kind != CONN_EVENTS) {
        user->client = open_client(relay, conn, role);
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

/* By the words of relay/refusal.c. */
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
    if (!user->client)
        return;
    act(user->client, "refused", problem);
    session_broken(user->client->session, problem);
}

static void on_drain(void *arg)
{
    struct user *user = arg;
    if (user->client && user->client->dropped)
        conn_close(user->client->conn);
    if (!user->client || !user->client->halted)
        return;
    user->client->halted = false;
    session_flow(user->client->session, true);
}

static void remove_follower(struct follower *follower)
{
    struct follower **at = &follower->relay->followers;
    while (*at != follower)
        at = &(*at)->next;
    *at = follower->next;
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
    if (!client)
        return;
    client->conn = NULL;
    act(client, "close", "");
    session_flow(client->session, true);
    session_client_gone(client->session);
    sweep_soon(client->relay);
}

static void on_refused(void *arg, const char *peer, const char *why)
{
    count_refusal(why);
    relay_act(arg, "refused", peer, AUTH_NONE, "", NULL, why);
}

static const struct listener_ops listener_ops = {
    .on_open = on_open,
    .on_message = on_message,
    .on_broken = on_broken,
    .on_drain = on_drain,
    .on_close = on_close,
    .on_http = relay_on_http,
    .on_refused = on_refused,
};

/* A client whose machine or network is gone would hold its role for as long as the kernel has
 * patience; one that is suspended still answers by its kernel, and stays. */
static void look_network(void *arg)
{
    struct relay *relay = arg;
    relay->network = timer_start(relay->loop, NETWORK_MS, look_network, relay);
    for (struct relay_client *at = relay->clients; at; at = at->next) {
        if (!at->conn || at->dropped || !conn_is_silent(at->conn))
            continue;
        at->dropped = true;
        act(at, "dropped", "nothing comes back from it");
        at->patience = timer_start(relay->loop, 0, leave_dropped, at);
        conn_close(at->conn);
    }
}

/* --- the hubs --- */

static void on_hub_change(void *arg)
{
    relay_announce(arg);
}

static void on_hub_act(void *arg, const char *action, const struct pause *pause, const char *detail)
{
    relay_act(arg, action, "the relay", AUTH_NONE, "", pause, detail);
}

static const struct hubs_ops hubs_ops = {.on_change = on_hub_change, .on_act = on_hub_act};

/* --- life --- */

struct relay *relay_create(const struct relay_options *options, struct err *err)
{
    struct relay *relay = mem_alloc(sizeof *relay);
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
    relay->name = mem_format("relay %s", listener_address(relay->listener, 0));
    struct hubs_options hubs = {
        .loop = relay->loop,
        .hold = options->hold,
        .tune = options->tune,
        .max_hold_ms = options->max_hold_ms,
        .keeper = options->keeper,
        .cluster = options->cluster,
        .name = relay->name,
    };
    relay->tickets = tickets_create();
    relay->hubs = hubs_create(&hubs, &hubs_ops, relay);
    relay->taken_over = hubs_take_over(relay->hubs);
    relay_watch_start(relay);
    relay->network = timer_start(relay->loop, NETWORK_MS, look_network, relay);
    return relay;
}

/* Clients learn why their connection ends, and what becomes of the task. */
static void say_farewell(struct relay *relay)
{
    for (struct relay_client *at = relay->clients; at; at = at->next) {
        const struct pause *pause = session_pause(at->session);
        bool held = pause && relay->options.keeper && relay->options.hold != HUB_NEVER;
        struct buf text = {0};
        if (!at->conn || at->dropped)
            continue;
        char title[256] = "";
        if (session_count(at->session) > 1)
            snprintf(title, sizeof title, "each of %zu tasks", session_count(at->session));
        else if (pause)
            pause_title(pause, title, sizeof title);
        char *say = mem_format("raydbg: this relay ends%s%s%s\n", pause ? "; " : "", title,
                               held    ? " stays held, for the next relay to take over"
                               : pause ? " goes on"
                                       : "");
        message_output(&text, 0, "important", say);
        conn_send(at->conn, text.data, text.len);
        free(say);
        buf_free(&text);
    }
}

void relay_destroy(struct relay **relay)
{
    struct relay *it = *relay;
    if (!it)
        return;
    *relay = NULL;
    say_farewell(it);
    timer_cancel(&it->network);
    relay_watch_stop(it);
    relay_api_stop(it);
    listener_destroy(&it->listener);
    timer_cancel(&it->sweep);
    timer_cancel(&it->announce);
    while (it->clients) {
        struct relay_client *next = it->clients->next;
        client_free(it->clients);
        it->clients = next;
    }
    timer_cancel(&it->sweep);
    timer_cancel(&it->announce);
    tickets_destroy(&it->tickets);
    hubs_destroy(&it->hubs);
    timer_cancel(&it->announce);
    audit_close(&it->audit);
    free(it->name);
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
