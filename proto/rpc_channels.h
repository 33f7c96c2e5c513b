/* The channels of an rpc, one for each address, and which of them have a connection. For rpc.c; on
 * the loop's thread. */
#ifndef RAYDBG_PROTO_RPC_CHANNELS_H
#define RAYDBG_PROTO_RPC_CHANNELS_H

#include "base/hash_index.h"
#include "proto/rpc.h"

#include <grpc/grpc.h>
#include <stdbool.h>

struct rpc_channel {
    struct rpc_channel *next;
    struct rpc_channels *all;
    char *address;
    grpc_channel *channel;             /* NULL until the first call, and after it was closed */
    struct rpc_channel *older, *newer; /* among the open ones, by their last use */
    size_t calls;                      /* in flight, for rpc.c to count */
    bool answered;
    int deadlines; /* missed in a row */
};

/* All zero but for `rpc` and `options` is the empty set. */
struct rpc_channels {
    struct rpc *rpc;
    const struct rpc_options *options;
    struct rpc_channel *first;
    struct hash_index addresses;
    struct rpc_channel *oldest, *newest; /* of those that are open */
    size_t open;
    grpc_channel_credentials *secrets; /* TLS or none; NULL until the first is opened */
};

struct rpc_channel *rpc_channels_get(struct rpc_channels *all, const char *host_port);
/* Nothing may be in flight. */
void rpc_channels_clear(struct rpc_channels *all);
/* Closes what was not used for longest and has no call in flight, beyond RPC_CONNECTIONS. */
void rpc_channels_trim(struct rpc_channels *all);

/* It is about to be used: opens it if need be. False if its address is none. */
bool rpc_channel_open(struct rpc_channel *channel);
/* A call has ended with this status. */
void rpc_channel_judge(struct rpc_channel *channel, grpc_status_code status);

#endif
