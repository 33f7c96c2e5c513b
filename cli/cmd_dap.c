#include "cli/command.h"
#include "cli/dap_bridge.h"
#include "cli/options.h"
#include "cli/relay_options.h"
#include "cli/signals.h"

#include "base/buf.h"
#include "base/text.h"
#include "dap/frame.h"
#include "relay/closer.h"
#include "relay/loop.h"
#include "relay/session.h"
#include "relay/stream.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

const char cmd_dap_synopsis[] =
    "dap [--address A] [--relay R] [--connect HOST:PORT] [--no-tune] [--no-ahead] [--kill] [TASK]";

const char cmd_dap_details[] =
    "An editor starts this as its debug adapter. It speaks the Debug Adapter Protocol on stdin "
    "and\n"
    "stdout, finds the task that the editor's `attach` request names, and debugs it.\n"
    "\n"
    "  --address A          the cluster: HOST:PORT of the GCS, or http://HOST:8265\n"
    "  --connect HOST:PORT  a debugpy adapter, without looking for a cluster\n"
    "  --no-tune            leave TCP_NODELAY and TCP_QUICKACK as they are (25 times slower)\n"
    "  --no-ahead           with a relay: ask it only what the editor asks, when it asks (also\n"
    "                       RAYDBG_AHEAD=0)\n"
    "  --kill               terminate really ends the worker process, not only the "
    "session\n" RELAY_OPTION_HELP
    "  TASK                 for an attach that names none: an id or its beginning, a task's or an\n"
    "                       actor's name, PID@NODE\n"
    "\n"
    "`attach` arguments: address, task, connect, subProcess, kill, noTune; of many tasks tasks,\n"
    "job, actor, node, mode, maxSessions, threadName, allThreads, eager; and debugpy's\n"
    "own (pathMappings, showReturnValue, redirectOutput, ...), which are passed on.\n"
    "\n"
    "Neovim (nvim-dap):\n"
    "  dap.adapters.raydbg = { type = 'executable', command = 'raydbg', args = { 'dap' } }\n"
    "  dap.configurations.python = {{ type = 'raydbg', request = 'attach', name = 'Ray task',\n"
    "                                 task = 'square' }}\n"
    "\n"
    "exit codes: 0 the session ended in order, 1 the client's stream was broken, 2 wrong usage,\n"
    "            4 the relay does not trust us or we it, 5 the relay is gone\n";

/* The largest message taken from an editor. */
enum { MAX_BODY = 64 * 1024 * 1024 };

struct dap {
    struct loop *loop;
    struct stream *stream;
    struct session *session;
    struct frame frame;
    int code;
};

static void on_message(void *arg, const char *json, size_t len)
{
    struct dap *dap = arg;
    char header[FRAME_HEADER_ROOM];
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
            session_receive(dap->session, body, body_len);
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

static int serve(const struct session_options *options)
{
    struct dap dap = {.loop = options->loop};
    /* The task goes on. */
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

/* Through a relay if there is one, else in this process. */
static int serve_anywhere(struct session_options *options, const struct relay_wish *wish,
                          bool ahead)
{
    struct relay_choice choice;
    struct err err;
    int code;
    if (relay_choose(&choice, wish, options->address, false, &err) != 0) {
        code = command_fail(&err);
    } else if (choice.found != RELAY_NONE) {
        const struct dap_bridge_options bridge = {
            .loop = choice.loop,
            .relay = &choice.relay,
            .task = options->task,
            .tune = options->tune,
            .kill = options->kill,
            .ahead = ahead,
        };
        closer_stop(); /* the relay's does it */
        code = dap_bridge_run(&bridge);
    } else {
        /* An `attach` may name a dashboard on https. */
        loop_destroy(&choice.loop);
        options->loop = choice.loop = loop_create(true, &err);
        code = choice.loop ? serve(options) : command_fail(&err);
    }
    relay_choice_clear(&choice);
    return code;
}

int cmd_dap(int argc, char **argv)
{
    const char *address = NULL, *connect = NULL;
    struct relay_wish wish = {.wanted = true};
    bool tune = true, kill = false, ahead = !text_equal(getenv("RAYDBG_AHEAD"), "0"), done = false;
    int operands;
    struct err err;
    const struct option_spec specs[] = {
        {"address", 'a', OPTION_STRING, NULL, &address},
        {"connect", 0, OPTION_STRING, NULL, &connect},
        {"no-tune", 0, OPTION_FLAG, &tune, NULL},
        {"no-ahead", 0, OPTION_FLAG, &ahead, NULL},
        {"kill", 0, OPTION_FLAG, &kill, NULL},
        RELAY_OPTION_SPECS(wish),
    };
    if (!options_parse("dap", specs, sizeof specs / sizeof *specs, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands > 1)
        return command_usage("dap", "one TASK at a time, not %d", operands);
    if (connect && wish.address)
        return command_usage("dap", "--connect goes to an adapter itself: --relay is no use then");
    struct session_options options = {
        .address = address,
        .task = operands ? argv[1] : NULL,
        .connect = connect,
        .tune = tune,
        .kill = kill,
    };
    closer_start();
    if (!connect)
        return serve_anywhere(&options, &wish, ahead);
    options.loop = loop_create(true, &err);
    int code = options.loop ? serve(&options) : command_fail(&err);
    loop_destroy(&options.loop);
    return code;
}
