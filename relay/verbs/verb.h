/* The verbs of a session over many tasks, as lines: "/barrier train.py:41 workers --timeout 60". A
 * line that begins with "/" is never Python. Pure. */
#ifndef RAYDBG_RELAY_VERBS_VERB_H
#define RAYDBG_RELAY_VERBS_VERB_H

#include "base/buf.h"
#include "base/err.h"
#include "dap/scan.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum verb_kind {
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

enum verb_format { VERB_TEXT, VERB_JSON, VERB_CSV };

/* A parsed verb. Strings are owned. */
struct verb {
    enum verb_kind kind;
    const char *name; /* static storage */
    const char *how;  /* VERB_STEP: DAP's "continue", "next", "stepIn", "stepOut" */
    char *subject;    /* a group's name or a filter, or NULL: all; VERB_FOCUS: a thread; VERB_HELP:
                         a verb or NULL; VERB_GROUP: the name to make */
    char *expression; /* compare: the expression; continue: stops where it is true pass; or NULL */
    char *file;       /* of FILE:LINE, as it was written; or NULL */
    int64_t line;
    int64_t skip;       /* stops that pass */
    int64_t timeout_ms; /* 0: none */
    enum verb_format format;
    bool full;
    bool remove;  /* "-": removes the group, ends the barrier */
    char **words; /* VERB_GROUP: filters */
    size_t word_count;
};

/* The names of the groups, without "all", which always is one. */
struct verb_groups {
    const char *const *names;
    size_t count;
};

/* Parses a line that begins with "/". 0, or -1 with `err`; call verb_clear() in both cases. */
int verb_parse(const char *line, const struct verb_groups *groups, struct verb *out,
               struct err *err);
void verb_clear(struct verb *verb);
/* The same for the arguments of a custom request, "raydbg/…" (docs/many.md); 0 and `*known` false
 * for any other command. */
int verb_read(const char *command, const char *json, struct span arguments, struct verb *out,
              bool *known, struct err *err);

/* Parses FILE:LINE. False if `text` is anything else. The caller frees `*file`. */
bool verb_location(const char *text, char **file, int64_t *line);
/* True if a group may have this name: a word of letters, digits, "_", "-" and ".", that begins with
 * a letter, and is neither "all" nor a verb. */
bool verb_group_name(const char *name);

/* Appends a line for each verb (`name` NULL), or one verb in full; false if it does not exist. */
bool verb_help(const char *name, struct buf *out);

/* Calls fn with each word that can replace the line's last word (empty after a blank). */
typedef void (*verb_complete_fn)(void *arg, const char *word);
void verb_complete(const char *line, const struct verb_groups *groups, verb_complete_fn fn,
                   void *arg);

#endif
