#include "cli/command.h"
#include "cli/options.h"

#include "base/buf.h"
#include "dap/frame.h"
#include "relay/loop.h"
#include "relay/session.h"
#include "relay/stream.h"

#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/signalfd.h>
#include <unistd.h>

const char cmd_dap_synopsis[] =
    "dap [--address A] [--connect HOST:PORT] [--no-tune] [--kill] [TASK]";

const char cmd_dap_details[] =
    "An editor starts this as its debug adapter. It speaks the Debug Adapter Protocol on stdin "
    "and\n"
    "stdout, finds the task that the editor's `attach` request names, and debugs it.\n"
    "\n"
    "  --address A          the cluster: HOST:PORT of the GCS, or http://HOST:8265\n"
    "  --connect HOST:PORT  a debugpy adapter, without looking for a cluster\n"
    "  --no-tune            leave TCP_NODELAY and TCP_QUICKACK as they are (25 times slower)\n"
    "  --kill               terminate really ends the worker process, not only the session\n"
    "  TASK                 for an attach that names none: an id or its beginning, a task's or an\n"
    "                       actor's name, PID@NODE\n"
    "\n"
    "`attach` arguments: address, task, connect, subProcess, kill, noTune; and debugpy's own\n"
    "(pathMappings, showReturnValue, redirectOutput, ...), which are passed on.\n"
    "\n"
    "Neovim (nvim-dap):\n"
    "  dap.adapters.raydbg = { type = 'executable', command = 'raydbg', args = { 'dap' } }\n"
    "  dap.configurations.python = {{ type = 'raydbg', request = 'attach', name = 'Ray task',\n"
    "                                 task = 'square' }}\n"
    "\n"
    "exit codes: 0 the session ended in order, 1 the client's stream was broken, 2 wrong usage\n";

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

static const struct session_ops session_ops = {
    .on_message = on_message,
    .on_end = on_end,
};

/* SIGINT and SIGTERM end the session in order: the task goes on. */
static int open_signals(void)
{
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    sigprocmask(SIG_BLOCK, &set, NULL);
    return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int serve(const struct session_options *options)
{
    struct dap dap = {.loop = options->loop};
    int signals = open_signals();
    struct watch *watch = watch_start(dap.loop, signals, on_signal, &dap);
    frame_init(&dap.frame, MAX_BODY);
    dap.session = session_create(options, &session_ops, &dap);
    dap.stream = stream_files(dap.loop, STDIN_FILENO, STDOUT_FILENO, &stream_ops, &dap);
    loop_run(dap.loop);
    if (session_is_broken(dap.session))
        dap.code = ERR_FAILED;
    stream_destroy(&dap.stream);
    session_destroy(&dap.session);
    frame_free(&dap.frame);
    watch_stop(&watch);
    close(signals);
    return dap.code;
}

int cmd_dap(int argc, char **argv)
{
    const char *address = NULL, *connect = NULL;
    bool tune = true, kill = false, done = false;
    int operands;
    struct err err;
    const struct option_spec specs[] = {
        {"address", 'a', OPTION_STRING, NULL, &address, NULL},
        {"connect", 0, OPTION_STRING, NULL, &connect, NULL},
        {"no-tune", 0, OPTION_FLAG, &tune, NULL, NULL},
        {"kill", 0, OPTION_FLAG, &kill, NULL, NULL},
    };
    if (!options_parse("dap", specs, sizeof specs / sizeof *specs, argc, argv, &operands, &done))
        return ERR_USAGE;
    if (done)
        return ERR_NONE;
    if (operands > 1)
        return command_usage("dap", "one TASK at a time, not %d", operands);
    struct loop *loop = loop_create(true, &err);
    if (!loop)
        return command_fail(&err);
    struct session_options options = {
        .loop = loop,
        .address = address,
        .task = operands ? argv[1] : NULL,
        .connect = connect,
        .tune = tune,
        .kill = kill,
    };
    int code = serve(&options);
    loop_destroy(&loop);
    return code;
}
