#include "proto/rpc_target.h"

#include "base/mem.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <stdint.h>

char *rpc_target(const char *address)
{
    char host[256];
    uint16_t port;
    unsigned char binary[sizeof(struct in6_addr)];
    if (!text_split_host_port(address, host, sizeof host, &port))
        return NULL;
    if (inet_pton(AF_INET, host, binary) == 1)
        return mem_format("ipv4:%s:%u", host, port);
    if (inet_pton(AF_INET6, host, binary) == 1)
        return mem_format("ipv6:%%5B%s%%5D:%u", host, port);
    return mem_format("dns:///%s:%u", host, port);
}
