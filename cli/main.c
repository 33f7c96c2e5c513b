#include "base/err.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/command.h"
#include "relay/keeper/keeper_process.h"
#include "relay/port/tls_terminator_process.h"

#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void set_log_level(void)
{
    const char *level = getenv("RAYDBG_LOG");
    if (level && !log_set_level(level))
        fprintf(stderr, "raydbg: RAYDBG_LOG=%s is none of error, warn, info, debug: ignored\n",
                level);
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
    return command->run(argc - 1, argv + 1);
}
