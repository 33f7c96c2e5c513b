/* The channels of an rpc, one for each address, and the list of those that are open. For rpc.c, on
 * the loop's thread. */
#ifndef RAYDBG_PROTO_RPC_CHANNELS_H
#define RAYDBG_PROTO_RPC_CHANNELS_H

#include "base/hash_index.h"
#include "proto/rpc.h"

#include <grpc/grpc.h>
#include <stdbool.h>

/* The state of a channel when a call is sent, by which its end is judged. */
struct rpc_epoch {
    uint64_t connection; /* the number of the connection, from 1 */
    uint64_t misses;     /* deadlines that were missed on it, with calls that wait together once */
};

struct rpc_channel {
    struct rpc_channel *next;
    struct rpc_channels *all;
    char *address;
    grpc_channel *channel;             /* NULL before the first call, and while closed */
    struct rpc_channel *older, *newer; /* in the list of open ones, by last use */
    size_t calls;                      /* in flight, counted by rpc.c */
    bool answered;
    struct rpc_epoch epoch;
    int deadlines; /* missed in a row */
};

/* All zero, except `rpc` and `options`, is the empty set. */
struct rpc_channels {
    struct rpc *rpc;
    const struct rpc_options *options;
    struct rpc_channel *first;
    struct hash_index addresses;
    struct rpc_channel *oldest, *newest; /* of the open channels */
    size_t open;
    grpc_channel_credentials *secrets; /* TLS or insecure; NULL until the first channel is opened */
};

struct rpc_channel *rpc_channels_get(struct rpc_channels *all, const char *host_port);
/* Frees all channels. No call may be in flight. */
void rpc_channels_clear(struct rpc_channels *all);
/* While more than RPC_CONNECTIONS are open, closes the least recently used without a call. */
void rpc_channels_trim(struct rpc_channels *all);

/* Call before each use: opens the channel if it is closed. False if its address is not valid. */
bool rpc_channel_open(struct rpc_channel *channel);
/* Call when a call has ended with this status. `sent` is a copy of the channel's epoch when the
 * call was sent: a call of an earlier connection says nothing about the current one, and calls that
 * were waiting together miss one deadline, not several in a row. */
void rpc_channel_judge(struct rpc_channel *channel, const struct rpc_epoch *sent,
                       grpc_status_code status);

#endif
