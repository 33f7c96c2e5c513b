#include "cli/dap/dap_launch.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/dap/launch_arguments.h"
#include "cli/dap/launch_dial.h"
#include "cli/dap/launch_process.h"
#include "dap/message.h"
#include "relay/access/agent_key.h"
#include "relay/access/auth.h"
#include "relay/access/proof.h"
#include "relay/io/acceptor.h"
#include "relay/io/stream.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_MOST = 4096 };

struct dap_launch {
    struct loop *loop;
    struct client *client;
    const struct relay_address *relay;
    struct launch_arguments arguments;
    char run[AGENT_KEY_ID_ROOM]; /* the id of the run's agent key */
    struct open_request request; /* the `launch` */
    struct launch_dial *asks;    /* where the processes dial */
    struct relay_dial dial;
    int64_t terminal_seq; /* of our runInTerminal, or 0 */
    char *path;           /* of the socket */
    struct acceptor *acceptor;
    struct stream *stream; /* to `raydbg run`, once it has connected */
    struct buf in;
    struct launch_process *process; /* without a terminal */
    bool has_terminal;              /* the client takes runInTerminal */
    bool on;                        /* launched, and the program has not ended */
    bool again;                     /* restarting: when the program ends, it is started again */
    struct timer *later;
};

struct dap_launch *dap_launch_create(struct loop *loop, struct client *client,
                                     const struct relay_address *relay)
{
    struct dap_launch *launch = mem_alloc(sizeof *launch);
    *launch = (struct dap_launch){.loop = loop, .client = client, .relay = relay};
    return launch;
}

static void hang_up(struct dap_launch *launch)
{
    launch_dial_destroy(&launch->asks);
    acceptor_close(&launch->acceptor);
    stream_destroy(&launch->stream);
    launch_process_destroy(&launch->process);
    buf_free(&launch->in);
    free(launch->path);
    launch->path = NULL;
}

void dap_launch_destroy(struct dap_launch **launch)
{
    struct dap_launch *it = *launch;
    if (!it)
        return;
    *launch = NULL;
    timer_cancel(&it->later);
    hang_up(it);
    launch_arguments_clear(&it->arguments);
    free(it);
}

bool dap_launch_is_on(const struct dap_launch *launch)
{
    return launch->on;
}

/* --- the end --- */

static void say(struct dap_launch *launch, const char *what, const char *why)
{
    char *text = mem_format("raydbg: %s%s%s\n", what, text_empty(why) ? "" : ": ", why ? why : "");
    client_say(launch->client, "important", text);
    free(text);
}

static void finish(struct dap_launch *launch)
{
    if (!launch->on)
        return;
    launch->on = launch->again = false;
    hang_up(launch);
    client_event(launch->client, "terminated", NULL);
}

static void start(struct dap_launch *launch);

/* Deferred: the stream that brought the news is closed. */
static void on_exited(void *arg)
{
    struct dap_launch *launch = arg;
    launch->later = NULL;
    if (launch->process)
        launch_process_drain(launch->process);
    hang_up(launch);
    if (launch->again)
        start(launch);
    else
        finish(launch);
}

static void note_exit(struct dap_launch *launch, int64_t code)
{
    char body[64];
    if (launch->process)
        launch_process_drain(launch->process);
    snprintf(body, sizeof body, "{\"exitCode\":%" PRId64 "}", code);
    if (!launch->again)
        client_event(launch->client, "exited", body);
    if (!launch->later)
        launch->later = timer_start(launch->loop, 0, on_exited, launch);
}

/* --- the socket --- */

static void read_line(struct dap_launch *launch, const char *json, size_t len)
{
    struct scan scan;
    struct span line;
    int64_t code = 0;
    scan_init(&scan, json, len);
    if (!scan_value(&scan, &line) || json[line.at] != '{')
        return;
    char *event = scan_string_at(json, line, "event");
    if (text_equal(event, "exited") && scan_integer_at(json, line, "code", &code))
        note_exit(launch, code);
    free(event);
}

static void on_bytes(void *arg, const char *bytes, size_t len)
{
    struct dap_launch *launch = arg;
    char *end;
    buf_add(&launch->in, bytes, len);
    while (launch->in.len && (end = memchr(launch->in.data, '\n', launch->in.len))) {
        size_t line = (size_t)(end - launch->in.data);
        read_line(launch, launch->in.data, line);
        buf_consume(&launch->in, line + 1);
    }
    if (launch->in.len > LINE_MOST)
        buf_clear(&launch->in, 0);
}

static void on_close(void *arg, const char *why)
{
    struct dap_launch *launch = arg;
    (void)why;
    if (launch->later)
        return;
    say(launch, "raydbg run has ended without a word", "the program may still run");
    launch->again = false;
    launch->later = timer_start(launch->loop, 0, on_exited, launch);
}

static const struct stream_ops stream_ops = {.on_bytes = on_bytes, .on_close = on_close};

static void put_member(struct buf *out, const char *name, const char *value)
{
    buf_printf(out, "%s\"%s\":", out->len ? "," : "{", name);
    message_quote(out, value);
}

/* The working directory is the launch's, or else this process's. */
static char *directory_of(const struct dap_launch *launch)
{
    char here[PATH_MAX];
    if (launch->arguments.cwd)
        return mem_string(launch->arguments.cwd);
    return mem_string(getcwd(here, sizeof here) ? here : "/");
}

static void on_accept(void *arg, int fd)
{
    struct dap_launch *launch = arg;
    struct buf line = {0};
    if (launch->stream) { /* there is one program */
        close(fd);
        return;
    }
    char *key = agent_key_make(launch->relay->token, launch->run), *cwd = directory_of(launch);
    put_member(&line, "host", launch->dial.host);
    put_member(&line, "fingerprint", launch->dial.fingerprint);
    put_member(&line, "key_id", launch->run);
    put_member(&line, "key", key);
    put_member(&line, "cwd", cwd);
    buf_printf(&line, ",\"post_mortem\":%s,\"piped\":%s,\"port\":%u}\n",
               launch->arguments.post_mortem ? "true" : "false", launch->process ? "true" : "false",
               launch->dial.port);
    launch->stream = stream_adopt(launch->loop, fd, false, &stream_ops, launch);
    stream_write(launch->stream, "", 0, line.data, line.len);
    explicit_bzero(line.data, line.len);
    explicit_bzero(key, strlen(key));
    free(key);
    free(cwd);
    buf_free(&line);
}

static int listen_here(struct dap_launch *launch, struct err *err)
{
    char id[17];
    proof_random(id, sizeof id);
    char *name = mem_format("dap-%s.sock", id);
    launch->path = auth_state_path(name);
    char *address = launch->path ? mem_format("unix:%s", launch->path) : NULL;
    const char *const addresses[] = {address};
    free(name);
    if (!address)
        err_set(err, ERR_FAILED, "there is no directory for the socket to raydbg run: set HOME");
    else if (auth_make_state_directory(err) == 0)
        launch->acceptor = acceptor_open(launch->loop, addresses, 1, on_accept, launch, err);
    free(address);
    return launch->acceptor ? 0 : -1;
}

/* --- the start --- */

static void on_process_end(void *arg)
{
    struct dap_launch *launch = arg;
    if (launch->stream || launch->later)
        return; /* it says how it has ended */
    launch->later = timer_start(launch->loop, 0, on_exited, launch);
}

static int start_program(struct dap_launch *launch, struct err *err)
{
    char self[PATH_MAX];
    struct buf terminal = {0};
    ssize_t len = readlink("/proc/self/exe", self, sizeof self - 1);
    if (listen_here(launch, err) != 0)
        return -1;
    self[len > 0 ? len : 0] = '\0';
    char *cwd = directory_of(launch);
    launch_arguments_terminal(&launch->arguments, self, launch->path, cwd, &terminal);
    free(cwd);
    if (launch->has_terminal && launch->arguments.console != LAUNCH_INTERNAL)
        launch->terminal_seq = client_request(launch->client, "runInTerminal", terminal.data);
    else
        launch->process = launch_process_start(launch->loop, launch->client, terminal.data,
                                               on_process_end, launch, err);
    buf_free(&terminal);
    return launch->terminal_seq || launch->process ? 0 : -1;
}

static void fail(struct dap_launch *launch, const struct err *err)
{
    char line[sizeof(struct err)];
    err_line(err, line, sizeof line);
    say(launch, line, NULL);
    finish(launch);
}

static void on_dial(void *arg, const struct relay_dial *dial, const struct err *why)
{
    struct dap_launch *launch = arg;
    struct err err;
    launch_dial_destroy(&launch->asks);
    if (why) {
        fail(launch, why);
        return;
    }
    launch->dial = *dial;
    if (start_program(launch, &err) != 0)
        fail(launch, &err);
}

static void start(struct dap_launch *launch)
{
    launch->again = false;
    launch->terminal_seq = 0;
    launch->asks = launch_dial_start(launch->loop, launch->relay, on_dial, launch);
}

/* --- the client's messages --- */

static enum dap_launch_way on_launch(struct dap_launch *launch, const char *json, size_t len,
                                     const struct envelope *request, struct buf *out)
{
    struct err err;
    struct buf arguments = {0};
    (void)len;
    if (launch->on) {
        client_refuse(launch->client, request->seq, request->name, "it is launched already", false);
        return DAP_LAUNCH_TAKEN;
    }
    launch_arguments_clear(&launch->arguments);
    if (relay_dial_check(launch->relay, &err) != 0 ||
        launch_arguments_read(&launch->arguments, json, request->arguments, &err) != 0) {
        client_fail(launch->client, request->seq, request->name, &err);
        return DAP_LAUNCH_TAKEN;
    }
    proof_random(launch->run, sizeof launch->run);
    open_request_begin(&launch->request, request->seq);
    launch->on = true;
    launch_arguments_attach(json, request->arguments, launch->run, &arguments);
    message_request(out, request->seq, "attach", arguments.data);
    buf_free(&arguments);
    return DAP_LAUNCH_EDITED;
}

static void end_program(struct dap_launch *launch)
{
    static const char verb[] = "{\"verb\":\"terminate\"}\n";
    if (launch->stream)
        stream_write(launch->stream, "", 0, verb, strlen(verb));
    else if (launch->on && !launch->later)
        launch->later = timer_start(launch->loop, 0, on_exited, launch);
}

static enum dap_launch_way on_terminate(struct dap_launch *launch, const char *json, size_t len,
                                        const struct envelope *request, struct buf *out)
{
    (void)json, (void)len, (void)out;
    client_respond(launch->client, request->seq, request->name, NULL);
    launch->again = false;
    end_program(launch);
    return DAP_LAUNCH_TAKEN;
}

static enum dap_launch_way on_restart(struct dap_launch *launch, const char *json, size_t len,
                                      const struct envelope *request, struct buf *out)
{
    (void)json, (void)len, (void)out;
    client_respond(launch->client, request->seq, request->name, NULL);
    launch->again = true;
    end_program(launch);
    return DAP_LAUNCH_TAKEN;
}

/* The tasks that are stopped go on to their end with the program. */
static enum dap_launch_way on_disconnect(struct dap_launch *launch, const char *json, size_t len,
                                         const struct envelope *request, struct buf *out)
{
    bool terminate = false;
    (void)len;
    if (request->arguments.len)
        scan_boolean_at(json, request->arguments, "terminateDebuggee", &terminate);
    if (!terminate)
        return DAP_LAUNCH_PASS;
    end_program(launch);
    message_request(out, request->seq, request->name, "{\"onDisconnect\":\"continue\"}");
    return DAP_LAUNCH_EDITED;
}

static enum dap_launch_way on_initialize(struct dap_launch *launch, const char *json, size_t len,
                                         const struct envelope *request, struct buf *out)
{
    (void)len, (void)out;
    if (request->arguments.len)
        scan_boolean_at(json, request->arguments, "supportsRunInTerminalRequest",
                        &launch->has_terminal);
    return DAP_LAUNCH_PASS;
}

static const struct {
    const char *command;
    bool when_on; /* only while a program is launched */
    enum dap_launch_way (*handle)(struct dap_launch *launch, const char *json, size_t len,
                                  const struct envelope *request, struct buf *out);
} requests[] = {
    {"initialize", false, on_initialize}, {"launch", false, on_launch},
    {"terminate", true, on_terminate},    {"restart", true, on_restart},
    {"disconnect", true, on_disconnect},
};

static bool takes_answer(struct dap_launch *launch, const char *json,
                         const struct envelope *response)
{
    if (!launch->terminal_seq || response->request_seq != launch->terminal_seq)
        return false;
    launch->terminal_seq = 0;
    if (!response->success) {
        char *why = scan_string(json, response->message);
        say(launch, "the editor has not started the program in a terminal", why);
        free(why);
        finish(launch);
    }
    return true;
}

enum dap_launch_way dap_launch_from_client(struct dap_launch *launch, const char *json, size_t len,
                                           const struct envelope *envelope, struct buf *out)
{
    if (envelope->kind == DAP_RESPONSE)
        return takes_answer(launch, json, envelope) ? DAP_LAUNCH_TAKEN : DAP_LAUNCH_PASS;
    for (size_t i = 0; i < sizeof requests / sizeof *requests; i++)
        if (text_equal(envelope->name, requests[i].command) && (launch->on || !requests[i].when_on))
            return requests[i].handle(launch, json, len, envelope, out);
    return DAP_LAUNCH_PASS;
}

/* --- the relay's messages --- */

bool dap_launch_from_relay(struct dap_launch *launch, const char *json,
                           const struct envelope *envelope)
{
    if (!launch->request.open || envelope->kind != DAP_RESPONSE ||
        envelope->request_seq != launch->request.seq)
        return false;
    int64_t seq = open_request_close(&launch->request);
    if (envelope->success) { /* the breakpoints are set: it follows configurationDone */
        client_respond(launch->client, seq, "launch", NULL);
        start(launch);
        return true;
    }
    char *why = scan_string(json, envelope->message);
    client_refuse(launch->client, seq, "launch", why ? why : "the relay gave no reason", true);
    free(why);
    launch->on = false;
    return true;
}
