#include "relay/port/tls_terminator.h"

#include "base/log.h"
#include "base/mem.h"
#include "relay/io/fd_packet.h"
#include "relay/io/socket.h"
#include "relay/port/tls_context.h"
#include "relay/port/tls_terminator_process.h"

#include <errno.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct tls_terminator {
    int socket; /* its other end is the helper's */
    int memory; /* a tls_context_save(), for a helper that takes the place of one that has died */
    char *cert; /* absolute */
};

/* --- life --- */

/* Puts a new process in the place of the one before, if there was one. 0, or -1 with errno set. */
static int start_process(struct tls_terminator *terminator)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0)
        return -1;
    int result = tls_terminator_process_start(pair[1], terminator->memory, terminator->cert);
    int why = errno;
    close(pair[1]);
    if (result == 0 && terminator->socket >= 0)
        close(terminator->socket);
    if (result == 0)
        terminator->socket = pair[0];
    else
        close(pair[0]);
    errno = why;
    return result;
}

struct tls_terminator *tls_terminator_start(const char *cert, const char *key, struct err *err)
{
    SSL_CTX *context = tls_context_load(cert, key);
    if (!context) {
        err_set(err, ERR_FAILED, "the certificate %s cannot be used", cert);
        return NULL;
    }
    struct tls_terminator *terminator = mem_alloc(sizeof *terminator);
    *terminator = (struct tls_terminator){-1, tls_context_save(context), realpath(cert, NULL)};
    SSL_CTX_free(context);
    if (terminator->memory >= 0 && terminator->cert && start_process(terminator) == 0)
        return terminator;
    err_set(err, ERR_FAILED, "there is no process for the TLS connections of agents");
    err_why(err, "%s", strerror(errno));
    tls_terminator_stop(&terminator);
    return NULL;
}

void tls_terminator_stop(struct tls_terminator **terminator)
{
    struct tls_terminator *it = *terminator;
    if (!it)
        return;
    *terminator = NULL;
    if (it->socket >= 0)
        close(it->socket);
    if (it->memory >= 0)
        close(it->memory);
    free(it->cert);
    free(it);
}

/* --- the plain connections --- */

static int listen_on_loopback(struct sockaddr_in *address)
{
    socklen_t size = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    *address =
        (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (fd >= 0 && bind(fd, (struct sockaddr *)address, size) == 0 && listen(fd, 8) == 0 &&
        getsockname(fd, (struct sockaddr *)address, &size) == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return -1;
}

/* Any process here may have connected, too: only the connection from `own` is ours. */
static int accept_from(int listening, int own)
{
    struct sockaddr_in from = {0}, expected = {0};
    socklen_t size = sizeof expected;
    if (getsockname(own, (struct sockaddr *)&expected, &size) != 0)
        return -1;
    for (;;) {
        size = sizeof from;
        int fd = accept4(listening, (struct sockaddr *)&from, &size, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd < 0 || (from.sin_port == expected.sin_port &&
                       from.sin_addr.s_addr == expected.sin_addr.s_addr))
            return fd;
        close(fd);
    }
}

/* Two ends of one TCP connection on loopback, both non-blocking. */
static int connect_pair(int pair[2])
{
    struct sockaddr_in address;
    int listening = listen_on_loopback(&address);
    pair[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    pair[1] = -1;
    if (listening >= 0 && pair[0] >= 0 &&
        (connect(pair[0], (struct sockaddr *)&address, sizeof address) == 0 ||
         errno == EINPROGRESS))
        pair[1] = accept_from(listening, pair[0]);
    int why = errno;
    if (listening >= 0)
        close(listening);
    if (pair[0] >= 0 && pair[1] < 0)
        close(pair[0]);
    errno = why;
    if (pair[1] < 0)
        return -1;
    socket_nodelay(pair[0]);
    socket_nodelay(pair[1]);
    return 0;
}

/* Sends the two to the helper; to a new one if that has died. */
static bool hand_over(struct tls_terminator *terminator, const int fds[2])
{
    char byte = 0;
    if (fd_packet_send(terminator->socket, &byte, sizeof byte, fds, 2, false))
        return true;
    if (errno != EPIPE && errno != ECONNRESET)
        return false;
    if (start_process(terminator) != 0) {
        log_warn("the process raydbg-tls has died, and there is no new one: %s", strerror(errno));
        return false;
    }
    log_warn("the process raydbg-tls has died, and the tasks that it connected go on; a new one "
             "takes the next connections");
    return fd_packet_send(terminator->socket, &byte, sizeof byte, fds, 2, false);
}

static int pass(struct tls_terminator *terminator, int fd)
{
    int pair[2];
    if (connect_pair(pair) != 0)
        return -1;
    bool passed = hand_over(terminator, (const int[]){fd, pair[1]});
    int why = errno;
    close(pair[1]);
    if (!passed)
        close(pair[0]);
    errno = why;
    return passed ? pair[0] : -1;
}

int tls_terminator_pass(struct tls_terminator *terminator, int fd)
{
    int result = pass(terminator, fd);
    int why = errno;
    close(fd);
    errno = why;
    return result;
}
