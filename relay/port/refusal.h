/* Every reason for which the relay's port refuses a connection or a request, with its texts: one
 * table for HTTP answers, DAP errors and the audit log. */
#ifndef RAYDBG_RELAY_PORT_REFUSAL_H
#define RAYDBG_RELAY_PORT_REFUSAL_H

#include "base/buf.h"

#include <stddef.h>

enum refusal {
    REFUSAL_NONE,
    REFUSAL_CONNECTIONS, /* the limit of connections is reached */
    REFUSAL_ADDRESS,     /* too many unauthenticated connections from one address */
    REFUSAL_SLOW,        /* no whole request in time */
    REFUSAL_HEADER,      /* a request's header is too long */
    REFUSAL_HEADER_FORM, /* a line of a request's header is malformed */
    REFUSAL_BODY,        /* a request's body is too long */
    REFUSAL_CHUNKED,     /* a body without Content-Length */
    REFUSAL_LENGTH,      /* a Content-Length that is no number, or a long one */
    REFUSAL_NOT_HTTP,    /* bytes that are neither HTTP nor DAP */
    REFUSAL_PLAIN,       /* plain bytes where TLS is spoken */
    REFUSAL_NO_AGENT,    /* an agent's TLS connection that does not begin with an agent's line */
    REFUSAL_SILENT,      /* one that ends before that line */
    REFUSAL_NO_DOOR,     /* there is no process for an agent's TLS connection */
    REFUSAL_HOST,        /* a Host that is not the relay's */
    REFUSAL_ORIGIN,      /* a web page's request, from an Origin that is not allowed */
    REFUSAL_URL_TOKEN,   /* a token in the URL */
    REFUSAL_NO_TOKEN,    /* no token given */
    REFUSAL_WRONG_TOKEN, /* neither the driver's nor the observer's token */
    REFUSAL_PATH,        /* WebSocket on another path than /dap and /events */
    REFUSAL_PROTOCOL,    /* a subprotocol that is not that path's */
    REFUSAL_UPGRADE,     /* /dap or /events without, or with a broken, WebSocket handshake */
    REFUSAL_CHALLENGE,   /* a challenge without a nonce, or for an unknown endpoint */
    REFUSAL_COUNT
};

int refusal_status(enum refusal refusal); /* HTTP's status code */
/* One clause: "the token is wrong". */
const char *refusal_what(enum refusal refusal);
/* Appends {"error":{"what","why","hint"}}. */
void refusal_json(struct buf *out, enum refusal refusal);
/* Appends a failed DAP response to no request in particular (request_seq 0). */
void refusal_dap(struct buf *out, enum refusal refusal);
/* The same with a text of the caller's own. */
void refusal_dap_text(struct buf *out, const char *text);
/* HTTP's phrase for a status: "Not Found". */
const char *refusal_phrase(int status);

#endif
