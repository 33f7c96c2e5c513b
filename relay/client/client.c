#include "relay/client/client.h"

#include "dap/message.h"
#include "dap/splice.h"

#include <string.h>

/* The bytes that a session keeps between messages: thousands of sessions may be idle. */
enum { KEEP = 512 };

/* From this length on, copying a message costs more than passing it in two runs of bytes. */
enum { LONG = 65536 };

void client_init(struct client *client, client_message_fn fn, void *arg)
{
    *client = (struct client){.fn = fn, .arg = arg};
}

void client_free(struct client *client)
{
    buf_free(&client->out);
    buf_free(&client->behind);
}

/* Empties the output buffer and returns the next message's seq. */
static int64_t begin(struct client *client)
{
    buf_clear(&client->out, KEEP);
    return ++client->seq;
}

/* Translates a message of the relay's own. */
static void count(struct client *client)
{
    struct buf counted = {0};
    struct envelope envelope;
    const char *problem;
    if (!line_base_differs(&client->base) ||
        envelope_read(&envelope, client->out.data, client->out.len, &problem) != 0 ||
        !line_base_write(&client->base, client->out.data, client->out.len, &envelope, &counted))
        return;
    buf_free(&client->out);
    client->out = counted;
}

static void deliver(struct client *client)
{
    if (client->large) {
        buf_add(&client->behind, &client->out.len, sizeof client->out.len);
        buf_add(&client->behind, client->out.data, client->out.len);
    } else if (!client->gone) {
        client->fn(client->arg, client->out.data, client->out.len);
    }
    buf_clear(&client->out, KEEP);
}

void client_large(struct client *client, bool passes)
{
    client->large = passes;
    if (passes)
        return;
    struct buf behind = client->behind;
    client->behind = (struct buf){0};
    for (size_t at = 0, len; at < behind.len && !client->gone; at += len) {
        memcpy(&len, behind.data + at, sizeof len);
        at += sizeof len;
        client->fn(client->arg, behind.data + at, len);
    }
    buf_free(&behind);
}

int64_t client_request(struct client *client, const char *command, const char *arguments)
{
    int64_t seq = begin(client);
    message_request(&client->out, seq, command, arguments);
    deliver(client);
    return seq;
}

void client_respond(struct client *client, int64_t request_seq, const char *command,
                    const char *body)
{
    int64_t seq = begin(client);
    message_response(&client->out, seq, request_seq, command, body);
    count(client);
    deliver(client);
}

void client_refuse(struct client *client, int64_t request_seq, const char *command, const char *why,
                   bool show_user)
{
    int64_t seq = begin(client);
    message_failure(&client->out, seq, request_seq, command, why, ERR_FAILED, show_user);
    deliver(client);
}

void client_fail(struct client *client, int64_t request_seq, const char *command,
                 const struct err *err)
{
    char line[sizeof err->what + sizeof err->why + sizeof err->hint + 8];
    int64_t seq = begin(client);
    err_line(err, line, sizeof line);
    message_failure(&client->out, seq, request_seq, command, line, (int)err->code, true);
    deliver(client);
}

void client_event(struct client *client, const char *event, const char *body)
{
    int64_t seq = begin(client);
    message_event(&client->out, seq, event, body);
    count(client);
    deliver(client);
}

void client_say(struct client *client, const char *category, const char *text)
{
    int64_t seq = begin(client);
    message_output(&client->out, seq, category, text);
    deliver(client);
}

static void pass_halves(struct client *client, const char *json, size_t len,
                        const struct envelope *envelope, int64_t request_seq)
{
    size_t at = splice_seq_head(json, envelope, client->seq, request_seq, &client->out);
    if (!client->gone)
        client->halves(client->arg, client->out.data, client->out.len, json + at, len - at);
    buf_clear(&client->out, KEEP);
}

static void pass(struct client *client, const char *json, size_t len,
                 const struct envelope *envelope, int64_t request_seq)
{
    if (client->pass && !client->large) {
        if (!client->gone)
            client->pass(client->arg, json, len, envelope, request_seq);
        return;
    }
    int64_t seq = begin(client);
    if (client->halves && !client->large && len >= LONG) {
        pass_halves(client, json, len, envelope, request_seq);
        return;
    }
    splice_seq(json, len, envelope, seq, request_seq, &client->out);
    deliver(client);
}

void client_pass(struct client *client, const char *json, size_t len,
                 const struct envelope *envelope, int64_t request_seq)
{
    struct buf counted = {0};
    struct envelope again;
    if (line_base_write(&client->base, json, len, envelope, &counted)) {
        envelope_moved(envelope, len, counted.data, counted.len, &again);
        pass(client, counted.data, counted.len, &again, request_seq);
    } else {
        pass(client, json, len, envelope, request_seq);
    }
    buf_free(&counted);
}

void client_pass_edited(struct client *client, const struct buf *message, int64_t request_seq)
{
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, message->data, message->len, &problem) == 0)
        client_pass(client, message->data, message->len, &envelope, request_seq);
}
