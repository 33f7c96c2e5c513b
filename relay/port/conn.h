/* Shared by the listener's own files: a connection from its acceptance to its end. Other rooms
 * include listener.h.
 *
 *   accepted ─▶ CONN_FIRST ─┬─ "Content-…" ─────────▶ CONN_DAP       a raw socket of libwebsockets'
 *                           ├─ "raydbg …" ──────────▶ on_debuggee    it is the callee's
 *                           └─ a request's header ──▶ CONN_HTTP ─▶ CONN_WEBSOCKET
 *   accepted with TLS ─▶ CONN_FIRST ─┬─ its ClientHello names raydbg ─▶ tls_terminator, CONN_FIRST
 *                                    └─ else ───────▶ CONN_HTTP ─▶ CONN_WEBSOCKET
 *
 * In CONN_FIRST libwebsockets does not have the socket yet, and the bytes are peeked at, not read.
 * Reading them and giving them to libwebsockets' HTTP server (lws_adopt_socket_vhost_readbuf) does
 * not work: if the request has a body, 4.1 takes the header for it, and never returns. */
#ifndef RAYDBG_RELAY_PORT_CONN_H
#define RAYDBG_RELAY_PORT_CONN_H

#include "base/buf.h"
#include "base/invariant.h"
#include "dap/frame.h"
#include "relay/access/challenges.h"
#include "relay/access/proof.h"
#include "relay/io/listen_socket.h"
#include "relay/port/listener.h"
#include "relay/port/refusal.h"
#include "relay/port/unauthenticated.h"

#include <libwebsockets.h>

/* Bytes of a request's header at most; libwebsockets has room for more (loop.c). */
enum { CONN_HEADER_LIMIT = 8192 };
/* Payload bytes in one frame of a large WebSocket message. */
enum { CONN_PIECE = 65536 };

enum conn_state { CONN_FIRST, CONN_DAP, CONN_HTTP, CONN_WEBSOCKET };

struct conn {
    uint32_t magic;
    struct conn *prev, *next; /* in listener.conns */
    struct conn *unauthenticated_prev,
        *unauthenticated_next; /* in listener.unauthenticated_first, oldest first */
    struct listener *listener;
    struct lws *wsi;
    void *user;          /* the owner's; NULL before on_open */
    struct frame *frame; /* CONN_DAP: a partly received message */
    /* CONN_DAP: bytes that wait for conn_read_enable(); CONN_WEBSOCKET: the fragments so far of a
     * message. */
    struct buf in;
    struct buf queue; /* to be written; CONN_WEBSOCKET: as pieces */
    size_t head;      /* bytes at the queue's start that are already written */
    size_t part_left; /* bytes of conn_send_begin()'s total still to be given */
    size_t handed;    /* bytes that libwebsockets still buffers */
    size_t received;  /* bytes read while unauthenticated */
    struct timer *resume;
    struct watch *watch;    /* CONN_FIRST: until the first bytes arrive */
    struct timer *patience; /* CONN_FIRST: until the next look at them */
    int patience_ms;
    int fd;                 /* CONN_FIRST; -1 once it is libwebsockets' */
    struct http_call *call; /* the request that waits for its answer, or NULL */
    int64_t since_us;
    enum conn_state state;
    enum conn_kind kind;
    enum auth_role role;
    enum refusal refusal; /* decided at acceptance, sent once the protocol is known */
    uint16_t port;        /* index in listener.ports */
    bool unauthenticated;
    bool counted;   /* in listener.count */
    bool tls;       /* the bytes on its socket are TLS */
    char *dialled;  /* CONN_FIRST of an agent that came through the tls_terminator:
                       listener_debuggee's */
    bool halted;    /* conn_read_enable(false) */
    bool closing;   /* after conn_close() or a broken stream: input is dropped */
    bool lingering; /* our side is shut down; waits for the peer to close */
    bool begun;     /* a WebSocket message's first piece is queued, its last is not */
    bool waits;     /* something was queued since the last on_drain */
    /* Set by each send: conn_break() sends its own error only if on_broken sent nothing. */
    bool told;
    bool body_pending, answered; /* CONN_HTTP */
    uint8_t address[UNAUTHENTICATED_ADDRESS_SIZE];
    char peer[56];
};
INVARIANT_MAGIC(conn, 0x08387df3)
#define conn_checked(object) conn_checked_at(INVARIANT_HERE, object)

void conn_move_at(struct invariant_location location, struct conn *conn, enum conn_state next);
#define conn_move(conn, next) conn_move_at(INVARIANT_HERE, conn, next)

struct listener {
    struct listener_options options; /* the arrays are copies */
    const struct listener_ops *ops;
    void *arg;
    struct listen_socket_list ports;
    struct lws_vhost *plain, *secure;
    struct conn *conns;
    struct conn *unauthenticated_first, *unauthenticated_last;
    struct unauthenticated unauthenticated;
    struct challenges *challenges;
    char machine[PROOF_MACHINE_ROOM];
    struct timer *deadline; /* of unauthenticated_first */
    size_t count, refused_count;
    struct conn *adopting; /* the connection that libwebsockets is making a wsi for */
};

/* --- conn.c: life and limits --- */

/* Closes once the queue is written, or 2 s later; delivers no more input. */
void conn_finish(struct conn *conn);
/* The stream cannot continue: calls on_broken if there is an owner, sends the client an error
 * unless on_broken did, and closes. */
void conn_break(struct conn *conn, const char *problem);
/* Calls on_close and clears `user`. */
void conn_gone(struct conn *conn);
/* Sets the role; the connection stops counting as unauthenticated, also with AUTH_NONE. */
void conn_known(struct conn *conn, enum auth_role role);
/* Sends the refusal in the connection's protocol, and closes. */
void conn_refuse(struct conn *conn, enum refusal refusal);
/* Calls on_open: the connection is a DAP client or a follower of /events. False if refused. */
bool conn_open(struct conn *conn, enum conn_kind kind, enum auth_role role);
size_t conn_body_limit(const struct conn *conn);

/* Calls on_refused, for the audit log. */
void conn_tell_refusal(const struct conn *conn, enum refusal refusal);

/* --- conn_sniff.c --- */

/* Peeks at the bytes that have arrived and acts on them; may free the connection. */
void conn_first_look(struct conn *conn);
/* Answers with an HTTP error and closes. */
void conn_first_refuse(struct conn *conn, enum refusal refusal);
/* Stops the watch and the timer; closes the fd if libwebsockets does not have it. */
void conn_first_end(struct conn *conn);

/* --- conn_out.c: writing --- */

/* Writes bytes to a raw socket: at once if nothing is queued. */
void conn_write(struct conn *conn, const void *head, size_t head_len, const void *body,
                size_t body_len);
/* The socket is writable again. -1: everything is written, and the connection is to be closed. */
int conn_writable(struct conn *conn);

/* --- conn_dap.c: raw sockets --- */

int conn_raw(struct conn *conn, struct lws *wsi, enum lws_callback_reasons reason, const void *in,
             size_t len);
void conn_drop_frame(struct conn *conn);

/* --- conn_http.c, conn_websocket.c --- */

int conn_http(struct conn *conn, struct lws *wsi, enum lws_callback_reasons reason, const void *in,
              size_t len);
int conn_websocket(struct conn *conn, struct lws *wsi, enum lws_callback_reasons reason,
                   const void *in, size_t len);
/* Gives a queued answer to libwebsockets. */
void conn_http_write(struct conn *conn);
/* Answers with a JSON error and closes. */
void conn_http_refuse(struct conn *conn, enum refusal refusal);
/* The call's connection is gone; frees the call unless on_http has it. */
void http_call_gone(struct http_call *call);
/* Appends a whole HTTP response. `without_body`: for HEAD. */
void http_answer_text(struct buf *out, int status, const char *type, const char *body, size_t len,
                      bool without_body);

/* --- http_access.c: for CONN_HTTP, while libwebsockets has the request's header --- */

struct http_access_request {
    const char *method, *path; /* decoded, without the query */
    bool open_to_all;          /* needs no token */
};

/* Checks the Host (except on unix sockets), the Origin (if there is one), and the token, or a proof
 * of knowing it, which is good for one call only. Gives REFUSAL_NONE and `role` (with `open_to_all`
 * it may be AUTH_NONE), or the reason. */
enum refusal http_access_check(const struct conn *conn, struct lws *wsi,
                               const struct http_access_request *request, enum auth_role *role);
/* The answer to GET PROOF_PATH: {"id","nonce","proofs":[…],"open"}. */
enum refusal http_access_challenge(const struct conn *conn, struct lws *wsi, struct buf *json);

/* --- listener.c --- */

/* Gives the socket to libwebsockets. False if libwebsockets refuses it: the connection is freed.
 * With `http` the connection may be gone in either case. */
bool listener_adopt(struct conn *conn, bool http);
/* Frees a connection that no wsi refers to. */
void conn_free(struct conn *conn);
const struct listen_socket *conn_port(const struct conn *conn);

#endif
