/* Finds the relay that a client talks to: the one that the user names, one on this machine, or one
 * that the cluster knows. */
#ifndef RAYDBG_RELAY_LOCATE_RELAY_FIND_H
#define RAYDBG_RELAY_LOCATE_RELAY_FIND_H

#include "relay/cluster/cluster_address.h"
#include "relay/io/loop.h"
#include "relay/locate/relay_address.h"

#include <stdbool.h>

/* The command line's options; all may be NULL. Borrowed. */
struct relay_wish {
    bool wanted;         /* false: --no-relay */
    const char *address; /* --relay; else $RAYDBG_RELAY */
    const char *token_file, *ca, *fingerprint, *cert, *key;
};

enum relay_found {
    RELAY_NONE,
    RELAY_GIVEN, /* the user named it: there is no alternative */
    RELAY_FOUND, /* it has registered itself */
};

/* The address that the user gave, by --relay or $RAYDBG_RELAY; NULL if none, or with --no-relay. */
const char *relay_find_given(const struct relay_wish *wish);

/* Order: --relay > $RAYDBG_RELAY > a registration in the state directory, of a relay of the cluster
 * with that address (NULL: any). Sends nothing. Returns -1 if the given address or options are
 * invalid. */
int relay_find_here(struct relay_address *out, enum relay_found *found,
                    const struct relay_wish *wish, const char *cluster, struct err *err);

/* Finds a relay that the cluster at `cluster` knows and that may be reached from here. Runs the
 * loop for at most a second, so do not call it from a callback. False if there is none, or if the
 * cluster does not answer. */
bool relay_find_in_cluster(struct relay_address *out, struct loop *loop,
                           const struct relay_wish *wish, const struct cluster_address *cluster);

/* Returns 0 if the relay answers within `ms`, and as one that knows this client's token if it has
 * one; else -1. Runs the loop. */
int relay_answers(const struct relay_address *relay, struct loop *loop, int64_t ms,
                  struct err *err);

#endif
