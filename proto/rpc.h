/* Unary gRPC calls on grpc core. One thread drains the completion queue and only posts: every
 * callback runs on the thread that the `post` function delivers to (the event loop's). */
#ifndef RAYDBG_PROTO_RPC_H
#define RAYDBG_PROTO_RPC_H

#include "base/err.h"
#include "proto/credentials.h"

#include <stddef.h>
#include <stdint.h>

struct rpc;
struct rpc_channel;

/* Runs fn(arg) later on the loop's thread; callable from any thread. */
typedef void (*rpc_post_fn)(void *context, void (*fn)(void *arg), void *arg);

struct rpc_options {
    const struct credentials *credentials; /* borrowed for the lifetime of the rpc */
    rpc_post_fn post;
    void *post_context;
    size_t max_reply; /* bytes; 0 for the default of 256 MiB */
};

/* `bytes` and `err` are borrowed for the callback. On failure `err` is set: unreachable (with the
 * address), denied (a token is missing or wrong), deadline, a reply too large, or the server's own
 * error; and `status` is grpc's code (12 = UNIMPLEMENTED). */
struct rpc_reply {
    const uint8_t *bytes;
    size_t len;
    int status;
    const struct err *err; /* NULL on success */
};

typedef void (*rpc_reply_fn)(void *arg, const struct rpc_reply *reply);

struct rpc *rpc_create(const struct rpc_options *options);
/* Cancels the calls in flight. Each callback still runs before this returns, with an error unless
 * its reply has already arrived. */
void rpc_destroy(struct rpc **rpc);

/* The channel of an address, which is kept and reused and lives as long as the rpc. Only the
 * RPC_CONNECTIONS connections that were used last stay open, besides those with a call in flight: a
 * process that has asked 10,000 workers holds neither 10,000 descriptors nor their memory. */
enum { RPC_CONNECTIONS = 256 };
struct rpc_channel *rpc_channel(struct rpc *rpc, const char *host_port);

/* `method` is "/ray.rpc.Service/Method". The request is copied. The callback runs exactly once and
 * never from within this call. */
void rpc_call(struct rpc_channel *channel, const char *method, const uint8_t *request, size_t len,
              int64_t deadline_ms, rpc_reply_fn fn, void *arg);

/* Like rpc_call(), for calls that are made by the thousand: RPC_BULK_CALLS of them are in flight at
 * a time, and the others wait, in order. The deadline counts from when the call is sent. */
enum { RPC_BULK_CALLS = 64 };
void rpc_bulk_call(struct rpc_channel *channel, const char *method, const uint8_t *request,
                   size_t len, int64_t deadline_ms, rpc_reply_fn fn, void *arg);

/* Like rpc_call(), but sends nothing and gives `err` to the callback: for a function that refuses a
 * request and must not call back before it returns. */
void rpc_refuse(struct rpc *rpc, const struct err *err, rpc_reply_fn fn, void *arg);

#endif
