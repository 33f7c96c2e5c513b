#include "dap/envelope.h"

#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* The values of a message's top-level keys; a span of length 0 for a key that is absent. */
struct keys {
    struct span type, command, event, seq, request_seq, success, arguments, body, message;
};

static const struct {
    const char *name;
    size_t len, offset;
} known_keys[] = {
#define KEY(name)                                                                                  \
    {                                                                                              \
#name, sizeof #name - 1, offsetof(struct keys, name)                                       \
    }
    KEY(type),    KEY(command),   KEY(event), KEY(seq),     KEY(request_seq),
    KEY(success), KEY(arguments), KEY(body),  KEY(message),
#undef KEY
};

static int fail(const char **problem, const char *why)
{
    *problem = why;
    return -1;
}

/* The last of several keys with the same name counts, as in JSON parsers. */
static void note_key(struct keys *keys, const char *text, struct span key, struct span value)
{
    const char *inner = text + key.at + 1;
    size_t len = key.len - 2;
    bool escaped = memchr(inner, '\\', len) != NULL;
    for (size_t i = 0; i < sizeof known_keys / sizeof *known_keys; i++)
        if (escaped ? scan_key_is(text, key, known_keys[i].name)
                    : len == known_keys[i].len && memcmp(inner, known_keys[i].name, len) == 0)
            memcpy((char *)keys + known_keys[i].offset, &value, sizeof value);
}

static int read_keys(struct keys *keys, struct span *whole, const char *text, size_t len,
                     const char **problem)
{
    struct scan scan;
    struct span key, value;
    bool begun = false;
    scan_init(&scan, text, len);
    while (scan_step(&scan, &begun, &key, &value))
        note_key(keys, text, key, value);
    if (scan.problem)
        return fail(problem, scan.problem);
    size_t end = scan.at;
    if (!scan_end(&scan))
        return fail(problem, "something follows the message");
    whole->at = (size_t)((const char *)memchr(text, '{', len) - text);
    whole->len = end - whole->at;
    return 0;
}

static const struct {
    const char *type;
    enum dap_kind kind;
} kinds[] = {
    {"request", DAP_REQUEST},
    {"response", DAP_RESPONSE},
    {"event", DAP_EVENT},
};

static int read_kind(struct envelope *envelope, const char *text, struct span type,
                     const char **problem)
{
    if (!type.len)
        return fail(problem, "the message has no \"type\"");
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (scan_string_is(text, type, kinds[i].type)) {
            envelope->kind = kinds[i].kind;
            return 0;
        }
    }
    return fail(problem, "its \"type\" is neither request, response nor event");
}

static int read_name(struct envelope *envelope, const char *text, struct span name,
                     const char **problem)
{
    bool event = envelope->kind == DAP_EVENT;
    if (envelope->kind == DAP_RESPONSE && (!name.len || text[name.at] != '"'))
        return 0;
    if (!name.len)
        return fail(problem,
                    event ? "the event has no \"event\"" : "the message has no \"command\"");
    size_t len = name.len - 2;
    if (name.len > 2 && text[name.at] == '"' && len < sizeof envelope->name &&
        !memchr(text + name.at + 1, '\\', len) && !memchr(text + name.at + 1, '\0', len)) {
        memcpy(envelope->name, text + name.at + 1, len);
        envelope->name[len] = '\0';
        return 0;
    }
    char *plain = scan_string(text, name);
    if (!plain)
        return fail(problem,
                    event ? "its \"event\" is not a string" : "its \"command\" is not a string");
    bool fits = text_copy(envelope->name, sizeof envelope->name, plain);
    free(plain);
    if (fits)
        return 0;
    envelope->name[0] = '\0';
    return envelope->kind == DAP_REQUEST ? fail(problem, "its \"command\" is too long") : 0;
}

/* Reads the seq of another request, in the two messages whose schema has one. */
static void read_nested_id(struct envelope *envelope, const char *text)
{
    struct span within = {0};
    if (envelope->kind == DAP_REQUEST && text_equal(envelope->name, "cancel"))
        within = envelope->arguments;
    else if (envelope->kind == DAP_EVENT && text_equal(envelope->name, "progressStart"))
        within = envelope->body;
    struct span id;
    if (within.len && scan_find(text, within, "requestId", &id) &&
        scan_integer(text, id, &envelope->nested_id))
        envelope->nested_id_at = id;
}

static int read_numbers(struct envelope *envelope, const char *text, const struct keys *keys,
                        const char **problem)
{
    envelope->seq_at = keys->seq;
    if (keys->seq.len && !scan_integer(text, keys->seq, &envelope->seq) &&
        envelope->kind == DAP_REQUEST)
        return fail(problem, "its \"seq\" is not an integer");
    if (envelope->kind != DAP_RESPONSE)
        return 0;
    envelope->request_seq_at = keys->request_seq;
    if (keys->request_seq.len && !scan_integer(text, keys->request_seq, &envelope->request_seq))
        return fail(problem, "its \"request_seq\" is not an integer");
    return 0;
}

int envelope_read(struct envelope *envelope, const char *text, size_t len, const char **problem)
{
    struct keys keys = {0};
    *envelope = (struct envelope){0};
    if (read_keys(&keys, &envelope->whole, text, len, problem) != 0 ||
        read_kind(envelope, text, keys.type, problem) != 0 ||
        read_name(envelope, text, envelope->kind == DAP_EVENT ? keys.event : keys.command,
                  problem) != 0 ||
        read_numbers(envelope, text, &keys, problem) != 0)
        return -1;
    if (envelope->kind == DAP_REQUEST)
        envelope->arguments = keys.arguments;
    else
        envelope->body = keys.body;
    if (envelope->kind == DAP_RESPONSE) {
        envelope->message = keys.message;
        scan_boolean(text, keys.success, &envelope->success);
    }
    read_nested_id(envelope, text);
    return 0;
}

/* Reads the keys in front of `body` or `message`; false if `text` reaches neither. A number that is
 * cut at the end of `text` is never taken for a whole one: no such key follows it. */
static bool read_early_keys(struct keys *keys, const char *text, size_t len)
{
    struct scan scan;
    bool begun = false;
    scan_init(&scan, text, len);
    for (;;) {
        struct span key = {0}, value;
        bool more = scan_step_key(&scan, &begun, &key);
        bool body = key.len && scan_key_is(text, key, "body");
        if (body && more && !scan_end(&scan))
            keys->body.at = scan.at;
        if (body || (key.len && scan_key_is(text, key, "message")))
            return true;
        if (!more || !scan_value(&scan, &value))
            return false;
        note_key(keys, text, key, value);
    }
}

bool envelope_read_head(struct envelope *envelope, const char *text, size_t len)
{
    struct keys keys = {0};
    const char *problem;
    *envelope = (struct envelope){0};
    if (!read_early_keys(&keys, text, len) || !keys.seq.len ||
        read_kind(envelope, text, keys.type, &problem) != 0)
        return false;
    bool event = envelope->kind == DAP_EVENT;
    if (read_name(envelope, text, event ? keys.event : keys.command, &problem) != 0 ||
        read_numbers(envelope, text, &keys, &problem) != 0)
        return false;
    envelope->whole.at = (size_t)((const char *)memchr(text, '{', len) - text);
    envelope->body.at = keys.body.at;
    if (event)
        return !text_equal(envelope->name, "progressStart");
    return envelope->kind == DAP_RESPONSE && keys.request_seq.len &&
           scan_boolean(text, keys.success, &envelope->success);
}

/* --- after an edit --- */

static void move(struct span *span, size_t behind, size_t len_before, size_t len)
{
    if (span->len && span->at >= behind)
        span->at = span->at + len - len_before;
}

char *envelope_result(const char *json, const struct envelope *response)
{
    if (!json || !response->success || !response->body.len)
        return NULL;
    return scan_string_at(json, response->body, "result");
}

void envelope_moved(const struct envelope *before, size_t len_before, const char *json, size_t len,
                    struct envelope *out)
{
    const char *problem;
    *out = *before;
    /* The edits may have moved a nested id: read again; such messages are small and rare. */
    if (before->nested_id_at.len) {
        envelope_read(out, json, len, &problem);
        return;
    }
    struct span *within = before->kind == DAP_REQUEST ? &out->arguments : &out->body;
    if (!within->len)
        return;
    size_t behind = within->at + within->len;
    within->len = within->len + len - len_before;
    out->whole.len = out->whole.len + len - len_before;
    move(&out->seq_at, behind, len_before, len);
    move(&out->request_seq_at, behind, len_before, len);
    move(&out->message, behind, len_before, len);
}
