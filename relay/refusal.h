/* Every reason for which the relay's port turns somebody away, with its words: one table for HTTP
 * answers, DAP errors and the audit log. */
#ifndef RAYDBG_RELAY_REFUSAL_H
#define RAYDBG_RELAY_REFUSAL_H

#include "base/buf.h"

#include <stddef.h>

enum refusal {
    REFUSAL_NONE,
    REFUSAL_CONNECTIONS, /* as many as there may be */
    REFUSAL_ADDRESS,     /* as many strangers from one address as there may be */
    REFUSAL_SLOW,        /* no whole request in time */
    REFUSAL_HEADER,      /* a request's header is too long */
    REFUSAL_BODY,        /* a request's body is too long */
    REFUSAL_CHUNKED,     /* a body without Content-Length */
    REFUSAL_LENGTH,      /* a Content-Length that is no number */
    REFUSAL_NOT_HTTP,    /* bytes that are neither HTTP nor DAP */
    REFUSAL_PLAIN,       /* plain bytes where TLS is spoken */
    REFUSAL_HOST,        /* a Host that is not the relay's */
    REFUSAL_ORIGIN,      /* a web page's request */
    REFUSAL_URL_TOKEN,   /* a token in the URL */
    REFUSAL_NO_TOKEN,    /* none given */
    REFUSAL_WRONG_TOKEN, /* none of ours */
    REFUSAL_PATH,        /* WebSocket on another path than /dap and /events */
    REFUSAL_PROTOCOL,    /* a subprotocol that is not that path's */
    REFUSAL_UPGRADE,     /* /dap or /events without, or with a broken, WebSocket handshake */
    REFUSAL_COUNT
};

int refusal_status(enum refusal refusal); /* HTTP's */
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
