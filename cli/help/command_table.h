/* The table of commands, of which help, manual pages and completions are made. cli/command.c has
 * it. */
#ifndef RAYDBG_CLI_HELP_COMMAND_TABLE_H
#define RAYDBG_CLI_HELP_COMMAND_TABLE_H

#include "cli/common/command_text.h"

#include <stddef.h>

/* The words of `raydbg help` and of raydbg(1); README.md has the exit codes, too. */
#define COMMAND_SUMMARY "debug Ray tasks and actors where they stopped"
#define COMMAND_EXITS                                                                              \
    "0 done, 1 failed, or standard output cannot be written, 2 wrong usage, 3 not found or "       \
    "ambiguous, 4 not allowed, 5 cluster unreachable, 6 attach --one-stop was not left by "        \
    "continue, 130 interrupted by ^C"

struct command {
    const struct command_text *text;
    /* argv[0] is the command's name. Returns the process's exit code (base/err.h). */
    int (*run)(int argc, char **argv);
};

/* The commands, in the order of `raydbg help`, and the options that stand in a command's place. */
struct command_table {
    const struct command *commands;
    size_t count;
    const struct option_row *options; /* each has the name of the command that it runs */
    size_t option_count;
};

#endif
