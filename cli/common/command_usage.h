/* Prints a command's help and its errors. */
#ifndef RAYDBG_CLI_COMMON_COMMAND_USAGE_H
#define RAYDBG_CLI_COMMON_COMMAND_USAGE_H

#include "base/buf.h"
#include "base/err.h"
#include "cli/common/command_text.h"

#include <stdbool.h>

/* Prints "raydbg: what", and why and hint below it, indented, to stderr; returns err->code. */
int command_fail(const struct err *err);
/* A usage error: prints `format` and the command's synopsis (NULL: a hint to `raydbg help`) to
 * stderr; returns ERR_USAGE. */
int command_usage(const struct command_text *command, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* -h gives the short help, --help the whole; returns 0. */
int command_help(const struct command_text *command, bool whole);

/* Appends text in lines of at most `width` bytes, the first of which begins at column `at`, the
 * others at column `indent`. A line of the text that begins with a space is not broken. Ends with a
 * newline. */
void command_fill(struct buf *out, const char *text, size_t at, size_t indent, size_t width);

#endif
