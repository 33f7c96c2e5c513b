/* A debug adapter for loads: any number of clients on any number of ports, each with seqs of its
 * own, one stopped thread, and a scope for each canned body. It says what debugpy says; it does
 * nothing.
 *
 *     fakeadapter [--listen ADDRESS:PORT] [--ports N]
 *
 * Prints each address that it listens on, then `ready`. */
#include "base/mem.h"
#include "base/text.h"
#include "load/canned.h"
#include "load/endpoint.h"
#include "load/message.h"
#include "load/stamps.h"
#include "load/wire.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

enum { AT_ONCE = 256, PORTS_MOST = 20000, ARGUMENTS_MOST = 4096 };

/* What epoll tells of: a listener, or a connection (`wire.fd` of which is set). */
struct peer {
    int listener;
    int epoll;
    struct wire wire;
    long seq;
    long attach_seq; /* the request that is answered behind configurationDone */
    struct buf rows; /* of the last answer with rows that are new each time */
    long rows_kind;
};

static void say_event(struct peer *peer, const char *name, const char *body)
{
    wire_printf(&peer->wire, "{\"seq\": %ld, \"type\": \"event\", \"event\": \"%s\"%s%s}",
                ++peer->seq, name, *body ? ", \"body\": " : "", body);
}

static void answer(struct peer *peer, long request_seq, const char *command, const char *body)
{
    wire_printf(&peer->wire,
                "{\"seq\": %ld, \"type\": \"response\", \"request_seq\": %ld, \"success\": true, "
                "\"command\": \"%s\"%s%s}",
                ++peer->seq, request_seq, command, *body ? ", \"body\": " : "", body);
}

static void greet(struct peer *peer)
{
    static const char *const names[] = {"ptvsd", "debugpy"};
    for (int i = 0; i < 2; i++) {
        char body[160];
        snprintf(body, sizeof body,
                 "{\"category\": \"telemetry\", \"output\": \"%s\", "
                 "\"data\": {\"packageVersion\": \"1.8.22\"}}",
                 names[i]);
        say_event(peer, "output", body);
    }
    say_event(peer, "debugpySockets", "{\"sockets\": []}");
}

static void on_attach(struct peer *peer, const struct message *request)
{
    peer->attach_seq = request->seq;
    say_event(peer, "initialized", "");
}

static void on_configuration_done(struct peer *peer, const struct message *request)
{
    answer(peer, request->seq, "configurationDone", "");
    answer(peer, peer->attach_seq, "attach", "{}");
    say_event(peer, "thread", "{\"reason\": \"started\", \"threadId\": 1}");
    say_event(peer, "stopped",
              "{\"reason\": \"breakpoint\", \"threadId\": 1, \"preserveFocusHint\": false, "
              "\"allThreadsStopped\": true}");
}

static void on_scopes(struct peer *peer, const struct message *request)
{
    struct buf body = {0};
    buf_add_string(&body, "{\"scopes\": [");
    for (unsigned kind = 0; kind < CANNED_KINDS; kind++)
        buf_printf(&body,
                   "%s{\"name\": \"%s\", \"variablesReference\": %u, \"expensive\": false, "
                   "\"source\": {}}",
                   kind ? ", " : "", canned_name((enum canned)kind), CANNED_FIRST_REFERENCE + kind);
    buf_add_string(&body, "]}");
    answer(peer, request->seq, "scopes", body.data);
    buf_free(&body);
}

/* What follows the tag in an answer, and where it is new each time. */
struct tail {
    char *text; /* NULL: not made yet */
    size_t len;
    struct stamps stamps;
};

static const struct tail *tail_of(long kind)
{
    static struct tail tails[CANNED_KINDS];
    struct tail *tail = &tails[kind];
    if (!tail->text) {
        struct canned_text text = canned_text((enum canned)kind);
        tail->text = mem_format("%s}", text.data);
        tail->len = text.len + 1;
        stamps_find(&tail->stamps, tail->text, tail->len, STAMP_NONE);
    }
    return tail;
}

/* The peer's own rows are not copied, unless what was sent before has not left yet: it may be
 * them. */
static void send_new(struct peer *peer, const char *head, size_t len, long kind,
                     const struct tail *tail, const char *digits)
{
    struct buf whole = {0};
    if (peer->wire.part_count) {
        buf_add(&whole, head, len);
        buf_add(&whole, tail->text, tail->len);
        stamps_write(&tail->stamps, whole.data + len, digits);
        wire_send(&peer->wire, whole.data, whole.len, NULL, 0);
        buf_free(&whole);
        return;
    }
    if (!peer->rows.len || peer->rows_kind != kind) {
        buf_clear(&peer->rows, 0);
        buf_add(&peer->rows, tail->text, tail->len);
        peer->rows_kind = kind;
    }
    stamps_write(&tail->stamps, peer->rows.data, digits);
    wire_send(&peer->wire, head, len, peer->rows.data, peer->rows.len);
}

static void on_variables(struct peer *peer, const struct message *request)
{
    long kind = message_number(request->body, "variablesReference", 0) - CANNED_FIRST_REFERENCE;
    struct text tag = message_string(request->body, "tag");
    char head[256];
    if (kind < 0 || kind >= CANNED_KINDS || tag.len != CANNED_TAG) {
        answer(peer, request->seq, "variables", "{\"variables\": []}");
        return;
    }
    int len =
        snprintf(head, sizeof head,
                 "{\"seq\": %ld, \"type\": \"response\", \"request_seq\": %ld, "
                 "\"success\": true, \"command\": \"variables\", \"body\": " CANNED_FRONT "%.*s",
                 ++peer->seq, request->seq, (int)tag.len, tag.at);
    const struct tail *tail = tail_of(kind);
    if (tail->stamps.count)
        send_new(peer, head, (size_t)len, kind, tail, stamps_digits(tag.at));
    else
        wire_send(&peer->wire, head, (size_t)len, tail->text, tail->len);
}

static const struct {
    const char *command;
    void (*handle)(struct peer *peer, const struct message *request);
    const char *body; /* of an answer that is always the same */
} commands[] = {
    {"variables", on_variables, NULL},
    {"attach", on_attach, NULL},
    {"configurationDone", on_configuration_done, NULL},
    {"scopes", on_scopes, NULL},
    {"initialize", NULL,
     "{\"supportsConfigurationDoneRequest\": true, \"supportsEvaluateForHovers\": true, "
     "\"supportsDebuggerProperties\": true, \"supportsSetVariable\": true, "
     "\"exceptionBreakpointFilters\": [{\"filter\": \"uncaught\", \"label\": \"Uncaught "
     "Exceptions\", \"default\": true}]}"},
    {"threads", NULL, "{\"threads\": [{\"id\": 1, \"name\": \"MainThread\"}]}"},
    {"stackTrace", NULL,
     "{\"stackFrames\": [{\"id\": 3, \"name\": \"square\", \"line\": 8, \"column\": 1, "
     "\"source\": {\"path\": \"/app/app.py\", \"sourceReference\": 0}}], \"totalFrames\": 1}"},
    {"evaluate", NULL, "{\"result\": \"\", \"variablesReference\": 0}"},
    {"setBreakpoints", NULL, "{\"breakpoints\": []}"},
    {"setFunctionBreakpoints", NULL, "{\"breakpoints\": []}"},
};

static void dispatch(struct peer *peer, const char *json, size_t len)
{
    struct message request;
    if (!message_read(&request, json, len, 0))
        die("not a JSON object: %.*s", (int)(len < 200 ? len : 200), json);
    if (!message_is(request.type, "request"))
        return;
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        if (!message_is(request.name, commands[i].command))
            continue;
        if (commands[i].handle)
            commands[i].handle(peer, &request);
        else
            answer(peer, request.seq, commands[i].command, commands[i].body);
        return;
    }
    char *name = mem_string_n(request.name.at, request.name.len);
    answer(peer, request.seq, name, "");
    free(name);
}

static void end(struct peer *peer)
{
    wire_close(&peer->wire);
    buf_free(&peer->rows);
    free(peer);
}

static void serve(struct peer *peer, uint32_t events)
{
    const char *json;
    size_t len;
    int state = 0;
    if (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) {
        if (!wire_read(&peer->wire)) {
            end(peer);
            return;
        }
        while ((state = wire_next(&peer->wire, &json, &len)) > 0)
            dispatch(peer, json, len);
    }
    if (state < 0 || !wire_flush(&peer->wire))
        end(peer);
}

static void accept_all(const struct peer *listener)
{
    int fd;
    while ((fd = endpoint_accept(listener->listener)) >= 0) {
        struct peer *peer = mem_alloc(sizeof *peer);
        peer->listener = -1;
        wire_start(&peer->wire, listener->epoll, fd, peer);
        greet(peer);
        if (!wire_flush(&peer->wire))
            end(peer);
    }
}

static void listen_on(int epoll, const char *address)
{
    struct peer *listener = mem_alloc(sizeof *listener);
    listener->epoll = epoll;
    listener->listener = endpoint_listen(address);
    epoll_watch(epoll, listener->listener, EPOLLIN, listener);
}

int main(int argc, char **argv)
{
    const char *address = "127.0.0.1:0";
    int64_t ports = 1;
    for (int i = 1; i < argc; i += 2) {
        if (text_equal(argv[i], "--listen") && argv[i + 1])
            address = argv[i + 1];
        else if (!text_equal(argv[i], "--ports") ||
                 !text_to_int(argv[i + 1] ? argv[i + 1] : "", 1, PORTS_MOST, &ports))
            die("usage: fakeadapter [--listen ADDRESS:PORT] [--ports N]");
    }
    endpoint_prepare();
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    for (int64_t i = 0; i < ports; i++)
        listen_on(epoll, address);
    puts("ready");
    fflush(stdout);
    for (;;) {
        struct epoll_event events[AT_ONCE];
        int count = epoll_wait(epoll, events, AT_ONCE, -1);
        for (int i = 0; i < count; i++) {
            struct peer *peer = events[i].data.ptr;
            if (peer->listener >= 0)
                accept_all(peer);
            else
                serve(peer, events[i].events);
        }
    }
}
