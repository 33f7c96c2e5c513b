#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "cli/common/command_usage.h"
#include "relay/keeper/keeper_process.h"
#include "relay/port/tls_terminator_process.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void set_log_level(void)
{
    const char *level = getenv("RAYDBG_LOG");
    if (level && !log_set_level(level))
        fprintf(stderr, "raydbg: RAYDBG_LOG=%s is none of error, warn, info, debug: ignored\n",
                level);
}

/* A descriptor that is closed would become one of this program's own files. Before main: gRPC's
 * constructors open some. */
__attribute__((constructor(101))) static void open_stdio(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) != fd)
            return;
}

/* True of a terminal, which may hang up or be full for a moment, and of a pipe whose other end is
 * closed: `| head`. */
static bool may_lose_output(void)
{
    struct pollfd out = {.fd = STDOUT_FILENO, .events = POLLOUT};
    return isatty(STDOUT_FILENO) || (poll(&out, 1, 0) > 0 && out.revents & (POLLERR | POLLHUP));
}

/* The exit code, once all output is written: output that is lost, as on a full disk, is a failure.
 * Commands need not look at what stdio returns for stdout. */
static int finish_output(int code)
{
    struct err err;
    int why = fflush(stdout) == 0 ? 0 : errno;
    if (code != ERR_NONE || (!why && !ferror(stdout)) || why == EPIPE || may_lose_output())
        return code;
    err_set(&err, ERR_FAILED, "cannot write standard output");
    if (why)
        err_why(&err, "%s", strerror(why));
    return command_fail(&err);
}

int main(int argc, char **argv)
{
    signal(SIGCHLD, SIG_DFL); /* a child's exit code is lost where the parent has it ignored */
    keeper_process_resume(argc, argv);
    tls_terminator_process_resume(argc, argv);
    setlocale(LC_ALL, "");
    setlocale(LC_NUMERIC, "C"); /* in JSON, DAP, CSV and verbs a decimal point is a point */
    set_log_level();
    mem_tune();
    if (argc < 2) {
        char *help[] = {argv[0], NULL};
        command_help_main(1, help);
        return ERR_USAGE;
    }
    const struct command *command = command_find(argv[1]);
    if (!command)
        return command_unknown(argv[1]);
    return finish_output(command->run(argc - 1, argv + 1));
}
