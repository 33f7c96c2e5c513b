#include "relay/pause/pause_reach.h"

#include "base/wall_clock.h"
#include "proto/proxy.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* True if `ip` is this machine's (a socket can be bound to it), or is not an address. */
static bool is_here(const char *ip)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
    bool is_v4 = inet_pton(AF_INET, ip, &v4.sin_addr) == 1;
    if (!is_v4 && inet_pton(AF_INET6, ip, &v6.sin6_addr) != 1)
        return true;
    int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return true;
    bool here = is_v4 ? bind(fd, (struct sockaddr *)&v4, sizeof v4) == 0
                      : bind(fd, (struct sockaddr *)&v6, sizeof v6) == 0;
    close(fd);
    return here;
}

/* A line of /proc/net/tcp: "   1: 0100007F:B7CF 00000000:0000 0A …", in hexadecimal; 0A: LISTEN. */
static bool listens_in(const char *path, uint16_t port)
{
    char line[512], local[64];
    unsigned number, state;
    bool found = false;
    FILE *file = fopen(path, "re");
    while (file && !found && fgets(line, sizeof line, file))
        found =
            sscanf(line, " %*u: %63[0-9A-F]:%x %*[0-9A-F]:%*x %x", local, &number, &state) == 3 &&
            state == 0x0A && number == port;
    if (file)
        fclose(file);
    return found;
}

/* True if a process of this machine listens on the port, or if the system does not provide this.
 * Makes no connection, because Ray's pdb would take it for the client that it waits for. */
static bool is_listened_to(uint16_t port)
{
    return access("/proc/net/tcp", R_OK) != 0 || listens_in("/proc/net/tcp", port) ||
           listens_in("/proc/net/tcp6", port);
}

enum { LISTENS_MS = 10000 };

int pause_reach_check(const struct pause *pause, struct err *err)
{
    char title[256];
    if (pause->debugger != PAUSE_PDB || pause->state == PAUSE_HELD ||
        !proxy_is_loopback(pause->host))
        return 0;
    /* Ray <= 2.34 does not report the node. */
    if (pause->node_ip ? is_here(pause->node_ip) : is_listened_to(pause->port))
        return 0;
    pause_title(pause, title, sizeof title);
    err_set(err, ERR_UNREACHABLE,
            "%s waits in Ray's pdb, which listens on its own node's localhost only", title);
    err_why(err, "Ray was started without --ray-debugger-external");
    return err_hint(err,
                    "run raydbg, or a raydbg relay, on that node; --ray-debugger-external would "
                    "open such ports to the network, with no password");
}

bool pause_reach_is_early(const struct pause *pause)
{
    int64_t age = wall_clock_ms() - pause->since_ms;
    return pause->debugger == PAUSE_PDB && pause->state != PAUSE_HELD && !pause->node_ip &&
           pause->since_ms && age < LISTENS_MS && age > -LISTENS_MS;
}
