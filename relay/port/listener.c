#include "relay/port/listener.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/access/certificate.h"
#include "relay/io/loop_wsi.h"
#include "relay/port/conn.h"

#include <errno.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* The defaults of listener.h. */
enum {
    MAX_CONNECTIONS = 10000,
    MAX_PER_ADDRESS = 1000,
    MAX_BODY = 4194304,
    MAX_UNAUTHENTICATED_BYTES = 65536,
    FIRST_MS = 10000
};

/* Connections that one port accepts in one go; then other ports and events get their turn. */
enum { ACCEPT_BATCH = 64 };
/* Connections over a limit that are kept open for the refusal; further ones are closed without
 * it. */
enum { REFUSED_AT_ONCE = 256 };
/* Bytes that libwebsockets reads at once from a WebSocket: the size of each open one's buffer. */
enum { WEBSOCKET_READ = 1024 };

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t len);

/* tx_packet_size: without it one write would have the size of one read. */
#define PROTOCOL(protocol)                                                                         \
    {                                                                                              \
        .name = (protocol), .callback = on_event, .rx_buffer_size = WEBSOCKET_READ,                \
        .tx_packet_size = CONN_PIECE + LWS_PRE                                                     \
    }

/* The first is for connections that are not WebSockets (yet). */
static const struct lws_protocols protocols[] = {
    PROTOCOL("raydbg-http"), PROTOCOL("dap"), PROTOCOL("raydbg.events"), {0}};

/* --- the list of connections --- */

static void start_deadline(struct listener *listener);

static void link_conn(struct listener *listener, struct conn *conn)
{
    conn->next = listener->conns;
    if (conn->next)
        conn->next->prev = conn;
    listener->conns = conn;
    conn->unauthenticated_prev = listener->unauthenticated_last;
    *(conn->unauthenticated_prev ? &conn->unauthenticated_prev->unauthenticated_next
                                 : &listener->unauthenticated_first) = conn;
    listener->unauthenticated_last = conn;
    conn->unauthenticated = true;
}

void conn_free(struct conn *conn)
{
    struct listener *listener = conn->listener;
    conn_known(conn, conn->role);
    *(conn->prev ? &conn->prev->next : &listener->conns) = conn->next;
    if (conn->next)
        conn->next->prev = conn->prev;
    if (conn->counted)
        listener->count--;
    else
        listener->refused_count--;
    if (conn->call)
        http_call_gone(conn->call);
    conn_first_end(conn);
    free(conn->dialled);
    timer_cancel(&conn->resume);
    conn_drop_frame(conn);
    buf_free(&conn->in);
    buf_free(&conn->queue);
    conn_gone(conn);
    conn_clear_magic(conn);
    free(conn);
}

/* --- the deadline of unauthenticated connections --- */

/* libwebsockets waits for the end of a header, even of a malformed one, and answers nothing before.
 * Under TLS the bytes cannot be checked first, so this answer bypasses libwebsockets. */
static void answer_part_of_header(const struct conn *conn)
{
    struct buf json = {0}, text = {0};
    SSL *tls = conn->tls ? lws_get_ssl(conn->wsi) : NULL;
    if (!tls || !SSL_is_init_finished(tls))
        return;
    refusal_json(&json, REFUSAL_SLOW);
    http_answer_text(&text, refusal_status(REFUSAL_SLOW), "application/json", json.data, json.len,
                     false);
    SSL_write(tls, text.data, (int)text.len); /* best effort: the connection ends anyway */
    buf_free(&json);
    buf_free(&text);
}

static void end_unauthenticated(struct conn *conn)
{
    bool can_answer = conn->state != CONN_HTTP || conn->call;
    conn_known(conn, AUTH_NONE); /* does not count as unauthenticated while it closes */
    if (can_answer)
        conn_refuse(conn, REFUSAL_SLOW);
    if (can_answer || conn->answered)
        return;
    answer_part_of_header(conn);
    lws_set_timeout(conn->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
}

static void on_deadline(void *arg)
{
    struct listener *listener = arg;
    int64_t until = loop_now_us() - listener->options.first_ms * 1000;
    listener->deadline = NULL;
    while (listener->unauthenticated_first && listener->unauthenticated_first->since_us <= until)
        end_unauthenticated(listener->unauthenticated_first);
    start_deadline(listener);
}

static void start_deadline(struct listener *listener)
{
    if (listener->deadline || !listener->unauthenticated_first)
        return;
    int64_t left_us = listener->unauthenticated_first->since_us +
                      listener->options.first_ms * 1000 - loop_now_us();
    listener->deadline = timer_start(listener->options.loop, left_us > 0 ? left_us / 1000 + 1 : 0,
                                     on_deadline, listener);
}

/* --- accepting --- */

static enum refusal limit_hit(struct listener *listener, struct conn *conn)
{
    size_t unauthenticated = unauthenticated_add(&listener->unauthenticated, conn->address);
    if (listener->count >= listener->options.max_connections)
        return REFUSAL_CONNECTIONS;
    return unauthenticated > listener->options.max_per_address ? REFUSAL_ADDRESS : REFUSAL_NONE;
}

bool listener_adopt(struct conn *conn, bool http)
{
    struct listener *listener = conn->listener;
    lws_sock_file_fd_type descriptor = {.sockfd = conn->fd};
    lws_adoption_type type = LWS_ADOPT_SOCKET;
    if (http)
        type |= LWS_ADOPT_HTTP;
    if (conn->tls)
        type |= LWS_ADOPT_ALLOW_SSL;
    conn->fd = -1; /* libwebsockets closes it, also if it cannot make a wsi */
    listener->adopting = conn;
    lws_adopt_descriptor_vhost(conn->tls ? listener->secure : listener->plain, type, descriptor,
                               http ? NULL : protocols[0].name, NULL);
    if (!listener->adopting)
        return true;
    listener->adopting = NULL; /* no callback has taken it, so nothing else frees it */
    conn_free(conn);
    return false;
}

/* With TCP_DEFER_ACCEPT a connection is accepted once its first bytes are there. A client that
 * sends plain bytes to a TLS port gets a plain answer, which it can read. */
static bool speaks_plain(int fd)
{
    unsigned char first;
    return recv(fd, &first, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && first >= ' ' && first <= '~';
}

static void welcome(struct conn *conn)
{
    bool secure = conn->listener->secure && !conn_port(conn)->is_unix;
    conn->tls = secure && !speaks_plain(conn->fd);
    if (secure && !conn->tls && !conn->refusal)
        conn->refusal = REFUSAL_PLAIN;
    conn_first_look(conn);
}

/* False if there is no more to accept now. */
static bool accept_one(struct listener *listener, size_t index)
{
    struct conn *conn = mem_alloc(sizeof *conn);
    conn_set_magic(conn);
    conn->fd = listen_socket_accept(&listener->ports.items[index], conn->peer, sizeof conn->peer,
                                    conn->address);
    if (conn->fd < 0) {
        int problem = errno;
        conn_clear_magic(conn);
        free(conn);
        if (listen_socket_has_run_out(problem)) {
            log_warn("no more connections can be accepted: %s", strerror(problem));
            listen_socket_list_rest(&listener->ports);
        }
        return problem == ECONNABORTED || problem == EINTR;
    }
    conn->listener = listener;
    conn->port = (uint16_t)index;
    conn->since_us = loop_now_us();
    conn->refusal = limit_hit(listener, conn);
    conn->counted = !conn->refusal;
    if (conn->refusal && listener->refused_count >= REFUSED_AT_ONCE) {
        unauthenticated_drop(&listener->unauthenticated, conn->address);
        close(conn->fd);
        conn_clear_magic(conn);
        free(conn);
        return true;
    }
    link_conn(listener, conn);
    if (conn->counted)
        listener->count++;
    else
        listener->refused_count++;
    start_deadline(listener);
    welcome(conn);
    return true;
}

/* Tries every port: that is as quick as remembering which one is ready. */
static void on_acceptable(void *arg)
{
    struct listener *listener = arg;
    for (size_t i = 0; i < listener->ports.count; i++)
        for (int n = 0; n < ACCEPT_BATCH && accept_one(listener, i); n++)
            continue;
}

/* --- libwebsockets --- */

static struct conn *conn_of(struct lws *wsi, enum lws_callback_reasons reason)
{
    struct conn *conn = lws_get_opaque_user_data(wsi);
    if (conn)
        return conn_checked(conn);
    if (reason != LWS_CALLBACK_RAW_ADOPT && reason != LWS_CALLBACK_SERVER_NEW_CLIENT_INSTANTIATED)
        return NULL;
    struct listener *listener = lws_vhost_user(lws_get_vhost(wsi));
    conn = listener->adopting;
    listener->adopting = NULL;
    if (conn) {
        conn->wsi = wsi;
        lws_set_opaque_user_data(wsi, conn);
    }
    return conn;
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *in,
                    size_t len)
{
    (void)user;
    /* This result replaces OpenSSL's, which is `len`. The wsi is not a real one. */
    if (reason == LWS_CALLBACK_OPENSSL_PERFORM_CLIENT_CERT_VERIFICATION)
        return len ? 0 : 1;
    struct conn *conn = wsi ? conn_of(wsi, reason) : NULL;
    if (!conn)
        return 0;
    /* The last callback, and the only one that always comes. */
    if (reason == LWS_CALLBACK_WSI_DESTROY) {
        conn->wsi = NULL;
        conn_free(conn);
        /* With libuv this runs at the end of a turn, when timers are no longer looked at: wake the
         * loop for those that have been started since. */
        lws_cancel_service(lws_get_context(wsi));
        return 0;
    }
    if (conn->state == CONN_FIRST || conn->state == CONN_DAP)
        return conn_raw(conn, wsi, reason, in, len);
    return conn_http(conn, wsi, reason, in, len);
}

static struct lws_vhost *create_vhost(struct listener *listener, bool secure)
{
    const struct listener_options *options = &listener->options;
    struct lws_context_creation_info info = {
        .port = CONTEXT_PORT_NO_LISTEN_SERVER,
        .protocols = protocols,
        .vhost_name = secure ? "raydbg-secure" : "raydbg-plain",
        .user = listener,
        .alpn = "http/1.1",
        .timeout_secs_ah_idle = (unsigned)(options->first_ms / 1000 + 2),
    };
    if (secure) {
        info.options = LWS_SERVER_OPTION_DO_SSL_GLOBAL_INIT;
        info.ssl_cert_filepath = options->tls_cert;
        info.ssl_private_key_filepath = options->tls_key;
        info.ssl_ca_filepath = options->tls_client_ca;
        info.ssl_options_set = SSL_OP_NO_TLSv1 | SSL_OP_NO_TLSv1_1 | SSL_OP_NO_COMPRESSION;
        if (options->tls_client_ca)
            info.options |= LWS_SERVER_OPTION_REQUIRE_VALID_OPENSSL_CLIENT_CERT;
    }
    return lws_create_vhost(loop_context(options->loop), &info);
}

static int create_vhosts(struct listener *listener, struct err *err)
{
    listener->plain = create_vhost(listener, false);
    if (listener->options.tls_cert)
        listener->secure = create_vhost(listener, true);
    if (listener->plain && (listener->secure || !listener->options.tls_cert))
        return 0;
    err_set(err, ERR_FAILED, "the relay cannot serve connections");
    return err_hint(err, "RAYDBG_LOG=debug tells what libwebsockets says");
}

/* --- life --- */

static const char *const *copy(const char *const *items, size_t count)
{
    const char **copies = mem_array(count, sizeof *copies);
    for (size_t i = 0; i < count; i++)
        copies[i] = mem_string(items[i]);
    return copies;
}

static void free_copy(const char *const *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free((void *)(uintptr_t)items[i]);
    free((void *)(uintptr_t)items);
}

static void take_options(struct listener *listener, const struct listener_options *options)
{
    struct listener_options *own = &listener->options;
    *own = *options;
    own->addresses = copy(options->addresses, options->address_count);
    own->origins = copy(options->origins, options->origin_count);
    own->hosts = copy(options->hosts, options->host_count);
    own->max_connections = own->max_connections ? own->max_connections : MAX_CONNECTIONS;
    own->max_per_address = own->max_per_address ? own->max_per_address : MAX_PER_ADDRESS;
    own->max_body = own->max_body ? own->max_body : MAX_BODY;
    if (!own->max_header || own->max_header > CONN_HEADER_LIMIT)
        own->max_header = CONN_HEADER_LIMIT;
    own->max_unauthenticated =
        own->max_unauthenticated ? own->max_unauthenticated : MAX_UNAUTHENTICATED_BYTES;
    own->first_ms = own->first_ms ? own->first_ms : FIRST_MS;
}

static int check_tls(const struct listener_options *options, struct err *err)
{
    if (!options->tls_cert && !options->tls_key && !options->tls_client_ca)
        return 0;
    if (!options->tls_cert || !options->tls_key) {
        err_set(err, ERR_USAGE, "TLS needs a certificate and its key");
        return err_hint(err,
                        "give --tls-cert and --tls-key; raydbg relay --make-cert makes a pair");
    }
    return certificate_check(options->tls_cert, options->tls_key, options->tls_client_ca, err);
}

static int check_port(const struct listener *listener, const struct listen_socket *port,
                      struct err *err)
{
    if (port->loopback)
        return 0;
    if (!listener->options.tls_cert) {
        err_set(err, ERR_USAGE, "%s is not loopback, and there is no TLS", port->text);
        err_why(err, "everybody on the way could read the token");
        return err_hint(err, "--tls-cert F --tls-key F (raydbg relay --make-cert makes a pair)");
    }
    if (auth_is_open(listener->options.auth)) {
        err_set(err, ERR_USAGE, "%s is not loopback, and there is no token", port->text);
        err_why(err, "everybody who can reach it could run code in every paused task");
        return err_hint(err, "--token none is for loopback and unix sockets");
    }
    return 0;
}

static int listen_all(struct listener *listener, struct err *err)
{
    struct listener_options *options = &listener->options;
    for (size_t i = 0; i < options->address_count; i++)
        if (listen_socket_listen(&listener->ports, options->addresses[i], err) != 0)
            return -1;
    for (size_t i = 0; i < listener->ports.count; i++) {
        struct listen_socket *port = &listener->ports.items[i];
        if (check_port(listener, port, err) != 0)
            return -1;
        if (options->tls_cert && !port->is_unix)
            listen_socket_defer(port, (int)(options->first_ms / 1000 + 1));
    }
    if (listener->ports.count)
        return 0;
    return err_set(err, ERR_USAGE, "the relay has no address to listen on");
}

struct listener *listener_create(const struct listener_options *options,
                                 const struct listener_ops *ops, void *arg, struct err *err)
{
    struct listener *listener = mem_alloc(sizeof *listener);
    listener->ops = ops;
    listener->arg = arg;
    listener->challenges = challenges_create();
    proof_machine(listener->machine);
    take_options(listener, options);
    if (check_tls(&listener->options, err) != 0 || listen_all(listener, err) != 0 ||
        create_vhosts(listener, err) != 0) {
        listener_destroy(&listener);
        return NULL;
    }
    listen_socket_list_watch(&listener->ports, options->loop, on_acceptable, listener);
    return listener;
}

static void drop_all(struct listener *listener)
{
    struct conn *next;
    for (struct conn *conn = listener->conns; conn; conn = next) {
        next = conn->next;
        if (conn->wsi) {
            if (conn->state == CONN_HTTP && conn->answered)
                conn_http_write(conn); /* no writable callback follows */
            lws_set_opaque_user_data(conn->wsi, NULL);
            lws_set_timeout(conn->wsi, PENDING_TIMEOUT_USER_REASON_BASE, LWS_TO_KILL_ASYNC);
        }
        conn->wsi = NULL;
        conn->closing = true;
        conn_free(conn);
    }
}

void listener_destroy(struct listener **listener)
{
    struct listener *it = *listener;
    if (!it)
        return;
    *listener = NULL;
    drop_all(it);
    timer_cancel(&it->deadline);
    if (it->secure)
        lws_vhost_destroy(it->secure);
    if (it->plain)
        lws_vhost_destroy(it->plain);
    listen_socket_list_close(&it->ports);
    challenges_destroy(&it->challenges);
    free_copy(it->options.addresses, it->options.address_count);
    free_copy(it->options.origins, it->options.origin_count);
    free_copy(it->options.hosts, it->options.host_count);
    free(it);
}

const char *listener_address(const struct listener *listener, size_t n)
{
    return n < listener->ports.count ? listener->ports.items[n].text : NULL;
}

size_t listener_connections(const struct listener *listener)
{
    return listener->count;
}
