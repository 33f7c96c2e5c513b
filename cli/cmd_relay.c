#include "cli/command.h"
#include "cli/options.h"
#include "cli/quantity.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/relay.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

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
    "  --make-cert          make a self-signed pair in the state directory, and end\n"
    "  --allow-origin O, --allow-host H   more web origins, more names of this host\n"
    "  --max-sessions N, --max-per-address N, --max-body SIZE   limits (10000, 1000, 4M)\n"
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

/* What the command line says. */
struct request {
    const char *listen[OPTION_LIST_MAX + 1], *origins[OPTION_LIST_MAX + 1];
    const char *hosts[OPTION_LIST_MAX + 1];
    const char *address, *hold, *max_hold, *token, *token_file, *observer_token_file;
    const char *tls_cert, *tls_key, *tls_client_ca;
    const char *max_sessions, *max_per_address, *max_body;
    const char *audit_log, *name, *target;
    bool make_cert, make_observer_token, upgrade, kill, allow_connect, tune;
    enum hub_hold hold_when;
    int64_t max_hold_ms, sessions, per_address, body;
};

static const struct {
    const char *name;
    enum hub_hold hold;
} holds[] = {{"on-attach", HUB_ON_ATTACH}, {"on-pause", HUB_ON_PAUSE}, {"never", HUB_NEVER}};

static bool parse_hold(struct request *request)
{
    for (size_t i = 0; i < sizeof holds / sizeof *holds; i++) {
        if (text_equal(request->hold, holds[i].name)) {
            request->hold_when = holds[i].hold;
            return true;
        }
    }
    return false;
}

static int check(struct request *request)
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
    return ERR_NONE;
}

enum { KEEP_MS = 24 * 3600 * 1000 };

struct running {
    struct loop *loop;
    bool hurried; /* a second signal */
};

static void on_signal(void *arg)
{
    struct running *running = arg;
    loop_stop(running->loop);
}

static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static const char *protocols(const struct listener_options *options)
{
    return options->tls_cert ? "WebSocket and HTTP over TLS" : "DAP, WebSocket, HTTP";
}

static void say_ready(const struct relay *relay, const struct relay_options *options,
                      const struct cluster *cluster)
{
    const char *address;
    for (size_t i = 0; (address = relay_address(relay, i)); i++)
        fprintf(stderr, "raydbg relay listens on %s (%s)\n", address,
                protocols(&options->listener));
    if (cluster)
        fprintf(stderr, "cluster %s; raydbg list, attach and dap find this relay by themselves\n",
                cluster_address(cluster)->text);
    size_t taken = relay_taken_over(relay);
    if (taken)
        fprintf(stderr, "took over %zu held pause%s of the relay before\n", taken,
                taken == 1 ? "" : "s");
    fputs("ready\n", stderr);
}

static int serve(const struct relay_options *options, struct cluster *cluster)
{
    struct err err;
    struct running running = {.loop = options->listener.loop};
    int signals = open_signals();
    struct relay *relay = relay_create(options, &err);
    if (!relay) {
        close(signals);
        return command_fail(&err);
    }
    struct watch *watch = watch_start(running.loop, signals, on_signal, &running);
    say_ready(relay, options, cluster);
    loop_run(running.loop);
    watch_stop(&watch);
    close(signals);
    relay_destroy(&relay);
    return ERR_NONE;
}

static size_t count(const char *const *list)
{
    size_t n = 0;
    while (list[n])
        n++;
    return n;
}

static struct cluster *open_cluster(struct loop *loop, const struct request *request,
                                    struct err *err)
{
    struct address address;
    if (address_find(&address, request->address, err) != 0)
        return NULL;
    return cluster_create(loop, &address, err);
}

/* What happens to the held pauses now that the relay ends. */
static void leave_keeper(struct keeper **keeper, const struct request *request)
{
    int pid = *keeper ? keeper_pid(*keeper) : 0;
    size_t held = *keeper ? keeper_leave(keeper) : 0;
    if (held)
        fprintf(stderr,
                "%zu %s: process %d keeps the connection%s for %s\n"
                "  raydbg relay takes over again; to let them go, end that process\n",
                held, held == 1 ? "task stays held" : "tasks stay held", pid, held == 1 ? "" : "s",
                request->max_hold ? request->max_hold : "24 h");
}

static int run(const struct request *request, const struct auth *auth, struct keeper *keeper)
{
    static const char *const local[] = {"127.0.0.1:4713", "[::1]:4713"};
    struct err err;
    struct loop *loop = loop_create(true, &err);
    if (!loop)
        return command_fail(&err);
    struct cluster *cluster = open_cluster(loop, request, &err);
    if (!cluster && (request->address || !request->allow_connect)) {
        loop_destroy(&loop);
        return command_fail(&err);
    }
    struct relay_options options = {
        .listener =
            {
                .loop = loop,
                .auth = auth,
                .addresses = request->listen[0] ? request->listen : local,
                .address_count = request->listen[0] ? count(request->listen) : 2,
                .tls_cert = request->tls_cert,
                .tls_key = request->tls_key,
                .tls_client_ca = request->tls_client_ca,
                .origins = request->origins,
                .origin_count = count(request->origins),
                .hosts = request->hosts,
                .host_count = count(request->hosts),
                .max_connections = (size_t)request->sessions,
                .max_per_address = (size_t)request->per_address,
                .max_body = (size_t)request->body,
            },
        .cluster = cluster,
        .keeper = keeper,
        .hold = request->hold_when,
        .max_hold_ms = request->max_hold_ms,
        .tune = request->tune,
        .kill = request->kill,
        .allow_connect = request->allow_connect,
    };
    int code = serve(&options, cluster);
    cluster_destroy(&cluster);
    loop_destroy(&loop);
    return code;
}

/* Before anything that starts a thread. */
static int start_keeper(const struct request *request, struct keeper **keeper, struct err *err)
{
    if (request->hold_when == HUB_NEVER)
        return 0;
    if (auth_make_state_directory(err) != 0)
        return -1;
    char *name = mem_format("keeper-%s.sock", request->name);
    char *path = auth_state_path(name);
    *keeper = keeper_start(path, request->max_hold_ms ? request->max_hold_ms : KEEP_MS,
                           request->upgrade, err);
    free(path);
    free(name);
    return *keeper ? 0 : -1;
}

static int start(struct request *request)
{
    struct err err;
    struct auth_options options = {request->token_file, request->observer_token_file};
    struct auth *auth = request->token ? auth_create_open() : auth_create(&options, &err);
    if (!auth)
        return command_fail(&err);
    struct keeper *keeper = NULL;
    int code =
        start_keeper(request, &keeper, &err) == 0 ? run(request, auth, keeper) : command_fail(&err);
    leave_keeper(&keeper, request);
    auth_destroy(&auth);
    return code;
}

int cmd_relay(int argc, char **argv)
{
    struct request request = {.hold = "on-attach", .tune = true, .name = "relay"};
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
    int code = check(&request);
    return code == ERR_NONE ? start(&request) : code;
}
