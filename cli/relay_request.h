/* What `raydbg relay` was asked for; for cmd_relay.c and the files that do it. */
#ifndef RAYDBG_CLI_RELAY_REQUEST_H
#define RAYDBG_CLI_RELAY_REQUEST_H

#include "cli/options.h"
#include "relay/hub.h"

#include <stdbool.h>
#include <stdint.h>

struct relay_request {
    const char *listen[OPTION_LIST_MAX + 1], *origins[OPTION_LIST_MAX + 1];
    const char *hosts[OPTION_LIST_MAX + 1];
    const char *address, *hold, *max_hold, *token, *token_file, *observer_token_file;
    const char *tls_cert, *tls_key, *tls_client_ca;
    const char *max_sessions, *max_per_address, *max_body, *max_header;
    const char *audit_log, *name, *target;
    bool make_cert, make_observer_token, upgrade, kill, allow_connect, tune;
    enum hub_hold hold_when;
    int64_t max_hold_ms, sessions, per_address, body, header;
};

/* Each returns the process's exit code. */
int relay_serve(const struct relay_request *request);
int relay_serve_target(const struct relay_request *request);
/* --make-cert, for the named hosts, and --make-observer-token. */
int relay_make_cert(const char *const *hosts, size_t count);
int relay_make_observer_token(void);

/* The default addresses if none was given; `*n` of them. */
const char *const *relay_request_addresses(const struct relay_request *request, size_t *n);

#endif
