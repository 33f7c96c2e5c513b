#include "relay/io/listen_socket.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/io/socket.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 1024, PAUSE_MS = 100 };

union any_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    struct sockaddr_un local;
};

static struct listen_socket *append(struct listen_socket_list *list, int fd)
{
    list->items = mem_resize(list->items, list->count + 1, sizeof *list->items);
    struct listen_socket *port = &list->items[list->count++];
    *port = (struct listen_socket){.fd = fd};
    return port;
}

static int cannot_listen(const char *address, int problem, struct err *err)
{
    err_set(err, ERR_FAILED, "the relay cannot listen on %s", address);
    err_why(err, "%s", strerror(problem));
    return -1;
}

/* --- unix sockets --- */

/* True if a process listens there, or if this cannot be determined. The socket is of another type
 * than a listener's, so that the process does not notice: to a tunnel a connection would be a
 * client that comes and goes, after which debugpy takes no other. */
static bool is_alive(const struct sockaddr_un *local)
{
    int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return true;
    int rc = connect(fd, (const struct sockaddr *)local, sizeof *local);
    bool alive = rc == 0 || errno != ECONNREFUSED;
    close(fd);
    return alive;
}

/* Removes a socket file that a killed relay has left behind. */
static int clear_path(const char *address, const struct sockaddr_un *local, struct err *err)
{
    struct stat info;
    if (lstat(local->sun_path, &info) != 0)
        return errno == ENOENT ? 0 : cannot_listen(address, errno, err);
    if (!S_ISSOCK(info.st_mode)) {
        cannot_listen(address, EEXIST, err);
        return err_hint(err, "%s is not a socket: give another path", local->sun_path);
    }
    if (is_alive(local)) {
        cannot_listen(address, EADDRINUSE, err);
        return err_hint(err, "ss -lxp tells who listens there");
    }
    return unlink(local->sun_path) == 0 ? 0 : cannot_listen(address, errno, err);
}

static int bind_local(int fd, const struct sockaddr_un *local)
{
    /* Linux gives the file the socket's mode: at no moment may other users connect. */
    if (fchmod(fd, 0600) != 0 || bind(fd, (const struct sockaddr *)local, sizeof *local) != 0)
        return -1;
    return chmod(local->sun_path, 0600) == 0 && listen(fd, BACKLOG) == 0 ? 0 : -1;
}

static int listen_local(struct listen_socket_list *list, const char *address, struct err *err)
{
    struct sockaddr_un local = {.sun_family = AF_UNIX};
    struct stat info;
    if (!text_copy(local.sun_path, sizeof local.sun_path, address + strlen("unix:")) ||
        !local.sun_path[0]) {
        err_set(err, ERR_FAILED, "the relay cannot listen on %s", address);
        return err_why(err, "a socket's path has 1 to %zu bytes", sizeof local.sun_path - 1);
    }
    if (clear_path(address, &local, err) != 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind_local(fd, &local) != 0 || stat(local.sun_path, &info) != 0) {
        cannot_listen(address, errno, err);
        if (fd >= 0)
            close(fd);
        return -1;
    }
    struct listen_socket *port = append(list, fd);
    port->is_unix = port->loopback = true;
    port->text = mem_string(address);
    port->path = mem_string(local.sun_path);
    port->device = info.st_dev;
    port->inode = info.st_ino;
    return 0;
}

/* --- TCP --- */

static bool is_loopback(const union any_address *address)
{
    if (address->any.sa_family == AF_INET)
        return ntohl(address->v4.sin_addr.s_addr) >> 24 == 127;
    return IN6_IS_ADDR_LOOPBACK(&address->v6.sin6_addr);
}

static uint16_t port_number(const union any_address *address)
{
    return ntohs(address->any.sa_family == AF_INET ? address->v4.sin_port : address->v6.sin6_port);
}

static void host_text(const union any_address *address, char out[INET6_ADDRSTRLEN])
{
    const void *bytes = address->any.sa_family == AF_INET ? (const void *)&address->v4.sin_addr
                                                          : (const void *)&address->v6.sin6_addr;
    if (!inet_ntop(address->any.sa_family, bytes, out, INET6_ADDRSTRLEN))
        out[0] = '\0';
}

static char *address_text(const union any_address *address)
{
    char host[INET6_ADDRSTRLEN];
    host_text(address, host);
    bool v6 = address->any.sa_family == AF_INET6;
    return mem_format("%s%s%s:%u", v6 ? "[" : "", host, v6 ? "]" : "",
                      (unsigned)port_number(address));
}

static int bind_tcp(const struct addrinfo *info, uint16_t number, union any_address *bound)
{
    int on = 1;
    socklen_t size = sizeof *bound;
    int fd = socket(info->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    memcpy(bound, info->ai_addr, info->ai_addrlen);
    if (info->ai_family == AF_INET)
        bound->v4.sin_port = htons(number);
    else
        bound->v6.sin6_port = htons(number);
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        (info->ai_family == AF_INET ||
         setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) == 0) &&
        bind(fd, &bound->any, info->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0 &&
        getsockname(fd, &bound->any, &size) == 0)
        return fd;
    int problem = errno;
    close(fd);
    errno = problem;
    return -1;
}

static bool is_without_v6(const struct addrinfo *info, int problem)
{
    union any_address address;
    memcpy(&address, info->ai_addr, info->ai_addrlen);
    return info->ai_family == AF_INET6 && is_loopback(&address) &&
           (problem == EADDRNOTAVAIL || problem == EAFNOSUPPORT);
}

static int listen_one(struct listen_socket_list *list, const char *address,
                      const struct addrinfo *info, uint16_t *number, struct err *err)
{
    union any_address bound;
    char host[INET6_ADDRSTRLEN];
    int fd = bind_tcp(info, *number, &bound);
    if (fd < 0) {
        int problem = errno;
        if (is_without_v6(info, problem)) {
            log_info("no IPv6 here: not listening on %s", address);
            return 0;
        }
        cannot_listen(address, problem, err);
        return problem == EADDRINUSE
                   ? err_hint(err, "ss -ltnp 'sport = :%u' tells who listens there",
                              (unsigned)*number)
                   : -1;
    }
    host_text(&bound, host);
    *number = port_number(&bound); /* a name's other addresses get the same port */
    struct listen_socket *port = append(list, fd);
    port->loopback = is_loopback(&bound);
    port->text = address_text(&bound);
    port->host = mem_string(host);
    return 0;
}

/* Like text_split_host_port(), but accepts port 0, too, for which the kernel chooses a port. */
static bool split(const char *address, char *host, size_t host_size, uint16_t *port)
{
    if (!text_ends(address, ":0"))
        return text_split_host_port(address, host, host_size, port);
    char *named = mem_string(address);
    named[strlen(named) - 1] = '1';
    bool good = text_split_host_port(named, host, host_size, port);
    free(named);
    *port = 0;
    return good;
}

static int listen_tcp(struct listen_socket_list *list, const char *address, struct err *err)
{
    char host[256];
    uint16_t number;
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    if (!split(address, host, sizeof host, &number) || !host[0]) {
        err_set(err, ERR_USAGE, "\"%s\" is no address to listen on", address);
        return err_hint(err, "HOST:PORT, [V6]:PORT or unix:PATH");
    }
    int rc = getaddrinfo(host, NULL, &hints, &found);
    if (rc != 0) {
        err_set(err, ERR_FAILED, "the relay cannot listen on %s", address);
        return err_why(err, "%s", gai_strerror(rc));
    }
    for (const struct addrinfo *info = found; info && rc == 0; info = info->ai_next)
        if (info->ai_family == AF_INET || info->ai_family == AF_INET6)
            rc = listen_one(list, address, info, &number, err);
    freeaddrinfo(found);
    return rc;
}

int listen_socket_listen(struct listen_socket_list *list, const char *address, struct err *err)
{
    return text_starts(address, "unix:") ? listen_local(list, address, err)
                                         : listen_tcp(list, address, err);
}

void listen_socket_defer(const struct listen_socket *port, int seconds)
{
    if (setsockopt(port->fd, IPPROTO_TCP, TCP_DEFER_ACCEPT, &seconds, sizeof seconds) != 0)
        log_debug("TCP_DEFER_ACCEPT: %s", strerror(errno));
}

static void remove_file(const struct listen_socket *port)
{
    struct stat info;
    if (lstat(port->path, &info) == 0 && info.st_dev == port->device && info.st_ino == port->inode)
        unlink(port->path);
}

static void watch_all(void *arg)
{
    struct listen_socket_list *list = arg;
    list->pause = NULL;
    for (size_t i = 0; i < list->count; i++) {
        struct listen_socket *port = &list->items[i];
        if (!port->watch)
            port->watch = watch_start(list->loop, port->fd, list->fn, list->arg);
        /* A watch takes a descriptor, too: those that get none are started after another pause. */
        if (!port->watch && !list->pause)
            list->pause = timer_start(list->loop, PAUSE_MS, watch_all, list);
    }
}

void listen_socket_list_watch(struct listen_socket_list *list, struct loop *loop, loop_fn fn,
                              void *arg)
{
    list->loop = loop;
    list->fn = fn;
    list->arg = arg;
    watch_all(list);
}

bool listen_socket_has_run_out(int problem)
{
    return problem == EMFILE || problem == ENFILE || problem == ENOBUFS || problem == ENOMEM;
}

static void watch_none(struct listen_socket_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        watch_stop(&list->items[i].watch);
}

void listen_socket_list_rest(struct listen_socket_list *list)
{
    watch_none(list);
    if (!list->pause)
        list->pause = timer_start(list->loop, PAUSE_MS, watch_all, list);
}

void listen_socket_list_close(struct listen_socket_list *list)
{
    watch_none(list);
    timer_cancel(&list->pause);
    for (size_t i = 0; i < list->count; i++) {
        struct listen_socket *port = &list->items[i];
        if (port->path)
            remove_file(port);
        close(port->fd);
        free(port->text);
        free(port->host);
        free(port->path);
    }
    free(list->items);
    *list = (struct listen_socket_list){0};
}

static void address_key(const union any_address *address, uint8_t key[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (address->any.sa_family == AF_INET) {
        memcpy(key, mapped, sizeof mapped);
        memcpy(key + sizeof mapped, &address->v4.sin_addr, 4);
    } else if (address->any.sa_family == AF_INET6) {
        memcpy(key, &address->v6.sin6_addr, 16);
    }
}

int listen_socket_accept(const struct listen_socket *port, char *peer, size_t size, uint8_t key[16])
{
    union any_address address = {0};
    socklen_t length = sizeof address;
    int fd = accept4(port->fd, &address.any, &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0)
        return -1;
    memset(key, 0, 16);
    if (port->is_unix) {
        text_copy(peer, size, "unix");
        return fd;
    }
    char *text = address_text(&address);
    text_copy(peer, size, text);
    free(text);
    address_key(&address, key);
    socket_nodelay(fd);
    socket_probe(fd);
    return fd;
}

char *listen_socket_local(int fd)
{
    union any_address address = {0};
    socklen_t length = sizeof address;
    if (getsockname(fd, &address.any, &length) != 0)
        return mem_string("");
    if (address.any.sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&address.v6.sin6_addr)) {
        struct sockaddr_in mapped = {.sin_family = AF_INET, .sin_port = address.v6.sin6_port};
        memcpy(&mapped.sin_addr, address.v6.sin6_addr.s6_addr + 12, sizeof mapped.sin_addr);
        address.v4 = mapped;
    }
    return address_text(&address);
}
