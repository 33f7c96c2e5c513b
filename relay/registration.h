/* A relay tells where it is: in the cluster's key-value store (namespace "raydbg", key
 * "relay:<id>") for everybody, and in a file of the state directory for its own user's clients on
 * this machine, who need not ask the cluster then. Both hold the same JSON. */
#ifndef RAYDBG_RELAY_REGISTRATION_H
#define RAYDBG_RELAY_REGISTRATION_H

#include "base/buf.h"
#include "relay/auth.h"
#include "relay/cluster.h"
#include "relay/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REGISTRATION_SPACE "raydbg"
#define REGISTRATION_PREFIX "relay:"

enum { REGISTRATION_REFRESH_MS = 10000, REGISTRATION_STALE_MS = 40000 };

struct registration;

/* All borrowed for the call. */
struct registration_facts {
    const char *cluster; /* the GCS's or dashboard's address as the relay has it, or NULL */
    const char *const *addresses; /* listener_address()'s: "127.0.0.1:4713", "0.0.0.0:4713",
                                     "unix:PATH" */
    size_t address_count;
    bool tls;
    const char *fingerprint; /* of the certificate, or NULL */
    const struct auth *auth; /* whose tokens the entry proves to know, or NULL */
    const char *node_ip;     /* what takes the place of 0.0.0.0 and ::, or NULL: the host's name */
};

/* `cluster` NULL: the file alone. A file or a store that cannot be written is a warning in the log:
 * the relay works without. */
struct registration *registration_start(struct loop *loop, struct cluster *cluster,
                                        const struct registration_facts *facts);
/* Removes both; turns the loop, for at most half a second: not from a callback. The cluster must
 * still be there. */
void registration_stop(struct registration **registration);

/* --- for clients --- */

/* Strings are owned, "" or NULL where unknown. */
struct registration_entry {
    char *cluster;
    char **addresses;
    size_t address_count;
    bool tls;
    char *fingerprint; /* or NULL */
    char *proofs[2];   /* with the driver's token, with the observer's; or NULL */
    char *host_name;
    char *version;
    int64_t pid;
    int64_t start_ticks; /* the process's start, in /proc's count: a pid can be used again */
    int64_t started_ms, refreshed_ms; /* epoch */
};

/* False if it is no registration. */
bool registration_parse(struct registration_entry *out, const char *json, size_t len);
/* Whether who wrote the entry knows the token: whoever can write into the cluster's store could
 * else have clients show their token to an address of its choice. */
bool registration_proves(const struct registration_entry *entry, const char *token);
void registration_entry_clear(struct registration_entry *entry);
/* Whether its relay runs on this machine; false for one of another machine. */
bool registration_lives(const struct registration_entry *entry);

/* The newest entry of the state directory whose relay lives, for the cluster of that address (NULL:
 * any); false if there is none. Only files of this user that nobody else can write count. */
bool registration_find_local(struct registration_entry *out, const char *cluster);

#endif
