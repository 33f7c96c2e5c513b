/* A relay's registration: in the cluster's key-value store (namespace "raydbg", key "relay:<id>")
 * for all clients, and in a file of the state directory for the same user's clients on this
 * machine, which then need not ask the cluster. Both have the same JSON. Every job can write to the
 * store, and copy an entry: so all of an entry is proven, and a client that connects has the relay
 * prove itself again (relay_call.h). */
#ifndef RAYDBG_RELAY_LOCATE_RELAY_REGISTRATION_H
#define RAYDBG_RELAY_LOCATE_RELAY_REGISTRATION_H

#include "base/buf.h"
#include "relay/access/auth.h"
#include "relay/cluster/cluster.h"
#include "relay/io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RELAY_REGISTRATION_SPACE "raydbg"
#define RELAY_REGISTRATION_PREFIX "relay:"

enum { RELAY_REGISTRATION_REFRESH_MS = 10000, RELAY_REGISTRATION_STALE_MS = 40000 };

struct relay_registration;

/* All are borrowed for the call, `auth` until relay_registration_stop(). */
struct relay_registration_facts {
    const char *cluster; /* the address by which the relay has the GCS or dashboard, or NULL */
    const char *const *addresses; /* from listener_address(): "127.0.0.1:4713", "0.0.0.0:4713",
                                   * "unix:PATH" */
    size_t address_count;
    bool tls;
    const char *fingerprint; /* of the certificate, or NULL */
    const struct auth *auth; /* the tokens that the entry proves to know, or NULL */
    const char *node_ip;     /* replaces 0.0.0.0 and ::; NULL: the host's name does */
};

/* `cluster` NULL: only the file. If the file or the store cannot be written, the log gets a warning
 * and the relay works without it. */
struct relay_registration *relay_registration_start(struct loop *loop, struct cluster *cluster,
                                                    const struct relay_registration_facts *facts);
/* Removes both. Runs the loop for at most half a second, so do not call it from a callback. The
 * cluster must still exist. */
void relay_registration_stop(struct relay_registration **registration);

/* --- for clients --- */

/* Owns its strings, "" or NULL where unknown. */
struct relay_registration_entry {
    char *id; /* from auth_relay_id(); the relay itself gives the same */
    char *cluster;
    char **addresses;
    size_t address_count;
    bool tls;
    char *fingerprint; /* or NULL */
    char *proofs[2];   /* with the driver's token, with the observer's; or NULL */
    char *host_name;
    char *machine; /* from proof_machine(): the loopback network of its addresses */
    char *version;
    int64_t pid;
    int64_t start_ticks; /* the process's start in /proc's ticks, because a pid can be reused */
    int64_t started_ms, refreshed_ms; /* ms since the epoch */
};

/* False if `json` is not a registration. */
bool relay_registration_parse(struct relay_registration_entry *out, const char *json, size_t len);
/* True if a relay that knows the token has written all of this entry. */
bool relay_registration_proves(const struct relay_registration_entry *entry, const char *token);
void relay_registration_entry_clear(struct relay_registration_entry *entry);
/* True if its loopback addresses are in this process's loopback network. */
bool relay_registration_is_here(const struct relay_registration_entry *entry);
/* True if its relay runs on this machine. */
bool relay_registration_lives(const struct relay_registration_entry *entry);

/* The newest entry of the state directory with a live relay, for the cluster with that address
 * (NULL: any; "": a relay without a cluster); false if there is none. Reads only files of this user
 * that no other user can write. */
bool relay_registration_find_local(struct relay_registration_entry *out, const char *cluster);

#endif
