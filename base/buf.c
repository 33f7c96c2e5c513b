#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *buf_reserve(struct buf *buf, size_t len)
{
    size_t need = buf->len + len + 1;
    if (need > buf->cap) {
        size_t cap = buf->cap ? buf->cap : 256;
        while (cap < need)
            cap += cap / 2;
        buf->data = mem_resize(buf->data, cap, 1);
        buf->cap = cap;
    }
    return buf->data + buf->len;
}

void buf_add(struct buf *buf, const void *bytes, size_t len)
{
    char *to = buf_reserve(buf, len);
    if (len)
        memcpy(to, bytes, len);
    buf->len += len;
    buf->data[buf->len] = '\0';
}

void buf_add_string(struct buf *buf, const char *text)
{
    buf_add(buf, text, strlen(text));
}

void buf_printf(struct buf *buf, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int len = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (len > 0) {
        char *to = buf_reserve(buf, (size_t)len);
        vsnprintf(to, (size_t)len + 1, format, again);
        buf->len += (size_t)len;
    }
    va_end(again);
}

void buf_consume(struct buf *buf, size_t len)
{
    if (len >= buf->len) {
        buf->len = 0;
    } else if (len) {
        memmove(buf->data, buf->data + len, buf->len - len);
        buf->len -= len;
    }
    if (buf->data)
        buf->data[buf->len] = '\0';
}

void buf_clear(struct buf *buf, size_t keep)
{
    if (buf->cap > keep)
        buf_free(buf);
    buf_consume(buf, buf->len);
}

char *buf_take(struct buf *buf)
{
    buf_reserve(buf, 0);
    buf->data[buf->len] = '\0';
    char *data = buf->data;
    if (buf->len + 1 <= buf->cap / 2) /* it may be kept for long */
        data = mem_resize(data, buf->len + 1, 1);
    *buf = (struct buf){0};
    return data;
}

void buf_free(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}
