/* The parsed command line of `raydbg relay`, as cli/cmd_relay.c reads it. */
#ifndef RAYDBG_CLI_RELAY_RELAY_REQUEST_H
#define RAYDBG_CLI_RELAY_RELAY_REQUEST_H

#include "cli/common/command_text.h"
#include "cli/common/options.h"
#include "relay/hub/hub.h"

#include <stdbool.h>
#include <stdint.h>

struct relay_request {
    const struct command_text *text; /* of the command, for errors of usage */
    struct option_list listen, origins, hosts;
    const char *address, *hold, *max_hold, *token, *token_file, *observer_token_file;
    const char *tls_cert, *tls_key, *tls_client_ca;
    const char *max_sessions, *max_per_address, *max_body, *max_header;
    const char *audit_log, *name, *target, *until_idle;
    bool make_cert, make_observer_token, upgrade, kill, allow_connect, tune, registers;
    enum hub_hold hold_when;
    int64_t max_hold_ms, idle_ms, sessions, per_address, body, header;
};

/* Each returns the process's exit code. */
int relay_serve(const struct relay_request *request);
int relay_target_serve(const struct relay_request *request);
/* --make-cert, for the named hosts, and --make-observer-token. */
int relay_make_cert(const char *const *hosts, size_t count);
int relay_make_observer_token(void);

/* The addresses from --listen, or the defaults; `*n` of them. */
const char *const *relay_request_addresses(const struct relay_request *request, size_t *n);

#endif
