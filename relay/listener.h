/* The relay's one port: DAP over TCP, WebSocket and HTTP, told apart by their first bytes, on
 * loopback, unix sockets, or (TLS, then without plain DAP) anywhere. It knows who a connection is
 * (token, Origin, Host) and how much it may send before that is known; nothing of pauses.
 * Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_LISTENER_H
#define RAYDBG_RELAY_LISTENER_H

#include "relay/auth.h"
#include "relay/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listener;
struct conn;      /* one DAP client or one follower of /events */
struct http_call; /* one HTTP request that waits for its answer */

/* All borrowed until listener_destroy(), but for the arrays, which are copied. */
struct listener_options {
    struct loop *loop;
    const struct auth *auth;
    const char *const *addresses; /* "HOST:PORT", "[V6]:PORT" (port 0: any free one), "unix:PATH" */
    size_t address_count;
    const char *tls_cert, *tls_key, *tls_client_ca; /* PEM files, or NULL */
    const char *const *origins;                     /* --allow-origin */
    size_t origin_count;
    const char *const *hosts; /* --allow-host, beside localhost and the addresses listened on */
    size_t host_count;
    size_t max_connections;     /* 0: 10000 */
    size_t max_per_address;     /* unauthenticated ones; 0: 1000 */
    size_t max_body;            /* bytes of a client's message; 0: 4 MiB */
    size_t max_header;          /* bytes of an HTTP request's header; 0, and at most: 8 KiB */
    size_t max_unauthenticated; /* bytes; 0: 64 KiB */
    int64_t first_ms;           /* time to authenticate; 0: 10 s */
};

enum conn_kind { CONN_DAP_TCP, CONN_DAP_WEBSOCKET, CONN_EVENTS };

struct listener_ops {
    /* `role` is AUTH_NONE for DAP over TCP with a token still to come (conn_authenticate()). What
     * is returned is `user` in the other callbacks; NULL refuses the connection (say why with
     * conn_send() before). */
    void *(*on_open)(void *arg, struct conn *conn, enum conn_kind kind, enum auth_role role);
    /* One whole DAP message. Never for CONN_EVENTS. */
    void (*on_message)(void *user, const char *json, size_t len);
    /* The client's stream is nonsense or a limit was hit: one clause. on_close follows; what is
     * sent from within still goes out. */
    void (*on_broken)(void *user, const char *problem);
    /* What was queued has left: conn_queued() is 0 again. */
    void (*on_drain)(void *user);
    /* The connection is gone, whoever ended it; `conn` is invalid after. Exactly once for each
     * on_open that gave a user, also from within listener_destroy(). */
    void (*on_close)(void *user);
    /* A request for another path than /dap and /events, authenticated (but for /healthz, where role
     * may be AUTH_NONE), its body read. Answer it now or later, once. */
    void (*on_http)(void *arg, struct http_call *call);
    /* Something worth an audit line: "refused" with a reason. */
    void (*on_refused)(void *arg, const char *peer, const char *why);
};

/* NULL with `err` set: an address in use (who to ask: ss -ltnp), no TLS off loopback, no token off
 * loopback, an unreadable or unmatched certificate. */
struct listener *listener_create(const struct listener_options *options,
                                 const struct listener_ops *ops, void *arg, struct err *err);
/* Closes everything. */
void listener_destroy(struct listener **listener);
/* The n-th address listened on, with its real port: "127.0.0.1:4713"; NULL behind the last. */
const char *listener_address(const struct listener *listener, size_t n);
size_t listener_connections(const struct listener *listener);

/* --- a connection --- */

/* One whole message: framed as the transport wants it. Queued without limit: watch conn_queued().
 */
void conn_send(struct conn *conn, const char *json, size_t len);
/* One message, too. */
void conn_send_halves(struct conn *conn, const char *head, size_t head_len, const char *rest,
                      size_t rest_len);
/* The same in parts, for a body too large to hold: `total` bytes are announced, conn_send_part()
 * gives them. No conn_send() between. */
void conn_send_begin(struct conn *conn, size_t total);
void conn_send_part(struct conn *conn, const char *bytes, size_t len);
size_t conn_queued(const struct conn *conn); /* bytes that the kernel has not taken */
void conn_read_enable(struct conn *conn, bool enable);
/* The token was right: the limits of strangers end. */
void conn_authenticate(struct conn *conn, enum auth_role role);
/* Closes once what is queued has left, or 2 s later. on_close follows, never from within. */
void conn_close(struct conn *conn);
/* Nothing has come back from the client's machine for some 20 s although the kernel has asked. */
bool conn_is_silent(const struct conn *conn);
const char *conn_peer(const struct conn *conn); /* "127.0.0.1:50212", "unix" */

/* --- an HTTP request --- */

const char *http_call_method(const struct http_call *call); /* "GET", "POST" */
const char *http_call_path(const struct http_call *call);   /* decoded, without the query */
const char *http_call_body(const struct http_call *call, size_t *len);
enum auth_role http_call_role(const struct http_call *call);
const char *http_call_peer(const struct http_call *call);
/* Answers and frees; also right if the client has gone meanwhile. `type` "application/json", … */
void http_call_answer(struct http_call *call, int status, const char *type, const char *body,
                      size_t len);

#endif
