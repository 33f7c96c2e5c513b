/* The relay's one port: DAP over TCP, WebSocket, HTTP, and processes that dial the relay to be
 * debugged, told apart by their first bytes, or by what their TLS names, on loopback, unix sockets,
 * or (with TLS, and then without plain DAP) on any address. It authenticates connections (token,
 * Origin, Host) and limits how much an unauthenticated one may send. It knows nothing of pauses.
 * Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_PORT_LISTENER_H
#define RAYDBG_RELAY_PORT_LISTENER_H

#include "relay/access/auth.h"
#include "relay/io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct listener;
struct tls_terminator;
struct conn;      /* one DAP client or one follower of /events */
struct http_call; /* one HTTP request that waits for its answer */

/* All borrowed until listener_destroy(), except the arrays, which are copied. */
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
    /* Takes agents' TLS connections; NULL: a port with TLS refuses agents. Borrowed. */
    struct tls_terminator *tls_terminator;
    size_t max_connections;     /* 0: 10000 */
    size_t max_per_address;     /* unauthenticated connections; 0: 1000 */
    size_t max_body;            /* bytes of a client's message; 0: 4 MiB */
    size_t max_header;          /* bytes of an HTTP request's header; 0, and at most: 8 KiB */
    size_t max_unauthenticated; /* bytes; 0: 64 KiB */
    int64_t first_ms;           /* time to authenticate; 0: 10 s */
};

enum conn_kind { CONN_DAP_TCP, CONN_DAP_WEBSOCKET, CONN_EVENTS };

/* A process that has dialled the relay to be debugged. Strings are borrowed. */
struct listener_debuggee {
    int fd; /* non-blocking, and the callee's; with TLS, the plain end of a tls_terminator */
    const char
        *line; /* its first line, "raydbg agent 1 …", without the line's end, which is read */
    const char *peer;
    /* The address that it has dialled: listener_address(), or with TLS the address of the
     * connection's own end, such as "10.0.0.9:4713". */
    const char *address;
    bool tls;
};

struct listener_ops {
    /* A client has connected. `role` is AUTH_NONE for DAP over TCP with a token still to come
     * (conn_authenticate()). The return value is `user` in the other callbacks; NULL refuses the
     * connection (send the reason with conn_send() first). */
    void *(*on_open)(void *arg, struct conn *conn, enum conn_kind kind, enum auth_role role);
    /* One whole DAP message. Never for CONN_EVENTS. */
    void (*on_message)(void *user, const char *json, size_t len);
    /* The client's stream is malformed, or a limit was hit: `problem` is one clause. on_close
     * follows; messages sent from within this callback still go out. */
    void (*on_broken)(void *user, const char *problem);
    /* The queue is written: conn_queued() is 0 again. */
    void (*on_drain)(void *user);
    /* The connection is gone, whichever side ended it; `conn` is invalid after. Exactly once for
     * each on_open that gave a user, also from within listener_destroy(). */
    void (*on_close)(void *user);
    /* An authenticated request for a path that the port does not serve itself (/dap, /events,
     * /healthz, PROOF_PATH), its body read. Answer it now or later, once. */
    void (*on_http)(void *arg, struct http_call *call);
    /* Nothing is authenticated. NULL: all are refused. */
    void (*on_debuggee)(void *arg, const struct listener_debuggee *debuggee);
    /* /healthz was requested with a token: a client may follow. May be NULL. */
    void (*on_health)(void *arg);
    /* A connection or a request was refused: for the audit log. */
    void (*on_refused)(void *arg, const char *peer, const char *why);
};

/* NULL with `err` set: an address in use (ss -ltnp shows by which process), no TLS off loopback, no
 * token off loopback, an unreadable or unmatched certificate. */
struct listener *listener_create(const struct listener_options *options,
                                 const struct listener_ops *ops, void *arg, struct err *err);
/* Closes all connections and sockets. Of an HTTP answer that was given before, what the kernel
 * takes at once is still sent. */
void listener_destroy(struct listener **listener);
/* The n-th address listened on, with its real port: "127.0.0.1:4713"; NULL past the last. */
const char *listener_address(const struct listener *listener, size_t n);
size_t listener_connections(const struct listener *listener);

/* --- a connection --- */

/* Sends one whole message, framed for the transport. Queued without limit: watch conn_queued(). */
void conn_send(struct conn *conn, const char *json, size_t len);
/* Sends one message that is given in two pieces. */
void conn_send_halves(struct conn *conn, const char *head, size_t head_len, const char *rest,
                      size_t rest_len);
/* Sends one message in parts, for a body too large to hold: announces `total` bytes, which
 * conn_send_part() gives. No conn_send() in between. */
void conn_send_begin(struct conn *conn, size_t total);
void conn_send_part(struct conn *conn, const char *bytes, size_t len);
size_t conn_queued(const struct conn *conn); /* bytes that the kernel has not taken */
void conn_read_enable(struct conn *conn, bool enable);
/* The token was right: ends the limits for unauthenticated connections. */
void conn_authenticate(struct conn *conn, enum auth_role role);
/* Closes once the queue is written, or 2 s later. on_close follows, never from within this call. */
void conn_close(struct conn *conn);
/* True if the client's machine has not answered the kernel's probes for some 20 s. */
bool conn_is_silent(const struct conn *conn);
const char *conn_peer(const struct conn *conn); /* "127.0.0.1:50212", "unix" */

/* --- an HTTP request --- */

const char *http_call_method(const struct http_call *call); /* "GET", "POST" */
const char *http_call_path(const struct http_call *call);   /* decoded, without the query */
const char *http_call_body(const struct http_call *call, size_t *len);
enum auth_role http_call_role(const struct http_call *call);
const char *http_call_peer(const struct http_call *call);
/* Answers, and frees the call; also if the client has gone. `type` "application/json", … */
void http_call_answer(struct http_call *call, int status, const char *type, const char *body,
                      size_t len);

#endif
