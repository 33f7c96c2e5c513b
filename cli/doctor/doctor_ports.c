#include "cli/doctor/doctor_ports.h"
#include "cli/doctor/doctor_backlog.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/sock_diag.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 256, LIMIT_MS = 1200, STEP_MS = 5 };

struct doctor_knock {
    struct doctor_queries *queries;
    struct doctor_ports *ports;
    struct timer *timer;
    int64_t until_us;
    size_t open;      /* ports that are not decided yet */
    bool waits[MOST]; /* a debugger's port: connections have waited there since the SYN */
    int fds[];        /* -1: decided */
};

void doctor_ports_add(struct doctor_ports *ports, const char *host, uint16_t port, int64_t pid)
{
    if (ports->count == MOST) {
        ports->left_out++;
        return;
    }
    ports->items = mem_resize(ports->items, ports->count + 1, sizeof *ports->items);
    ports->items[ports->count++] =
        (struct doctor_port){.host = mem_string(host), .port = port, .pid = pid};
}

void doctor_ports_clear(struct doctor_ports *ports)
{
    for (size_t i = 0; i < ports->count; i++) {
        free(ports->items[i].host);
        free(ports->items[i].why);
    }
    free(ports->items);
    *ports = (struct doctor_ports){0};
}

/* --- one port --- */

static void decide(struct doctor_port *port, enum doctor_port_answer answer, int error)
{
    port->answer = answer;
    if (!error)
        return;
    port->why = mem_string(strerror(error));
    port->why[0] = (char)tolower((unsigned char)port->why[0]);
}

/* Lets only packets pass that have RST set in byte 13 of the TCP header. */
static int drop_answers(int fd)
{
    struct sock_filter rows[] = {
        BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 13),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, 0x04, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, 0xffffffff),
        BPF_STMT(BPF_RET | BPF_K, 0),
    };
    struct sock_fprog program = {.len = sizeof rows / sizeof *rows, .filter = rows};
    return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

/* Returns -1 with errno set on failure. */
static int64_t count_drops(int fd)
{
    uint32_t counts[SK_MEMINFO_VARS];
    socklen_t len = sizeof counts;
    if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, counts, &len) != 0)
        return -1;
    return counts[SK_MEMINFO_DROPS];
}

/* Sends the SYN. Returns the socket, or -1 with errno set. */
static int knock_at(const struct doctor_port *port)
{
    const struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV,
                                   .ai_socktype = SOCK_STREAM};
    struct addrinfo *address = NULL;
    char number[8];
    snprintf(number, sizeof number, "%u", (unsigned)port->port);
    errno = EADDRNOTAVAIL;
    if (getaddrinfo(port->host, number, &hints, &address) != 0)
        return -1;
    int fd = socket(address->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool good = fd >= 0 && drop_answers(fd) == 0 && count_drops(fd) >= 0 &&
                (connect(fd, address->ai_addr, address->ai_addrlen) == 0 || errno == EINPROGRESS);
    int error = errno;
    freeaddrinfo(address);
    if (!good && fd >= 0)
        close(fd);
    errno = error;
    return good ? fd : -1;
}

/* True once the port is decided. A port at which connections wait is watched for the whole time. */
static bool listen_at(struct doctor_port *port, int fd, bool waits, bool late)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (count_drops(fd) > 0 && waits && !late)
        return false;
    if (count_drops(fd) > 0)
        decide(port, waits ? DOCTOR_DEAF : DOCTOR_YES, 0);
    else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error)
        decide(port, DOCTOR_REFUSED, error);
    else if (late)
        decide(port, DOCTOR_PENDING, 0);
    else
        return false;
    return true;
}

/* --- all of them --- */

static void look(void *arg)
{
    struct doctor_knock *knock = arg;
    bool late = loop_now_us() >= knock->until_us;
    knock->timer = NULL;
    for (size_t i = 0; i < knock->ports->count; i++) {
        struct doctor_port *port = &knock->ports->items[i];
        if (knock->fds[i] < 0)
            continue;
        knock->waits[i] = knock->waits[i] && doctor_backlog_waits(port->host, port->port);
        if (!listen_at(port, knock->fds[i], knock->waits[i], late))
            continue;
        close(knock->fds[i]);
        knock->fds[i] = -1;
        knock->open--;
    }
    if (knock->open)
        knock->timer = timer_start(knock->queries->loop, STEP_MS, look, knock);
    else
        doctor_queries_end(knock->queries);
}

struct doctor_knock *doctor_knock(struct doctor_queries *queries, struct doctor_ports *ports)
{
    struct doctor_knock *knock = mem_alloc(sizeof *knock + ports->count * sizeof knock->fds[0]);
    knock->queries = queries;
    knock->ports = ports;
    knock->until_us = loop_now_us() + LIMIT_MS * 1000L;
    for (size_t i = 0; i < ports->count; i++) {
        const struct doctor_port *port = &ports->items[i];
        knock->waits[i] = port->pid && doctor_backlog_waits(port->host, port->port);
        knock->fds[i] = knock_at(port);
        if (knock->fds[i] >= 0)
            knock->open++;
        else
            decide(&ports->items[i], DOCTOR_REFUSED, errno);
    }
    doctor_queries_begin(queries);
    knock->timer = timer_start(queries->loop, 0, look, knock);
    return knock;
}

void doctor_knock_stop(struct doctor_knock **knock)
{
    struct doctor_knock *it = *knock;
    if (!it)
        return;
    *knock = NULL;
    timer_cancel(&it->timer);
    for (size_t i = 0; i < it->ports->count; i++)
        if (it->fds[i] >= 0)
            close(it->fds[i]);
    free(it);
}
