#include "relay/reach.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static bool is_loopback(const char *host)
{
    return text_equal(host, "localhost") || text_equal(host, "::1") || text_starts(host, "127.");
}

/* An address is this machine's if a socket can have it. True if it is no address. */
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

int reach_check(const struct pause *pause, struct err *err)
{
    char title[256];
    if (pause->debugger != PAUSE_PDB || pause->state == PAUSE_HELD || !pause->node_ip ||
        !is_loopback(pause->host) || is_here(pause->node_ip))
        return 0;
    pause_title(pause, title, sizeof title);
    err_set(err, ERR_UNREACHABLE, "%s waits in Ray's pdb, which listens on that node's localhost only",
            title);
    err_why(err, "Ray was started without --ray-debugger-external");
    return err_hint(err, "run raydbg, or a raydbg relay, on that node; --ray-debugger-external would "
                         "open such ports to the network, with no password");
}
