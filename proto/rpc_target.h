/* Converts an address into grpc's form. Pure. */
#ifndef RAYDBG_PROTO_RPC_TARGET_H
#define RAYDBG_PROTO_RPC_TARGET_H

/* grpc's target for "HOST:PORT" or "[V6]:PORT"; the caller frees it. NULL if the address is not
 * valid. A numeric address bypasses the resolver, which is slower and asks the network. */
char *rpc_target(const char *address);

#endif
