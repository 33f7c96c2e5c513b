/* Sends an HTTP request by libwebsockets' client. Follows no redirect, asks for no
 * compression, uses one connection per request. Callbacks run on the context's thread. */
#ifndef RAYDBG_PROTO_HTTP_H
#define RAYDBG_PROTO_HTTP_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lws_context;
struct trust;
struct http_get;

/* Borrowed for the duration of the call. */
struct http_request {
    struct lws_context *context; /* made with TLS initialised, if `tls` */
    const char *method;          /* "GET", "POST"; NULL is GET. Static */
    const char *host;            /* no brackets; "+PATH" is a unix socket */
    uint16_t port;
    bool tls;
    const char *path;          /* with the query */
    const struct trust *trust; /* for TLS; NULL: the system's CAs */
    const char *token;         /* sent as `Authorization: Bearer …`, or NULL */
    const char *authorization; /* the whole header instead of a token's, or NULL */
    const char *json;          /* the body of a POST, or NULL */
    int64_t deadline_ms;
    size_t max_body; /* bytes; more is HTTP_TOO_LARGE */
};

enum http_result {
    HTTP_ANSWERED,   /* a complete answer, with any status */
    HTTP_NO_CONNECT, /* `why` says why */
    HTTP_UNTRUSTED,  /* a wrong certificate, or a relay without proof (relay_call.h): see `why` */
    HTTP_BROKEN,     /* connected, but no complete answer came */
    HTTP_TIMEOUT,    /* no complete answer within the deadline */
    HTTP_TOO_LARGE,
};

/* Borrowed for the duration of the callback. Strings may be "", but never NULL. */
struct http_reply {
    enum http_result result;
    int status;
    const char *type;     /* content-type, lower case, without parameters */
    const char *location; /* of a redirect */
    const char *body;     /* NUL-terminated */
    size_t len;
    const char *why; /* for HTTP_NO_CONNECT, _UNTRUSTED and _BROKEN: one clause, may be "" */
};

typedef void (*http_fn)(void *arg, const struct http_reply *reply);

/* Runs fn once, never from within this call, and then frees the get. */
struct http_get *http_get(const struct http_request *request, http_fn fn, void *arg);

/* Drops the callback and frees the get. Do not call after the callback has run. */
void http_cancel(struct http_get **get);

#endif
