#include "cli/prompt/candidates.h"

#include "base/mem.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

void candidates_add(struct candidates *candidates, const char *word)
{
    for (size_t i = 0; i < candidates->count; i++)
        if (strcmp(candidates->words[i], word) == 0)
            return;
    candidates->words =
        mem_resize(candidates->words, candidates->count + 1, sizeof *candidates->words);
    candidates->words[candidates->count++] = mem_string(word);
}

void candidates_clear(struct candidates *candidates)
{
    for (size_t i = 0; i < candidates->count; i++)
        free(candidates->words[i]);
    free(candidates->words);
    *candidates = (struct candidates){0};
}

size_t candidates_common(const struct candidates *candidates)
{
    size_t common = candidates->count ? strlen(candidates->words[0]) : 0;
    for (size_t i = 1; i < candidates->count; i++) {
        size_t same = 0;
        while (same < common && candidates->words[i][same] == candidates->words[0][same])
            same++;
        common = same;
    }
    while (common && (candidates->words[0][common] & 0xC0) == 0x80)
        common--;
    return common;
}

void candidates_print(const struct candidates *candidates, FILE *stream)
{
    enum { MOST = 60, WIDTH = 24, COLUMNS = 4 };
    for (size_t i = 0; i < candidates->count && i < MOST; i++) {
        bool last = i % COLUMNS == COLUMNS - 1 || i == candidates->count - 1 || i == MOST - 1;
        fprintf(stream, "%-*s%s", last ? 0 : WIDTH, candidates->words[i], last ? "\n" : " ");
    }
    if (candidates->count > MOST)
        fprintf(stream, "and %zu more\n", candidates->count - MOST);
}
