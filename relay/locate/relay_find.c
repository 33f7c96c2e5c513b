#include "relay/locate/relay_find.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/wall_clock.h"
#include "proto/proxy.h"
#include "relay/access/auth.h"
#include "relay/cluster/ray_source.h"
#include "relay/locate/relay_call.h"
#include "relay/locate/relay_registration.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CLUSTER_MS = 4000 }; /* less than the deadline of a call */

/* --- options of an address --- */

static int add_wish(struct relay_address *out, const struct relay_wish *wish, struct err *err)
{
    if (wish->ca)
        out->ca = mem_string(wish->ca);
    if (wish->fingerprint) {
        free(out->fingerprint);
        out->fingerprint = mem_string(wish->fingerprint);
    } else if (wish->ca) { /* an option overrides the fingerprint of the relay's own entry */
        free(out->fingerprint);
        out->fingerprint = NULL;
    }
    out->cert = mem_string(wish->cert);
    out->key = mem_string(wish->key);
    char pin[TRUST_FINGERPRINT_ROOM];
    if (wish->fingerprint && !trust_fingerprint_parse(wish->fingerprint, pin)) {
        err_set(err, ERR_USAGE, "--relay-fingerprint '%s' is no fingerprint", wish->fingerprint);
        return err_why(err, "it is SHA256: and 64 hex digits, with colons between or without");
    }
    if (!wish->cert != !wish->key)
        return err_set(err, ERR_USAGE, "--relay-cert and --relay-key go together");
    return auth_client_token(wish->token_file, &out->token, err);
}

/* Why an address from a relay's own entry cannot be used, or NULL. */
static const char *unfit(const struct relay_address *address, bool here)
{
    bool local = address->is_unix || proxy_is_loopback(address->host);
    if (local && !here)
        return "it is for its own machine";
    if (address->is_unix && access(address->host, R_OK | W_OK) != 0)
        return "its socket is not there, or not for this user";
    return local || address->tls ? NULL : "it speaks no TLS";
}

/* The first address that can be used; addresses of this machine come first. */
static bool choose(struct relay_address *out, const struct relay_registration_entry *entry)
{
    bool here = relay_registration_is_here(entry);
    for (int local = 1; local >= 0; local--) {
        for (size_t i = 0; i < entry->address_count; i++) {
            const char *text = entry->addresses[i];
            char *url = text_starts(text, "unix:")
                            ? mem_string(text)
                            : mem_format("%s%s", entry->tls ? "https://" : "http://", text);
            bool parsed = relay_address_parse(out, url, NULL) == 0;
            free(url);
            if (!parsed)
                continue;
            const char *why = unfit(out, here);
            bool near = out->is_unix || proxy_is_loopback(out->host);
            if (!why && near == (local == 1)) {
                out->fingerprint = mem_string(entry->fingerprint);
                /* An entry without proofs is of an open relay, which has no token to prove. */
                out->id = entry->proofs[0] ? mem_string(entry->id ? entry->id : "") : NULL;
                return true;
            }
            log_debug("the relay's address %s is passed over: %s", text, why ? why : "a later one");
            relay_address_clear(out);
        }
    }
    return false;
}

/* --- here --- */

const char *relay_find_given(const struct relay_wish *wish)
{
    const char *given = wish->address ? wish->address : getenv("RAYDBG_RELAY");
    return wish->wanted && !text_empty(given) ? given : NULL;
}

int relay_find_here(struct relay_address *out, enum relay_found *found,
                    const struct relay_wish *wish, const char *cluster, struct err *err)
{
    struct relay_registration_entry entry;
    const char *given = relay_find_given(wish);
    *out = (struct relay_address){0};
    *found = RELAY_NONE;
    if (!wish->wanted)
        return wish->address
                   ? err_set(err, ERR_USAGE, "--relay and --no-relay contradict each other")
                   : 0;
    if (given) {
        if (relay_address_parse(out, given, err) != 0)
            return -1;
        *found = RELAY_GIVEN;
    } else if (relay_registration_find_local(&entry, cluster)) {
        *found = choose(out, &entry) ? RELAY_FOUND : RELAY_NONE;
        relay_registration_entry_clear(&entry);
    }
    if (*found == RELAY_NONE || add_wish(out, wish, err) == 0)
        return 0;
    relay_address_clear(out);
    return -1;
}

/* --- in the cluster --- */

struct query {
    bool done, found;
    char *token; /* the client's token, which the relay must know; or NULL */
    int64_t newest;
    struct relay_address relay;
};

static void consider(struct query *query, const struct relay_registration_entry *entry,
                     const char *key)
{
    struct relay_address relay;
    int64_t age = wall_clock_ms() - entry->refreshed_ms;
    bool in_place = text_starts(key, RELAY_REGISTRATION_PREFIX) &&
                    text_equal(key + strlen(RELAY_REGISTRATION_PREFIX), entry->id);
    if (query->token && (!in_place || !relay_registration_proves(entry, query->token))) {
        log_info("a relay that the cluster names does not prove that it knows this client's token: "
                 "not used");
        return;
    }
    /* An entry from the future is not stale: its clock is ahead. */
    if (age > RELAY_REGISTRATION_STALE_MS || (query->found && entry->started_ms <= query->newest) ||
        !choose(&relay, entry))
        return;
    if (query->found)
        relay_address_clear(&query->relay);
    query->relay = relay;
    query->newest = entry->started_ms;
    query->found = true;
}

static void on_entries(void *arg, const struct err *err, const struct gcs_kv *entries, size_t count)
{
    struct query *query = arg;
    struct relay_registration_entry entry;
    query->done = true;
    if (err)
        log_info("the cluster does not say whether it has a relay: %s", err->what);
    for (size_t i = 0; i < count; i++) {
        if (!relay_registration_parse(&entry, entries[i].value, entries[i].len))
            continue;
        consider(query, &entry, entries[i].key);
        relay_registration_entry_clear(&entry);
    }
}

bool relay_find_in_cluster(struct relay_address *out, struct loop *loop,
                           const struct relay_wish *wish, const struct cluster_address *cluster)
{
    struct query query = {0};
    struct err err;
    if (cluster->kind != CLUSTER_ADDRESS_GCS)
        return false;
    if (auth_client_token(wish->token_file, &query.token, &err) != 0)
        return false;
    struct ray_source *source = ray_source_create(loop, cluster, &err);
    if (!source) {
        free(query.token);
        return false;
    }
    ray_source_kv_get_all(source, RELAY_REGISTRATION_SPACE, RELAY_REGISTRATION_PREFIX, on_entries,
                          &query);
    if (!loop_run_until(loop, &query.done, CLUSTER_MS))
        log_warn(
            "the cluster has not said within %d s whether it has a relay: going on without one",
            CLUSTER_MS / 1000);
    ray_source_destroy(&source);
    free(query.token);
    if (!query.found)
        return false;
    if (add_wish(&query.relay, wish, &err) != 0) {
        log_warn("the relay is not used: %s", err.what);
        relay_address_clear(&query.relay);
        return false;
    }
    *out = query.relay;
    return true;
}

/* --- health --- */

struct probe {
    const struct relay_address *relay;
    bool done;
    struct err err;
};

static void on_health(void *arg, const struct http_reply *reply)
{
    struct probe *probe = arg;
    probe->done = true;
    relay_address_reply(probe->relay, reply, &probe->err);
}

int relay_answers(const struct relay_address *relay, struct loop *loop, int64_t ms, struct err *err)
{
    struct probe probe = {.relay = relay};
    relay_call(relay, loop, "GET", "/healthz", NULL, ms, on_health, &probe);
    loop_run_until(loop, &probe.done, -1);
    *err = probe.err;
    return err->code ? -1 : 0;
}
