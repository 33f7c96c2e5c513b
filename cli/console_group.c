#include "cli/console_group.h"

#include "base/text.h"
#include "cli/console_parse.h"
#include "relay/verb_table.h"

#include <ctype.h>
#include <string.h>

enum { WORD = 64 };

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* The next word into `out` (cut), and what is behind it and its blanks. */
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

/* "= 3", "+= 3", "== 3", ". x": what can only go on an expression. */
static bool goes_on(const char *rest)
{
    size_t sign = strspn(rest, "+-*/%&|^@<>=!");
    return *rest && (strchr(".,)]}:;", *rest) || (sign && strchr(rest, '=') == rest + sign - 1));
}

static enum group_line kind_of(const struct verb_row *row)
{
    return row->kind == VERB_STEP || row->kind == VERB_BARRIER ? GROUP_MOVE
           : row->kind == VERB_FOCUS                           ? GROUP_FOCUS
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

void group_label(const char *name, char *out, size_t size)
{
    char first[WORD];
    const char *rest = next_word(name, first);
    bool two = text_equal(first, "rank") || text_equal(first, "pid");
    size_t len = (size_t)(rest - name);
    if (two)
        len += strcspn(rest, " ");
    while (len && is_blank(name[len - 1]))
        len--;
    if (len >= size)
        len = size - 1;
    memcpy(out, name, len);
    out[len] = '\0';
}

bool group_is_called(const char *name, const char *words)
{
    size_t len = strlen(words);
    if (!len)
        return false;
    if (text_starts(name, "rank ") && isdigit(*words) && strspn(words, "0123456789") == len)
        name += strlen("rank ");
    return text_starts(name, words) && (!name[len] || is_blank(name[len]));
}
