#include "cli/text/console_colour.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#define KEYWORD "\033[35m"
#define STRING "\033[32m"
#define NUMBER "\033[33m"
#define COMMENT "\033[2m"
#define PLAIN "\033[0m"

static bool is_word(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '_' || (c & 0x80);
}

static bool is_keyword(const char *word, size_t len)
{
    static const char keywords[] =
        " False None True and as assert async await break class continue def del elif else except "
        "finally for from global if import in is lambda nonlocal not or pass raise return try "
        "while "
        "with yield ";
    for (const char *at = keywords; (at = memmem(at, strlen(at), word, len)); at++)
        if (at[-1] == ' ' && at[len] == ' ')
            return true;
    return false;
}

static size_t string_length(const char *text)
{
    char quote = *text;
    bool triple = text[1] == quote && text[2] == quote;
    size_t at = triple ? 3 : 1;
    for (; text[at]; at++) {
        if (text[at] == '\\' && text[at + 1])
            at++;
        else if (text[at] == quote && (!triple || (text[at + 1] == quote && text[at + 2] == quote)))
            return at + (triple ? 3 : 1);
    }
    return at;
}

static void add(struct buf *out, const char *colour, const char *text, size_t len)
{
    buf_add_string(out, colour);
    buf_add(out, text, len);
    if (*colour)
        buf_add_string(out, PLAIN);
}

void colour_python(struct buf *out, const char *line)
{
    while (*line) {
        size_t len = 1;
        const char *colour = "";
        if (*line == '#') {
            len = strlen(line);
            colour = COMMENT;
        } else if (*line == '"' || *line == '\'') {
            len = string_length(line);
            colour = STRING;
        } else if (is_word(*line)) {
            while (is_word(line[len]) || (isdigit((unsigned char)*line) && line[len] == '.'))
                len++;
            if (isdigit((unsigned char)*line))
                colour = NUMBER;
            else if (is_keyword(line, len))
                colour = KEYWORD;
        }
        add(out, colour, line, len);
        line += len;
    }
}
