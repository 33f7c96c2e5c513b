#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/quantity.h"
#include "cli/relay/relay_request.h"

#include "base/text.h"
#include "relay/io/loop.h"

#include <stddef.h>
#include <stdlib.h>

static const struct option_row option_rows[] = {
    {"listen", 'l', OPTION_LIST, offsetof(struct relay_request, listen), .most = 16,
     .value = "HOST:PORT",
     .help = "where: 127.0.0.1:4713 and [::1]:4713 unless given; unix:PATH; several times"},
    {"address", 'a', OPTION_STRING, offsetof(struct relay_request, address), .value = "ADDRESS",
     .help = "the cluster: HOST:PORT of the GCS, or http://HOST:8265"},
    {"hold", 0, OPTION_STRING, offsetof(struct relay_request, hold), .value = "WHEN",
     .words = "on-attach on-pause on-loss never",
     .help = "on-attach: from a client's first attach on (the default); on-pause: every pause as "
             "it appears; on-loss: a client's goodbye lets the task go on, a client that is lost "
             "leaves it stopped; never: a task goes on when its client leaves"},
    {"max-hold", 0, OPTION_STRING, offsetof(struct relay_request, max_hold), .value = "TIME",
     .samples = "15m 2h", .help = "a pause that nobody touches for so long goes on: 90s, 15m, 2h"},
    {"until-idle", 0, OPTION_STRING, offsetof(struct relay_request, until_idle), .value = "TIME",
     .samples = "10s 5m", .help = "end when for so long nothing was held and no client was there"},
    {"token-file", 0, OPTION_STRING, offsetof(struct relay_request, token_file), .value = "F",
     .word = WORD_FILE,
     .help = "the drivers' token (else RAYDBG_TOKEN, else a file in the state directory, made at "
             "the first start)"},
    {"token", 0, OPTION_STRING, offsetof(struct relay_request, token), .value = "none",
     .samples = "none", .help = "no token at all: the only value is none"},
    {"observer-token-file", 0, OPTION_STRING, offsetof(struct relay_request, observer_token_file),
     .value = "F", .word = WORD_FILE,
     .help = "the token of those who may only look (else RAYDBG_OBSERVER_TOKEN)"},
    {"tls-cert", 0, OPTION_STRING, offsetof(struct relay_request, tls_cert), .value = "F",
     .word = WORD_FILE, .help = "the certificate; TLS is needed off loopback"},
    {"tls-key", 0, OPTION_STRING, offsetof(struct relay_request, tls_key), .value = "F",
     .word = WORD_FILE, .help = "its key"},
    {"tls-client-ca", 0, OPTION_STRING, offsetof(struct relay_request, tls_client_ca), .value = "F",
     .word = WORD_FILE, .help = "the CA whose certificates clients have to show"},
    {"make-cert", 0, OPTION_FLAG, offsetof(struct relay_request, make_cert),
     .help = "make a self-signed pair for each HOST in the state directory, and end"},
    {"make-observer-token", 0, OPTION_FLAG, offsetof(struct relay_request, make_observer_token),
     .help = "make the observers' token file there, and end"},
    {"allow-origin", 0, OPTION_LIST, offsetof(struct relay_request, origins), .most = 16,
     .value = "O", .help = "one more web origin that may connect; may be repeated"},
    {"allow-host", 0, OPTION_LIST, offsetof(struct relay_request, hosts), .most = 16, .value = "H",
     .help = "one more name of this host; may be repeated"},
    {"max-sessions", 0, OPTION_STRING, offsetof(struct relay_request, max_sessions), .value = "N",
     .help = "sessions at most (10000)"},
    {"max-per-address", 0, OPTION_STRING, offsetof(struct relay_request, max_per_address),
     .value = "N", .help = "connections from one address at most (1000)"},
    {"max-body", 0, OPTION_STRING, offsetof(struct relay_request, max_body), .value = "SIZE",
     .help = "the largest body of a message from a client (4M)"},
    {"max-header", 0, OPTION_STRING, offsetof(struct relay_request, max_header), .value = "SIZE",
     .help = "the largest header of a message from a client (8K)"},
    {"audit-log", 0, OPTION_STRING, offsetof(struct relay_request, audit_log), .value = "F",
     .word = WORD_FILE, .help = "who did what (audit.log in the state directory); none: no log"},
    {"no-register", 0, OPTION_FLAG, offsetof(struct relay_request, registers),
     .help = "do not tell the cluster where the relay is: its own user's clients on this machine "
             "find it, others have to name it"},
    {"name", 0, OPTION_STRING, offsetof(struct relay_request, name), .value = "N",
     .help = "of this relay's state, for a second one of the same user"},
    {"upgrade", 0, OPTION_FLAG, offsetof(struct relay_request, upgrade),
     .help = "end the running relay of this name and take over what it holds"},
    {"kill", 0, OPTION_FLAG, offsetof(struct relay_request, kill),
     .help = "clients may end workers"},
    {"allow-connect", 0, OPTION_FLAG, offsetof(struct relay_request, allow_connect),
     .help = "clients may name a debugger by HOST:PORT"},
    {"no-tune", 0, OPTION_FLAG, offsetof(struct relay_request, tune),
     .help = "leave TCP_NODELAY and TCP_QUICKACK as they are"},
    {"target", 0, OPTION_STRING, offsetof(struct relay_request, target),
     .value = "debugpy://HOST:PORT",
     .help = "relay that one adapter, untouched, without Ray; with --token none"},
};

const struct command_text cmd_relay_text = {
    .name = "relay",
    .summary = "hold the cluster's pauses behind one port, for many clients",
    .synopsis = "relay [--listen HOST:PORT|unix:PATH]... [--address A]\n"
                "             [--hold on-attach|on-pause|on-loss|never] [OPTIONS]\n"
                "       raydbg relay --make-cert [HOST]... | --make-observer-token",
    .intro = "Makes every paused task of the cluster reachable: DAP over TCP, WebSocket, HTTP on "
             "one port, with a token. It holds what it is attached to: clients come and go, the "
             "task stays stopped.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .notes = "The state directory is $XDG_STATE_HOME/raydbg (~/.local/state/raydbg). docs/relay.md "
             "tells all.",
    .examples = "  raydbg relay                                     # on the head node\n"
                "  raydbg relay --listen 10.0.0.5:4713 --tls-cert c.pem --tls-key k.pem --hold "
                "on-pause",
    .exits = "0 ended in order, 1 the port is taken or another failure, 2 wrong usage, 5 no "
             "cluster",
};

static const struct {
    const char *name;
    enum hub_hold hold;
} holds[] = {{"on-attach", HUB_ON_ATTACH},
             {"on-pause", HUB_ON_PAUSE},
             {"on-loss", HUB_ON_LOSS},
             {"never", HUB_NEVER}};

static enum hub_hold hold_of(const char *name)
{
    size_t i = 0;
    while (!text_equal(name, holds[i].name))
        i++;
    return holds[i].hold;
}

static int check(struct relay_request *request)
{
    if (request->max_hold && !quantity_duration(request->max_hold, &request->max_hold_ms))
        return command_usage(&cmd_relay_text,
                             "--max-hold is a time such as 90s, 15m or 2h, not '%s'",
                             request->max_hold);
    if (request->until_idle &&
        (!quantity_duration(request->until_idle, &request->idle_ms) || !request->idle_ms))
        return command_usage(&cmd_relay_text, "--until-idle is a time such as 10s or 5m, not '%s'",
                             request->until_idle);
    if (request->max_body && !quantity_size(request->max_body, &request->body))
        return command_usage(&cmd_relay_text, "--max-body is a size such as 64K or 4M, not '%s'",
                             request->max_body);
    if (request->max_header && (!quantity_size(request->max_header, &request->header) ||
                                request->header < 256 || request->header > 8192))
        return command_usage(&cmd_relay_text, "--max-header is a size from 256 to 8K, not '%s'",
                             request->max_header);
    if (request->max_sessions &&
        !text_to_int(request->max_sessions, 1, 1000000, &request->sessions))
        return command_usage(&cmd_relay_text, "--max-sessions is a number, not '%s'",
                             request->max_sessions);
    if (request->max_per_address &&
        !text_to_int(request->max_per_address, 1, 1000000, &request->per_address))
        return command_usage(&cmd_relay_text, "--max-per-address is a number, not '%s'",
                             request->max_per_address);
    if (request->token && !text_equal(request->token, "none"))
        return command_usage(&cmd_relay_text,
                             "--token takes only 'none': a token does not belong into a "
                             "command line; use --token-file or RAYDBG_TOKEN");
    if (request->token && request->token_file)
        return command_usage(&cmd_relay_text, "--token none and --token-file exclude each other");
    if (request->target && !request->token)
        return command_usage(&cmd_relay_text,
                             "--target passes everything untouched, so that it cannot ask "
                             "for a token: say --token none, too");
    return ERR_NONE;
}

static int run(struct relay_request *request, int operands, char **argv)
{
    if (operands && !request->make_cert)
        return command_usage(&cmd_relay_text, "'%s' is no option", argv[1]);
    if (request->make_cert)
        return relay_make_cert((const char *const *)argv + 1, (size_t)operands);
    if (request->make_observer_token)
        return relay_make_observer_token();
    int code = check(request);
    if (code != ERR_NONE)
        return code;
    request->hold_when = hold_of(request->hold);
    loop_raise_fd_limit();
    return request->target ? relay_target_serve(request) : relay_serve(request);
}

int cmd_relay(int argc, char **argv)
{
    struct relay_request request = {.text = &cmd_relay_text,
                                    .hold = "on-attach",
                                    .tune = true,
                                    .registers = true,
                                    .name = "relay"};
    bool done = false;
    int operands, code = ERR_USAGE;
    if (options_parse(&cmd_relay_text, &request, argc, argv, &operands, &done))
        code = done ? ERR_NONE : run(&request, operands, argv);
    free(request.listen.items);
    free(request.origins.items);
    free(request.hosts.items);
    return code;
}
