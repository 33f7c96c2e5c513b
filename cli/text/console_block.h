/* Finds out where Python code that takes several lines ends. Pure. */
#ifndef RAYDBG_CLI_TEXT_CONSOLE_BLOCK_H
#define RAYDBG_CLI_TEXT_CONSOLE_BLOCK_H

#include <stdbool.h>

enum block_state {
    BLOCK_WHOLE, /* nothing is missing */
    BLOCK_OPEN,  /* within brackets, a long string, or after a backslash */
    BLOCK_BODY,  /* a compound statement: an empty line ends it */
};

/* The state of text that is typed line by line. */
enum block_state block_state(const char *text);
/* The same for pasted text: only a body that begins in its last line needs more lines. */
enum block_state block_state_pasted(const char *text);

bool block_is_blank(const char *line);
/* Removes the white space that all lines begin with, and blank lines at the end. The caller
 * frees. */
char *block_dedent(const char *text);

#endif
