/* The manual pages, made of the commands' texts. */
#ifndef RAYDBG_CLI_HELP_COMMAND_MAN_H
#define RAYDBG_CLI_HELP_COMMAND_MAN_H

#include "base/err.h"
#include "cli/help/command_table.h"

/* Writes every page into a directory that exists: raydbg.1, raydbg-list.1, …, raydbg-relay.8.
 * Returns 0, or -1 with *err. */
int command_man_write(const struct command_table *table, const char *directory, struct err *err);

#endif
