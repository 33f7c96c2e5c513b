#include "relay/io/socket.h"

#include "base/log.h"
#include "base/text.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

/* After <netinet/in.h>. glibc's <netinet/tcp.h> lacks tcpi_bytes_acked. */
#include <linux/sockios.h>
#include <linux/tcp.h>

/* Linux applies TCP_USER_TIMEOUT to keepalive probes, too: the first is sent after IDLE_S of
 * silence, then one each INTERVAL_S, and the kernel gives up at the first that is due after
 * LOST_MS. */
enum { IDLE_S = 10, INTERVAL_S = 5, PROBES = 3, LOST_MS = 25000 };

/* While the network works, acknowledgements come at least every IDLE_S: a connection that broke
 * after SILENT_MS without one was given up by the kernel, not ended by its peer. */
enum { SILENT_MS = 20000, PATIENT_MS = 6 * 3600 * 1000 };

enum { SHORT_MESSAGE = 2048 };
enum { STATE_CLOSE = 7 }; /* TCP_CLOSE of <netinet/tcp.h> */

bool socket_is_address_here(const char *ip)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_flags = AI_NUMERICHOST};
    struct addrinfo *found = NULL;
    if (getaddrinfo(ip, NULL, &hints, &found) != 0)
        return false;
    int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool here = fd >= 0 && bind(fd, found->ai_addr, found->ai_addrlen) == 0;
    if (fd >= 0)
        close(fd);
    freeaddrinfo(found);
    return here;
}

bool socket_address_towards(const char *ip, char *out, size_t size)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_DGRAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *found = NULL;
    if (getaddrinfo(ip, "9", &hints, &found) != 0)
        return false;
    struct sockaddr_storage own;
    socklen_t len = sizeof own;
    int fd = socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    bool known = fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) == 0 &&
                 getsockname(fd, (struct sockaddr *)&own, &len) == 0 &&
                 getnameinfo((struct sockaddr *)&own, len, out, (socklen_t)size, NULL, 0,
                             NI_NUMERICHOST) == 0;
    if (fd >= 0)
        close(fd);
    freeaddrinfo(found);
    return known;
}

static void set_option(int fd, int level, int option, int value)
{
    if (setsockopt(fd, level, option, &value, sizeof value) != 0)
        log_debug("setsockopt %d: %s", option, strerror(errno));
}

const char *socket_ipv4_host(const char *host)
{
    return text_equal(host, "localhost") ? "127.0.0.1" : host;
}

void socket_nodelay(int fd)
{
    set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

/* Copies a short message into one buffer, because writev() costs more than send(). */
ssize_t socket_send(int fd, const void *head, size_t head_len, const void *body, size_t body_len)
{
    char both[SHORT_MESSAGE];
    if (head_len > sizeof both || body_len > sizeof both - head_len) {
        struct iovec parts[] = {{(void *)(uintptr_t)head, head_len},
                                {(void *)(uintptr_t)body, body_len}};
        return writev(fd, parts, 2);
    }
    memcpy(both, head, head_len);
    memcpy(both + head_len, body, body_len);
    return send(fd, both, head_len + body_len, MSG_NOSIGNAL);
}

void socket_quickack(int fd)
{
    set_option(fd, IPPROTO_TCP, TCP_QUICKACK, 1);
}

void socket_probe(int fd)
{
    set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, IDLE_S);
    set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, INTERVAL_S);
    set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, PROBES);
}

void socket_keepalive(int fd)
{
    socket_probe(fd);
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, LOST_MS);
}

void socket_patience(int fd)
{
    set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, PATIENT_MS);
}

int64_t socket_silent_in_ms(int fd)
{
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0)
        return 1;
    int64_t heard_ms = info.tcpi_last_ack_recv < info.tcpi_last_data_recv
                           ? info.tcpi_last_ack_recv
                           : info.tcpi_last_data_recv;
    if (heard_ms < SILENT_MS)
        return SILENT_MS - heard_ms;
    return info.tcpi_probes || info.tcpi_retransmits ? 0 : 1;
}

bool socket_is_silent(int fd)
{
    return socket_silent_in_ms(fd) == 0;
}

int64_t socket_unacknowledged(int fd)
{
    int bytes = 0;
    return ioctl(fd, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

bool socket_written(int fd, int64_t *bytes)
{
    enum { TRIES = 100 };
    for (int tries = 0; tries < TRIES; tries++) {
        struct tcp_info info = {0};
        socklen_t size = sizeof info;
        int64_t before = socket_unacknowledged(fd);
        if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
            size < offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked)
            return false;
        *bytes = (int64_t)info.tcpi_bytes_acked + before;
        if (socket_unacknowledged(fd) == before) /* nothing was acknowledged in between */
            return true;
    }
    return false;
}

static bool is_broken(int fd, struct tcp_info *info)
{
    socklen_t size = sizeof *info;
    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size) == 0 &&
           info->tcpi_state == STATE_CLOSE;
}

bool socket_was_cut(int fd)
{
    struct tcp_info info = {0};
    return is_broken(fd, &info) && info.tcpi_last_ack_recv >= SILENT_MS;
}

const char *socket_end(int fd)
{
    struct tcp_info info = {0};
    if (!is_broken(fd, &info))
        return NULL;
    return socket_was_cut(fd) ? "the network between was cut: nothing came back for 25 s"
                              : "the connection was reset";
}
