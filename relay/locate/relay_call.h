/* A request to a relay, with the client's authorization. Over TLS that is the token, sent to a
 * relay whose certificate was checked. A plain connection never carries the token: the relay first
 * proves that it knows the token, and the request then has a proof that is good only for this
 * request (proof.h). Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_LOCATE_RELAY_CALL_H
#define RAYDBG_RELAY_LOCATE_RELAY_CALL_H

#include "proto/http.h"
#include "relay/io/loop.h"
#include "relay/locate/relay_address.h"

struct relay_call;

/* `method` is static: "GET" or "POST"; `json` is the body of a POST, or NULL. `fn` runs once, never
 * from within the call; the relay_call is freed after it. A relay that does not prove that it knows
 * the token gives HTTP_UNTRUSTED. */
struct relay_call *relay_call(const struct relay_address *address, struct loop *loop,
                              const char *method, const char *path, const char *json,
                              int64_t deadline_ms, http_fn fn, void *arg);
/* Drops the callback and frees the call; not allowed after the callback has run. */
void relay_call_cancel(struct relay_call **call);

/* `authorization` is the header for one request with this method and path, "" if it needs none. It
 * is NULL if the relay cannot be trusted or reached; `reply` then says why. Both are borrowed. */
typedef void (*relay_login_fn)(void *arg, const char *authorization,
                               const struct http_reply *reply);
/* Gives only the authorization, for a request that the caller sends itself. */
struct relay_call *relay_call_login(const struct relay_address *address, struct loop *loop,
                                    const char *method, const char *path, int64_t deadline_ms,
                                    relay_login_fn fn, void *arg);

#endif
