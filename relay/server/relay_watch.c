/* Watches the cluster, and tells the followers of /events what changes. */
#include "relay/server/relay_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/pause/pause_change.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

enum {
    POLL_WATCHED_MS = 200, /* followers, every pause to hold, or a debuggee cut off */
    POLL_HELD_MS = 5000,   /* the names of held pauses come late */
    FRESH_MS = 150,        /* a look of this age will do */
    NAMES_MS = 1500,       /* how long a list waits for names that Ray has not told yet */
    NAMES_AGAIN_MS = 100,
    TRIM_MS = 5000,
    ANNOUNCE_MS = 10, /* changes within this time are told together */
    FOLLOWER_HIGH = 1024 * 1024,
};

static void poll_again(struct relay *relay);

/* --- looking --- */

static void run_refresh_waiters(struct relay *relay)
{
    static const struct pause_list none;
    struct pause_list all;
    struct refresh_waiter *refresh_waiters = relay->refresh_waiters;
    if (!refresh_waiters)
        return;
    relay->refresh_waiters = NULL;
    const struct pause_list *known =
        relay->options.cluster ? cluster_pauses(relay->options.cluster) : &none;
    hub_table_list(relay->hubs, known, &all);
    while (refresh_waiters) {
        struct refresh_waiter *refresh_waiter = refresh_waiters;
        refresh_waiters = refresh_waiter->next;
        refresh_waiter->fn(refresh_waiter->arg,
                           relay->refresh_error.code ? &relay->refresh_error : NULL, &all);
        free(refresh_waiter);
    }
    pause_list_clear(&all);
}

static void refresh(struct relay *relay);

static void refresh_again(void *arg)
{
    struct relay *relay = relay_checked(arg);
    relay->names = NULL;
    refresh(relay);
}

static void refresh_again_soon(struct relay *relay)
{
    if (!relay->names)
        relay->names = timer_start(relay->loop, NAMES_AGAIN_MS, refresh_again, relay);
}

/* Tells the clients when the cluster stops answering, or answers again: when its GCS ends, Ray ends
 * the workers, and what is held with them. */
static void tell_silence(struct relay *relay, bool silent)
{
    const struct cluster_address *address = cluster_address(relay->options.cluster);
    char *text;
    if (silent == relay->cluster_silent)
        return;
    relay->cluster_silent = silent;
    if (!silent)
        text = mem_format("raydbg: the cluster %s answers again\n", address->text);
    else if (address->kind == CLUSTER_ADDRESS_GCS)
        text =
            mem_format("raydbg: the cluster %s does not answer; if its GCS has ended, Ray ends its "
                       "workers 60 s later, and what is held with them\n",
                       address->text);
    else
        text = mem_format("raydbg: the cluster's dashboard %s does not answer\n", address->text);
    hub_table_tell(relay->hubs, silent ? "important" : "console", text);
    free(text);
}

static void on_refreshed(void *arg, const struct err *err)
{
    struct relay *relay = relay_checked(arg);
    relay->refreshing = false;
    relay->refreshed_us = loop_now_us();
    relay->refresh_error = err ? *err : (struct err){0};
    tell_silence(relay, relay->refresh_error.code == ERR_UNREACHABLE);
    if (!err)
        hub_table_update(relay->hubs, cluster_pauses(relay->options.cluster));
    if (!err && relay->refresh_waiters && cluster_names_pending(relay->options.cluster) &&
        loop_now_us() < relay->names_until_us)
        refresh_again_soon(relay);
    else
        run_refresh_waiters(relay);
    relay_announce(relay);
}

static bool is_fresh(const struct relay *relay)
{
    return !relay->options.cluster ||
           (relay->refreshed_us && loop_now_us() - relay->refreshed_us < (int64_t)FRESH_MS * 1000 &&
            !relay->refresh_error.code && !cluster_names_pending(relay->options.cluster));
}

static void refresh(struct relay *relay)
{
    if (relay->refreshing || !relay->options.cluster)
        return;
    relay->refreshing = true;
    cluster_refresh(relay->options.cluster, on_refreshed, relay);
}

void relay_refresh(struct relay *relay,
                   void (*fn)(void *arg, const struct err *err, const struct pause_list *pauses),
                   void *arg)
{
    struct refresh_waiter *refresh_waiter = mem_alloc(sizeof *refresh_waiter);
    if (!relay->refresh_waiters)
        relay->names_until_us = loop_now_us() + (int64_t)NAMES_MS * 1000;
    *refresh_waiter = (struct refresh_waiter){relay->refresh_waiters, fn, arg};
    relay->refresh_waiters = refresh_waiter;
    if (is_fresh(relay))
        run_refresh_waiters(relay);
    else
        refresh(relay);
}

/* Gives free memory between live blocks back to the system, when nothing else is to do. */
static void trim(struct relay *relay)
{
    if (loop_now_us() - relay->trimmed_us < (int64_t)TRIM_MS * 1000)
        return;
    malloc_trim(0);
    relay->trimmed_us = loop_now_us();
}

static void poll_now(void *arg)
{
    struct relay *relay = relay_checked(arg);
    relay->poll = NULL;
    trim(relay);
    if (relay->followers || relay->options.hold == HUB_ON_PAUSE || hub_table_count(relay->hubs) ||
        hub_table_wants_any(relay->hubs))
        refresh(relay);
    poll_again(relay);
}

static void poll_again(struct relay *relay)
{
    bool watched =
        relay->followers || relay->options.hold == HUB_ON_PAUSE || hub_table_wants_any(relay->hubs);
    int64_t ms = watched ? POLL_WATCHED_MS : POLL_HELD_MS;
    int64_t rest = relay->options.cluster ? cluster_rest_ms(relay->options.cluster) : 0;
    relay->poll = timer_start(relay->loop, ms > rest ? ms : rest, poll_now, relay);
}

/* --- telling --- */

static void send_event(struct follower *follower, const struct buf *json)
{
    if (follower->dropped)
        return;
    if (conn_queued(follower->conn) > FOLLOWER_HIGH + follower->greeting) {
        follower->dropped = true;
        conn_close(follower->conn);
        return;
    }
    conn_send(follower->conn, json->data, json->len);
}

static void tell_all(struct relay *relay, const struct buf *json)
{
    for (struct follower *at = relay->followers; at; at = at->next)
        if (at->greeted)
            send_event(at, json);
}

static void tell_change(struct relay *relay, const char *event, const char *key, const char *json)
{
    struct buf out = {0};
    buf_printf(&out, "{\"event\":\"%s\",\"%s\":%s}", event, key, json);
    tell_all(relay, &out);
    buf_free(&out);
}

static void on_difference(void *arg, enum pause_change change, const struct pause *pause)
{
    struct relay *relay = relay_checked(arg);
    struct buf json = {0};
    if (change == PAUSE_REMOVED) {
        char *id = relay_pause_id(pause);
        buf_printf(&json, "\"%s\"", id);
        free(id);
    } else {
        relay_pause_json(pause, &json);
    }
    tell_change(relay, pause_change_name(change), change == PAUSE_REMOVED ? "id" : "pause",
                json.data);
    buf_free(&json);
}

/* True if a follower has come since the last announcement. */
static bool has_new_follower(const struct relay *relay)
{
    for (const struct follower *at = relay->followers; at; at = at->next)
        if (!at->greeted)
            return true;
    return false;
}

static void greet(struct relay *relay)
{
    struct buf all = {0};
    if (!has_new_follower(relay))
        return;
    buf_add_string(&all, "{\"event\":\"pauses\",\"pauses\":[");
    for (size_t i = 0; i < relay->told.count; i++) {
        buf_add_string(&all, i ? "," : "");
        relay_pause_json(&relay->told.items[i], &all);
    }
    buf_add_string(&all, "]}");
    for (struct follower *at = relay->followers; at; at = at->next) {
        if (at->greeted)
            continue;
        at->greeted = true;
        at->greeting = all.len;
        send_event(at, &all);
        struct buf sessions = {0};
        buf_printf(&sessions, "{\"event\":\"sessions\",\"sessions\":%s}", relay->told_sessions);
        send_event(at, &sessions);
        buf_free(&sessions);
    }
    buf_free(&all);
}

static void tell_sessions(struct relay *relay)
{
    struct buf sessions = {0};
    relay_sessions_json(relay, &sessions);
    if (!text_equal(relay->told_sessions, sessions.data))
        tell_change(relay, "sessions", "sessions", sessions.data);
    free(relay->told_sessions);
    relay->told_sessions = buf_take(&sessions);
}

static void announce(void *arg)
{
    static const struct pause_list none;
    struct relay *relay = relay_checked(arg);
    struct pause_list all;
    relay->announce = NULL;
    if (!relay->followers)
        return;
    if (relay->options.cluster && !relay->refreshed_us) {
        refresh(relay); /* the first look announces it */
        return;
    }
    hub_table_list(relay->hubs,
                   relay->options.cluster ? cluster_pauses(relay->options.cluster) : &none, &all);
    pause_change_each(&relay->told, &all, relay_pause_json, on_difference, relay);
    pause_list_clear(&relay->told);
    relay->told = all;
    tell_sessions(relay);
    greet(relay);
}

void relay_announce(struct relay *relay)
{
    if (!relay->announce && relay->followers)
        relay->announce = timer_start(relay->loop, ANNOUNCE_MS, announce, relay);
    if (relay->followers && relay->poll) {
        /* A first follower: look now, and often from now on. */
        bool first = !relay->followers->greeted && !relay->followers->next;
        if (first) {
            timer_cancel(&relay->poll);
            poll_now(relay);
        }
    }
}

void relay_watch_start(struct relay *relay)
{
    poll_now(relay);
}

void relay_watch_stop(struct relay *relay)
{
    timer_cancel(&relay->poll);
    timer_cancel(&relay->names);
    timer_cancel(&relay->announce);
    if (relay->options.cluster)
        cluster_refresh_cancel(relay->options.cluster, relay);
    err_set(&relay->refresh_error, ERR_FAILED, "the relay is ending");
    run_refresh_waiters(relay); /* their callbacks answer the HTTP calls */
    pause_list_clear(&relay->told);
    free(relay->told_sessions);
    relay->told_sessions = NULL;
}
