/* One HTTP request without a body, on libwebsockets' client. Follows no redirect, asks for no
 * compression, uses one connection a request. Callbacks run on the context's thread. */
#ifndef RAYDBG_PROTO_HTTP_H
#define RAYDBG_PROTO_HTTP_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct lws_context;
struct trust;
struct http_get;

/* Borrowed for the call that gets them. */
struct http_request {
    struct lws_context *context; /* made with TLS initialised, if `tls` */
    const char *method;          /* "GET", "POST"; NULL is GET. Static */
    const char *host;            /* no brackets; "+PATH" is a unix socket */
    uint16_t port;
    bool tls;
    const char *path;          /* with the query */
    const struct trust *trust; /* of TLS; NULL: the system's CAs */
    const char *token;         /* sent as `Authorization: Bearer …`, or NULL */
    int64_t deadline_ms;
    size_t max_body; /* bytes; more is HTTP_TOO_LARGE */
};

enum http_result {
    HTTP_ANSWERED,   /* there is a status, whatever it says */
    HTTP_NO_CONNECT, /* `why` says why */
    HTTP_BROKEN,     /* connected, but no whole answer came */
    HTTP_TIMEOUT,    /* nothing, or not all, within the deadline */
    HTTP_TOO_LARGE,
};

/* Borrowed for the callback. Strings are "" where there is nothing, never NULL. */
struct http_reply {
    enum http_result result;
    int status;
    const char *type;     /* content-type, lower case, without parameters */
    const char *location; /* of a redirect */
    const char *body;     /* NUL-terminated */
    size_t len;
    const char *why; /* for HTTP_NO_CONNECT and HTTP_BROKEN: one clause, may be "" */
};

typedef void (*http_fn)(void *arg, const struct http_reply *reply);

/* Runs fn once, never from within this call, and frees the get after it. */
struct http_get *http_get(const struct http_request *request, http_fn fn, void *arg);

/* Drops the callback and frees the get; not after it has run. */
void http_cancel(struct http_get **get);

#endif
