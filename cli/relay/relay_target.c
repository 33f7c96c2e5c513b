/* `raydbg relay --target debugpy://HOST:PORT`: one adapter, without Ray. */
#include "cli/common/command_usage.h"
#include "cli/common/signals.h"
#include "cli/relay/relay_request.h"

#include "base/text.h"
#include "relay/server/tunnel.h"

#include <stdio.h>
#include <string.h>

struct serving {
    struct loop *loop;
    bool adapter_gone;
};

static void on_signal(void *arg)
{
    struct serving *serving = arg;
    loop_stop(serving->loop);
}

static void on_end(void *arg)
{
    struct serving *serving = arg;
    serving->adapter_gone = true;
    loop_stop(serving->loop);
}

static void serve(struct serving *serving, const struct tunnels *tunnels)
{
    const char *address;
    for (size_t i = 0; (address = tunnels_address(tunnels, i)); i++)
        fprintf(stderr, "raydbg relay listens on %s (one adapter)\n", address);
    fputs("ready\n", stderr);
    loop_run(serving->loop);
    if (serving->adapter_gone)
        fputs("raydbg: the adapter is gone\n", stderr);
}

int relay_target_serve(const struct relay_request *request)
{
    static const char scheme[] = "debugpy://";
    char host[256];
    uint16_t port;
    struct err err;
    if (!text_starts(request->target, scheme) ||
        !text_split_host_port(request->target + strlen(scheme), host, sizeof host, &port))
        return command_usage(request->text, "--target is debugpy://HOST:PORT, not '%s'",
                             request->target);
    struct serving serving = {.loop = loop_create_many(false, &err)};
    if (!serving.loop)
        return command_fail(&err);
    size_t count;
    struct tunnels_options options = {
        .loop = serving.loop,
        .addresses = relay_request_addresses(request, &count),
        .host = host,
        .port = port,
        .tune = request->tune,
        .max_connections = (size_t)request->sessions,
    };
    options.address_count = count;
    struct signals *signals = signals_start(serving.loop, on_signal, &serving);
    struct tunnels *tunnels = tunnels_create(&options, on_end, &serving, &err);
    int code = ERR_NONE;
    if (tunnels)
        serve(&serving, tunnels);
    else
        code = command_fail(&err);
    tunnels_destroy(&tunnels);
    signals_stop(&signals);
    loop_destroy(&serving.loop);
    return code;
}
