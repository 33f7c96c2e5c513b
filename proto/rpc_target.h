/* grpc's name of an address. Pure. */
#ifndef RAYDBG_PROTO_RPC_TARGET_H
#define RAYDBG_PROTO_RPC_TARGET_H

/* Of "HOST:PORT" or "[V6]:PORT", for the caller to free; NULL if it is none. An address in digits
 * goes past the resolver, which is slower and asks the network. */
char *rpc_target(const char *address);

#endif
