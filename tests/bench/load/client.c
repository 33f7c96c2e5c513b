#include "load/client.h"

#include "base/mem.h"
#include "load/endpoint.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FAULTS_TOLD = 5, WHY = 200 };
#define SETTLED_NS 500000000u

struct open_request {
    long seq; /* 0: free */
    uint64_t sent;
    struct view *view;
    char tag[CANNED_TAG + 1];
};

struct client {
    struct load *load;
    struct wire wire;
    const char *attach;
    unsigned number;
    unsigned asked;
    long seq;
    bool attached, stopped, asks_threads, threads_changed, ready, ended;
    struct view *views;
    unsigned view_count; /* threads seen */
    unsigned view_ready; /* of which the variables are known */
    unsigned view_learned;
    unsigned view_next;
    unsigned open_count;
    struct open_request open[CLIENT_DEPTH_MOST];
};

static void fault(struct client *client, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void fault(struct client *client, const char *format, ...)
{
    if (client->load->faults++ < FAULTS_TOLD) {
        va_list args;
        va_start(args, format);
        fprintf(stderr, "dapload: client %u: ", client->number);
        vfprintf(stderr, format, args);
        fputc('\n', stderr);
        va_end(args);
    }
}

static void request(struct client *client, const char *command, const char *arguments)
{
    wire_printf(&client->wire,
                "{\"seq\": %ld, \"type\": \"request\", \"command\": \"%s\", \"arguments\": %s}",
                ++client->seq, command, arguments);
}

struct client *client_start(struct load *load, unsigned number, const char *attach)
{
    struct client *client = mem_alloc(sizeof *client);
    client->load = load;
    client->number = number;
    client->attach = attach;
    client->views = mem_array(load->threads, sizeof *client->views);
    wire_start(&client->wire, load->epoll, endpoint_connect(&load->to), client);
    request(client, "initialize", "{\"adapterID\": \"raydbg\", \"clientID\": \"dapload\"}");
    wire_flush(&client->wire);
    return client;
}

void client_free(struct client *client)
{
    for (unsigned i = 0; i < client->load->threads; i++)
        view_free(&client->views[i]);
    free(client->views);
    if (!client->ended)
        wire_close(&client->wire);
    free(client);
}

/* --- asking --- */

static void ask(struct client *client)
{
    struct open_request *slot = client->open;
    while (slot->seq)
        slot++;
    slot->view = &client->views[client->view_next];
    client->view_next = (client->view_next + 1) % client->view_ready;
    slot->seq = ++client->seq;
    snprintf(slot->tag, sizeof slot->tag, "%08x%08x", client->number, client->asked++);
    slot->sent = latency_now();
    char text[200];
    int len = snprintf(text, sizeof text,
                       "{\"seq\": %ld, \"type\": \"request\", \"command\": \"variables\", "
                       "\"arguments\": {\"variablesReference\": %ld, \"tag\": \"%s\"}}",
                       slot->seq, slot->view->reference, slot->tag);
    wire_send(&client->wire, text, (size_t)len, NULL, 0);
    client->open_count++;
    client->load->open++;
}

void client_fill(struct client *client)
{
    while (!client->ended && client->open_count < client->load->depth)
        ask(client);
    if (!client->ended)
        wire_flush(&client->wire);
}

static void close_request(struct client *client, struct open_request *slot)
{
    slot->seq = 0;
    client->open_count--;
    client->load->open--;
}

static struct open_request *find_open(struct client *client, long seq)
{
    for (unsigned i = 0; i < client->load->depth; i++)
        if (client->open[i].seq == seq && seq)
            return &client->open[i];
    return NULL;
}

static void become_ready(struct client *client)
{
    client->ready = true;
    client->view_next = 0;
    client->load->ready++;
}

static void learn(struct client *client, const struct open_request *slot, struct text body)
{
    char why[WHY];
    /* What is known of objects comes by and by; the numbers of variables stay from the first on. */
    uint64_t settled = client->load->rewritten ? SETTLED_NS : 0;
    bool done = view_learn(slot->view, canned_text(client->load->body), body, slot->tag,
                           client->load->rewritten, latency_now(), settled, why, sizeof why);
    if (*why)
        fault(client, "%s", why);
    if (done && ++client->view_learned == client->view_ready) {
        become_ready(client);
        return;
    }
    client->view_next = client->view_learned;
    ask(client);
}

static void on_variables(struct client *client, const struct message *answer)
{
    struct open_request *slot = find_open(client, answer->request_seq);
    struct load *load = client->load;
    char why[WHY];
    if (!slot) {
        fault(client, "an answer with request_seq %ld, which is not open", answer->request_seq);
        return;
    }
    uint64_t now = latency_now();
    close_request(client, slot);
    if (!answer->success) {
        fault(client, "request %ld was refused: %.*s", answer->request_seq, (int)answer->why.len,
              answer->why.at);
    } else if (!client->ready) {
        learn(client, slot, answer->body);
    } else if (!view_check(slot->view, answer->body, slot->tag, why, sizeof why)) {
        fault(client, "request %ld: %s", answer->request_seq, why);
    } else if (load->measures) {
        latency_add(&load->latency, now - slot->sent);
        load->bytes += answer->body.len;
    }
    if (load->asks && client->ready)
        ask(client);
}

/* --- attaching --- */

static void look_at_next(struct client *client)
{
    char arguments[64];
    if (client->view_ready == client->load->threads) {
        if (client->load->learns)
            ask(client);
        else
            become_ready(client);
        return;
    }
    snprintf(arguments, sizeof arguments, "{\"threadId\": %ld}",
             client->views[client->view_ready].thread);
    request(client, "stackTrace", arguments);
}

/* A relay may show more threads as it comes to know them: each event is a reason to ask again. */
static void ask_for_threads(struct client *client)
{
    if (!client->attached || !client->stopped || client->view_count == client->load->threads)
        return;
    client->threads_changed = client->asks_threads;
    if (!client->asks_threads)
        request(client, "threads", "{}");
    client->asks_threads = true;
}

static void on_threads(struct client *client, const struct message *answer)
{
    struct text rest = answer->body;
    long thread;
    client->asks_threads = false;
    client->view_count = 0;
    while (client->view_count < client->load->threads &&
           (thread = message_number(rest, "id", -1)) >= 0) {
        client->views[client->view_count++].thread = thread;
        const char *at = memmem(rest.at, rest.len, "\"id\"", 4) + 4;
        rest = (struct text){at, (size_t)(rest.at + rest.len - at)};
    }
    if (client->view_count == client->load->threads)
        look_at_next(client);
    else if (client->threads_changed)
        ask_for_threads(client);
}

static void on_initialize(struct client *client, const struct message *answer)
{
    (void)answer;
    request(client, "attach", client->attach);
}

static void on_attach(struct client *client, const struct message *answer)
{
    (void)answer;
    client->attached = true;
    ask_for_threads(client);
}

static void on_stack(struct client *client, const struct message *answer)
{
    char arguments[64];
    snprintf(arguments, sizeof arguments, "{\"frameId\": %ld}",
             message_number(answer->body, "id", 0));
    request(client, "scopes", arguments);
}

static void on_scopes(struct client *client, const struct message *answer)
{
    char name[32];
    snprintf(name, sizeof name, "\"%s\"", canned_name(client->load->body));
    const char *at = memmem(answer->body.at, answer->body.len, name, strlen(name));
    if (!at)
        die("the adapter has no scope %s: %.*s", name, (int)answer->body.len, answer->body.at);
    struct text rest = {at, (size_t)(answer->body.at + answer->body.len - at)};
    struct view *view = &client->views[client->view_ready++];
    view->reference = message_number(rest, "variablesReference", 0);
    view_expect(view, canned_text(client->load->body));
    look_at_next(client);
}

static void on_event(struct client *client, const struct message *event)
{
    if (message_is(event->name, "initialized"))
        request(client, "configurationDone", "{}");
    else if (message_is(event->name, "terminated"))
        fault(client, "the session has ended");
    else if (message_is(event->name, "stopped") || message_is(event->name, "thread")) {
        client->stopped = client->stopped || message_is(event->name, "stopped");
        ask_for_threads(client);
    }
}

static void on_response(struct client *client, const struct message *answer)
{
    static const struct {
        const char *command;
        void (*handle)(struct client *client, const struct message *answer);
    } steps[] = {{"initialize", on_initialize},
                 {"attach", on_attach},
                 {"threads", on_threads},
                 {"stackTrace", on_stack},
                 {"scopes", on_scopes}};
    if (message_is(answer->name, "variables")) {
        on_variables(client, answer);
        return;
    }
    if (!answer->success)
        die("%.*s: %.*s", (int)answer->name.len, answer->name.at, (int)answer->why.len,
            answer->why.at);
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (message_is(answer->name, steps[i].command))
            steps[i].handle(client, answer);
}

/* --- what comes --- */

static void end(struct client *client, const char *why)
{
    if (!client->ready)
        die("client %u: not attached: %s", client->number, why);
    fault(client, "%s; %u requests have no answer", why, client->open_count);
    client->load->open -= client->open_count;
    client->open_count = 0;
    memset(client->open, 0, sizeof client->open);
    wire_close(&client->wire);
    client->ended = true;
}

static bool take(struct client *client, const char *json, size_t len)
{
    struct message message;
    size_t expected = client->ready ? view_body_size(&client->views[0]) : 0;
    if (!message_read(&message, json, len, expected))
        return false;
    if (message_is(message.type, "event"))
        on_event(client, &message);
    else if (message_is(message.type, "response"))
        on_response(client, &message);
    return true;
}

void client_serve(struct client *client)
{
    const char *json;
    size_t len;
    int state;
    if (client->ended)
        return;
    errno = 0;
    bool alive = wire_read(&client->wire);
    int error = errno;
    while ((state = wire_next(&client->wire, &json, &len)) > 0)
        if (!take(client, json, len)) {
            state = -1;
            break;
        }
    if (state < 0)
        end(client, "what came is no DAP message");
    else if (!alive || !wire_flush(&client->wire))
        end(client, error ? strerror(error) : "the connection was closed");
}

void client_tell_open(const struct client *client)
{
    for (unsigned i = 0; i < client->load->depth; i++)
        if (client->open[i].seq)
            fault((struct client *)client, "request %ld has no answer", client->open[i].seq);
}
