#include "relay/port/tls_door.h"

#include "base/log.h"
#include "base/mem.h"
#include "relay/io/fd_packet.h"
#include "relay/io/socket.h"
#include "relay/port/client_hello.h"
#include "relay/port/tls_door_process.h"

#include <errno.h>
#include <netinet/in.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

struct tls_door {
    int socket; /* its other end is the helper's */
};

/* --- TLS --- */

static int select_protocol(SSL *tls, const unsigned char **out, unsigned char *out_len,
                           const unsigned char *in, unsigned in_len, void *arg)
{
    static const unsigned char own[] = "\x06" CLIENT_HELLO_RAYDBG;
    unsigned char *found = NULL;
    (void)tls, (void)arg;
    if (SSL_select_next_proto(&found, out_len, own, sizeof own - 1, in, in_len) !=
        OPENSSL_NPN_NEGOTIATED)
        return SSL_TLSEXT_ERR_ALERT_FATAL;
    *out = found;
    return SSL_TLSEXT_ERR_OK;
}

/* An agent shows no certificate: it proves its key, as on loopback. */
static SSL_CTX *make_context(const char *cert, const char *key)
{
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (!context)
        return NULL;
    SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
    SSL_CTX_set_options(context,
                        SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET);
    SSL_CTX_set_num_tickets(context, 0);
    SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
    SSL_CTX_set_mode(context, SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
    SSL_CTX_set_alpn_select_cb(context, select_protocol, NULL);
    if (SSL_CTX_use_certificate_chain_file(context, cert) == 1 &&
        SSL_CTX_use_PrivateKey_file(context, key, SSL_FILETYPE_PEM) == 1)
        return context;
    SSL_CTX_free(context);
    return NULL;
}

/* --- life --- */

static int start_process(SSL_CTX *context, const char *cert, struct err *err)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0 ||
        tls_door_process_start(pair[1], context, cert) != 0) {
        err_set(err, ERR_FAILED, "there is no process for the TLS connections of agents");
        return err_why(err, "%s", strerror(errno));
    }
    close(pair[1]);
    return pair[0];
}

struct tls_door *tls_door_start(const char *cert, const char *key, struct err *err)
{
    ERR_clear_error();
    SSL_CTX *context = make_context(cert, key);
    if (!context) {
        err_set(err, ERR_FAILED, "the certificate %s cannot be used", cert);
        return NULL;
    }
    int socket = start_process(context, cert, err);
    SSL_CTX_free(context);
    if (socket < 0)
        return NULL;
    struct tls_door *door = mem_alloc(sizeof *door);
    door->socket = socket;
    return door;
}

void tls_door_stop(struct tls_door **door)
{
    struct tls_door *it = *door;
    if (!it)
        return;
    *door = NULL;
    close(it->socket);
    free(it);
}

bool tls_door_is_open(const struct tls_door *door)
{
    char byte;
    return recv(door->socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN;
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

int tls_door_pass(const struct tls_door *door, int fd)
{
    int pair[2], result = -1;
    if (connect_pair(pair) == 0) {
        const int fds[] = {fd, pair[1]};
        char byte = 0;
        result = fd_packet_send(door->socket, &byte, sizeof byte, fds, 2, false) ? pair[0] : -1;
        int why = errno;
        close(pair[1]);
        if (result < 0)
            close(pair[0]);
        errno = why;
    }
    int why = errno;
    close(fd);
    errno = why;
    return result;
}
