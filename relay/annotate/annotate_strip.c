/* Removes an annotation from the text that an edit box sends back.
 *
 * A part of an annotation has neither quotes nor '#', except an actor's name in double quotes at
 * the part's end, and a separator follows it. A separator in a Python string, however prefixed or
 * nested, or in a comment comes after a quote or a '#' that does not have this form, and stays. */
#include "relay/annotate/annotate_state.h"

#include "dap/splice.h"

#include <string.h>

enum { OTHER = 0x80, MIDDLE_DOT = 0xB7 };

static unsigned hex_value(const char *p)
{
    unsigned value = 0;
    for (int i = 0; i < 4; i++) {
        unsigned c = (unsigned char)p[i];
        value = value << 4 | ((c & 0x0F) + (c >= 'A' ? 9 : 0));
    }
    return value;
}

/* The next character of a JSON string that ends at `end`: ASCII, MIDDLE_DOT, or OTHER for a byte
 * or an escape of any other. */
static unsigned next(const char *text, size_t *at, size_t end)
{
    unsigned c = (unsigned char)text[(*at)++];
    if (c == 0xC2 && *at < end && (unsigned char)text[*at] == MIDDLE_DOT) {
        ++*at;
        return MIDDLE_DOT;
    }
    if (c >= 0x80)
        return OTHER;
    if (c != '\\')
        return c;
    c = (unsigned char)text[(*at)++];
    if (c == 'u') {
        c = hex_value(text + *at);
        *at += 4;
        return c < 0x80 || c == MIDDLE_DOT ? c : OTHER;
    }
    return c == 'n' || c == 'r' ? '\n' : c == 't' || c == 'b' || c == 'f' ? '\t' : c;
}

/* The offset after the separator at `at`, or 0 if there is none. */
static size_t separator_end(const char *text, size_t at, size_t end)
{
    static const unsigned expected[] = {' ', MIDDLE_DOT, ' '};
    for (size_t i = 0; i < 3; i++)
        if (at >= end || next(text, &at, end) != expected[i])
            return 0;
    return at;
}

/* The offset after the name whose opening quote is in front of `at`; `end` if it does not close. */
static size_t name_end(const char *text, size_t at, size_t end)
{
    while (at < end) {
        unsigned c = next(text, &at, end);
        if (c == '"')
            return at;
        if (c == '\\' && at < end)
            next(text, &at, end);
    }
    return end;
}

/* The offset after the annotation's part at `at` and its separator, or 0 if there is none. */
static size_t part_end(const char *text, size_t at, size_t end)
{
    unsigned before = ' ';
    while (at < end) {
        size_t behind = separator_end(text, at, end);
        if (behind)
            return behind;
        unsigned c = next(text, &at, end);
        if (c == '"' && before == ' ')
            return separator_end(text, name_end(text, at, end), end);
        if (c == '"' || c == '\'' || c == '#' || c == '\n')
            return 0;
        before = c;
    }
    return 0;
}

/* The offset after all parts of the annotation at the string's start; `at` if there are none. */
static size_t annotation_end(const char *text, size_t at, size_t end)
{
    size_t behind;
    while ((behind = part_end(text, at, end)))
        at = behind;
    return at;
}

bool annotate_strip(const char *json, size_t len, const struct envelope *request, struct buf *out)
{
    static const struct {
        const char *command, *argument;
    } edited[] = {{"setVariable", "value"}, {"setExpression", "value"}, {"evaluate", "expression"}};
    struct span value;
    if (request->kind != DAP_REQUEST || !request->arguments.len)
        return false;
    for (size_t i = 0; i < sizeof edited / sizeof *edited; i++) {
        if (strcmp(request->name, edited[i].command) != 0 ||
            !scan_find(json, request->arguments, edited[i].argument, &value) ||
            json[value.at] != '"')
            continue;
        size_t start = value.at + 1, end = value.at + value.len - 1;
        size_t behind = annotation_end(json, start, end);
        struct edit edit = {.at = {start, behind - start}, .with = "", .len = 0};
        if (behind > start)
            splice_apply(json, len, &edit, 1, out);
        return behind > start;
    }
    return false;
}
