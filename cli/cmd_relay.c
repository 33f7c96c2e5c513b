#include "cli/command.h"
#include "cli/options.h"
#include "cli/quantity.h"
#include "cli/relay_request.h"

#include "base/text.h"

const char cmd_relay_synopsis[] = "relay [--listen HOST:PORT|unix:PATH]... [--address A] [--hold "
                                  "on-attach|on-pause|never] [OPTIONS]";

const char cmd_relay_details[] =
    "One door to every paused task of the cluster: DAP over TCP, WebSocket and HTTP on one port,\n"
    "with a token. It holds what it is attached to: clients come and go, the task stays stopped.\n"
    "\n"
    "  --listen HOST:PORT   where (127.0.0.1:4713 and [::1]:4713); unix:PATH; several times\n"
    "  --address A          the cluster: HOST:PORT of the GCS, or http://HOST:8265\n"
    "  --hold WHEN          on-attach: from a client's first attach on (the default); on-pause:\n"
    "                       every pause as it appears; never: a task goes on when its client "
    "leaves\n"
    "  --max-hold TIME      a pause that nobody touches for so long goes on: 90s, 15m, 2h\n"
    "  --token-file F       the drivers' token (else RAYDBG_TOKEN, else a file in the state\n"
    "                       directory, made at the first start); --token none: no token at all\n"
    "  --observer-token-file F   for those who may only look (else RAYDBG_OBSERVER_TOKEN)\n"
    "  --tls-cert F --tls-key F [--tls-client-ca F]   needed off loopback\n"
    "  --make-cert [HOST]... make a self-signed pair in the state directory, and end\n"
    "  --make-observer-token make the observers' token file there, and end\n"
    "  --allow-origin O, --allow-host H   more web origins, more names of this host\n"
    "  --max-sessions N, --max-per-address N, --max-body SIZE, --max-header SIZE\n"
    "                       limits (10000, 1000, 4M, 8K)\n"
    "  --audit-log F        who did what (audit.log in the state directory); none: no log\n"
    "  --name N             of this relay's state, for a second one of the same user\n"
    "  --upgrade            end the running relay of this name and take over what it holds\n"
    "  --kill               clients may end workers\n"
    "  --allow-connect      clients may name a debugger by HOST:PORT\n"
    "  --no-tune            leave TCP_NODELAY and TCP_QUICKACK as they are\n"
    "  --target debugpy://HOST:PORT   relay that one adapter, untouched, without Ray; with\n"
    "                       --token none\n"
    "\n"
    "The state directory is $XDG_STATE_HOME/raydbg (~/.local/state/raydbg). docs/relay.md tells "
    "all.\n"
    "\n"
    "  raydbg relay                                     # on the head node\n"
    "  raydbg relay --listen 10.0.0.5:4713 --tls-cert c.pem --tls-key k.pem --hold on-pause\n"
    "\n"
    "exit codes: 0 ended in order, 1 the port is taken or another failure, 2 wrong usage,\n"
    "            5 no cluster\n";

static const struct {
    const char *name;
    enum hub_hold hold;
} holds[] = {{"on-attach", HUB_ON_ATTACH}, {"on-pause", HUB_ON_PAUSE}, {"never", HUB_NEVER}};

static bool parse_hold(struct relay_request *request)
{
    for (size_t i = 0; i < sizeof holds / sizeof *holds; i++) {
        if (text_equal(request->hold, holds[i].name)) {
            request->hold_when = holds[i].hold;
            return true;
        }
    }
    return false;
}

static int check(struct relay_request *request)
{
    if (!parse_hold(request))
        return command_usage("relay", "--hold is on-attach, on-pause or never, not '%s'",
                             request->hold);
    if (request->max_hold && !quantity_duration(request->max_hold, &request->max_hold_ms))
        return command_usage("relay", "--max-hold is a time such as 90s, 15m or 2h, not '%s'",
                             request->max_hold);
    if (request->max_body && !quantity_size(request->max_body, &request->body))
        return command_usage("relay", "--max-body is a size such as 64K or 4M, not '%s'",
                             request->max_body);
    if (request->max_header && (!quantity_size(request->max_header, &request->header) ||
                                request->header < 256 || request->header > 8192))
        return command_usage("relay", "--max-header is a size from 256 to 8K, not '%s'",
                             request->max_header);
    if (request->max_sessions &&
        !text_to_int(request->max_sessions, 1, 1000000, &request->sessions))
        return command_usage("relay", "--max-sessions is a number, not '%s'",
                             request->max_sessions);
    if (request->max_per_address &&
        !text_to_int(request->max_per_address, 1, 1000000, &request->per_address))
        return command_usage("relay", "--max-per-address is a number, not '%s'",
                             request->max_per_address);
    if (request->token && !text_equal(request->token, "none"))
        return command_usage("relay", "--token takes only 'none': a token does not belong into a "
                                      "command line; use --token-file or RAYDBG_TOKEN");
    if (request->token && request->token_file)
        return command_usage("relay", "--token none and --token-file exclude each other");
    if (request->target && !request->token)
        return command_usage("relay", "--target passes everything untouched, so that it cannot ask "
                                      "for a token: say --token none, too");
    return ERR_NONE;
}

int cmd_relay(int argc, char **argv)
{
    struct relay_request request = {.hold = "on-attach", .tune = true, .name = "relay"};
    bool done = false;
    int operands;
    const struct option_spec specs[] = {
        {"listen", 'l', OPTION_LIST, NULL, request.listen},
        {"allow-origin", 0, OPTION_LIST, NULL, request.origins},
        {"allow-host", 0, OPTION_LIST, NULL, request.hosts},
        {"address", 'a', OPTION_STRING, NULL, &request.address},
        {"hold", 0, OPTION_STRING, NULL, &request.hold},
        {"max-hold", 0, OPTION_STRING, NULL, &request.max_hold},
        {"token", 0, OPTION_STRING, NULL, &request.token},
        {"token-file", 0, OPTION_STRING, NULL, &request.token_file},
        {"observer-token-file", 0, OPTION_STRING, NULL, &request.observer_token_file},
        {"tls-cert", 0, OPTION_STRING, NULL, &request.tls_cert},
        {"tls-key", 0, OPTION_STRING, NULL, &request.tls_key},
        {"tls-client-ca", 0, OPTION_STRING, NULL, &request.tls_client_ca},
        {"max-sessions", 0, OPTION_STRING, NULL, &request.max_sessions},
        {"max-per-address", 0, OPTION_STRING, NULL, &request.max_per_address},
        {"max-body", 0, OPTION_STRING, NULL, &request.max_body},
        {"max-header", 0, OPTION_STRING, NULL, &request.max_header},
        {"audit-log", 0, OPTION_STRING, NULL, &request.audit_log},
        {"name", 0, OPTION_STRING, NULL, &request.name},
        {"target", 0, OPTION_STRING, NULL, &request.target},
        {"make-cert", 0, OPTION_FLAG, &request.make_cert, NULL},
        {"make-observer-token", 0, OPTION_FLAG, &request.make_observer_token, NULL},
        {"upgrade", 0, OPTION_FLAG, &request.upgrade, NULL},
        {"kill", 0, OPTION_FLAG, &request.kill, NULL},
        {"allow-connect", 0, OPTION_FLAG, &request.allow_connect, NULL},
        {"no-tune", 0, OPTION_FLAG, &request.tune, NULL},
    };
    if (!options_parse("relay", specs, sizeof specs / sizeof *specs, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands && !request.make_cert)
        return command_usage("relay", "'%s' is no option", argv[1]);
    if (request.make_cert)
        return relay_make_cert((const char *const *)argv + 1, (size_t)operands);
    if (request.make_observer_token)
        return relay_make_observer_token();
    int code = check(&request);
    if (code != ERR_NONE)
        return code;
    return request.target ? relay_serve_target(&request) : relay_serve(&request);
}
