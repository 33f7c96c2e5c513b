#include "relay/verbs/verb_table.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

bool verb_is_group(const struct verb_groups *groups, const char *name)
{
    for (size_t i = 0; i < groups->count; i++)
        if (text_equal(groups->names[i], name))
            return true;
    return text_equal(name, "all");
}

bool verb_group_name(const char *name)
{
    static const char more[] = "_-.";
    if (text_empty(name) || !isalpha((unsigned char)*name) || text_equal(name, "all") ||
        verb_row_find(name))
        return false;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr(more, *name))
            return false;
    return true;
}

bool verb_location(const char *text, char **file, int64_t *line)
{
    const char *colon = text ? strrchr(text, ':') : NULL;
    if (!colon || colon == text || !text_to_int(colon + 1, 1, INT32_MAX, line))
        return false;
    *file = mem_string_n(text, (size_t)(colon - text));
    return true;
}

void verb_clear(struct verb *verb)
{
    for (size_t i = 0; i < verb->word_count; i++)
        free(verb->words[i]);
    free(verb->words);
    free(verb->subject);
    free(verb->expression);
    free(verb->file);
    *verb = (struct verb){0};
}

/* --- words --- */

static const char *skip_blanks(const char *at)
{
    while (isspace((unsigned char)*at))
        at++;
    return at;
}

char *verb_word(const char **at)
{
    const char *from = skip_blanks(*at), *to;
    if (!*from)
        return NULL;
    if (*from == '"' && (to = strchr(from + 1, '"'))) {
        *at = to + 1;
        return mem_string_n(from + 1, (size_t)(to - from - 1));
    }
    for (to = from; *to && !isspace((unsigned char)*to);)
        to++;
    *at = to;
    return mem_string_n(from, (size_t)(to - from));
}

/* Takes the rest of the line, without blanks around it; NULL if nothing is left. */
static char *rest_of(const char **at)
{
    const char *from = skip_blanks(*at);
    size_t len = strlen(from);
    while (len && isspace((unsigned char)from[len - 1]))
        len--;
    *at = from + strlen(from);
    return len ? mem_string_n(from, len) : NULL;
}

static int usage_error(struct err *err, const struct verb_row *row, const char *what,
                       const char *word)
{
    err_set(err, ERR_USAGE, "/%s: %s%s%s%s", row->name, what, word ? " '" : "", word ? word : "",
            word ? "'" : "");
    return err_hint(err, "%s", row->usage);
}

/* --- options --- */

static int set_location(const struct verb_row *row, struct verb *out, const char *word,
                        struct err *err)
{
    if (out->file)
        return usage_error(err, row, "a second location:", word);
    if (!verb_location(word, &out->file, &out->line))
        return usage_error(err, row, "FILE:LINE is wanted, not", word ? word : "");
    return 0;
}

static int set_skip(const struct verb_row *row, struct verb *out, const char *word, struct err *err)
{
    if (!text_to_int(word, 0, INT32_MAX, &out->skip))
        return usage_error(err, row, "--skip wants a number of stops, not", word ? word : "");
    return 0;
}

static int set_timeout(const struct verb_row *row, struct verb *out, const char *word,
                       struct err *err)
{
    char *end = NULL;
    double seconds = word && isdigit((unsigned char)*word) ? strtod(word, &end) : 0;
    if (!end || *end || seconds < 0.001 || seconds > 1e6)
        return usage_error(err, row, "--timeout wants seconds, not", word ? word : "");
    out->timeout_ms = (int64_t)(seconds * 1000);
    return 0;
}

static int set_format(const struct verb_row *row, struct verb *out, const char *word,
                      struct err *err)
{
    static const char *const names[] = {"text", "json", "csv"};
    for (size_t i = 0; i < (row->kind == VERB_STACKS ? 2U : 3U); i++)
        if (text_equal(word, names[i])) {
            out->format = (enum verb_format)i;
            return 0;
        }
    return usage_error(err, row, "there is no format", word ? word : "");
}

static int set_full(const struct verb_row *row, struct verb *out, const char *word, struct err *err)
{
    (void)row, (void)word, (void)err;
    out->full = true;
    return 0;
}

const struct verb_option verb_options[VERB_OPTIONS] = {
    {"--skip", VERB_TAKES_SKIP, true, set_skip},
    {"--until", VERB_TAKES_UNTIL, true, set_location},
    {"--timeout", VERB_TAKES_TIMEOUT, true, set_timeout},
    {"--format", VERB_TAKES_FORMAT, true, set_format},
    {"--full", VERB_TAKES_FULL, false, set_full},
};

static const struct verb_option *find_option(const struct verb_row *row, const char *name)
{
    for (size_t i = 0; i < VERB_OPTIONS; i++)
        if ((row->takes & verb_options[i].bit) && text_equal(name, verb_options[i].name))
            return &verb_options[i];
    return NULL;
}

static int parse_option(const struct verb_row *row, const char *name, const char **at,
                        struct verb *out, struct err *err)
{
    if ((row->takes & VERB_TAKES_IF) && text_equal(name, "--if")) {
        out->expression = rest_of(at);
        return out->expression ? 0 : usage_error(err, row, "--if wants an expression", NULL);
    }
    const struct verb_option *option = find_option(row, name);
    if (!option)
        return usage_error(err, row, "there is no option", name);
    char *value = option->value ? verb_word(at) : NULL;
    int rc = option->set(row, out, value, err);
    free(value);
    return rc;
}

/* --- the verbs' own grammars --- */

/* A location if the verb takes one, then a group; options may come anywhere. */
static int parse_common(const struct verb_row *row, const char *at, struct verb *out,
                        struct err *err)
{
    int rc = 0;
    char *word;
    while (rc == 0 && (word = verb_word(&at))) {
        if (text_starts(word, "--")) {
            rc = parse_option(row, word, &at, out, err);
        } else if (row->kind == VERB_BARRIER && text_equal(word, "-") && !out->file) {
            out->remove = true;
        } else if ((row->takes & VERB_TAKES_LOCATION) && !out->file && !out->remove) {
            rc = set_location(row, out, word, err);
        } else if (out->subject) {
            rc = usage_error(err, row, "one group is enough: what is", word);
        } else if (row->takes & VERB_TAKES_GROUP) {
            out->subject = mem_string(word);
        } else {
            rc = usage_error(err, row, "it takes no", word);
        }
        free(word);
    }
    if (rc == 0 && (row->takes & VERB_TAKES_LOCATION) && !out->file && row->kind != VERB_BARRIER)
        return usage_error(err, row, "FILE:LINE is missing", NULL);
    return rc;
}

static int parse_group(const struct verb_row *row, const char *at, struct verb *out,
                       struct err *err)
{
    char *word;
    out->subject = verb_word(&at);
    if (!out->subject)
        return usage_error(err, row, "NAME is missing", NULL);
    if (!text_equal(out->subject, "all") && !verb_group_name(out->subject))
        return usage_error(err, row, "this is no name for a group:", out->subject);
    while ((word = verb_word(&at))) {
        out->words = mem_resize(out->words, out->word_count + 1, sizeof *out->words);
        out->words[out->word_count++] = word;
    }
    out->remove = out->word_count == 1 && text_equal(out->words[0], "-");
    if (out->word_count && text_equal(out->subject, "all"))
        return usage_error(err, row, "\"all\" is all tasks, always", NULL);
    return 0;
}

/* The length without the blanks at the end. */
static size_t trimmed(const char *text, size_t len)
{
    while (len && isspace((unsigned char)text[len - 1]))
        len--;
    return len;
}

/* The offset of the last word; 0 if no word precedes it. */
static size_t last_word(const char *text, size_t len)
{
    while (len && !isspace((unsigned char)text[len - 1]))
        len--;
    return trimmed(text, len) ? len : 0;
}

static bool bytes_are(const char *bytes, size_t len, const char *text)
{
    return strlen(text) == len && !memcmp(bytes, text, len);
}

/* True if an expression that ends here needs an operand: the next word is then not a group. */
static bool wants_more(const char *expression, size_t len)
{
    static const char *const words[] = {"and", "or",  "not",   "in",     "is",
                                        "if",  "for", "await", "lambda", "else"};
    size_t from = len;
    while (from && (isalnum((unsigned char)expression[from - 1]) || expression[from - 1] == '_'))
        from--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (bytes_are(expression + from, len - from, words[i]))
            return true;
    return len && strchr("+-*/%@&|^~<>=,(:[{!.", expression[len - 1]);
}

/* Cuts "--format X" off the end; *len is what is left. */
static int cut_format(const struct verb_row *row, struct verb *out, size_t *len, struct err *err)
{
    const char *text = out->expression;
    size_t value = last_word(text, *len), before = trimmed(text, value);
    size_t option = last_word(text, before);
    if (!value || !bytes_are(text + option, before - option, "--format"))
        return 0;
    if (option == 0)
        return usage_error(err, row, "EXPR is missing", NULL);
    char *word = mem_string_n(text + value, *len - value);
    int rc = set_format(row, out, word, err);
    free(word);
    *len = trimmed(text, option);
    return rc;
}

/* The expression is what is left when the option and the group are cut off the line's end. The last
 * word is a group only if that group exists and the text before it can be an expression. */
static int parse_compare(const struct verb_row *row, const char *at,
                         const struct verb_groups *groups, struct verb *out, struct err *err)
{
    out->expression = rest_of(&at);
    if (!out->expression)
        return usage_error(err, row, "EXPR is missing", NULL);
    size_t len = strlen(out->expression);
    if (cut_format(row, out, &len, err) != 0)
        return -1;
    size_t group = out->subject ? 0 : last_word(out->expression, len);
    size_t before = trimmed(out->expression, group);
    if (group && !wants_more(out->expression, before)) {
        char *name = mem_string_n(out->expression + group, len - group);
        if (verb_is_group(groups, name)) {
            out->subject = mem_string(name);
            len = before;
        }
        free(name);
    }
    out->expression[len] = '\0';
    return 0;
}

static int parse_rest(const struct verb_row *row, const char *at, struct verb *out, struct err *err)
{
    out->subject = rest_of(&at);
    if (!out->subject && row->kind == VERB_FOCUS)
        return usage_error(err, row, "THREAD is missing", NULL);
    return 0;
}

static int parse_row(const struct verb_row *row, const char *at, const struct verb_groups *groups,
                     struct verb *out, struct err *err)
{
    out->kind = row->kind;
    out->name = row->name;
    out->how = row->how;
    if (row->kind == VERB_GROUP)
        return parse_group(row, at, out, err);
    if (row->kind == VERB_COMPARE)
        return parse_compare(row, at, groups, out, err);
    if (row->takes & VERB_TAKES_REST)
        return parse_rest(row, at, out, err);
    return parse_common(row, at, out, err);
}

static int no_verb(struct err *err, const char *word)
{
    err_set(err, ERR_USAGE, "there is no verb or group '/%s'", word ? word : "");
    for (size_t i = 0; word && *word && i < VERB_ROWS; i++)
        if (strncasecmp(verb_rows[i].name, word, 2) == 0)
            return err_hint(err, "%s", verb_rows[i].usage);
    return err_hint(err, "/help lists them");
}

/* "/GROUP VERB …" */
static int parse_for_group(const char *group, const char *at, const struct verb_groups *groups,
                           struct verb *out, struct err *err)
{
    char *name = verb_word(&at);
    const struct verb_row *row = verb_row_find(name);
    int rc = -1;
    if (row && (row->takes & VERB_TAKES_GROUP)) {
        out->subject = mem_string(group);
        rc = parse_row(row, at, groups, out, err);
    } else {
        if (name)
            err_set(err, ERR_USAGE, "/%s: there is no '%s' for a group", group, name);
        else
            err_set(err, ERR_USAGE, "/%s: what shall it do?", group);
        err_hint(err, "/%s next, step, out, continue, until, barrier, compare, stacks", group);
    }
    free(name);
    return rc;
}

int verb_parse(const char *line, const struct verb_groups *groups, struct verb *out,
               struct err *err)
{
    const char *at = line + 1;
    char *word = verb_word(&at);
    const struct verb_row *row = verb_row_find(word);
    int rc;
    *out = (struct verb){0};
    if (row)
        rc = parse_row(row, at, groups, out, err);
    else if (word && verb_is_group(groups, word))
        rc = parse_for_group(word, at, groups, out, err);
    else
        rc = no_verb(err, word);
    free(word);
    return rc;
}
