/* What a line typed into the console means. Pure. */
#ifndef RAYDBG_CLI_CONSOLE_PARSE_H
#define RAYDBG_CLI_CONSOLE_PARSE_H

#include "base/err.h"
#include "cli/console_verbs.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The shortest prefix of a verb that stands for it; shorter ones only as aliases: a letter is more
 * often a variable. */
#define VERB_PREFIX_MIN 3

struct command_line {
    const struct console_verb *verb; /* NULL: Python, all of it in `argument` */
    char *argument;                  /* without white space around it; owned */
};

/* pdb's rule with its traps taken out: a word that is a verb is one only if what follows cannot
 * make it Python ("n = 3", "c.close()", "l[0]", "a + 1"). "!TEXT" is always Python, "?" is help. */
void command_line_read(struct command_line *line, const char *text);
void command_line_clear(struct command_line *line);

/* Exact name, then alias, then unique prefix; NULL if there is none. */
const struct console_verb *console_verb_find(const char *word, size_t len);

/* "[file:]line" or a function, and ", condition". */
struct location {
    char *file;      /* NULL: the current one */
    int64_t line;    /* 0: `function` */
    char *function;  /* an expression */
    char *condition; /* or NULL */
};

int location_read(struct location *location, const char *text, struct err *err);
void location_clear(struct location *location);

/* "5", "5,10" (to line 10), "5,3" (3 lines from 5, as in pdb). False if it is neither. */
bool range_read(const char *text, int64_t span, int64_t *first, int64_t *last);

/* Cuts the first word off `*text` (changed in place); "" at the end. */
char *word_take(char **text);
char *text_strip(char *text); /* in place */

#endif
