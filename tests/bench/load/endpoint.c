#include "load/endpoint.h"

#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

void die(const char *format, ...)
{
    va_list args;
    fprintf(stderr, "%s: ", program_invocation_short_name);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    exit(2);
}

void endpoint_prepare(void)
{
    struct rlimit limit;
    signal(SIGPIPE, SIG_IGN);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

struct sockaddr_in endpoint_parse(const char *text)
{
    struct sockaddr_in out = {.sin_family = AF_INET};
    char host[64];
    uint16_t port;
    if (!text_split_host_port(text, host, sizeof host, &port) ||
        inet_pton(AF_INET, host, &out.sin_addr) != 1)
        die("not ADDRESS:PORT: %s", text);
    out.sin_port = htons(port);
    return out;
}

static int fresh(void)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
    if (fd < 0)
        die("socket: %s", strerror(errno));
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

int endpoint_listen(const char *text)
{
    char host[64];
    uint16_t ignored;
    struct sockaddr_in at = {.sin_family = AF_INET};
    /* Port 0 is what a free one is asked for by. */
    if (text_ends(text, ":0"))
        snprintf(host, sizeof host, "%.*s", (int)(strlen(text) - 2), text);
    else if (text_split_host_port(text, host, sizeof host, &ignored))
        at.sin_port = htons(ignored);
    else
        die("not ADDRESS:PORT: %s", text);
    if (inet_pton(AF_INET, host, &at.sin_addr) != 1)
        die("not an IPv4 address: %s", host);
    int fd = fresh(), on = 1;
    socklen_t size = sizeof at;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (struct sockaddr *)&at, size) != 0 || listen(fd, 4096) != 0 ||
        getsockname(fd, (struct sockaddr *)&at, &size) != 0)
        die("%s: %s", text, strerror(errno));
    printf("%s:%u\n", host, ntohs(at.sin_port));
    return fd;
}

int endpoint_accept(int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC), on = 1;
    if (fd < 0 && errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
        die("accept: %s", strerror(errno));
    if (fd >= 0)
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
}

int endpoint_connect(const struct sockaddr_in *to)
{
    int fd = fresh();
    if (connect(fd, (const struct sockaddr *)to, sizeof *to) != 0 && errno != EINPROGRESS)
        die("connect: %s", strerror(errno));
    return fd;
}

static void control(int epoll, int how, int fd, uint32_t events, void *data)
{
    struct epoll_event event = {.events = events, .data.ptr = data};
    if (epoll_ctl(epoll, how, fd, &event) != 0)
        die("epoll_ctl: %s", strerror(errno));
}

void epoll_watch(int epoll, int fd, uint32_t events, void *data)
{
    control(epoll, EPOLL_CTL_ADD, fd, events, data);
}

void epoll_change(int epoll, int fd, uint32_t events, void *data)
{
    control(epoll, EPOLL_CTL_MOD, fd, events, data);
}
