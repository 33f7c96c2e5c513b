/* Dispatch and help, driven by the table of commands in command.c. */
#ifndef RAYDBG_CLI_COMMAND_H
#define RAYDBG_CLI_COMMAND_H

#include "cli/help/command_table.h"

/* The command of that name, or of an option that is given in a command's place, such as --version;
 * NULL if there is none. */
const struct command *command_find(const char *word);
/* Prints that there is none, and the one that is spelled almost like it; returns ERR_USAGE. */
int command_unknown(const char *name);

/* `raydbg help`, `completions` and `version`. */
int command_help_main(int argc, char **argv);
int command_completions_main(int argc, char **argv);
int command_version_main(int argc, char **argv);

#endif
