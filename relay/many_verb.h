/* The verbs over many tasks, as lines: "/barrier train.py:41 workers --timeout 60". A line that
 * begins with "/" is never Python. Pure. */
#ifndef RAYDBG_RELAY_MANY_VERB_H
#define RAYDBG_RELAY_MANY_VERB_H

#include "base/buf.h"
#include "base/err.h"
#include "dap/scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum many_verb_kind {
    VERB_HELP,
    VERB_THREADS,
    VERB_GROUP,
    VERB_GROUPS,
    VERB_STEP, /* next, step, out, continue; with or without conditions */
    VERB_BARRIER,
    VERB_COMPARE,
    VERB_STACKS,
    VERB_FOCUS,
};

enum many_verb_format { VERB_TEXT, VERB_JSON, VERB_CSV };

/* What a line says. Strings are owned. */
struct many_verb {
    enum many_verb_kind kind;
    const char *name; /* the verb's own, static */
    const char *how;  /* VERB_STEP: DAP's "continue", "next", "stepIn", "stepOut" */
    char *subject;    /* a group's name or a filter, or NULL: all; of VERB_FOCUS a thread, of
                         VERB_HELP a verb or NULL, of VERB_GROUP the name to make */
    char *expression; /* of compare; of continue: stops at which it is true pass; or NULL */
    char *file;       /* of a place, as it was written, or NULL */
    int64_t line;
    int64_t skip;       /* how many stops pass */
    int64_t timeout_ms; /* 0: none */
    enum many_verb_format format;
    bool full;
    bool remove;  /* "-": the group, the barrier */
    char **words; /* VERB_GROUP: filters */
    size_t word_count;
};

/* The names of the groups that there are; "all" is always one. */
struct many_verb_groups {
    const char *const *names;
    size_t count;
};

/* `line` begins with "/". 0, or -1 with `err`; many_verb_clear() is for the caller in both cases.
 */
int many_verb_parse(const char *line, const struct many_verb_groups *groups, struct many_verb *out,
                    struct err *err);
void many_verb_clear(struct many_verb *verb);
/* The same for the arguments of a custom request, "raydbg/…" (docs/many.md); 0 and `*known` false
 * if the command is none of these. */
int many_verb_read(const char *command, const char *json, struct span arguments,
                   struct many_verb *out, bool *known, struct err *err);

/* FILE:LINE. False if it is none. The caller frees `*file`. */
bool many_verb_place(const char *text, char **file, int64_t *line);
/* Whether a group may be called so: a word of letters, digits, "_", "-" and ".", that begins with a
 * letter, and is neither "all" nor a verb. */
bool many_verb_group_name(const char *name);

/* All verbs, a line each, or one in full; false if there is no such verb. */
bool many_verb_help(const char *name, struct buf *out);

/* Calls fn with each word that can stand where the line ends, to replace its last word (which is
 * empty after a blank). */
typedef void (*many_verb_complete_fn)(void *arg, const char *word);
void many_verb_complete(const char *line, const struct many_verb_groups *groups,
                        many_verb_complete_fn fn, void *arg);

#endif
