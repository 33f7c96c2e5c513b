#include "base/text.h"

#include "base/buf.h"

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
    if (len == 0 || len >= host_size)
        return false;
    memcpy(host, text, len);
    host[len] = '\0';
    *port = (uint16_t)number;
    return true;
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
    bool control = size == 1 && !(*at && strchr(keep, *at));
    bool c1 = size == 2 && at[0] == '\xC2' && (unsigned char)at[1] < 0xA0;
    if (!size || control || c1)
        buf_add(out, "?", 1);
    else
        buf_add(out, at, size);
}

char *text_printable(const char *text, size_t len, const char *keep)
{
    struct buf out = {0};
    text_rewrite(&out, text, len, "", add_printable, keep);
    return buf_take(&out);
}
