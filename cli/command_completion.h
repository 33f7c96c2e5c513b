/* The shells' completion scripts, made of the commands' texts. */
#ifndef RAYDBG_CLI_COMMAND_COMPLETION_H
#define RAYDBG_CLI_COMMAND_COMPLETION_H

#include "base/buf.h"

#include <stdbool.h>

/* Appends the script for bash, zsh or fish; false: the shell is none of them. */
bool command_completion(const char *shell, struct buf *out);

#endif
