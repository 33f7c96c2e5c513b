#include "cli/console/console_parse.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_space(char c)
{
    return isspace((unsigned char)c) != 0;
}

static bool is_word(char c)
{
    return isalnum((unsigned char)c) != 0 || c == '_' || (c & 0x80);
}

char *parse_strip(char *text)
{
    while (is_space(*text))
        text++;
    size_t len = strlen(text);
    while (len && is_space(text[len - 1]))
        text[--len] = '\0';
    return text;
}

char *parse_word(char **text)
{
    char *word = *text;
    while (is_space(*word))
        word++;
    char *end = word;
    while (*end && !is_space(*end))
        end++;
    *text = *end ? end + 1 : end;
    *end = '\0';
    return word;
}

static bool list_has(const char *words, const char *word, size_t len)
{
    while (words && *words) {
        size_t size = strcspn(words, " ");
        if (size == len && memcmp(words, word, len) == 0)
            return true;
        words += size + (words[size] == ' ');
    }
    return false;
}

const struct console_verb *console_verb_find(const char *word, size_t len)
{
    size_t count, matches = 0;
    const struct console_verb *verbs = console_verbs_all(&count), *match = NULL;
    for (size_t i = 0; i < count; i++)
        if (list_has(verbs[i].name, word, len) || list_has(verbs[i].aliases, word, len))
            return &verbs[i];
    for (size_t i = 0; i < count && len >= VERB_PREFIX_MIN; i++) {
        if (strncmp(verbs[i].name, word, len) == 0) {
            match = &verbs[i];
            matches++;
        }
    }
    return matches == 1 ? match : NULL;
}

/* "= 3", "+= 3", "**= 3", "//= 3": but not "== 3". */
static bool is_assignment(const char *text)
{
    size_t sign = strspn(text, "+-*/%&|^@<>:");
    return sign <= 3 && text[sign] == '=' && (sign || text[1] != '=');
}

/* True if `text` can continue a Python expression that begins with a verb's name. */
static bool is_operator(const char *text)
{
    static const char *const words[] = {"if", "in", "is", "and", "or", "not in", "is not"};
    if (*text && strchr("+-*/%&|^@<>.,)]}:;", *text))
        return true;
    if (strncmp(text, "==", 2) == 0 || strncmp(text, "!=", 2) == 0)
        return true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i]);
        if (strncmp(text, words[i], len) == 0 && !is_word(text[len]))
            return true;
    }
    return false;
}

/* True for "/app/train.py:41", with or without text after it; false for the quotient "/ x". */
static bool is_path_and_line(const char *text)
{
    const char *colon = *text == '/' && !is_space(text[1]) ? strchr(text, ':') : NULL;
    return colon && isdigit((unsigned char)colon[1]) &&
           strcspn(text, " \t") > (size_t)(colon - text);
}

static bool is_python(const struct console_verb *verb, const char *rest)
{
    const char *argument = rest;
    while (is_space(*argument))
        argument++;
    if (!*rest)
        return false;
    if (argument == rest && !(verb->flags & VERB_PARENTHESIS && *rest == '('))
        return true;
    if (is_assignment(argument))
        return true;
    if (verb->flags & VERB_LOCATION && is_path_and_line(argument))
        return false;
    /* "p -x" is the verb's; "n - x" and "a or b" can only be Python's. */
    return !(verb->flags & VERB_EXPRESSION) && is_operator(argument) &&
           !(verb->flags & VERB_DOT && text_equal(argument, ".")) &&
           !(verb->flags & VERB_DASHES && text_starts(argument, "--"));
}

void command_line_read(struct command_line *line, const char *text)
{
    char *copy = mem_string(text);
    char *start = parse_strip(copy);
    size_t len = 0;
    *line = (struct command_line){0};
    while (is_word(start[len]))
        len++;
    const char *rest = start + len;
    if (*start == '!') {
        rest = start + 1;
    } else if (*start == '?') {
        line->verb = console_verb_find("help", 4);
        rest = start + 1;
    } else if (len) {
        line->verb = console_verb_find(start, len);
        if (!line->verb || is_python(line->verb, rest)) {
            line->verb = NULL;
            rest = start;
        }
    } else {
        rest = start;
    }
    while (is_space(*rest))
        rest++;
    line->argument = mem_string(rest);
    free(copy);
}

void command_line_clear(struct command_line *line)
{
    free(line->argument);
    *line = (struct command_line){0};
}

/* Returns the end of the string literal that begins at `text`. */
static char *skip_string(char *text)
{
    char quote = *text++;
    while (*text && *text != quote)
        text += *text == '\\' && text[1] ? 2 : 1;
    return *text ? text + 1 : text;
}

char *command_line_split(char *text)
{
    while (*text && *text != '#') {
        if (*text == '"' || *text == '\'') {
            text = skip_string(text);
        } else if (text[0] == ';' && text[1] == ';') {
            *text = '\0';
            return text + 2;
        } else {
            text++;
        }
    }
    return NULL;
}

void location_clear(struct location *location)
{
    free(location->file);
    free(location->function);
    free(location->condition);
    *location = (struct location){0};
}

/* The comma or the "if" before a condition, outside brackets and quotes; `*len` is its length. */
static char *find_condition(char *text, size_t *len)
{
    int depth = 0;
    for (char *at = text; *at; at++) {
        if (*at == '"' || *at == '\'') {
            at = skip_string(at) - 1;
        } else if (strchr("([{", *at)) {
            depth++;
        } else if (strchr(")]}", *at)) {
            depth--;
        } else if (depth <= 0 && *at == ',') {
            *len = 1;
            return at;
        } else if (depth <= 0 && at > text && is_space(*at) && text_starts(at + 1, "if") &&
                   is_space(at[3])) {
            *len = 3;
            return at;
        }
    }
    return NULL;
}

static int read_location(struct location *location, char *where, struct err *err)
{
    char *colon = strrchr(where, ':');
    if (text_to_int(where, 1, INT32_MAX, &location->line))
        return 0;
    if (!colon) {
        location->function = mem_string(where);
        return 0;
    }
    if (!text_to_int(parse_strip(colon + 1), 1, INT32_MAX, &location->line))
        return err_set(err, ERR_USAGE, "'%s' is no line number", colon + 1);
    *colon = '\0';
    if (!*parse_strip(where))
        return err_set(err, ERR_USAGE, "there is no file before the ':'");
    location->file = mem_string(parse_strip(where));
    return 0;
}

int location_read(struct location *location, const char *text, struct err *err)
{
    *location = (struct location){0};
    char *copy = mem_string(text);
    size_t len;
    char *divider = find_condition(copy, &len);
    int result = 0;
    if (divider) {
        *divider = '\0';
        char *condition = parse_strip(divider + len);
        if (text_starts(condition, "if "))
            condition = parse_strip(condition + 3);
        if (*condition)
            location->condition = mem_string(condition);
    }
    char *where = parse_strip(copy);
    if (!*where)
        result = err_set(err, ERR_USAGE, "where? [FILE:]LINE or a function");
    else
        result = read_location(location, where, err);
    free(copy);
    if (result != 0)
        location_clear(location);
    return result;
}

bool parse_range(const char *text, int64_t span, int64_t *first, int64_t *last)
{
    char *copy = mem_string(text);
    char *comma = strchr(copy, ',');
    bool ok;
    if (comma)
        *comma = '\0';
    ok = text_to_int(parse_strip(copy), 1, INT32_MAX, first);
    if (ok && comma) {
        ok = text_to_int(parse_strip(comma + 1), 1, INT32_MAX, last);
        if (ok && *last < *first)
            *last += *first - 1;
    } else if (ok) {
        *first = *first > span / 2 ? *first - span / 2 : 1;
        *last = *first + span - 1;
    }
    free(copy);
    return ok;
}
