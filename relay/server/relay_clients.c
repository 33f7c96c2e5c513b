/* A relay's DAP clients: sending to them, dropping them, and the callbacks of their sessions. */
#include "relay/server/relay_state.h"

#include "base/mem.h"
#include "base/wall_clock.h"
#include "dap/message.h"
#include "relay/children/client_modes.h"
#include "relay/io/metrics.h"

#include <stdio.h>
#include <stdlib.h>

/* A driver that has so many bytes to read stops its debuggee; an observer is dropped. Behind a
 * large message an observer may have LARGE more, the most that debugpy's adapter takes from a
 * worker: in the middle of a message in parts the client cannot be told why it ends. */
enum { DRIVER_HIGH = 1 << 20, OBSERVER_HIGH = 2 << 20, LARGE = 16 << 20 };
enum { PATIENCE_MS = 30000, NETWORK_MS = 4000 };

static void act(struct relay_client *client, const char *action, const char *detail)
{
    relay_act(client->relay, action, client->peer, client->role,
              session_client_name(client->session), session_pause(client->session), detail);
}

/* --- the end of a client --- */

static void relay_client_free(struct relay_client *client)
{
    timer_cancel(&client->patience);
    session_destroy(&client->session);
    prefetch_destroy(&client->prefetch);
    buf_free(&client->late);
    free(client->peer);
    relay_client_clear_magic(client);
    free(client);
}

static void sweep(void *arg)
{
    struct relay *relay = relay_checked(arg);
    relay->sweep = NULL;
    for (struct relay_client **at = &relay->clients; *at;) {
        struct relay_client *client = *at;
        if (client->conn || !client->ended) {
            at = &client->next;
            continue;
        }
        *at = client->next;
        relay_client_free(client);
    }
    relay_announce(relay);
}

static void sweep_soon(struct relay *relay)
{
    if (!relay->sweep)
        relay->sweep = timer_start(relay->loop, 0, sweep, relay);
}

static void give_up(void *arg)
{
    struct relay_client *client = relay_client_checked(arg);
    client->patience = NULL;
    if (client->conn)
        conn_close(client->conn);
}

/* Deferred: the caller is still handling the message that crossed the limit. */
static void leave_dropped(void *arg)
{
    struct relay_client *client = relay_client_checked(arg);
    client->patience = timer_start(client->relay->loop, PATIENCE_MS, give_up, client);
    session_client_gone(client->session);
    relay_announce(client->relay);
}

/* Sends only the reason from now on, and gives the client PATIENCE_MS to read up to it. */
static void drop(struct relay_client *client)
{
    struct buf text = {0};
    client->dropped = true;
    act(client, "dropped", "it lags behind");
    message_output(&text, 0, "important",
                   "raydbg: this observer lags behind and was dropped: attach again\n");
    if (client->part_left)
        conn_close(client->conn);
    else
        conn_send(client->conn, text.data, text.len);
    buf_free(&text);
    client->patience = timer_start(client->relay->loop, 0, leave_dropped, client);
}

/* --- sending --- */

/* Called after sending: a slow reader stops the debuggees that it drives, and is dropped if there
 * is another. */
static void watch_flow(struct relay_client *client)
{
    size_t queued = conn_queued(client->conn);
    if (client->dropped)
        return;
    if (!queued && !client->part_left)
        client->large = false;
    if (queued > OBSERVER_HIGH + (client->large ? LARGE : 0) &&
        !session_stops_all(client->session)) {
        drop(client);
    } else if (queued > DRIVER_HIGH && !client->halted && session_stops_some(client->session)) {
        client->halted = true;
        session_flow(client->session, false);
    }
}

static void note_sent(struct relay_client *client, size_t len)
{
    metrics_add(METRIC_MESSAGES_TO_CLIENT_TOTAL, 1);
    metrics_add(METRIC_BYTES_TO_CLIENT_TOTAL, (int64_t)len);
    client->large |= len > DRIVER_HIGH; /* those of a remote task do not come in parts */
    if (client->session)                /* NULL while it is being created */
        watch_flow(client);
}

void relay_client_send(struct relay_client *client, const char *json, size_t len)
{
    if (!client->conn || client->dropped)
        return;
    conn_send(client->conn, json, len);
    note_sent(client, len);
}

/* --- what a client's session calls --- */

static void on_session_message(void *arg, const char *json, size_t len)
{
    struct relay_client *client = relay_client_checked(arg);
    if (!relay_client_withholds(client, json, len, "", 0))
        relay_client_send(client, json, len);
}

static void on_session_halves(void *arg, const char *head, size_t head_len, const char *rest,
                              size_t rest_len)
{
    struct relay_client *client = relay_client_checked(arg);
    if (!client->conn || client->dropped ||
        relay_client_withholds(client, head, head_len, rest, rest_len))
        return;
    conn_send_halves(client->conn, head, head_len, rest, rest_len);
    note_sent(client, head_len + rest_len);
}

static void on_session_large(void *arg, size_t total)
{
    struct relay_client *client = relay_client_checked(arg);
    size_t queued = client->conn ? conn_queued(client->conn) : 0;
    if (client->conn && !client->dropped && queued > OBSERVER_HIGH &&
        queued + total > OBSERVER_HIGH + LARGE && !session_stops_all(client->session))
        drop(client);
    client->part_left = total;
    client->large = true;
    if (client->conn && !client->dropped)
        conn_send_begin(client->conn, total);
    metrics_add(METRIC_MESSAGES_TO_CLIENT_TOTAL, 1);
    metrics_add(METRIC_BYTES_TO_CLIENT_TOTAL, (int64_t)total);
}

static void on_session_part(void *arg, const char *bytes, size_t len)
{
    struct relay_client *client = relay_client_checked(arg);
    if (!client->conn || client->dropped)
        return;
    conn_send_part(client->conn, bytes, len);
    relay_client_part(client, len);
    watch_flow(client);
}

static void on_session_end(void *arg)
{
    struct relay_client *client = relay_client_checked(arg);
    client->ended = true;
    if (client->conn && !client->dropped)
        conn_close(client->conn);
    sweep_soon(client->relay);
}

static void on_session_flow(void *arg, bool flows)
{
    struct relay_client *client = relay_client_checked(arg);
    if (client->conn)
        conn_read_enable(client->conn, flows);
}

static void on_session_role(void *arg, enum auth_role role)
{
    struct relay_client *client = relay_client_checked(arg);
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
    const struct relay_client *client = relay_client_checked(arg);
    prefetch_disturb(client->prefetch);
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

/* --- what the listener calls --- */

struct relay_client *relay_client_open(struct relay *relay, struct conn *conn, enum auth_role role)
{
    struct relay_client *client = mem_alloc(sizeof *client);
    *client = (struct relay_client){
        .next = relay->clients,
        .relay = relay,
        .conn = conn,
        .role = role,
        .number = ++relay->client_count,
        .since_ms = wall_clock_ms(),
        .peer = mem_string(conn_peer(conn)),
    };
    relay_client_set_magic(client);
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
        .modes = &client_session_modes,
        .admission = &relay->admission,
        .runs = &relay->runs,
    };
    relay->clients = client;
    client->session = session_create(&options, &session_ops, client);
    act(client, "connect", "");
    relay_announce(relay);
    return client;
}

void relay_client_broken(struct relay_client *client, const char *problem)
{
    act(client, "refused", problem);
    session_broken(client->session, problem);
}

void relay_client_drained(struct relay_client *client)
{
    if (client->dropped)
        conn_close(client->conn);
    if (!client->halted)
        return;
    client->halted = false;
    session_flow(client->session, true);
}

void relay_client_closed(struct relay_client *client)
{
    client->conn = NULL;
    act(client, "close", "");
    session_flow(client->session, true);
    session_client_gone(client->session);
    sweep_soon(client->relay);
}

/* --- all of them --- */

/* Drops clients whose machine or network is gone: they would hold their role for as long as the
 * kernel has patience. A suspended client still answers by its kernel, and stays. */
static void look_network(void *arg)
{
    struct relay *relay = relay_checked(arg);
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

void relay_clients_start(struct relay *relay)
{
    relay->network = timer_start(relay->loop, NETWORK_MS, look_network, relay);
}

/* Tells clients why their connection ends, and what becomes of the task. */
static void say_farewell(struct relay *relay)
{
    for (struct relay_client *at = relay->clients; at; at = at->next) {
        const struct pause *pause = session_pause(at->session);
        bool held = pause && relay->options.keeper && relay->options.hold != HUB_NEVER;
        struct buf text = {0};
        if (!at->conn || at->dropped || at->part_left)
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

void relay_clients_stop(struct relay *relay)
{
    say_farewell(relay);
    timer_cancel(&relay->network);
}

void relay_clients_free(struct relay *relay)
{
    timer_cancel(&relay->sweep);
    while (relay->clients) {
        struct relay_client *next = relay->clients->next;
        relay_client_free(relay->clients);
        relay->clients = next;
    }
    timer_cancel(&relay->sweep);
}
