/* Serves `raydbg relay`, without --target. */
#include "cli/common/command_usage.h"
#include "cli/common/signals.h"
#include "cli/relay/reaper.h"
#include "cli/relay/relay_request.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/access/certificate.h"
#include "relay/debuggee/closer.h"
#include "relay/locate/relay_registration.h"
#include "relay/port/tls_terminator.h"
#include "relay/server/relay.h"

#include <malloc.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum { KEEP_MS = 24 * 3600 * 1000 };

static void on_signal(void *arg)
{
    loop_stop(arg);
}

static void on_idle(void *arg)
{
    fputs("nothing is held and nobody is attached: it ends (--until-idle)\n", stderr);
    loop_stop(arg);
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
        fprintf(stderr,
                "cluster %s; raydbg list, attach and dap find this relay by themselves: on this "
                "machine now, on others once the cluster knows it\n",
                cluster_address(cluster)->text);
    size_t taken = relay_taken_over(relay);
    if (taken)
        fprintf(stderr, "took over %zu held pause%s of the relay before\n", taken,
                taken == 1 ? "" : "s");
    fputs("ready\n", stderr);
}

/* Registers the relay, so that clients find it. */
static struct relay_registration *register_relay(const struct relay *relay,
                                                 const struct relay_options *options,
                                                 struct cluster *cluster, bool in_cluster)
{
    enum { MOST = 16 }; /* as many as --listen takes */
    const char *addresses[MOST];
    char fingerprint[CERTIFICATE_FINGERPRINT_SIZE] = "";
    struct err err;
    struct relay_registration_facts facts = {
        .cluster = cluster ? cluster_address(cluster)->text : NULL,
        .addresses = addresses,
        .tls = options->listener.tls_cert != NULL,
        .auth = options->listener.auth,
    };
    while (facts.address_count < MOST &&
           (addresses[facts.address_count] = relay_address(relay, facts.address_count)))
        facts.address_count++;
    if (facts.tls && certificate_fingerprint(options->listener.tls_cert, fingerprint, &err) == 0)
        facts.fingerprint = fingerprint;
    return relay_registration_start(options->listener.loop, in_cluster ? cluster : NULL, &facts);
}

/* A relay that serves, and the cluster that it has, or gets from the first worker that dials. */
struct service {
    struct relay_options options;
    struct relay *relay;
    struct cluster *cluster;
    struct relay_registration *registration;
    struct timer *later; /* registers it again */
    bool registers;
};

static void register_again(void *arg)
{
    struct service *service = arg;
    service->later = NULL;
    /* Without a cluster there is only the file, so that this does not run the loop. */
    relay_registration_stop(&service->registration);
    service->registration =
        register_relay(service->relay, &service->options, service->cluster, service->registers);
}

static void on_cluster(void *arg, const char *text)
{
    struct service *service = arg;
    struct cluster_address address;
    struct err err;
    struct loop *loop = service->options.listener.loop;
    if (service->cluster || cluster_address_find(&address, text, &err) != 0)
        return;
    service->cluster = cluster_create(loop, &address, &err);
    if (!service->cluster)
        return;
    relay_set_cluster(service->relay, service->cluster);
    service->later = timer_start(loop, 0, register_again, service);
    fprintf(stderr, "a worker has dialled: the relay's cluster is %s\n", address.text);
}

static int serve(const struct relay_options *options, struct cluster **cluster, bool registers)
{
    struct err err;
    struct loop *loop = options->listener.loop;
    struct service service = {.options = *options, .cluster = *cluster, .registers = registers};
    service.options.on_cluster = on_cluster;
    service.options.cluster_arg = &service;
    struct signals *signals = signals_start(loop, on_signal, loop);
    struct reaper *reaper = reaper_start(loop);
    service.relay = relay_create(&service.options, &err);
    if (!service.relay) {
        reaper_stop(&reaper);
        signals_stop(&signals);
        return command_fail(&err);
    }
    service.registration = register_relay(service.relay, options, service.cluster, registers);
    say_ready(service.relay, options, service.cluster);
    loop_run(loop);
    timer_cancel(&service.later);
    relay_registration_stop(&service.registration);
    relay_destroy(&service.relay);
    *cluster = service.cluster;
    reaper_stop(&reaper);
    signals_stop(&signals);
    return ERR_NONE;
}

static bool has_ipv6(void)
{
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool has = fd >= 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0;
    if (fd >= 0)
        close(fd);
    return has;
}

const char *const *relay_request_addresses(const struct relay_request *request, size_t *n)
{
    static const char *const local[] = {"127.0.0.1:4713", "[::1]:4713"};
    if (request->listen.count) {
        *n = request->listen.count;
        return request->listen.items;
    }
    *n = has_ipv6() ? 2 : 1;
    return local;
}

static struct cluster *open_cluster(struct loop *loop, const struct relay_request *request,
                                    struct err *err)
{
    struct cluster_address address;
    if (cluster_address_find(&address, request->address, err) != 0)
        return NULL;
    return cluster_create(loop, &address, err);
}

/* Leaves the held pauses to the keeper at the relay's end, and tells the user. */
static void leave_keeper(struct keeper **keeper, const struct relay_request *request)
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

static struct listener_options listener_options_of(const struct relay_request *request,
                                                   struct loop *loop, const struct auth *auth,
                                                   struct tls_terminator *tls_terminator)
{
    struct listener_options options = {
        .loop = loop,
        .auth = auth,
        .tls_cert = request->tls_cert,
        .tls_key = request->tls_key,
        .tls_client_ca = request->tls_client_ca,
        .tls_terminator = tls_terminator,
        .origins = request->origins.items,
        .origin_count = request->origins.count,
        .hosts = request->hosts.items,
        .host_count = request->hosts.count,
        .max_connections = (size_t)request->sessions,
        .max_per_address = (size_t)request->per_address,
        .max_body = (size_t)request->body,
        .max_header = (size_t)request->header,
    };
    options.addresses = relay_request_addresses(request, &options.address_count);
    return options;
}

/* Processes that outlive the relay, and are forked before any thread is started. */
struct helpers {
    struct keeper *keeper;
    struct tls_terminator *tls_terminator; /* or NULL */
};

static int run(const struct relay_request *request, const struct auth *auth,
               const struct helpers *helpers)
{
    struct err err;
    struct loop *loop = loop_create_many(true, &err);
    if (!loop)
        return command_fail(&err);
    struct cluster *cluster = open_cluster(loop, request, &err);
    if (!cluster && (request->address || !request->allow_connect)) {
        loop_destroy(&loop);
        return command_fail(&err);
    }
    struct relay_options options = {
        .listener = listener_options_of(request, loop, auth, helpers->tls_terminator),
        .cluster = cluster,
        .keeper = helpers->keeper,
        .hold = request->hold_when,
        .max_hold_ms = request->max_hold_ms,
        .tune = request->tune,
        .kill = request->kill,
        .allow_connect = request->allow_connect,
        .idle_ms = request->idle_ms,
        .on_idle = on_idle,
        .idle_arg = loop,
    };
    char *log = request->audit_log ? NULL : auth_state_path("audit.log");
    options.audit_log = request->audit_log ? request->audit_log : log;
    char *name = mem_format("breakpoints-%s.json", request->name);
    char *breakpoints = auth_state_path(name);
    options.breakpoints_file = breakpoints;
    int code = serve(&options, &cluster, request->registers);
    free(breakpoints);
    free(name);
    free(log);
    cluster_destroy(&cluster);
    loop_destroy(&loop);
    return code;
}

/* Call before anything starts a thread. */
static int start_keeper(const struct relay_request *request, struct keeper **keeper,
                        struct err *err)
{
    if (auth_make_state_directory(err) != 0)
        return -1;
    if (request->hold_when == HUB_NEVER)
        return 0;
    char *name = mem_format("keeper-%s.sock", request->name);
    char *path = auth_state_path(name);
    *keeper = keeper_start(path, request->max_hold_ms ? request->max_hold_ms : KEEP_MS,
                           request->upgrade, err);
    free(path);
    free(name);
    return *keeper ? 0 : -1;
}

/* The same. Where clients must show a certificate, nothing is accepted of a process that has none,
 * and agents have none. A certificate that cannot be used is the listener's to report. */
static struct tls_terminator *start_tls_terminator(const struct relay_request *request)
{
    struct err err;
    bool wanted = request->tls_cert && request->tls_key && !request->tls_client_ca;
    struct tls_terminator *terminator =
        wanted ? tls_terminator_start(request->tls_cert, request->tls_key, &err) : NULL;
    if (wanted && !terminator)
        log_warn("agents cannot dial this relay: %s", err.what);
    return terminator;
}

/* Returns a burst's memory to the system. Without fixed thresholds, glibc raises them with each
 * large block that is freed, and keeps the memory below a block that stays. */
static void return_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, 128 * 1024);
    mallopt(M_TRIM_THRESHOLD, 256 * 1024);
}

int relay_serve(const struct relay_request *request)
{
    return_memory();
    struct err err;
    struct auth_options options = {request->token_file, request->observer_token_file};
    struct auth *auth = request->token ? auth_create_open() : auth_create(&options, &err);
    if (!auth)
        return command_fail(&err);
    closer_start();
    struct helpers helpers = {0};
    int code = ERR_NONE;
    if (start_keeper(request, &helpers.keeper, &err) == 0) {
        helpers.tls_terminator = start_tls_terminator(request);
        code = run(request, auth, &helpers);
    } else {
        code = command_fail(&err);
    }
    tls_terminator_stop(&helpers.tls_terminator);
    leave_keeper(&helpers.keeper, request);
    auth_destroy(&auth);
    return code;
}
