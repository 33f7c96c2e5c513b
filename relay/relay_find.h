/* Which relay a client talks to: the one it was told of, one on this machine, one that the cluster
 * knows. */
#ifndef RAYDBG_RELAY_RELAY_FIND_H
#define RAYDBG_RELAY_RELAY_FIND_H

#include "relay/address.h"
#include "relay/loop.h"
#include "relay/relay_address.h"

#include <stdbool.h>

/* What the command line says; all may be NULL. Borrowed. */
struct relay_wish {
    bool wanted;         /* false: --no-relay */
    const char *address; /* --relay; else $RAYDBG_RELAY */
    const char *token_file, *ca, *fingerprint, *cert, *key;
};

enum relay_found {
    RELAY_NONE,
    RELAY_GIVEN, /* the user said so: there is no way round it */
    RELAY_FOUND, /* it has registered itself */
};

/* --relay > $RAYDBG_RELAY > a registration in the state directory, of a relay of the cluster with
 * that address (NULL: any). Asks nobody. -1 if what was given makes no sense. */
int relay_find_here(struct relay_address *out, enum relay_found *found,
                    const struct relay_wish *wish, const char *cluster, struct err *err);

/* A relay that the cluster at `cluster` knows and that may be reached from here. Turns the loop for
 * at most a second: not from a callback. False if there is none, or if the cluster does not
 * answer. */
bool relay_find_in_cluster(struct relay_address *out, struct loop *loop,
                           const struct relay_wish *wish, const struct address *cluster);

/* Whether it answers within `ms`. Turns the loop. */
bool relay_answers(const struct relay_address *relay, struct loop *loop, int64_t ms);

#endif
