#include "relay/door.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { PAUSE_MS = 200, ACCEPTS_A_TURN = 64 };

struct door {
    struct loop *loop;
    struct watch *watch;
    struct timer *pause;
    door_fn fn;
    void *arg;
    int fd;
    char *path; /* of a unix socket, to remove */
    char *address;
};

static void watch_door(struct door *door);

static void on_pause_over(void *arg)
{
    struct door *door = arg;
    door->pause = NULL;
    watch_door(door);
}

static void on_ready(void *arg)
{
    struct door *door = arg;
    for (int i = 0; i < ACCEPTS_A_TURN; i++) {
        int fd = accept4(door->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            door->fn(door->arg, fd);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
            log_warn("a connection to %s has to wait: %s", door->address, strerror(errno));
            watch_stop(&door->watch);
            door->pause = timer_start(door->loop, PAUSE_MS, on_pause_over, door);
            return;
        } else if (errno != ECONNABORTED && errno != EINTR) {
            return;
        }
    }
}

static void watch_door(struct door *door)
{
    door->watch = watch_start(door->loop, door->fd, on_ready, door);
}

static int fail_at(struct err *err, const char *address, int problem)
{
    err_set(err, problem == EADDRINUSE ? ERR_FAILED : ERR_USAGE, "cannot listen on %s", address);
    err_why(err, "%s", strerror(problem));
    if (problem == EADDRINUSE)
        err_hint(err, "ss -ltnp shows who has it; port 0 takes any free one");
    return -1;
}

/* --- TCP --- */

static bool is_loopback(const struct sockaddr *at)
{
    if (at->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)at;
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)at;
    return at->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

static void name_port(struct door *door)
{
    struct sockaddr_storage at = {0};
    socklen_t size = sizeof at;
    char host[INET6_ADDRSTRLEN] = "", port[8] = "";
    getsockname(door->fd, (struct sockaddr *)&at, &size);
    getnameinfo((struct sockaddr *)&at, size, host, sizeof host, port, sizeof port,
                NI_NUMERICHOST | NI_NUMERICSERV);
    door->address = mem_format(at.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static int bind_tcp(struct door *door, const struct addrinfo *at)
{
    int on = 1;
    door->fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (door->fd < 0)
        return -1;
    setsockopt(door->fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (at->ai_family == AF_INET6)
        setsockopt(door->fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    return bind(door->fd, at->ai_addr, at->ai_addrlen);
}

static int open_tcp(struct door *door, const char *address, struct err *err)
{
    char host[256], service[8];
    uint16_t port = 0;
    /* Port 0 is none that text_split_host_port() takes. */
    size_t len = strlen(address);
    bool any = text_ends(address, ":0");
    char *text = any ? mem_format("%.*s:1", (int)(len - 2), address) : mem_string(address);
    bool good = text_split_host_port(text, host, sizeof host, &port);
    free(text);
    if (!good)
        return err_set(err, ERR_USAGE, "'%s' is no HOST:PORT", address);
    snprintf(service, sizeof service, "%u", any ? 0U : (unsigned)port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    int rc = getaddrinfo(host, service, &hints, &found);
    if (rc != 0) {
        err_set(err, ERR_USAGE, "cannot listen on %s", address);
        return err_why(err, "%s", gai_strerror(rc));
    }
    if (!is_loopback(found->ai_addr)) {
        err_set(err, ERR_USAGE, "cannot listen on %s", address);
        err_why(err, "without a token only this machine may connect");
        rc = err_hint(err, "use 127.0.0.1, [::1] or unix:PATH");
    } else if (bind_tcp(door, found) != 0 || listen(door->fd, SOMAXCONN) != 0) {
        rc = fail_at(err, address, errno);
    } else {
        name_port(door);
    }
    freeaddrinfo(found);
    return rc;
}

/* --- unix --- */

/* True if nobody has the socket `at` any more. Asked with the wrong type of socket: who has it does
 * not notice. */
static bool is_left_over(const struct sockaddr_un *at)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool dead = connect(fd, (const struct sockaddr *)at, sizeof *at) != 0 && errno == ECONNREFUSED;
    close(fd);
    return dead;
}

static int open_unix(struct door *door, const char *path, struct err *err)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    if (text_empty(path) || !text_copy(at.sun_path, sizeof at.sun_path, path)) {
        err_set(err, ERR_USAGE, "cannot listen on unix:%s", path);
        return err_why(err, "a socket's path has 1 to %zu bytes", sizeof at.sun_path - 1);
    }
    door->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (is_left_over(&at))
        unlink(path);
    mode_t mask = umask(0177);
    int rc = bind(door->fd, (struct sockaddr *)&at, sizeof at);
    int problem = errno;
    umask(mask);
    if (rc != 0)
        return fail_at(err, path, problem);
    door->path = mem_string(path);
    door->address = mem_format("unix:%s", path);
    return listen(door->fd, SOMAXCONN) == 0 ? 0 : fail_at(err, path, errno);
}

struct door *door_open(struct loop *loop, const char *address, door_fn fn, void *arg,
                       struct err *err)
{
    struct door *door = mem_alloc(sizeof *door);
    *door = (struct door){.loop = loop, .fn = fn, .arg = arg, .fd = -1};
    bool is_unix = text_starts(address, "unix:");
    int rc =
        is_unix ? open_unix(door, address + strlen("unix:"), err) : open_tcp(door, address, err);
    if (rc != 0)
        door_close(&door);
    else
        watch_door(door);
    return door;
}

void door_close(struct door **door)
{
    struct door *it = *door;
    if (!it)
        return;
    *door = NULL;
    watch_stop(&it->watch);
    timer_cancel(&it->pause);
    if (it->fd >= 0)
        close(it->fd);
    if (it->path)
        unlink(it->path);
    free(it->path);
    free(it->address);
    free(it);
}

const char *door_address(const struct door *door)
{
    return door->address;
}
