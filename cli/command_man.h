/* The manual pages, made of the commands' texts. */
#ifndef RAYDBG_CLI_COMMAND_MAN_H
#define RAYDBG_CLI_COMMAND_MAN_H

#include "base/buf.h"
#include "cli/command.h"

/* Appends the page of a command, or of raydbg itself (NULL), in roff's man macros. */
void command_man(const struct command_text *command, struct buf *out);

/* Writes every page into a directory that exists: raydbg.1, raydbg-list.1, …, raydbg-relay.8.
 * Returns 0, or -1 with *err. */
int command_man_write(const char *directory, struct err *err);

#endif
