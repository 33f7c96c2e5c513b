/* The table of verbs, for the files that read lines (many_verb.c), explain (many_verb_table.c) and
 * complete them (many_verb_complete.c). */
#ifndef RAYDBG_RELAY_MANY_VERB_TABLE_H
#define RAYDBG_RELAY_MANY_VERB_TABLE_H

#include "relay/many_verb.h"

/* What a verb takes beside its group. */
enum {
    VERB_TAKES_GROUP = 1 << 0, /* "/GROUP VERB …", too */
    VERB_TAKES_PLACE = 1 << 1,
    VERB_TAKES_SKIP = 1 << 2,
    VERB_TAKES_UNTIL = 1 << 3,
    VERB_TAKES_IF = 1 << 4,
    VERB_TAKES_TIMEOUT = 1 << 5,
    VERB_TAKES_FORMAT = 1 << 6,
    VERB_TAKES_FULL = 1 << 7,
    VERB_TAKES_REST = 1 << 8, /* the rest of the line is one subject */
};

struct many_verb_row {
    const char *name;
    const char *alias; /* or NULL */
    enum many_verb_kind kind;
    const char *how;
    unsigned takes;
    const char *usage;
    const char *help;
    const char *more; /* or NULL */
};

enum { VERB_ROWS = 13 };
extern const struct many_verb_row many_verb_rows[VERB_ROWS];
/* By its name or its short one; NULL if there is none. */
const struct many_verb_row *many_verb_row_find(const char *name);

struct many_verb_option {
    const char *name;
    unsigned bit;
    bool value; /* a word follows */
    /* `word` is NULL if nothing follows. */
    int (*set)(const struct many_verb_row *row, struct many_verb *out, const char *word,
               struct err *err);
};

/* All but --if, which takes the rest of the line. */
enum { VERB_OPTIONS = 5 };
extern const struct many_verb_option many_verb_options[VERB_OPTIONS];

/* The next word, which the caller frees, or NULL at the end: up to a blank, or in double quotes. */
char *many_verb_word(const char **at);
bool many_verb_is_group(const struct many_verb_groups *groups, const char *name);

#endif
