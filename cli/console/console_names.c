#include "cli/console/console_names.h"

#include "base/text.h"
#include "cli/console/console_parse.h"
#include "relay/verbs/verb_table.h"

#include <ctype.h>
#include <string.h>

enum { WORD = 64 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* Copies the next word to `out` (cut if too long); returns the text after it and its blanks. */
static const char *next_word(const char *text, char out[WORD])
{
    size_t len = 0;
    while (is_blank(*text))
        text++;
    for (; *text && !is_blank(*text); text++)
        if (len + 1 < WORD)
            out[len++] = *text;
    out[len] = '\0';
    while (is_blank(*text))
        text++;
    return text;
}

static bool is_one_of(const char *word, const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(word, words[i]))
            return true;
    return false;
}

static bool is_keyword(const char *word)
{
    static const char *const words[] = {"not",    "del",   "return", "import", "await", "yield",
                                        "assert", "raise", "from",   "global", "lambda"};
    return is_one_of(word, words, sizeof words / sizeof *words);
}

/* True for text that can only continue an expression: "= 3", "+= 3", "== 3", ". x". */
static bool goes_on(const char *rest)
{
    size_t sign = strspn(rest, "+-*/%&|^@<>=!");
    return *rest && (strchr(".,)]}:;", *rest) || (sign && rest[sign - 1] == '='));
}

static enum group_line kind_of(const struct verb_row *row)
{
    return row->kind == VERB_STEP      ? GROUP_MOVE
           : row->kind == VERB_BARRIER ? GROUP_MEET
           : row->kind == VERB_FOCUS   ? GROUP_FOCUS
                                       : GROUP_LOOK;
}

enum group_line group_line_kind(const char *line)
{
    char first[WORD], second[WORD];
    const char *rest = next_word(line, first);
    const bool slash = *first == '/';
    const struct verb_row *row = verb_row_find(slash ? first + 1 : first);
    const struct console_verb *own = console_verb_find(first, strlen(first));
    next_word(rest, second);
    const struct verb_row *behind = verb_row_find(second);
    if (slash && row)
        return kind_of(row);
    if (slash)
        return behind && behind->takes & VERB_TAKES_GROUP ? kind_of(behind) : GROUP_LOOK;
    if (own)
        return text_equal(own->name, "continue") && text_starts(rest, "--") ? GROUP_MOVE
                                                                            : GROUP_NONE;
    if (row && text_equal(row->name, first) && !goes_on(rest))
        return kind_of(row);
    if (!behind || !(behind->takes & VERB_TAKES_GROUP) || is_keyword(first) || !isalpha(*first))
        return GROUP_NONE;
    return kind_of(behind);
}

bool group_line_has_format(const char *line)
{
    char first[WORD], second[WORD];
    next_word(next_word(line, first), second);
    const struct verb_row *row = verb_row_find(*first == '/' ? first + 1 : first);
    if (!row)
        row = verb_row_find(second);
    return row && row->takes & VERB_TAKES_FORMAT && !strstr(line, "--format");
}

/* True if the name begins with these words, as whole words. */
static bool begins(const char *name, const char *words, size_t len)
{
    return name && strncmp(name, words, len) == 0 && (!name[len] || is_blank(name[len]));
}

/* The length of the first `count` words. */
static size_t words_length(const char *name, size_t count)
{
    size_t len = 0;
    for (size_t i = 0; i < count && name[len]; i++) {
        len += strspn(name + len, " ");
        len += strcspn(name + len, " ");
    }
    return len;
}

static size_t count_beginning(const char *const *names, size_t count, const char *words, size_t len)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += begins(names[i], words, len);
    return found;
}

void console_names_label(const char *name, const char *const *names, size_t count, char *out,
                         size_t size)
{
    size_t words = text_starts(name, "rank ") || text_starts(name, "pid ") ? 2 : 1;
    size_t len = words_length(name, words);
    while (name[len] && count_beginning(names, count, name, len) > 1)
        len = words_length(name, ++words);
    if (len >= size)
        len = size - 1;
    memcpy(out, name, len);
    out[len] = '\0';
}

static bool is_within(const char *name, const char *words, size_t len)
{
    for (const char *at = name; at; at = strchr(at, ' '), at = at ? at + 1 : NULL)
        if (begins(at, words, len))
            return true;
    return false;
}

enum match { BY_RANK, BY_BEGINNING, BY_WORDS, MATCH_COUNT };

static bool is_match(enum match match, const char *name, const char *words, size_t len)
{
    switch (match) {
    case BY_RANK:
        return strspn(words, "0123456789") == len && text_starts(name, "rank ") &&
               begins(name + strlen("rank "), words, len);
    case BY_BEGINNING:
        return begins(name, words, len);
    default:
        return is_within(name, words, len);
    }
}

size_t console_names_find(const char *const *names, size_t count, const char *words,
                          size_t *matches)
{
    size_t first = 0, len = strlen(words);
    *matches = 0;
    for (enum match match = BY_RANK; len && match < MATCH_COUNT && !*matches; match++)
        for (size_t i = 0; i < count; i++)
            if (names[i] && is_match(match, names[i], words, len) && !(*matches)++)
                first = i;
    return first;
}
