/* The inside of an rpc, for rpc.c (unary calls) and rpc_stream.c. On the loop's thread. */
#ifndef RAYDBG_PROTO_RPC_STATE_H
#define RAYDBG_PROTO_RPC_STATE_H

#include "proto/rpc_channels.h"
#include "proto/rpc_error.h"
#include "proto/rpc_mailbox.h"

#include <pthread.h>

struct rpc {
    struct rpc_options options;
    grpc_completion_queue *queue;
    pthread_t thread;
    struct rpc_channels channels;
    struct call *in_flight;
    struct call *waiting, **waiting_last; /* bulk calls that have not begun */
    size_t bulk;                          /* bulk calls that have begun and not finished */
    struct rpc_stream *streams;
    struct rpc_mailbox *mailbox;
    bool closing;
};

/* Opens the channel if it is closed; true, with the reason in `err`, if no call may be made. */
bool rpc_refuses(struct rpc_channel *channel, struct err *err);
/* The header with the token: plain metadata, because grpc refuses call credentials on a channel
 * without TLS. The caller frees header->value; false if there is no token. */
bool rpc_token_header(const struct rpc *rpc, grpc_metadata *header);
/* The error of a call that ended with this status. */
void rpc_explain(struct rpc_channel *channel, grpc_status_code status, grpc_slice details,
                 int64_t deadline_ms, struct err *err);
/* rpc_stream.c: for an rpc that is closing. */
void rpc_stream_cancel_all(struct rpc *rpc);

#endif
