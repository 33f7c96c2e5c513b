/* Parses a line that was typed into the console. Pure. */
#ifndef RAYDBG_CLI_CONSOLE_CONSOLE_PARSE_H
#define RAYDBG_CLI_CONSOLE_CONSOLE_PARSE_H

#include "base/err.h"
#include "cli/console/console_verbs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The shortest prefix that abbreviates a verb. Shorter ones must be aliases: a single letter is
 * more often a variable. */
#define VERB_PREFIX_MIN 3

struct command_line {
    const struct console_verb *verb; /* NULL: Python, all of it in `argument` */
    char *argument;                  /* without white space around it; owned */
};

/* Like pdb, without its traps: a verb's name is Python if the text after it can only be Python ("n
 * = 3", "c.close()", "l[0]", "a + 1"). "!TEXT" is always Python, "?" is help. */
void command_line_read(struct command_line *line, const char *text);
void command_line_clear(struct command_line *line);

/* Splits at pdb's ";;" outside quotes: ends `text` there and returns the rest, or NULL. */
char *command_line_split(char *text);

/* Exact name, then alias, then unique prefix; NULL if there is none. */
const struct console_verb *console_verb_find(const char *word, size_t len);

/* "[file:]line" or a function, and ", condition" or " if condition". */
struct location {
    char *file;      /* NULL: the current one */
    int64_t line;    /* 0: `function` */
    char *function;  /* an expression */
    char *condition; /* or NULL */
};

int location_read(struct location *location, const char *text, struct err *err);
void location_clear(struct location *location);

/* "5", "5,10" (to line 10), "5,3" (3 lines from 5, as in pdb). False if it is neither. */
bool parse_range(const char *text, int64_t span, int64_t *first, int64_t *last);

/* Cuts the first word off `*text` (changed in place); "" at the end. */
char *parse_word(char **text);
char *parse_strip(char *text); /* in place */

#endif
