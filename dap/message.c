#include "dap/message.h"

#include "base/text.h"

#include <inttypes.h>
#include <string.h>

static void add_escaped(struct buf *out, char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt";
    const char *known = strchr(from, c);
    if (known)
        buf_printf(out, "\\%c", to[known - from]);
    else
        buf_printf(out, "\\u%04x", (unsigned)(unsigned char)c);
}

static void add_other(struct buf *out, const char *at, size_t size, const void *arg)
{
    (void)arg;
    uint32_t code = size ? text_code_point(at, size) : 0;
    if (!size)
        buf_add_string(out, "\xEF\xBF\xBD");
    else if (size == 1 && code != 0x7F)
        add_escaped(out, *at);
    else if (!text_is_control(code))
        buf_add(out, at, size);
    else if (code < 0x10000)
        buf_printf(out, "\\u%04x", (unsigned)code);
    else
        buf_printf(out, "\\u%04x\\u%04x", 0xD800U + (unsigned)((code - 0x10000) >> 10),
                   0xDC00U + (unsigned)(code & 0x3FF));
}

void message_quote(struct buf *out, const char *text)
{
    buf_add(out, "\"", 1);
    text_rewrite(out, text, strlen(text), "\"\\", add_other, NULL);
    buf_add(out, "\"", 1);
}

void message_escape(struct buf *out, const char *json)
{
    text_rewrite(out, json, strlen(json), "", add_other, NULL);
}

static void start(struct buf *out, int64_t seq, const char *type, const char *name_key,
                  const char *name)
{
    buf_printf(out, "{\"seq\":%" PRId64 ",\"type\":\"%s\",\"%s\":", seq, type, name_key);
    message_quote(out, name);
}

static void finish(struct buf *out, const char *key, const char *value)
{
    if (value) {
        buf_printf(out, ",\"%s\":", key);
        buf_add_string(out, value);
    }
    buf_add(out, "}", 1);
}

void message_request(struct buf *out, int64_t seq, const char *command, const char *arguments)
{
    start(out, seq, "request", "command", command);
    finish(out, "arguments", arguments);
}

void message_event(struct buf *out, int64_t seq, const char *event, const char *body)
{
    start(out, seq, "event", "event", event);
    finish(out, "body", body);
}

static void start_response(struct buf *out, int64_t seq, int64_t request_seq, const char *command,
                           bool success)
{
    start(out, seq, "response", "command", command);
    buf_printf(out, ",\"request_seq\":%" PRId64 ",\"success\":%s", request_seq,
               success ? "true" : "false");
}

void message_response(struct buf *out, int64_t seq, int64_t request_seq, const char *command,
                      const char *body)
{
    start_response(out, seq, request_seq, command, true);
    finish(out, "body", body);
}

void message_failure(struct buf *out, int64_t seq, int64_t request_seq, const char *command,
                     const char *message, int id, bool show_user)
{
    start_response(out, seq, request_seq, command, false);
    buf_add_string(out, ",\"message\":");
    message_quote(out, message);
    buf_printf(out, ",\"body\":{\"error\":{\"id\":%d,\"format\":", id);
    message_quote(out, message);
    buf_printf(out, ",\"showUser\":%s}}}", show_user ? "true" : "false");
}

void message_output(struct buf *out, int64_t seq, const char *category, const char *text)
{
    start(out, seq, "event", "event", "output");
    buf_add_string(out, ",\"body\":{\"category\":");
    message_quote(out, category);
    buf_add_string(out, ",\"output\":");
    message_quote(out, text);
    buf_add_string(out, "}}");
}
