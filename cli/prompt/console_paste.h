/* Reads a paste from a terminal that marks it ("bracketed paste"), up to the end mark. Pure. */
#ifndef RAYDBG_CLI_PROMPT_CONSOLE_PASTE_H
#define RAYDBG_CLI_PROMPT_CONSOLE_PASTE_H

#include <stdbool.h>
#include <stddef.h>
#include <wchar.h>

#define PASTE_ON "\033[?2004h"
#define PASTE_OFF "\033[?2004l"

/* All zero is a paste without any text yet. */
struct paste {
    wchar_t *text; /* ends in 0 once paste_feed() has returned true */
    size_t len, room;
    size_t matched; /* characters of the end mark that have matched */
    bool after_cr;
};

/* Takes a character after the begin mark; true for the last one of the end mark. Line ends become
 * '\n'. Drops line ends at the paste's end, control characters other than tabs, and all above 1 Mi
 * characters. */
bool paste_feed(struct paste *paste, wchar_t c);
void paste_clear(struct paste *paste);

#endif
