#include "cli/common/options.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/command_usage.h"

#include <stdlib.h>
#include <string.h>

const struct option_row options_help_row = {"help", 'h', OPTION_FLAG,
                                            .help = "the whole help; -h: its beginning"};

struct parser {
    const struct command_text *command;
    char *into;
};

static const struct option_row *by_name(const struct command_text *command, const char *name,
                                        size_t len)
{
    for (size_t i = 0; i < command->option_count; i++) {
        const char *other = command->options[i].name;
        if (other && strlen(other) == len && memcmp(other, name, len) == 0)
            return &command->options[i];
    }
    return NULL;
}

static const struct option_row *by_letter(const struct command_text *command, char letter)
{
    for (size_t i = 0; letter && i < command->option_count; i++)
        if (command->options[i].letter == letter)
            return &command->options[i];
    return NULL;
}

static bool unknown_option(const struct command_text *command, const char *name, size_t len)
{
    const char *nearest = NULL;
    size_t best = 3;
    for (size_t i = 0; i < command->option_count; i++) {
        const char *other = command->options[i].name;
        size_t here = other ? text_distance(name, len, other, strlen(other)) : best;
        if (here < best) {
            best = here;
            nearest = other;
        }
    }
    if (nearest)
        command_usage(command, "unknown option --%.*s: did you mean --%s?", (int)len, name,
                      nearest);
    else
        command_usage(command, "unknown option --%.*s", (int)len, name);
    return false;
}

/* --- values --- */

static bool is_one_of(const char *words, const char *value)
{
    size_t len = strlen(value);
    for (const char *at = words; *at; at += strspn(at, " ")) {
        size_t here = strcspn(at, " ");
        if (here == len && memcmp(at, value, len) == 0)
            return true;
        at += here;
    }
    return false;
}

/* "a b c" becomes "a, b or c". The caller frees. */
static char *enumeration(const char *words)
{
    struct buf out = {0};
    for (const char *at = words; *at;) {
        size_t len = strcspn(at, " ");
        buf_add(&out, at, len);
        at += len + strspn(at + len, " ");
        if (*at)
            buf_add_string(&out, strchr(at, ' ') ? ", " : " or ");
    }
    return buf_take(&out);
}

static bool accepts(const struct parser *parser, const struct option_row *row, const char *value)
{
    if (!row->words || is_one_of(row->words, value))
        return true;
    char *words = enumeration(row->words);
    command_usage(parser->command, "--%s is %s, not '%s'", row->name, words, value);
    free(words);
    return false;
}

static bool add_item(const struct parser *parser, const struct option_row *row, const char *value)
{
    struct option_list *list = (struct option_list *)(void *)(parser->into + row->at);
    if (row->most && list->count == row->most) {
        command_usage(parser->command, "--%s is given more than %zu times", row->name, row->most);
        return false;
    }
    list->items = mem_resize(list->items, list->count + 1, sizeof *list->items);
    list->items[list->count++] = value;
    return true;
}

/* Takes the option at argv[*at] with its value, which may be the next word. */
static bool take(const struct parser *parser, const struct option_row *row, const char *value,
                 int argc, char **argv, int *at)
{
    char *field = parser->into + row->at;
    if (row->kind == OPTION_FLAG) {
        if (value) {
            command_usage(parser->command, "--%s takes no value", row->name);
            return false;
        }
        *(bool *)(void *)field = !text_starts(row->name, "no-");
        return true;
    }
    if (!value && *at + 1 < argc)
        value = argv[++*at];
    if (!value) {
        command_usage(parser->command, "--%s needs a value", row->name);
        return false;
    }
    if (!accepts(parser, row, value))
        return false;
    if (row->kind == OPTION_LIST)
        return add_item(parser, row, value);
    *(const char **)(void *)field = value;
    return true;
}

/* --- words --- */

static bool take_long(const struct parser *parser, int argc, char **argv, int *at)
{
    const char *name = argv[*at] + 2;
    const char *equals = strchr(name, '=');
    size_t len = equals ? (size_t)(equals - name) : strlen(name);
    const struct option_row *row = by_name(parser->command, name, len);
    return row ? take(parser, row, equals ? equals + 1 : NULL, argc, argv, at)
               : unknown_option(parser->command, name, len);
}

static bool take_short(const struct parser *parser, int argc, char **argv, int *at)
{
    const char *word = argv[*at];
    const struct option_row *row = by_letter(parser->command, word[1]);
    if (row)
        return take(parser, row, word[2] ? word + 2 : NULL, argc, argv, at);
    command_usage(parser->command, "unknown option -%c", word[1]);
    return false;
}

static bool is_help(const char *word)
{
    return text_equal(word, "-h") || text_equal(word, "--help");
}

bool options_parse(const struct command_text *command, void *into, int argc, char **argv,
                   int *operands, bool *done)
{
    struct parser parser = {command, into};
    bool ended = false;
    *operands = 0;
    *done = false;
    for (int at = 1; at < argc; at++) {
        const char *word = argv[at];
        if (ended || word[0] != '-' || !word[1]) {
            argv[++*operands] = argv[at];
            ended = ended || command->runs;
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

void options_label(struct buf *out, const struct option_row *row)
{
    if (row->letter)
        buf_printf(out, "-%c, ", row->letter);
    else
        buf_add_string(out, "    ");
    buf_printf(out, "--%s%s%s", row->name, row->value ? " " : "", row->value ? row->value : "");
}
