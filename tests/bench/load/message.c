#include "load/message.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
    const char *at, *end;
};

static void skip_space(struct reader *in)
{
    while (in->at < in->end &&
           (*in->at == ' ' || *in->at == '\t' || *in->at == '\r' || *in->at == '\n'))
        in->at++;
}

static bool take(struct reader *in, char what)
{
    skip_space(in);
    if (in->at == in->end || *in->at != what)
        return false;
    in->at++;
    return true;
}

static bool read_string(struct reader *in, struct text *out)
{
    if (!take(in, '"'))
        return false;
    out->at = in->at;
    for (; in->at < in->end && *in->at != '"'; in->at++)
        if (*in->at == '\\')
            in->at++;
    if (in->at >= in->end)
        return false;
    out->len = (size_t)(in->at++ - out->at);
    return true;
}

/* Any value; of a string that what is between the quotes. */
static bool read_value(struct reader *in, struct text *out)
{
    skip_space(in);
    if (in->at < in->end && *in->at == '"')
        return read_string(in, out);
    out->at = in->at;
    for (int depth = 0; in->at < in->end; in->at++) {
        struct text inner;
        if (*in->at == '{' || *in->at == '[') {
            depth++;
        } else if (*in->at == '}' || *in->at == ']' || *in->at == ',') {
            if (depth == 0)
                break;
            depth -= *in->at != ',';
        } else if (*in->at == '"') {
            if (!read_string(in, &inner))
                return false;
            in->at--;
        }
    }
    out->len = (size_t)(in->at - out->at);
    return out->len > 0;
}

static bool fits(struct reader in, size_t hint, struct text *out)
{
    skip_space(&in);
    if (!hint || (size_t)(in.end - in.at) <= hint || in.at[0] != '{' || in.at[hint - 1] != '}')
        return false;
    *out = (struct text){in.at, hint};
    in.at += hint;
    skip_space(&in);
    return in.at < in.end && (*in.at == ',' || *in.at == '}');
}

static void keep(struct message *out, struct text key, struct text value)
{
    static const struct {
        const char *key;
        size_t offset;
    } texts[] = {
        {"type", offsetof(struct message, type)},  {"command", offsetof(struct message, name)},
        {"event", offsetof(struct message, name)}, {"message", offsetof(struct message, why)},
        {"body", offsetof(struct message, body)},  {"arguments", offsetof(struct message, body)},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (message_is(key, texts[i].key))
            memcpy((char *)out + texts[i].offset, &value, sizeof value);
    if (message_is(key, "seq"))
        out->seq = strtol(value.at, NULL, 10);
    else if (message_is(key, "request_seq"))
        out->request_seq = strtol(value.at, NULL, 10);
    else if (message_is(key, "success"))
        out->success = message_is(value, "true");
}

bool message_read(struct message *out, const char *json, size_t len, size_t body_hint)
{
    struct reader in = {json, json + len};
    *out = (struct message){0};
    if (!take(&in, '{'))
        return false;
    while (!take(&in, '}')) {
        struct text key, value;
        if (!read_string(&in, &key) || !take(&in, ':'))
            return false;
        if (message_is(key, "body") && fits(in, body_hint, &value))
            in.at = value.at + value.len;
        else if (!read_value(&in, &value))
            return false;
        keep(out, key, value);
        take(&in, ',');
    }
    return true;
}

bool message_is(struct text text, const char *what)
{
    return text.len == strlen(what) && memcmp(text.at, what, text.len) == 0;
}

static bool find(struct text in, const char *name, struct reader *out)
{
    char key[64];
    int len = snprintf(key, sizeof key, "\"%s\"", name);
    const char *at = in.len ? memmem(in.at, in.len, key, (size_t)len) : NULL;
    if (!at)
        return false;
    *out = (struct reader){at + len, in.at + in.len};
    return take(out, ':');
}

long message_number(struct text in, const char *name, long not_found)
{
    struct reader at;
    return find(in, name, &at) ? strtol(at.at, NULL, 10) : not_found;
}

struct text message_string(struct text in, const char *name)
{
    struct reader at;
    struct text out = {0};
    if (!find(in, name, &at) || !read_string(&at, &out))
        out.len = 0;
    return out;
}
