/* Turns gRPC's report of a failed call into one clear error. Pure. */
#ifndef RAYDBG_PROTO_RPC_ERROR_H
#define RAYDBG_PROTO_RPC_ERROR_H

#include "proto/credentials.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rpc_failure {
    int status;          /* grpc's code */
    const char *details; /* grpc's or the server's text, "" if none; not yet fit for a terminal */
    const char *address; /* "HOST:PORT" */
    bool answered;       /* this address has answered a call before */
    int64_t deadline_ms;
    size_t max_reply;
    const struct credentials *credentials;
};

void rpc_error(const struct rpc_failure *failure, struct err *err);

#endif
