/* What the listener's own files share: a connection from its acceptance to its end. Others use
 * listener.h.
 *
 *   accepted ─▶ CONN_FIRST ─┬─ "Content-…" ─────────▶ CONN_DAP       a raw socket of libwebsockets'
 *                           └─ a request's header ──▶ CONN_HTTP ─▶ CONN_WEBSOCKET
 *   accepted with TLS ──────────────────────────────▶ CONN_HTTP ─▶ CONN_WEBSOCKET
 *
 * In CONN_FIRST the socket is not libwebsockets' yet: the bytes are looked at and not read. To read
 * them and to give them to libwebsockets' HTTP server (lws_adopt_socket_vhost_readbuf) would not
 * do: 4.1 takes the header for the body of a request that has one, and never returns. */
#ifndef RAYDBG_RELAY_CONN_H
#define RAYDBG_RELAY_CONN_H

#include "base/buf.h"
#include "dap/frame.h"
#include "relay/listener.h"
#include "relay/port.h"
#include "relay/refusal.h"
#include "relay/strangers.h"

#include <libwebsockets.h>

/* Bytes of a request's header; also libwebsockets' limit (loop.c). */
enum { CONN_HEADER_LIMIT = 8192 };
/* One frame of a large WebSocket message. */
enum { CONN_PIECE = 65536 };

enum conn_state { CONN_FIRST, CONN_DAP, CONN_HTTP, CONN_WEBSOCKET };

struct conn {
    struct conn *prev, *next;                   /* in listener.conns */
    struct conn *stranger_prev, *stranger_next; /* in listener.strangers_first, oldest first */
    struct listener *listener;
    struct lws *wsi;
    void *user;          /* the owner's; NULL before on_open */
    struct frame *frame; /* CONN_DAP: a message that has begun */
    /* CONN_DAP: bytes that wait for conn_read_enable(); CONN_WEBSOCKET: the fragments so far of a
     * message. */
    struct buf in;
    struct buf queue; /* to be written; CONN_WEBSOCKET: as pieces */
    size_t head;      /* bytes at the queue's start that have left */
    size_t part_left; /* of conn_send_begin()'s total */
    size_t handed;    /* bytes that libwebsockets keeps for us */
    size_t received;  /* while a stranger */
    struct timer *resume;
    struct watch *watch;    /* CONN_FIRST: for the first bytes, */
    struct timer *patience; /* and for more of them */
    int patience_ms;
    int fd;                 /* CONN_FIRST; -1 once it is libwebsockets' */
    struct http_call *call; /* that waits for its answer */
    int64_t since_us;
    enum conn_state state;
    enum conn_kind kind;
    enum auth_role role;
    enum refusal refusal; /* decided when it was accepted, told when its protocol is known */
    uint16_t port;        /* index in listener.ports */
    bool stranger;        /* not authenticated */
    bool counted;         /* in listener.count */
    bool tls;
    bool halted;    /* conn_read_enable(false) */
    bool closing;   /* after conn_close() or a broken stream: input is dropped */
    bool lingering; /* our side is shut down: waits for the other's end */
    bool begun;     /* a WebSocket message's first piece was sent */
    bool waits;     /* something was queued since the last on_drain */
    bool told;      /* something was sent: for whom a limit hits, one error is enough */
    bool body_pending, answered; /* CONN_HTTP */
    uint8_t address[STRANGERS_ADDRESS_SIZE];
    char peer[56];
};

struct listener {
    struct listener_options options; /* the arrays are copies */
    const struct listener_ops *ops;
    void *arg;
    struct port_list ports;
    struct lws_vhost *plain, *secure;
    struct conn *conns;
    struct conn *strangers_first, *strangers_last;
    struct strangers strangers;
    struct timer *deadline; /* of strangers_first */
    struct timer *pause;    /* accepting rests, for want of fds */
    size_t count, refused_count;
    struct conn *adopting; /* its new wsi is about to say hello */
};

/* --- conn.c: life and limits --- */

/* Closes once what is queued has left, or 2 s later; nothing more is delivered. */
void conn_finish(struct conn *conn);
/* The stream cannot go on: tells the owner, or the client if there is no owner, and closes. */
void conn_break(struct conn *conn, const char *problem);
/* Tells the owner and forgets it. */
void conn_gone(struct conn *conn);
/* Off the limits of strangers. */
void conn_known(struct conn *conn, enum auth_role role);
/* Turns it away, in the form of the protocol that it speaks. */
void conn_refuse(struct conn *conn, enum refusal refusal);
/* Makes it a DAP client or a follower; false if it was refused. */
bool conn_open(struct conn *conn, enum conn_kind kind, enum auth_role role);
size_t conn_body_limit(const struct conn *conn);

/* For the audit log. */
void conn_tell_refusal(const struct conn *conn, enum refusal refusal);

/* --- conn_first.c --- */

/* Looks at what has come; the connection may be gone after. */
void conn_first_look(struct conn *conn);
/* Answers in HTTP's form and closes. */
void conn_first_refuse(struct conn *conn, enum refusal refusal);
/* Closes what is not libwebsockets'. */
void conn_first_end(struct conn *conn);

/* --- conn_out.c: writing --- */

/* Plain bytes on a raw socket: at once if nothing is queued. */
void conn_write(struct conn *conn, const void *head, size_t head_len, const void *body,
                size_t body_len);
/* The socket takes bytes again. -1: everything has left, and the connection is to be closed. */
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
/* Answers with a JSON error and closes. */
void conn_http_refuse(struct conn *conn, enum refusal refusal);
/* The client of a call has gone. */
void http_call_gone(struct http_call *call);
/* The whole text of an HTTP answer. */
void http_answer_text(struct buf *out, int status, const char *type, const char *body, size_t len,
                      bool without_body);

/* The relay's Host or Origin, or none; a known token. REFUSAL_NONE and `role`, or why not. For
 * CONN_HTTP while a request's header is there. */
enum refusal gate_check(const struct conn *conn, struct lws *wsi, bool open_to_all,
                        enum auth_role *role);

/* --- listener.c --- */

/* Gives the socket to libwebsockets. False if it would not have it: the connection is gone. With
 * `http` it may be gone for other reasons, too. */
bool listener_adopt(struct conn *conn, bool http);
/* Of a connection that libwebsockets does not know, or no longer. */
void conn_free(struct conn *conn);
const struct port *conn_port(const struct conn *conn);

#endif
