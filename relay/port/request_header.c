#include "relay/port/request_header.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

size_t request_header_length(const char *bytes, size_t len)
{
    const char *crlf = memmem(bytes, len, "\r\n\r\n", 4), *lf = memmem(bytes, len, "\n\n", 2);
    if (crlf && (!lf || crlf < lf))
        return (size_t)(crlf - bytes) + 4;
    return lf ? (size_t)(lf - bytes) + 2 : 0;
}

static bool is_token(char c)
{
    return isalnum((unsigned char)c) || (c && strchr("!#$%&'*+-.^_`|~", c));
}

static bool is_value(char c)
{
    return (unsigned char)c >= ' ' ? c != 0x7F : c == '\t';
}

static bool line_is_sound(const char *line, size_t len)
{
    static const char origin[] = "origin:";
    size_t name = 0, at, text = 0;
    while (name < len && is_token(line[name]))
        name++;
    if (!name || name == len || line[name] != ':')
        return false;
    for (at = name + 1; at < len && is_value(line[at]); at++)
        text += line[at] != ' ' && line[at] != '\t';
    return at == len &&
           (text || (name + 2 == sizeof origin && strncasecmp(line, origin, name + 1) == 0));
}

bool request_header_is_sound(const char *bytes, size_t len)
{
    const char *at = memchr(bytes, '\n', len), *end = bytes + len, *next;
    for (at = at ? at + 1 : end; at < end; at = next + 1) {
        next = memchr(at, '\n', (size_t)(end - at));
        if (!next)
            return false;
        size_t line = (size_t)(next - at);
        if (line && at[line - 1] == '\r')
            line--;
        if (!line)
            return next + 1 == end;
        if (!line_is_sound(at, line))
            return false;
    }
    return false;
}
