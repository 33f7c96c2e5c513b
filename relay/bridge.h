/* A connection to a relay's WebSocket /dap, ws:// or wss:// or over a unix socket: DAP messages in
 * and out. What `raydbg dap` and `raydbg attach` use when there is a relay. Everything runs on the
 * loop's thread. */
#ifndef RAYDBG_RELAY_BRIDGE_H
#define RAYDBG_RELAY_BRIDGE_H

#include "base/err.h"
#include "relay/loop.h"

#include <stdbool.h>
#include <stddef.h>

struct bridge;

/* Where a relay is, and how to trust it. Strings are owned. */
struct relay_address {
    char *host; /* no brackets; or the path of a unix socket */
    unsigned short port;
    bool is_unix;
    bool tls;
    char *token;       /* or NULL */
    char *ca;          /* PEM file for TLS, or NULL: the system's */
    char *fingerprint; /* "SHA256:…" of the certificate to pin, or NULL */
    char *cert, *key;  /* PEM files for mutual TLS, or NULL */
};

/* "HOST:PORT" (TLS unless HOST is loopback), "http://…", "https://…", "unix:PATH"; fills the place
 * only. */
int relay_address_parse(struct relay_address *out, const char *text, struct err *err);
void relay_address_clear(struct relay_address *address);
/* "https://10.0.0.5:4713", for messages; the caller frees. */
char *relay_address_text(const struct relay_address *address);

struct bridge_ops {
    void (*on_open)(void *arg); /* the relay has let us in */
    void (*on_message)(void *arg, const char *json, size_t len);
    /* Refused, unreachable or over; `err` NULL for an orderly end. Once; nothing follows. */
    void (*on_close)(void *arg, const struct err *err);
};

/* `address` is copied. Callbacks never run from within. */
struct bridge *bridge_open(struct loop *loop, const struct relay_address *address,
                           const struct bridge_ops *ops, void *arg);
/* Messages sent before on_open are queued. */
void bridge_send(struct bridge *bridge, const char *json, size_t len);
/* Closes once what is queued has left (at most 2 s are spent, turning the loop is not needed: it is
 * done in the background); no callback runs after. */
void bridge_destroy(struct bridge **bridge);

#endif
