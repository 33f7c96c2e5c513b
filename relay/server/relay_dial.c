/* Where agents dial a relay that listens with TLS. */
#include "relay/server/relay_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/proxy.h"
#include "relay/io/socket.h"

#include <stdlib.h>
#include <string.h>

static bool is_any(const char *address)
{
    return text_starts(address, "0.0.0.0:") || text_starts(address, "[::]:");
}

bool relay_dial_is_local(const char *address)
{
    char host[64];
    uint16_t port;
    return text_split_host_port(address, host, sizeof host, &port) && proxy_is_loopback(host);
}

/* The one that other machines can dial, if there is one. */
static const char *choose(const struct relay *relay)
{
    const char *address, *found = NULL;
    for (size_t i = 0; (address = relay_address(relay, i)); i++)
        if (!text_starts(address, "unix:") && (!found || relay_dial_is_local(found)))
            found = address;
    return found;
}

static bool is_towards(const char *ip, char *out, size_t size)
{
    return socket_address_towards(ip, out, size) && !proxy_is_loopback(out);
}

/* This host, as other nodes reach it: with the address from which it reaches the head, which on the
 * head is the head's own; or else with that of the node here, of the way to another node, or of the
 * way out of this host. */
static void host_here(const struct cluster *cluster, char *out, size_t size)
{
    static const char nowhere[] = "192.0.2.1"; /* RFC 5737: routed like any other, and nobody's */
    const char *here = cluster ? cluster_node_here(cluster) : NULL, *away = NULL;
    char head[256] = "";
    uint16_t port;
    if (cluster)
        text_split_host_port(cluster_address(cluster)->text, head, sizeof head, &port);
    if (is_towards(head, out, size))
        return;
    if (here && !proxy_is_loopback(here) && text_copy(out, size, here))
        return;
    if (cluster && cluster_nodes_away(cluster, &away) && is_towards(away, out, size))
        return;
    if (!is_towards(nowhere, out, size))
        text_copy(out, size, "127.0.0.1");
}

char *relay_dial_address(const struct relay *relay)
{
    const struct tls_terminator *terminator = relay->options.listener.tls_terminator;
    char host[64];
    const char *address = terminator && *relay->fingerprint ? choose(relay) : NULL;
    if (!address)
        return NULL;
    if (!is_any(address))
        return mem_string(address);
    host_here(relay->options.cluster, host, sizeof host);
    return mem_format(strchr(host, ':') ? "[%s]%s" : "%s%s", host, strrchr(address, ':'));
}
