/* The table of verbs, for the files that read lines (verb.c), explain (verb_table.c) and
 * complete them (verb_complete.c). */
#ifndef RAYDBG_RELAY_VERBS_VERB_TABLE_H
#define RAYDBG_RELAY_VERBS_VERB_TABLE_H

#include "relay/verbs/verb.h"

/* The arguments that a verb takes. */
enum {
    VERB_TAKES_GROUP = 1 << 0, /* also as "/GROUP VERB …" */
    VERB_TAKES_LOCATION = 1 << 1,
    VERB_TAKES_SKIP = 1 << 2,
    VERB_TAKES_UNTIL = 1 << 3,
    VERB_TAKES_IF = 1 << 4,
    VERB_TAKES_TIMEOUT = 1 << 5,
    VERB_TAKES_FORMAT = 1 << 6,
    VERB_TAKES_FULL = 1 << 7,
    VERB_TAKES_REST = 1 << 8, /* the rest of the line is one subject */
};

struct verb_row {
    const char *name;
    const char *alias; /* or NULL */
    enum verb_kind kind;
    const char *how;
    unsigned takes;
    const char *usage;
    const char *help;
    const char *more; /* or NULL */
};

enum { VERB_ROWS = 13 };
extern const struct verb_row verb_rows[VERB_ROWS];
/* By name or alias; NULL if there is none. */
const struct verb_row *verb_row_find(const char *name);

struct verb_option {
    const char *name;
    unsigned bit;
    bool value; /* a word follows */
    /* `word` is NULL if nothing follows. */
    int (*set)(const struct verb_row *row, struct verb *out, const char *word, struct err *err);
};

/* All options except --if, which takes the rest of the line. */
enum { VERB_OPTIONS = 5 };
extern const struct verb_option verb_options[VERB_OPTIONS];

/* Takes the next word, up to a blank or in double quotes; NULL at the end. The caller frees it. */
char *verb_word(const char **at);
bool verb_is_group(const struct verb_groups *groups, const char *name);

#endif
