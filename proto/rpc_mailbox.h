/* Completed operations of grpc, on their way from the completion queue's thread to the loop's. For
 * rpc.c and rpc_stream.c. */
#ifndef RAYDBG_PROTO_RPC_MAILBOX_H
#define RAYDBG_PROTO_RPC_MAILBOX_H

#include "proto/rpc.h"

struct rpc_mailbox;

/* A part of something that waits for grpc; its address is the tag of a batch. `run` is called on
 * the loop's thread, or within rpc_destroy(), and may free the event. */
struct rpc_event {
    struct rpc_event *next;
    void (*run)(struct rpc *rpc, struct rpc_event *event);
};

struct rpc_mailbox *rpc_mailbox_create(struct rpc *rpc, rpc_post_fn post, void *post_context);
/* From any thread. */
void rpc_mailbox_put(struct rpc_mailbox *box, struct rpc_event *event);
/* Runs what is in it now. */
void rpc_mailbox_drain(struct rpc_mailbox *box);
/* The rpc is going: nothing runs any more. */
void rpc_mailbox_close(struct rpc_mailbox **box);

#endif
