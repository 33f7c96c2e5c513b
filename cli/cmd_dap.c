#include "cli/commands.h"
#include "cli/common/options.h"
#include "cli/common/relay_options.h"
#include "cli/common/signals.h"
#include "cli/dap/dap_arguments.h"
#include "cli/dap/dap_bridge.h"
#include "cli/relay/relay_own.h"
#include "cli/relay/run_relay.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/envelope.h"
#include "dap/frame.h"
#include "relay/children/client_modes.h"
#include "relay/debuggee/closer.h"
#include "relay/io/loop.h"
#include "relay/io/stream.h"
#include "relay/session/session.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <termios.h>
#include <unistd.h>

struct dap_words {
    const char *address, *connect;
    bool tune, kill, prefetch, launch;
    struct relay_wish wish;
};

static const struct option_row option_rows[] = {
    {"address", 'a', OPTION_STRING, offsetof(struct dap_words, address), .value = "ADDRESS",
     .help = "the cluster: HOST:PORT of the GCS, or http://HOST:8265"},
    {"connect", 0, OPTION_STRING, offsetof(struct dap_words, connect), .value = "HOST:PORT",
     .help = "a debugpy adapter, without looking for a cluster"},
    {"no-tune", 0, OPTION_FLAG, offsetof(struct dap_words, tune),
     .help = "leave TCP_NODELAY and TCP_QUICKACK as they are (25 times slower)"},
    {"no-prefetch", 0, OPTION_FLAG, offsetof(struct dap_words, prefetch),
     .help =
         "with a relay: ask it only what the editor asks, when it asks (also RAYDBG_PREFETCH=0)"},
    {"kill", 0, OPTION_FLAG, offsetof(struct dap_words, kill),
     .help = "terminate really ends the worker process, not only the session"},
    {"launch", 0, OPTION_FLAG, offsetof(struct dap_words, launch),
     .help = "the editor will send launch: offer it the exception filter Uncaught in Tasks, too"},
    RELAY_OPTION_ROWS(struct dap_words, wish),
};

const struct command_text cmd_dap_text = {
    .name = "dap",
    .summary = "speak the Debug Adapter Protocol on stdin and stdout, for editors",
    .synopsis = "dap [--address A] [--relay R] [--connect HOST:PORT] [--no-tune] [--no-prefetch]\n"
                "            [--kill] [--launch] [TASK]",
    .intro = "An editor starts this as its debug adapter. It speaks the Debug Adapter Protocol on "
             "stdin and stdout, finds the task that the editor's `attach` request names, and "
             "debugs it.\n"
             "\n"
             "TASK is for an attach that names none: an id or its beginning, a task's or an "
             "actor's name, PID@NODE. Without a relay it starts one, which holds the task when the "
             "editor dies, and ends by itself; RAYDBG_START_RELAY=0 uses one that runs, but starts "
             "none.",
    .options = option_rows,
    .option_count = sizeof option_rows / sizeof *option_rows,
    .notes =
        "`launch` runs a program whose tasks and driver stop at the editor's breakpoints. Its "
        "arguments: program or module, args, python, cwd, env, console, and those of an "
        "attach that do not choose tasks.\n"
        "\n"
        "`attach` arguments: address, task, connect, subProcess, kill, noTune; of many tasks "
        "tasks, job, actor, node, mode, maxSessions, threadName, allThreads, eager; and "
        "debugpy's own (pathMappings, showReturnValue, redirectOutput, ...), which are checked "
        "and passed on.\n"
        "\n"
        "Neovim (nvim-dap):\n"
        "  dap.adapters.raydbg = { type = 'executable', command = 'raydbg', args = { 'dap' } "
        "}\n"
        "  dap.configurations.python = {{ type = 'raydbg', request = 'attach', name = 'Ray "
        "task',\n"
        "                                 task = 'square' }}",
    .exits = "0 the session ended in order, 1 the client's stream was broken, 2 wrong usage, 4 the "
             "relay does not trust us or we it, 5 the relay is gone",
    .operand = WORD_TASK,
};

/* The largest body that is accepted from an editor, in bytes. */
enum { MAX_BODY = 64 * 1024 * 1024 };

struct dap {
    struct loop *loop;
    struct begun *begun; /* filled in when the client launches a program; NULL: it may not */
    struct stream *stream;
    struct session *session;
    struct frame frame;
    bool launch; /* --launch */
    int code;
};

/* The state of a session without a relay when a `launch` comes, which needs one. */
struct begun {
    char *initialize;
    int64_t messages; /* sent to the client */
    struct buf bytes; /* the launch, and what follows it */
};

static void on_message(void *arg, const char *json, size_t len)
{
    struct dap *dap = arg;
    char header[FRAME_HEADER_ROOM];
    if (dap->begun)
        dap->begun->messages++;
    stream_write(dap->stream, header, frame_header(header, len), json, len);
}

static void on_halves(void *arg, const char *head, size_t head_len, const char *rest,
                      size_t rest_len)
{
    struct dap *dap = arg;
    struct buf start = {0};
    frame_start(&start, head, head_len, rest_len);
    stream_write(dap->stream, start.data, start.len, rest, rest_len);
    buf_free(&start);
}

static void on_end(void *arg)
{
    struct dap *dap = arg;
    loop_stop(dap->loop);
}

static void on_open(void *arg)
{
    (void)arg; /* files are open from the start */
}

/* True if the message is a `launch`: this session ends with it, and keeps the rest. */
static bool leaves(struct dap *dap, const char *json, size_t json_len, const char *rest,
                   size_t rest_len)
{
    struct envelope envelope;
    const char *problem;
    struct begun *begun = dap->begun;
    if (!begun || envelope_read(&envelope, json, json_len, &problem) != 0 ||
        envelope.kind != DAP_REQUEST)
        return false;
    if (text_equal(envelope.name, "initialize")) {
        free(begun->initialize);
        begun->initialize = mem_string_n(json, json_len);
    }
    if (!text_equal(envelope.name, "launch"))
        return false;
    char header[FRAME_HEADER_ROOM];
    buf_add(&begun->bytes, header, frame_header(header, json_len));
    buf_add(&begun->bytes, json, json_len);
    buf_add(&begun->bytes, rest, rest_len);
    stream_read_enable(dap->stream, false);
    loop_stop(dap->loop);
    return true;
}

/* With --launch, adds to `initialize` what the bridge to a relay adds. */
static void receive(struct dap *dap, const char *json, size_t len)
{
    struct envelope request;
    struct buf members = {0}, edited = {0};
    const char *problem;
    if (dap->launch && envelope_read(&request, json, len, &problem) == 0 &&
        request.kind == DAP_REQUEST && text_equal(request.name, "initialize"))
        dap_arguments_member(json, &request, "supportsRaydbgLaunch", "true", &members);
    if (members.len && dap_arguments_request(json, len, &request, &members, &edited))
        session_receive(dap->session, edited.data, edited.len);
    else
        session_receive(dap->session, json, len);
    buf_free(&members);
    buf_free(&edited);
}

static void on_bytes(void *arg, const char *bytes, size_t len)
{
    struct dap *dap = arg;
    while (len) {
        size_t used;
        enum frame_status status = frame_feed(&dap->frame, bytes, len, &used);
        bytes += used;
        len -= used;
        if (status == FRAME_MESSAGE) {
            size_t body_len;
            const char *body = frame_body(&dap->frame, &body_len);
            if (leaves(dap, body, body_len, bytes, len))
                return;
            receive(dap, body, body_len);
        } else if (status == FRAME_ERROR) {
            stream_read_enable(dap->stream, false);
            session_broken(dap->session, frame_problem(&dap->frame));
            return;
        }
    }
}

static void on_close(void *arg, const char *why)
{
    struct dap *dap = arg;
    if (why || !frame_idle(&dap->frame))
        dap->code = ERR_FAILED;
    session_client_gone(dap->session);
}

static void on_signal(void *arg)
{
    struct dap *dap = arg;
    session_client_gone(dap->session);
}

static const struct stream_ops stream_ops = {
    .on_open = on_open,
    .on_bytes = on_bytes,
    .on_close = on_close,
};

static void on_flow(void *arg, bool flows)
{
    struct dap *dap = arg;
    stream_read_enable(dap->stream, flows);
}

static const struct session_ops session_ops = {
    .on_flow = on_flow,
    .on_message = on_message,
    .on_halves = on_halves,
    .on_end = on_end,
};

static int serve(const struct session_options *options, bool launch, struct begun *begun)
{
    struct dap dap = {.loop = options->loop, .begun = begun, .launch = launch};
    /* SIGINT and SIGTERM end the session; the task goes on. */
    struct signals *signals = signals_start(dap.loop, on_signal, &dap);
    frame_init(&dap.frame, MAX_BODY);
    dap.session = session_create(options, &session_ops, &dap);
    dap.stream = stream_files(dap.loop, STDIN_FILENO, STDOUT_FILENO, &stream_ops, &dap);
    loop_run(dap.loop);
    if (session_is_broken(dap.session))
        dap.code = ERR_FAILED;
    stream_destroy(&dap.stream);
    session_destroy(&dap.session);
    frame_free(&dap.frame);
    signals_stop(&signals);
    return dap.code;
}

/* True if there is a relay. Starts the user's own if none was found: it holds the task if the
 * editor dies. */
static bool has_relay(struct relay_choice *choice, const struct relay_wish *wish)
{
    if (choice->found == RELAY_NONE && choice->has_cluster &&
        relay_own_use(&choice->relay, choice->loop, wish, &choice->cluster,
                      &(struct relay_own_options){.left = "the editor is gone", .quiet = true}))
        choice->found = RELAY_FOUND;
    return choice->found != RELAY_NONE;
}

static int serve_by_relay(const struct session_options *options, const struct dap_words *words,
                          struct relay_choice *choice, const struct dap_bridge_begun *begun)
{
    const struct dap_bridge_options bridge = {
        .loop = choice->loop,
        .relay = &choice->relay,
        .task = options->task,
        .tune = options->tune,
        .kill = options->kill,
        .prefetch = words->prefetch,
        .launch = words->launch,
        .begun = begun,
    };
    closer_stop(); /* the relay has its own closer */
    return dap_bridge_run(&bridge);
}

/* A program that makes its own cluster needs a relay before there is one. */
static int serve_launch(const struct session_options *options, const struct dap_words *words,
                        struct relay_choice *choice, struct begun *begun)
{
    struct err err;
    struct dap_bridge_begun so_far = {
        .initialize = begun->initialize,
        .seq = begun->messages,
        .bytes = begun->bytes.data,
        .len = begun->bytes.len,
    };
    loop_destroy(&choice->loop);
    choice->loop = loop_create(false, &err);
    if (!choice->loop)
        return command_fail(&err);
    if (!relay_own_use(&choice->relay, choice->loop, &words->wish, &choice->cluster,
                       &(struct relay_own_options){.idle = RUN_RELAY_IDLE, .quiet = true})) {
        err_set(&err, ERR_UNREACHABLE, "there is no relay for the program's processes to dial");
        err_hint(&err, "launch goes without --no-relay and RAYDBG_START_RELAY=0");
        so_far.problem = &err;
    }
    return serve_by_relay(options, words, choice, &so_far);
}

/* Serves through a relay if one was found or can be started, else in this process. */
static int serve_anywhere(struct session_options *options, const struct dap_words *words)
{
    struct relay_choice choice;
    struct begun begun = {0};
    struct err err;
    int code;
    if (relay_choose(&choice, &words->wish, options->address, false, &err) != 0) {
        code = command_fail(&err);
    } else if (has_relay(&choice, &words->wish)) {
        code = serve_by_relay(options, words, &choice, NULL);
    } else {
        /* This loop needs TLS: an `attach` may name a dashboard on https. */
        loop_destroy(&choice.loop);
        options->loop = choice.loop = loop_create(true, &err);
        code = choice.loop ? serve(options, words->launch, &begun) : command_fail(&err);
        if (begun.bytes.len)
            code = serve_launch(options, words, &choice, &begun);
    }
    free(begun.initialize);
    buf_free(&begun.bytes);
    relay_choice_clear(&choice);
    return code;
}

/* A terminal in line mode keeps bytes until Enter, and echoes and changes them: no message passes.
 * One that is raw already, such as an editor's own, is a pipe like any other. */
static bool is_line_mode(int fd)
{
    struct termios mode;
    return tcgetattr(fd, &mode) == 0 && (mode.c_lflag & (ICANON | ECHO)) != 0;
}

static int refuse_terminal(void)
{
    struct err err;
    err_set(&err, ERR_USAGE, "stdin is a terminal: dap speaks with an editor, through a pipe");
    err_hint(&err, "raydbg attach debugs in a terminal; an editor starts ssh and docker exec "
                   "without -t");
    return command_fail(&err);
}

int cmd_dap(int argc, char **argv)
{
    struct dap_words words = {
        .tune = true,
        .prefetch = !text_equal(getenv("RAYDBG_PREFETCH"), "0"),
        .wish = {.wanted = true},
    };
    bool done = false;
    int operands;
    struct err err;
    if (!options_parse(&cmd_dap_text, &words, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands > 1)
        return command_usage(&cmd_dap_text, "one TASK at a time, not %d", operands);
    if (words.connect && words.wish.address)
        return command_usage(&cmd_dap_text,
                             "--connect goes to an adapter itself: --relay is no use then");
    if (is_line_mode(STDIN_FILENO))
        return refuse_terminal();
    struct session_options session = {
        .address = words.address,
        .task = operands ? argv[1] : NULL,
        .connect = words.connect,
        .tune = words.tune,
        .kill = words.kill,
        .modes = &client_session_modes,
    };
    closer_start();
    if (!words.connect)
        return serve_anywhere(&session, &words);
    session.loop = loop_create(true, &err);
    int code = session.loop ? serve(&session, words.launch, NULL) : command_fail(&err);
    loop_destroy(&session.loop);
    return code;
}
