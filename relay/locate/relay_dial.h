/* Where the processes of `raydbg run` dial a relay: its loopback port, or, if it listens with TLS,
 * what it says itself (docs/relay.md, GET /v1/breakpoints). */
#ifndef RAYDBG_RELAY_LOCATE_RELAY_DIAL_H
#define RAYDBG_RELAY_LOCATE_RELAY_DIAL_H

#include "base/err.h"
#include "proto/trust.h"
#include "relay/locate/relay_address.h"

#include <stdbool.h>
#include <stddef.h>

struct relay_dial {
    char host[256];
    unsigned short port;
    char fingerprint[TRUST_FINGERPRINT_ROOM]; /* of its certificate; "": without TLS */
};

/* -1 with `err` if the processes would have no key: the relay has no token that is known here. */
int relay_dial_check(const struct relay_address *relay, struct err *err);
/* True if the relay must be asked: RELAY_DIAL_LOOK, so that it knows its cluster, then
 * RELAY_DIAL_PATH. */
bool relay_dial_is_asked(const struct relay_address *relay);
#define RELAY_DIAL_LOOK "/v1/pauses"
#define RELAY_DIAL_PATH "/v1/breakpoints"
/* `json` is the relay's answer to RELAY_DIAL_PATH, or NULL if it need not be asked. -1 with `err`
 * if agents cannot dial this relay. */
int relay_dial_read(struct relay_dial *out, const struct relay_address *relay, const char *json,
                    size_t len, struct err *err);

#endif
