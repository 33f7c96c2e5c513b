#include "dap/scan.h"

#include "base/text.h"
#include "dap/bytes.h"

#include <string.h>

void scan_init(struct scan *scan, const char *text, size_t len)
{
    *scan = (struct scan){.text = text, .len = len};
}

static bool fail(struct scan *scan, const char *problem)
{
    scan->problem = problem;
    return false;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The byte at `at`, or NUL at the end; no JSON token starts with NUL. */
static char peek(const struct scan *scan)
{
    if (scan->at < scan->len)
        return scan->text[scan->at];
    return '\0';
}

static inline char skip_space(struct scan *scan)
{
    scan->at = bytes_space_end(scan->text, scan->at, scan->len);
    return peek(scan);
}

static bool expect(struct scan *scan, char c, const char *problem)
{
    if (skip_space(scan) != c)
        return fail(scan, problem);
    scan->at++;
    return true;
}

/* --- strings --- */

static bool is_hex_digit(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* The characters that may follow a backslash, except u. */
static const bool escapes[256] = {
    ['"'] = true, ['\\'] = true, ['/'] = true, ['b'] = true,
    ['f'] = true, ['n'] = true,  ['r'] = true, ['t'] = true,
};

/* `at` is behind the backslash. */
static bool skip_unicode(struct scan *scan)
{
    if (peek(scan) != 'u')
        return fail(scan, "a string has an escape that JSON does not have");
    scan->at++;
    for (int i = 0; i < 4; i++, scan->at++)
        if (!is_hex_digit(peek(scan)))
            return fail(scan, "a string has a \\u without four hex digits");
    return true;
}

static bool plain_is_strict(struct scan *scan, size_t end);

static bool skip_string(struct scan *scan)
{
    const char *text = scan->text;
    size_t len = scan->len;
    if (!expect(scan, '"', "a string is missing"))
        return false;
    for (;;) {
        size_t end = bytes_plain_end(text, scan->at, len);
        if (scan->strict && !plain_is_strict(scan, end))
            return false;
        scan->at = end;
        if (end == len)
            return fail(scan, "a string does not end");
        scan->at++;
        if (text[end] == '"')
            return true;
        if (scan->at < len && escapes[(unsigned char)text[scan->at]])
            scan->at++;
        else if (!skip_unicode(scan))
            return false;
    }
}

/* --- other scalars --- */

static bool skip_digits(struct scan *scan)
{
    size_t start = scan->at;
    while (is_digit(peek(scan)))
        scan->at++;
    return scan->at > start || fail(scan, "a number lacks digits");
}

static bool skip_word(struct scan *scan, const char *word)
{
    size_t len = strlen(word);
    if (scan->len - scan->at < len || memcmp(scan->text + scan->at, word, len) != 0)
        return fail(scan, "a value is none that JSON has");
    scan->at += len;
    return true;
}

static bool skip_number(struct scan *scan)
{
    if (peek(scan) == '-')
        scan->at++;
    if (peek(scan) == 'I')
        return skip_word(scan, "Infinity");
    size_t start = scan->at;
    if (!skip_digits(scan))
        return false;
    size_t digits = scan->at - start;
    if (digits > 1 && scan->text[start] == '0')
        return fail(scan, "a number starts with a needless 0");
    char c = peek(scan);
    if (scan->strict && digits > SCAN_DIGITS_LIMIT && c != '.' && c != 'e' && c != 'E')
        return fail(scan, "an integer has more digits than Python reads");
    if (c == '.') {
        scan->at++;
        if (!skip_digits(scan))
            return false;
    }
    c = peek(scan);
    if (c != 'e' && c != 'E')
        return true;
    scan->at++;
    c = peek(scan);
    if (c == '+' || c == '-')
        scan->at++;
    return skip_digits(scan);
}

static bool skip_scalar(struct scan *scan)
{
    char c = peek(scan);
    switch (c) {
    case '"':
        return skip_string(scan);
    case 't':
        return skip_word(scan, "true");
    case 'f':
        return skip_word(scan, "false");
    case 'n':
        return skip_word(scan, "null");
    case 'N':
        return skip_word(scan, "NaN");
    default:
        if (c == '-' || c == 'I' || is_digit(c))
            return skip_number(scan);
        return fail(scan, scan->at < scan->len ? "a value is none that JSON has"
                                               : "the text ends too early");
    }
}

/* --- values --- */

/* The closing brackets that are still due. */
struct nest {
    size_t depth;
    char due[SCAN_DEPTH_LIMIT];
};

static bool skip_key(struct scan *scan)
{
    return skip_string(scan) && expect(scan, ':', "a colon is missing");
}

/* `at` is at an opening bracket. Leaves `at` in front of the first value, or of the closing
 * bracket of an empty container, and sets *empty. */
static bool open_container(struct scan *scan, struct nest *nest, bool *empty)
{
    char due = peek(scan) == '{' ? '}' : ']';
    if (nest->depth + scan->inside >= SCAN_DEPTH_LIMIT)
        return fail(scan, "it is nested too deeply");
    nest->due[nest->depth++] = due;
    scan->at++;
    *empty = skip_space(scan) == due;
    return *empty || due == ']' || skip_key(scan);
}

/* Behind a value: closes the containers that end here, then moves to the next value, if any. */
static bool close_containers(struct scan *scan, struct nest *nest)
{
    while (nest->depth) {
        char due = nest->due[nest->depth - 1];
        char c = skip_space(scan);
        if (c != due && c != ',')
            return fail(scan, "a comma or a closing bracket is missing");
        scan->at++;
        if (c == ',')
            return due == ']' || skip_key(scan);
        nest->depth--;
    }
    return true;
}

static bool skip_value(struct scan *scan)
{
    struct nest nest;
    nest.depth = 0;
    do {
        bool empty = false;
        char c = skip_space(scan);
        if (c == '{' || c == '[') {
            if (!open_container(scan, &nest, &empty))
                return false;
            if (!empty)
                continue;
        } else if (!skip_scalar(scan)) {
            return false;
        }
        if (!close_containers(scan, &nest))
            return false;
    } while (nest.depth);
    return true;
}

bool scan_value(struct scan *scan, struct span *value)
{
    skip_space(scan);
    size_t start = scan->at;
    if (!skip_value(scan))
        return false;
    *value = (struct span){start, scan->at - start};
    return true;
}

bool scan_end(struct scan *scan)
{
    skip_space(scan);
    return scan->at == scan->len;
}

/* --- as strict as Python --- */

static bool plain_is_strict(struct scan *scan, size_t end)
{
    while (scan->at < end) {
        size_t len = text_utf8(scan->text + scan->at, end - scan->at);
        if (!len)
            return fail(scan, "a string is not UTF-8");
        if ((unsigned char)scan->text[scan->at] < 0x20)
            return fail(scan, "a string has a control character that is not escaped");
        scan->at += len;
    }
    return true;
}

bool scan_strict(const char *text, size_t len, const char **problem)
{
    struct scan scan;
    struct span value;
    scan_init(&scan, text, len);
    scan.strict = true;
    if (scan_value(&scan, &value) && !scan_end(&scan))
        fail(&scan, "something follows the value");
    *problem = scan.problem;
    return !scan.problem;
}

/* --- iteration --- */

/* Moves to the next member or element; false at the container's end, or with a problem. */
static bool step(struct scan *scan, bool *begun, char open, char close)
{
    char c = skip_space(scan);
    if (!*begun) {
        if (c != open)
            return fail(scan, open == '{' ? "it is not an object" : "it is not an array");
        scan->at++;
        scan->inside = 1;
        *begun = true;
        if (skip_space(scan) != close)
            return true;
    } else if (c == ',') {
        scan->at++;
        return true;
    } else if (c != close) {
        return fail(scan, "a comma or a closing bracket is missing");
    }
    scan->at++;
    return false;
}

bool scan_step_key(struct scan *scan, bool *begun, struct span *key)
{
    if (!step(scan, begun, '{', '}'))
        return false;
    skip_space(scan);
    size_t start = scan->at;
    if (!skip_string(scan))
        return false;
    *key = (struct span){start, scan->at - start};
    return expect(scan, ':', "a colon is missing");
}

bool scan_step(struct scan *scan, bool *begun, struct span *key, struct span *value)
{
    return scan_step_key(scan, begun, key) && scan_value(scan, value);
}

static bool resume(struct scan *scan, const char *text, struct span within, const size_t *cursor)
{
    scan_init(scan, text, within.at + within.len);
    scan->at = *cursor ? *cursor : within.at;
    return *cursor != 0;
}

bool scan_member(const char *text, struct span within, size_t *cursor, struct span *key,
                 struct span *value)
{
    struct scan scan;
    bool begun = resume(&scan, text, within, cursor);
    bool more = scan_step(&scan, &begun, key, value);
    *cursor = scan.at;
    return more;
}

bool scan_element(const char *text, struct span within, size_t *cursor, struct span *value)
{
    struct scan scan;
    bool begun = resume(&scan, text, within, cursor);
    bool more = step(&scan, &begun, '[', ']') && scan_value(&scan, value);
    *cursor = scan.at;
    return more;
}

/* --- skipping in checked text --- */

size_t scan_skip_string(const char *text, size_t at, size_t end)
{
    at++;
    while (at < end) {
        at = bytes_plain_end(text, at, end);
        if (at < end && text[at] == '"')
            return at + 1;
        at += 2; /* the backslash and one byte; the rest of an escape is plain */
    }
    return end;
}

static size_t skip_container(const char *text, size_t at, size_t end)
{
    size_t depth = 0;
    while (at < end) {
        at = bytes_structure(text, at, end);
        if (at == end)
            break;
        char c = text[at];
        if (c == '"') {
            at = scan_skip_string(text, at, end);
            continue;
        }
        at++;
        if (c == '{' || c == '[')
            depth++;
        else if (--depth == 0)
            return at;
    }
    return end;
}

size_t scan_skip(const char *text, size_t at, size_t end)
{
    if (at < end && text[at] == '"')
        return scan_skip_string(text, at, end);
    if (at < end && (text[at] == '{' || text[at] == '['))
        return skip_container(text, at, end);
    while (at < end && text[at] != ',' && text[at] != '}' && text[at] != ']' &&
           !bytes_is_space(text[at]))
        at++;
    return at;
}
