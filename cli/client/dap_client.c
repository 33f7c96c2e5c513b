#include "cli/client/dap_client_state.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/envelope.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A request without a response yet, or with one that await() has not taken. */
struct waiting {
    struct waiting *next;
    int64_t seq;
    bool answered;
    bool success;
    bool abandoned; /* the caller gave up: drop the response */
    struct reply reply;
    char *message;
};

enum { LEAVE_TIMEOUT_MS = 8500, CANCEL_MS = 5000 };

void reply_clear(struct reply *reply)
{
    free(reply->text);
    *reply = (struct reply){0};
}

/* --- responses --- */

static void forget(struct dap_client *client, struct waiting *it)
{
    for (struct waiting **at = &client->waiting; *at; at = &(*at)->next) {
        if (*at == it) {
            *at = it->next;
            break;
        }
    }
    reply_clear(&it->reply);
    free(it->message);
    free(it);
}

static void on_response(struct dap_client *client, const char *json, size_t len,
                        const struct envelope *envelope)
{
    struct waiting *it = client->waiting;
    while (it && it->seq != envelope->request_seq)
        it = it->next;
    if (!it || it->answered)
        return;
    if (it->abandoned) {
        forget(client, it);
        return;
    }
    it->answered = true;
    it->success = envelope->success;
    it->reply.text = mem_string_n(json, len);
    it->reply.body = (struct json){it->reply.text, envelope->body};
    it->message = scan_string(json, envelope->message);
}

static void on_message(void *arg, const char *json, size_t len)
{
    struct dap_client *client = arg;
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, json, len, &problem) != 0)
        return;
    if (envelope.kind == DAP_RESPONSE)
        on_response(client, json, len, &envelope);
    else if (envelope.kind == DAP_EVENT)
        dap_client_take_event(client, envelope.name, (struct json){json, envelope.body});
}

static void on_end(void *arg, const struct err *err)
{
    struct dap_client *client = arg;
    if (err)
        client->end = *err;
    dap_client_set_ended(client);
}

/* --- requests --- */

static struct waiting *send_request(struct dap_client *client, const char *command,
                                    const char *arguments)
{
    struct waiting *it = mem_alloc(sizeof *it);
    it->seq = ++client->seq;
    it->next = client->waiting;
    client->waiting = it;
    struct buf message = {0};
    message_request(&message, it->seq, command, arguments);
    adapter_send(client->adapter, message.data, message.len);
    buf_free(&message);
    return it;
}

/* The last line that is not blank (of a Python traceback, the exception). Cuts `message` in
 * place. */
static const char *last_line(char *message)
{
    size_t len = strlen(message);
    while (len && strchr(" \r\n", message[len - 1]))
        message[--len] = '\0';
    const char *newline = strrchr(message, '\n');
    return newline ? newline + 1 : message;
}

static int fail_response(struct waiting *it, const char *command, struct err *err)
{
    int64_t code = json_integer(it->reply.body, "error/id", ERR_FAILED);
    if (code <= ERR_NONE || code > ERR_UNREACHABLE)
        code = ERR_FAILED;
    char *line = text_empty(it->message) ? NULL : mem_string(it->message);
    err_set(err, (enum err_code)code, "%s", line ? last_line(line) : command);
    if (!line)
        err_why(err, "the worker refused it without a word");
    free(line);
    return -1;
}

static int fail_ended(const struct dap_client *client, struct err *err)
{
    if (!client->end.code)
        return err_set(err, ERR_FAILED, "the session with the worker is over");
    *err = client->end;
    return -1;
}

/* Has the worker give up an expression: it would go on, keep the next one waiting, and what it
 * prints would still come. Waits for that only for a moment. */
static void cancel(struct dap_client *client, struct waiting *it)
{
    char arguments[64];
    snprintf(arguments, sizeof arguments, "{\"requestId\":%" PRId64 "}", it->seq);
    send_request(client, "cancel", arguments)->abandoned = true;
    int64_t until = loop_now_us() / 1000 + CANCEL_MS;
    while (!it->answered && !client->ended && loop_now_us() / 1000 < until)
        loop_run_once(client->loop, 100);
}

static int await(struct dap_client *client, struct waiting *it, const char *command,
                 int64_t timeout_ms, struct reply *reply, struct err *err)
{
    int64_t end = timeout_ms < 0 ? INT64_MAX : loop_now_us() / 1000 + timeout_ms;
    bool wanted = true, in_time = true;
    while (!it->answered && !client->ended && wanted && in_time) {
        int64_t left = end - loop_now_us() / 1000;
        in_time = left > 0;
        if (in_time)
            loop_run_once(client->loop, left < 100 ? left : 100);
        wanted = client->ops.on_wait(client->arg);
    }
    if (!wanted && !it->answered && text_equal(command, "evaluate"))
        cancel(client, it);
    int result = 0;
    if (it->answered && !wanted && !it->success) {
        result = err_set(err, ERR_FAILED, "interrupted");
    } else if (it->answered && it->success) {
        if (reply) {
            *reply = it->reply;
            it->reply = (struct reply){0};
        }
    } else if (it->answered) {
        result = fail_response(it, command, err);
    } else if (client->ended) {
        result = fail_ended(client, err);
    } else {
        it->abandoned = true;
        return err_set(err, ERR_FAILED,
                       in_time ? "interrupted: the worker may still be at it"
                               : "the worker did not answer in time");
    }
    forget(client, it);
    return result;
}

int dap_client_request_within(struct dap_client *client, const char *command, const char *arguments,
                              int64_t timeout_ms, struct reply *reply, struct err *err)
{
    if (reply)
        *reply = (struct reply){0};
    if (client->ended)
        return fail_ended(client, err);
    struct waiting *it = send_request(client, command, arguments);
    return await(client, it, command, timeout_ms, reply, err);
}

int dap_client_request(struct dap_client *client, const char *command, const char *arguments,
                       struct reply *reply, struct err *err)
{
    return dap_client_request_within(client, command, arguments, -1, reply, err);
}

static int await_initialized(struct dap_client *client, struct waiting *attach, struct err *err)
{
    while (!client->initialized && !client->ended && !attach->answered) {
        loop_run_once(client->loop, 100);
        if (!client->ops.on_wait(client->arg)) {
            attach->abandoned = true;
            return err_set(err, ERR_FAILED, "interrupted while attaching");
        }
    }
    return 0;
}

int dap_client_attach(struct dap_client *client, const char *attach, struct err *err)
{
    static const char initialize[] =
        "{\"clientID\":\"raydbg\",\"clientName\":\"raydbg attach\",\"adapterID\":\"debugpy\","
        "\"linesStartAt1\":true,\"columnsStartAt1\":true,\"pathFormat\":\"path\","
        "\"supportsVariableType\":true}";
    if (dap_client_request(client, "initialize", initialize, NULL, err) != 0)
        return -1;
    struct waiting *it = send_request(client, "attach", attach);
    if (await_initialized(client, it, err) != 0)
        return -1;
    bool failed = it->answered && !it->success;
    if (!failed && dap_client_request(client, "configurationDone", NULL, NULL, err) != 0)
        failed = true;
    /* The response to `attach` has the best reason: if it came, report it instead. */
    if (failed && !it->answered) {
        it->abandoned = true;
        return -1;
    }
    return await(client, it, "attach", -1, NULL, err);
}

/* --- life --- */

struct dap_client *dap_client_create(const struct session_options *options,
                                     const struct relay_address *relay,
                                     const struct dap_client_ops *ops, void *arg)
{
    static const struct adapter_ops adapter_ops = {.on_message = on_message, .on_end = on_end};
    struct dap_client *client = mem_alloc(sizeof *client);
    client->loop = options->loop;
    client->ops = *ops;
    client->arg = arg;
    client->adapter = adapter_create(options, relay, &adapter_ops, client);
    return client;
}

void dap_client_expect_many(struct dap_client *client)
{
    client->many = true;
}

bool dap_client_ended(const struct dap_client *client)
{
    return client->ended;
}

const struct err *dap_client_end(const struct dap_client *client)
{
    return client->ended && client->end.code ? &client->end : NULL;
}

static bool is_waiting(const struct dap_client *client, int64_t seq)
{
    const struct waiting *at = client->waiting;
    while (at && at->seq != seq)
        at = at->next;
    return at != NULL;
}

enum dap_client_left dap_client_leave(struct dap_client *client, enum dap_client_leave how)
{
    static const char *const arguments[] = {
        [DAP_CLIENT_GOODBYE] = "{\"terminateDebuggee\":false}",
        [DAP_CLIENT_STAY] = "{\"terminateDebuggee\":false,\"onDisconnect\":\"hold\"}",
        [DAP_CLIENT_KILL] = "{\"terminateDebuggee\":true}",
    };
    struct err err;
    bool ended = client->ended;
    if (client->end.code)
        return DAP_CLIENT_CLOSED; /* the relay is gone */
    client->ended = false; /* the worker sent `terminated`: the session still takes `disconnect` */
    struct waiting *it = send_request(client, "disconnect", arguments[how]);
    int64_t seq = it->seq; /* an answer frees `it` */
    int failed = await(client, it, "disconnect", ended ? 200 : LEAVE_TIMEOUT_MS, NULL, &err);
    bool silent = !ended && !client->ended && is_waiting(client, seq);
    client->ended = true;
    return silent ? DAP_CLIENT_SILENT : failed ? DAP_CLIENT_CLOSED : DAP_CLIENT_ANSWERED;
}

void dap_client_destroy(struct dap_client **client)
{
    struct dap_client *it = *client;
    if (!it)
        return;
    *client = NULL;
    adapter_destroy(&it->adapter);
    while (it->waiting)
        forget(it, it->waiting);
    dap_client_free_threads(it);
    free(it);
}
