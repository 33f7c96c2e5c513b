#include "relay/locate/relay_call.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/access/proof.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

/* A sweep has some 200 bytes per reference. */
enum { MAX_REPLY = 256 * 1024 * 1024, MAX_CHALLENGE = 4096 };

struct relay_call {
    uint32_t magic;
    struct relay_address address;
    struct loop *loop;
    const char *method;
    char *path, *json;
    char nonce[PROOF_ROOM];
    struct http_get *get;
    struct timer *timer; /* for a login that needs no challenge */
    int64_t until_us;
    relay_login_fn login;
    http_fn fn;
    void *arg;
};
INVARIANT_MAGIC(relay_call, 0xbf4f7e60)
#define relay_call_checked(object) relay_call_checked_at(INVARIANT_HERE, object)

static void call_free(struct relay_call *call)
{
    http_cancel(&call->get);
    timer_cancel(&call->timer);
    relay_address_clear(&call->address);
    free(call->path);
    free(call->json);
    relay_call_clear_magic(call);
    free(call);
}

static struct http_get *ask(struct relay_call *call, const char *method, const char *path,
                            const char *json, const char *authorization, size_t max_body,
                            http_fn fn)
{
    int64_t left_ms = (call->until_us - loop_now_us()) / 1000;
    char *host = relay_address_host(&call->address);
    struct trust trust = relay_address_trust(&call->address);
    const struct http_request request = {
        .context = loop_context(call->loop),
        .method = method,
        .host = host,
        .port = call->address.port,
        .tls = call->address.tls,
        .trust = &trust,
        .path = path,
        .authorization = text_empty(authorization) ? NULL : authorization,
        .json = json,
        .deadline_ms = left_ms > 0 ? left_ms : 1,
        .max_body = max_body,
    };
    struct http_get *get = http_get(&request, fn, call);
    free(host);
    return get;
}

/* --- the relay's proof --- */

static const char *string_of(const cJSON *root, const char *name)
{
    const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(root, name));
    return text ? text : "";
}

static char *endpoint_of(const struct relay_call *call)
{
    char machine[PROOF_MACHINE_ROOM];
    if (!call->address.id)
        return mem_string(PROOF_ANYWHERE);
    proof_machine(machine);
    char *name = relay_address_short(&call->address);
    char *address = mem_format("%s%s", call->address.is_unix ? "unix:" : "", name);
    char *endpoint = proof_endpoint(machine, address);
    free(name);
    free(address);
    return endpoint;
}

static bool proves(const cJSON *proofs, const char *token, const struct proof_exchange *exchange)
{
    char *expected = proof_of_relay(token, exchange);
    bool proven = false;
    const cJSON *item;
    cJSON_ArrayForEach(item, proofs)
    {
        proven = proven || proof_equal(expected, cJSON_GetStringValue(item));
    }
    free(expected);
    return proven;
}

static char *prove(const struct relay_call *call, const struct proof_exchange *exchange)
{
    char *path = proof_path(call->path);
    char *proof = proof_of_client(call->address.token, exchange, call->method, path);
    char *header =
        mem_format(PROOF_SCHEME "%s %s %s %s", call->address.id ? PROOF_HERE : PROOF_ANYWHERE,
                   exchange->client_nonce, exchange->relay_nonce, proof);
    free(path);
    free(proof);
    return header;
}

/* The header for the request, "" for an open relay that the user has named, or NULL if the answer
 * to the challenge proves nothing. The caller frees. */
static char *authorize(const struct relay_call *call, const struct http_reply *reply)
{
    cJSON *root = cJSON_ParseWithLength(reply->body, reply->len);
    const char *id = string_of(root, "id"), *nonce = string_of(root, "nonce");
    char *endpoint = endpoint_of(call), *header = NULL;
    const struct proof_exchange exchange = {id, endpoint, call->nonce, nonce};
    const cJSON *proofs = cJSON_GetObjectItemCaseSensitive(root, "proofs");
    bool expected = !call->address.id || text_equal(call->address.id, id);
    /* A nonce that is not hex could break the header's line. */
    bool sound = *nonce && proof_is_hex(nonce, strlen(nonce));
    if (expected && sound && proves(proofs, call->address.token, &exchange))
        header = prove(call, &exchange);
    else if (!call->address.id && cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(root, "open")))
        header = mem_string("");
    free(endpoint);
    cJSON_Delete(root);
    return header;
}

/* --- the steps --- */

static void finish(struct relay_call *call, const struct http_reply *reply)
{
    if (call->login)
        call->login(call->arg, NULL, reply);
    else
        call->fn(call->arg, reply);
    call_free(call);
}

static void on_answer(void *arg, const struct http_reply *reply)
{
    struct relay_call *call = relay_call_checked(arg);
    call->get = NULL;
    finish(call, reply);
}

static void go_on(struct relay_call *call, const char *authorization)
{
    if (call->login) {
        call->login(call->arg, authorization, NULL);
        call_free(call);
    } else {
        call->get =
            ask(call, call->method, call->path, call->json, authorization, MAX_REPLY, on_answer);
    }
}

/* True if the relay's own words say more: it is full, speaks TLS, or does not take this client's
 * Host. */
static bool says_why(const struct http_reply *reply)
{
    return reply->result != HTTP_ANSWERED || reply->status == 400 || reply->status == 403 ||
           reply->status == 429 || reply->status == 503;
}

static void on_challenge(void *arg, const struct http_reply *reply)
{
    struct relay_call *call = relay_call_checked(arg);
    struct http_reply untrusted = *reply;
    call->get = NULL;
    char *header = says_why(reply) || reply->status != 200 ? NULL : authorize(call, reply);
    if (header) {
        go_on(call, header);
        free(header);
        return;
    }
    if (!says_why(reply)) {
        untrusted.result = HTTP_UNTRUSTED;
        untrusted.why = "it does not prove that it knows this client's token, which was not sent";
    }
    finish(call, &untrusted);
}

/* Goes on without a challenge: over TLS, or for a client without a token. */
static void start_plainly(void *arg)
{
    struct relay_call *call = relay_call_checked(arg);
    call->timer = NULL;
    char *bearer = call->address.token ? mem_format("Bearer %s", call->address.token) : NULL;
    go_on(call, bearer ? bearer : "");
    if (bearer)
        explicit_bzero(bearer, strlen(bearer));
    free(bearer);
}

static struct relay_call *start(const struct relay_address *address, struct loop *loop,
                                const char *method, const char *path, int64_t deadline_ms)
{
    struct relay_call *call = mem_alloc(sizeof *call);
    relay_call_set_magic(call);
    relay_address_copy(&call->address, address);
    call->loop = loop;
    call->method = method;
    call->path = mem_string(path);
    call->until_us = loop_now_us() + deadline_ms * 1000;
    return call;
}

static void log_in(struct relay_call *call)
{
    if (call->address.tls || !call->address.token) {
        call->timer = timer_start(call->loop, 0, start_plainly, call);
        return;
    }
    proof_random(call->nonce, sizeof call->nonce);
    char *path = mem_format(PROOF_PATH "?nonce=%s&place=%s", call->nonce,
                            call->address.id ? PROOF_HERE : PROOF_ANYWHERE);
    call->get = ask(call, "GET", path, NULL, NULL, MAX_CHALLENGE, on_challenge);
    free(path);
}

struct relay_call *relay_call(const struct relay_address *address, struct loop *loop,
                              const char *method, const char *path, const char *json,
                              int64_t deadline_ms, http_fn fn, void *arg)
{
    struct relay_call *call = start(address, loop, method, path, deadline_ms);
    call->json = mem_string(json);
    call->fn = fn;
    call->arg = arg;
    log_in(call);
    return call;
}

struct relay_call *relay_call_login(const struct relay_address *address, struct loop *loop,
                                    const char *method, const char *path, int64_t deadline_ms,
                                    relay_login_fn fn, void *arg)
{
    struct relay_call *call = start(address, loop, method, path, deadline_ms);
    call->login = fn;
    call->arg = arg;
    log_in(call);
    return call;
}

void relay_call_cancel(struct relay_call **call)
{
    if (*call)
        call_free(*call);
    *call = NULL;
}
