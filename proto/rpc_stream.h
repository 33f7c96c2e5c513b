/* Server-streaming gRPC calls, on an rpc. Callbacks run on the loop's thread, never from within
 * rpc_stream_start(). */
#ifndef RAYDBG_PROTO_RPC_STREAM_H
#define RAYDBG_PROTO_RPC_STREAM_H

#include "proto/rpc.h"

struct rpc_stream;

struct rpc_stream_calls {
    /* Each message in order; the next one is read when this returns. `bytes` are borrowed. */
    void (*message)(void *arg, const uint8_t *bytes, size_t len);
    /* Runs once, last, unless the stream was cancelled: `err` is NULL if the server has ended it
     * without an error. `note` is the value of the initial metadata that was asked for, "" if there
     * was none. */
    void (*end)(void *arg, const struct err *err, const char *note);
};

/* The request is copied; `calls` must live as long as the stream. `note` names a key of the
 * server's initial metadata, or is NULL. `deadline_ms` -1: none. */
struct rpc_stream *rpc_stream_start(struct rpc_channel *channel, const char *method,
                                    const uint8_t *request, size_t len, int64_t deadline_ms,
                                    const char *note, const struct rpc_stream_calls *calls,
                                    void *arg);
/* No callback runs after it; it may be called from within `message`. Not after `end`. */
void rpc_stream_cancel(struct rpc_stream **stream);

#endif
