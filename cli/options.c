#include "cli/options.h"

#include "base/text.h"
#include "cli/command.h"

#include <string.h>

struct parser {
    const char *command;
    const struct option_spec *specs;
    size_t count;
};

static const struct option_spec *by_name(const struct parser *parser, const char *name, size_t len)
{
    for (size_t i = 0; i < parser->count; i++)
        if (strlen(parser->specs[i].name) == len && memcmp(parser->specs[i].name, name, len) == 0)
            return &parser->specs[i];
    return NULL;
}

static const struct option_spec *by_letter(const struct parser *parser, char letter)
{
    for (size_t i = 0; i < parser->count; i++)
        if (parser->specs[i].letter && parser->specs[i].letter == letter)
            return &parser->specs[i];
    return NULL;
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

/* The number of letters to change, add or drop; for short words. */
static size_t distance(const char *a, size_t a_len, const char *b)
{
    enum { LONGEST = 40 };
    size_t b_len = strlen(b), row[LONGEST + 1];
    if (a_len > LONGEST || b_len > LONGEST)
        return LONGEST;
    for (size_t k = 0; k <= b_len; k++)
        row[k] = k;
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t k = 1; k <= b_len; k++) {
            size_t above = row[k];
            row[k] = smallest(above + 1, row[k - 1] + 1, diagonal + (a[i - 1] != b[k - 1]));
            diagonal = above;
        }
    }
    return row[b_len];
}

static void unknown_option(const struct parser *parser, const char *name, size_t len)
{
    const char *nearest = NULL;
    size_t best = 3;
    for (size_t i = 0; i < parser->count; i++) {
        size_t here = distance(name, len, parser->specs[i].name);
        if (here < best) {
            best = here;
            nearest = parser->specs[i].name;
        }
    }
    if (nearest)
        command_usage(parser->command, "unknown option --%.*s: did you mean --%s?", (int)len, name,
                      nearest);
    else
        command_usage(parser->command, "unknown option --%.*s", (int)len, name);
}

static bool add_item(const struct parser *parser, const struct option_spec *spec, const char *value)
{
    size_t count = 0;
    while (spec->value[count])
        count++;
    if (count == OPTION_LIST_MAX) {
        command_usage(parser->command, "--%s is given more than %d times", spec->name,
                      OPTION_LIST_MAX);
        return false;
    }
    spec->value[count] = value;
    return true;
}

/* Takes the option at argv[*at] with its value, which may be the next word. */
static bool take(const struct parser *parser, const struct option_spec *spec, const char *value,
                 int argc, char **argv, int *at)
{
    if (spec->kind == OPTION_FLAG) {
        if (value) {
            command_usage(parser->command, "--%s takes no value", spec->name);
            return false;
        }
        *spec->flag = !text_starts(spec->name, "no-");
        return true;
    }
    if (!value && *at + 1 < argc)
        value = argv[++*at];
    if (!value) {
        command_usage(parser->command, "--%s needs a value", spec->name);
        return false;
    }
    if (spec->kind == OPTION_LIST)
        return add_item(parser, spec, value);
    *spec->value = value;
    return true;
}

static bool take_long(const struct parser *parser, int argc, char **argv, int *at)
{
    const char *name = argv[*at] + 2;
    const char *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const struct option_spec *spec = by_name(parser, name, len);
    if (!spec) {
        unknown_option(parser, name, len);
        return false;
    }
    return take(parser, spec, equals ? equals + 1 : NULL, argc, argv, at);
}

static bool take_short(const struct parser *parser, int argc, char **argv, int *at)
{
    const char *word = argv[*at];
    const struct option_spec *spec = by_letter(parser, word[1]);
    if (!spec) {
        command_usage(parser->command, "unknown option -%c", word[1]);
        return false;
    }
    return take(parser, spec, word[2] ? word + 2 : NULL, argc, argv, at);
}

static bool is_help(const char *word)
{
    return text_equal(word, "-h") || text_equal(word, "--help");
}

bool options_parse(const char *command, const struct option_spec *specs, size_t count, int argc,
                   char **argv, int *operands, bool *done)
{
    struct parser parser = {command, specs, count};
    bool ended = false;
    *operands = 0;
    *done = false;
    for (int at = 1; at < argc; at++) {
        const char *word = argv[at];
        if (ended || word[0] != '-' || !word[1]) {
            argv[++*operands] = argv[at];
        } else if (text_equal(word, "--")) {
            ended = true;
        } else if (is_help(word)) {
            command_help(command, word[1] == '-');
            *done = true;
            return true;
        } else if (word[1] == '-' ? !take_long(&parser, argc, argv, &at)
                                  : !take_short(&parser, argc, argv, &at)) {
            return false;
        }
    }
    return true;
}
