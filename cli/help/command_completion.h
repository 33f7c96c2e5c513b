/* The shells' completion scripts, made of the commands' texts. */
#ifndef RAYDBG_CLI_HELP_COMMAND_COMPLETION_H
#define RAYDBG_CLI_HELP_COMMAND_COMPLETION_H

#include "base/buf.h"
#include "cli/help/command_table.h"

#include <stdbool.h>

/* Appends the script for bash, zsh or fish; false: the shell is none of them. */
bool command_completion(const struct command_table *table, const char *shell, struct buf *out);

#endif
