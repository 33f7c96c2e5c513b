#include "base/text.h"

#include "base/buf.h"
#include "base/mem.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

bool text_equal(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

bool text_starts(const char *text, const char *prefix)
{
    return text && strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends(const char *text, const char *suffix)
{
    size_t len = text ? strlen(text) : 0;
    size_t want = strlen(suffix);
    return text && len >= want && memcmp(text + len - want, suffix, want) == 0;
}

bool text_empty(const char *text)
{
    return !text || !*text;
}

const char *text_basename(const char *path)
{
    const char *slash = path ? strrchr(path, '/') : NULL;
    return slash ? slash + 1 : path;
}

bool text_copy(char *out, size_t size, const char *text)
{
    size_t len = strlen(text);
    bool fits = len < size;
    if (!fits)
        len = size - 1;
    memcpy(out, text, len);
    out[len] = '\0';
    return fits;
}

bool text_to_int(const char *text, int64_t min, int64_t max, int64_t *out)
{
    if (text_empty(text) || !strchr("-0123456789", *text))
        return false;
    char *end;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || *end || end == text || value < min || value > max)
        return false;
    *out = value;
    return true;
}

void text_hex(const uint8_t *bytes, size_t len, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < len; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
    out[2 * len] = '\0';
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

bool text_unhex(const char *hex, uint8_t *out, size_t len)
{
    if (!hex || strlen(hex) != 2 * len)
        return false;
    for (size_t i = 0; i < len; i++) {
        int high = hex_digit(hex[2 * i]), low = hex_digit(hex[2 * i + 1]);
        if (high < 0 || low < 0)
            return false;
        out[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

bool text_is_graphic(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (text[i] <= ' ' || text[i] > '~')
            return false;
    return true;
}

bool text_split_host_port(const char *text, char *host, size_t host_size, uint16_t *port)
{
    const char *colon = text ? strrchr(text, ':') : NULL;
    int64_t number;
    if (!colon || !text_to_int(colon + 1, 1, 65535, &number))
        return false;
    size_t len = (size_t)(colon - text);
    if (*text == '[') {
        if (len < 3 || text[len - 1] != ']')
            return false;
        text++;
        len -= 2;
    } else if (memchr(text, ':', len)) {
        return false;
    }
    if (len == 0 || len >= host_size || !text_is_graphic(text, len))
        return false;
    memcpy(host, text, len);
    host[len] = '\0';
    *port = (uint16_t)number;
    return true;
}

char *text_join_host_port(const char *host, uint16_t port)
{
    return mem_format(strchr(host, ':') ? "[%s]:%u" : "%s:%u", host, (unsigned)port);
}

size_t text_utf8(const char *p, size_t left)
{
    const unsigned char *b = (const unsigned char *)p;
    size_t len = 0;
    if (b[0] < 0x80)
        return 1;
    if (b[0] >= 0xC2 && b[0] < 0xF5)
        len = b[0] < 0xE0 ? 2 : b[0] < 0xF0 ? 3 : 4;
    if (!len || len > left)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((b[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (b[0] == 0xE0 && b[1] < 0xA0) || (b[0] == 0xF0 && b[1] < 0x90);
    bool outside = (b[0] == 0xED && b[1] >= 0xA0) || (b[0] == 0xF4 && b[1] >= 0x90);
    return overlong || outside ? 0 : len;
}

uint32_t text_code_point(const char *at, size_t size)
{
    static const unsigned char first[] = {0, 0x7F, 0x1F, 0x0F, 0x07};
    uint32_t code = (unsigned char)at[0] & first[size];
    for (size_t i = 1; i < size; i++)
        code = code << 6 | ((unsigned char)at[i] & 0x3F);
    return code;
}

bool text_is_control(uint32_t code_point)
{
    static const uint32_t ranges[][2] = {
        {0, 0x1F},        {0x7F, 0x9F},     {0x061C, 0x061C}, {0x200B, 0x200B}, {0x200E, 0x200F},
        {0x2028, 0x202E}, {0x2060, 0x206F}, {0xFEFF, 0xFEFF}, {0xFFF9, 0xFFFB}, {0xE0000, 0xE007F},
    };
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (code_point >= ranges[i][0] && code_point <= ranges[i][1])
            return true;
    return false;
}

void text_rewrite(struct buf *out, const char *text, size_t len, const char *special,
                  text_other_fn other, const void *arg)
{
    bool plain[UCHAR_MAX + 1] = {false};
    memset(plain + ' ', true, '~' - ' ' + 1);
    for (; *special; special++)
        plain[(unsigned char)*special] = false;
    for (size_t at = 0; at < len;) {
        size_t start = at;
        while (at < len && plain[(unsigned char)text[at]])
            at++;
        if (at > start)
            buf_add(out, text + start, at - start);
        if (at == len)
            break;
        size_t size = text_utf8(text + at, len - at);
        other(out, text + at, size, arg);
        at += size ? size : 1;
    }
}

static void add_printable(struct buf *out, const char *at, size_t size, const void *keep)
{
    bool kept = size == 1 && *at && strchr(keep, *at);
    if (!size || (!kept && text_is_control(text_code_point(at, size))))
        buf_add(out, "?", 1);
    else
        buf_add(out, at, size);
}

void text_add_printable(struct buf *out, const char *text, size_t len, const char *keep)
{
    buf_add(out, "", 0); /* `data` is there for an empty text, too */
    text_rewrite(out, text, len, "", add_printable, keep);
}

char *text_printable(const char *text, size_t len, const char *keep)
{
    struct buf out = {0};
    text_add_printable(&out, text, len, keep);
    return buf_take(&out);
}

static size_t smallest(size_t a, size_t b, size_t c)
{
    size_t least = a < b ? a : b;
    return least < c ? least : c;
}

size_t text_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
    enum { LONGEST = 64 };
    size_t row[LONGEST + 1];
    if (a_len > LONGEST || b_len > LONGEST)
        return SIZE_MAX;
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
