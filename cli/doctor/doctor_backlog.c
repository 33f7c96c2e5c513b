#include "cli/doctor/doctor_backlog.h"

#include <arpa/inet.h>
#include <stdio.h>

enum { TCP_LISTENING = 0x0A };

bool doctor_backlog_waits(const char *host, uint16_t port)
{
    struct in_addr wanted;
    char line[512];
    bool waits = false;
    if (inet_pton(AF_INET, host, &wanted) != 1)
        return false;
    FILE *table = fopen("/proc/net/tcp", "re");
    if (!table)
        return false;
    while (!waits && fgets(line, sizeof line, table)) {
        unsigned address, number, state, waiting;
        /* sl, local address (in the byte order of memory), remote address, state,
         * tx_queue:rx_queue. For a listening socket rx_queue is the number of connections that
         * wait. */
        if (sscanf(line, "%*d: %x:%x %*x:%*x %x %*x:%x", &address, &number, &state, &waiting) == 4)
            waits = state == TCP_LISTENING && address == wanted.s_addr && number == port && waiting;
    }
    fclose(table);
    return waits;
}
