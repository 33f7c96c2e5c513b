/* The completions of a word that is being typed. */
#ifndef RAYDBG_CLI_PROMPT_CANDIDATES_H
#define RAYDBG_CLI_PROMPT_CANDIDATES_H

#include <stddef.h>
#include <stdio.h>

/* Each completes the last `typed` bytes before the cursor. Strings are owned. */
struct candidates {
    char **words;
    size_t count;
    size_t typed;
};

/* Adds a copy of the word, unless it is among them. */
void candidates_add(struct candidates *candidates, const char *word);
void candidates_clear(struct candidates *candidates);
/* The length in bytes of the beginning that all words share: whole characters. */
size_t candidates_common(const struct candidates *candidates);
/* Prints the words in columns: the first 60, and how many more there are. */
void candidates_print(const struct candidates *candidates, FILE *stream);

#endif
