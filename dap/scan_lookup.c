/* Looks up, compares and converts the spans that scan.c finds. */
#include "dap/scan.h"

#include "base/buf.h"
#include "base/mem.h"

#include <stdlib.h>
#include <string.h>

bool scan_find(const char *text, struct span object, const char *key, struct span *value)
{
    struct span name, found;
    size_t cursor = 0;
    bool any = false;
    while (scan_member(text, object, &cursor, &name, &found)) {
        if (scan_key_is(text, name, key)) {
            *value = found;
            any = true;
        }
    }
    return any;
}

bool scan_path(const char *text, struct span object, const char *path, struct span *value)
{
    for (const char *slash; (slash = strchr(path, '/')); path = slash + 1) {
        char *key = mem_string_n(path, (size_t)(slash - path));
        bool found = scan_find(text, object, key, &object);
        free(key);
        if (!found)
            return false;
    }
    return scan_find(text, object, path, value);
}

bool scan_key_is(const char *text, struct span key, const char *name)
{
    return scan_string_is(text, key, name);
}

/* Appends a digit to a number that is kept negative, because INT64_MIN has no positive form. */
static bool push_digit(int64_t *number, int digit)
{
    return digit >= 0 && digit <= 9 && !__builtin_mul_overflow(*number, 10, number) &&
           !__builtin_sub_overflow(*number, digit, number);
}

static size_t digits_end(const char *text, size_t at, size_t end)
{
    while (at < end && text[at] >= '0' && text[at] <= '9')
        at++;
    return at;
}

/* The exponent at `at`, "e+12", within bounds that no int64 reaches; false for anything else. */
static bool read_exponent(const char *text, size_t at, size_t end, int *exponent)
{
    enum { FAR = 100000 };
    *exponent = 0;
    if (at == end)
        return true;
    if (text[at] != 'e' && text[at] != 'E')
        return false;
    at++;
    bool negative = at < end && text[at] == '-';
    at += at < end && (text[at] == '-' || text[at] == '+');
    size_t start = at;
    for (; at < end && text[at] >= '0' && text[at] <= '9'; at++)
        if (*exponent < FAR)
            *exponent = *exponent * 10 + (text[at] - '0');
    *exponent = negative ? -*exponent : *exponent;
    return at == end && at > start;
}

/* A number without its sign that has a fraction or an exponent, 12.0 or 1.2e1; kept negative. */
static bool read_whole(const char *text, size_t at, size_t end, int64_t *number)
{
    int exponent;
    size_t point = digits_end(text, at, end), behind = point;
    if (point < end && text[point] == '.')
        behind = digits_end(text, point + 1, end);
    if (point == at || behind == point + 1 || !read_exponent(text, behind, end, &exponent))
        return false;
    size_t last = behind;
    while (last > at && (text[last - 1] == '0' || text[last - 1] == '.'))
        last--;
    *number = 0;
    if (last == at)
        return true;
    for (size_t i = at; i < last; i++)
        if (i != point && !push_digit(number, text[i] - '0'))
            return false;
    int64_t zeros = exponent;
    zeros += last > point ? -(int64_t)(last - point - 1) : (int64_t)(point - last);
    if (zeros < 0)
        return false;
    while (zeros-- > 0)
        if (!push_digit(number, 0))
            return false;
    return true;
}

bool scan_integer(const char *text, struct span value, int64_t *out)
{
    size_t at = value.at, end = value.at + value.len;
    bool negative = value.len && text[at] == '-';
    int64_t number = 0;
    at += negative;
    if (at == end)
        return false;
    if (digits_end(text, at, end) < end) {
        if (!read_whole(text, at, end, &number))
            return false;
    } else {
        for (; at < end; at++)
            if (!push_digit(&number, text[at] - '0'))
                return false;
    }
    if (!negative && number == INT64_MIN)
        return false;
    *out = negative ? number : -number;
    return true;
}

bool scan_boolean(const char *text, struct span value, bool *out)
{
    if (!value.len || (text[value.at] != 't' && text[value.at] != 'f'))
        return false;
    *out = text[value.at] == 't';
    return true;
}

bool scan_integer_at(const char *text, struct span object, const char *path, int64_t *out)
{
    struct span value;
    return scan_path(text, object, path, &value) && scan_integer(text, value, out);
}

int64_t scan_count_at(const char *text, struct span object, const char *path)
{
    int64_t count;
    return scan_integer_at(text, object, path, &count) && count > 0 ? count : 0;
}

bool scan_boolean_at(const char *text, struct span object, const char *path, bool *out)
{
    struct span value;
    return scan_path(text, object, path, &value) && scan_boolean(text, value, out);
}

/* --- unescaping --- */

static const char replacement[] = "\xEF\xBF\xBD"; /* U+FFFD */

static void add_code_point(struct buf *out, uint32_t code)
{
    char utf8[4];
    size_t len = 0;
    if (code == 0 || (code >= 0xD800 && code < 0xE000)) {
        buf_add_string(out, replacement);
        return;
    }
    if (code < 0x80) {
        utf8[len++] = (char)code;
    } else if (code < 0x800) {
        utf8[len++] = (char)(0xC0 | code >> 6);
    } else if (code < 0x10000) {
        utf8[len++] = (char)(0xE0 | code >> 12);
        utf8[len++] = (char)(0x80 | (code >> 6 & 0x3F));
    } else {
        utf8[len++] = (char)(0xF0 | code >> 18);
        utf8[len++] = (char)(0x80 | (code >> 12 & 0x3F));
        utf8[len++] = (char)(0x80 | (code >> 6 & 0x3F));
    }
    if (code >= 0x80)
        utf8[len++] = (char)(0x80 | (code & 0x3F));
    buf_add(out, utf8, len);
}

/* The value of four hex digits that scan_value() has checked. */
static uint32_t hex_unit(const char *p)
{
    char digits[5] = {p[0], p[1], p[2], p[3]};
    return (uint32_t)strtoul(digits, NULL, 16);
}

/* `p` is behind a backslash; returns how many bytes of the escape follow from there. */
static size_t add_escape(struct buf *out, const char *p, size_t left)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *plain = strchr(from, *p);
    if (plain) {
        buf_add(out, to + (plain - from), 1);
        return 1;
    }
    uint32_t code = hex_unit(p + 1);
    bool high = code >= 0xD800 && code < 0xDC00;
    if (high && left >= 11 && p[5] == '\\' && p[6] == 'u') {
        uint32_t low = hex_unit(p + 7);
        if (low >= 0xDC00 && low < 0xE000) {
            add_code_point(out, 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00));
            return 11;
        }
    }
    add_code_point(out, code);
    return 5;
}

/* Adds bytes without a backslash. */
static void add_plain(struct buf *out, const char *p, size_t len)
{
    const char *nul;
    while ((nul = memchr(p, '\0', len))) {
        size_t before = (size_t)(nul - p);
        buf_add(out, p, before);
        buf_add_string(out, replacement);
        p += before + 1;
        len -= before + 1;
    }
    buf_add(out, p, len);
}

char *scan_string(const char *text, struct span value)
{
    struct buf out = {0};
    if (value.len < 2 || text[value.at] != '"')
        return NULL;
    const char *p = text + value.at + 1, *end = text + value.at + value.len - 1;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        add_plain(&out, p, (size_t)((slash ? slash : end) - p));
        p = slash ? slash + 1 + add_escape(&out, slash + 1, (size_t)(end - slash - 1)) : end;
    }
    return buf_take(&out);
}

char *scan_string_at(const char *text, struct span object, const char *path)
{
    struct span value;
    return scan_path(text, object, path, &value) ? scan_string(text, value) : NULL;
}

bool scan_string_is(const char *text, struct span value, const char *expected)
{
    size_t len = strlen(expected);
    if (value.len < 2 || text[value.at] != '"')
        return false;
    const char *inner = text + value.at + 1;
    size_t inner_len = value.len - 2;
    /* An escape has more bytes than the character that it encodes. */
    if (inner_len <= len)
        return inner_len == len && memcmp(inner, expected, len) == 0 &&
               !memchr(inner, '\\', inner_len);
    if (!memchr(inner, '\\', inner_len))
        return false;
    char *plain = scan_string(text, value);
    bool same = strcmp(plain, expected) == 0;
    free(plain);
    return same;
}
