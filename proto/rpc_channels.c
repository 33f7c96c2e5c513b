#include "proto/rpc_channels.h"

#include "base/hash.h"
#include "base/mem.h"
#include "proto/rpc_target.h"

#include <grpc/grpc_security.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_METADATA = 64 << 10, /* bytes; has an error's text; grpc's default is 8 KiB */
    /* After so many missed deadlines in a row a connection is closed. Otherwise calls to a peer
     * that vanished without a FIN would wait until TCP gives up, after a quarter of an hour. */
    DEADLINES_TO_RECONNECT = 2,
};

struct rpc_channel *rpc_channels_get(struct rpc_channels *all, const char *host_port)
{
    uint64_t hash = hash_text(host_port, 0);
    size_t cursor = 0;
    uintptr_t known;
    while (hash_index_next(&all->addresses, hash, &cursor, &known))
        if (strcmp(((struct rpc_channel *)known)->address, host_port) == 0)
            return (struct rpc_channel *)known;
    struct rpc_channel *channel = mem_alloc(sizeof *channel);
    hash_index_add(&all->addresses, hash, (uintptr_t)channel);
    channel->all = all;
    channel->address = mem_string(host_port);
    channel->next = all->first;
    all->first = channel;
    return channel;
}

/* --- open channels --- */

static void unlink_open(struct rpc_channel *channel)
{
    struct rpc_channels *all = channel->all;
    *(channel->older ? &channel->older->newer : &all->oldest) = channel->newer;
    *(channel->newer ? &channel->newer->older : &all->newest) = channel->older;
    channel->older = channel->newer = NULL;
    all->open--;
}

static void link_newest(struct rpc_channel *channel)
{
    struct rpc_channels *all = channel->all;
    channel->older = all->newest;
    *(all->newest ? &all->newest->newer : &all->oldest) = channel;
    all->newest = channel;
    all->open++;
}

static void channel_close(struct rpc_channel *channel)
{
    unlink_open(channel);
    grpc_channel_destroy(channel->channel);
    channel->channel = NULL;
    channel->deadlines = 0;
}

void rpc_channels_trim(struct rpc_channels *all)
{
    for (struct rpc_channel *at = all->oldest, *newer; at && all->open > RPC_CONNECTIONS;
         at = newer) {
        newer = at->newer;
        if (!at->calls)
            channel_close(at);
    }
}

static grpc_channel_credentials *secrets_of(const struct credentials *credentials)
{
    if (!credentials || !credentials->use_tls)
        return grpc_insecure_credentials_create();
    grpc_ssl_pem_key_cert_pair pair = {credentials->tls_key, credentials->tls_cert};
    return grpc_ssl_credentials_create(credentials->tls_ca, &pair, NULL, NULL);
}

static grpc_arg int_arg(const char *key, int value)
{
    return (grpc_arg){
        .type = GRPC_ARG_INTEGER, .key = (char *)(uintptr_t)key, .value.integer = value};
}

/* Leaves the channel closed if its address is not valid. */
static void connect_to(struct rpc_channel *channel)
{
    struct rpc_channels *all = channel->all;
    char *target = rpc_target(channel->address);
    if (!target)
        return;
    grpc_arg args[] = {
        int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, (int)all->options->max_reply),
        int_arg(GRPC_ARG_MAX_METADATA_SIZE, MAX_METADATA),
        /* Ray's own clients ignore http_proxy as well: a cluster is not behind one. */
        int_arg(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
        int_arg(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1),
        /* Gives a channel that is opened again a new connection. */
        int_arg(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
    };
    grpc_channel_args options = {sizeof args / sizeof *args, args};
    if (!all->secrets)
        all->secrets = secrets_of(all->options->credentials);
    channel->channel = grpc_channel_create(target, all->secrets, &options);
    free(target);
    if (!channel->channel)
        return;
    channel->epoch = (struct rpc_epoch){.connection = channel->epoch.connection + 1};
    link_newest(channel);
}

bool rpc_channel_open(struct rpc_channel *channel)
{
    if (!channel->channel)
        connect_to(channel);
    if (!channel->channel)
        return false;
    unlink_open(channel);
    link_newest(channel);
    return true;
}

/* Closes a connection that failed; the next call opens a new one. A call therefore never waits for
 * grpc's backoff (a caller that polls has its own), and a worker that is gone leaves only an
 * address behind. */
void rpc_channel_judge(struct rpc_channel *channel, const struct rpc_epoch *sent,
                       grpc_status_code status)
{
    bool late = status == GRPC_STATUS_DEADLINE_EXCEEDED;
    bool lost = status == GRPC_STATUS_UNAVAILABLE;
    struct rpc_epoch *now = &channel->epoch;
    if (!channel->channel || sent->connection != now->connection) {
        /* Any other status may be grpc's own, because we have closed the connection. */
        channel->answered |= status == GRPC_STATUS_OK;
        return;
    }
    if (!late) {
        channel->deadlines = 0;
    } else if (sent->misses == now->misses) {
        now->misses++;
        channel->deadlines++;
    }
    if (!late && !lost && status != GRPC_STATUS_CANCELLED)
        channel->answered = true;
    if (lost || channel->deadlines >= DEADLINES_TO_RECONNECT)
        channel_close(channel);
}

void rpc_channels_clear(struct rpc_channels *all)
{
    while (all->first) {
        struct rpc_channel *channel = all->first;
        all->first = channel->next;
        if (channel->channel)
            channel_close(channel);
        free(channel->address);
        free(channel);
    }
    hash_index_clear(&all->addresses);
    if (all->secrets)
        grpc_channel_credentials_release(all->secrets);
    all->secrets = NULL;
}
