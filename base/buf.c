#include "base/buf.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void buf_grow(struct buf *buf, size_t need)
{
    size_t cap = buf->cap ? buf->cap : 256;
    while (cap < need)
        cap += cap / 2;
    buf->data = mem_resize(buf->data, cap, 1);
    buf->cap = cap;
}

void buf_add_rest(struct buf *buf, const void *head, size_t head_len, const void *body,
                  size_t body_len, size_t done)
{
    if (done < head_len)
        buf_add(buf, (const char *)head + done, head_len - done);
    size_t of_body = done > head_len ? done - head_len : 0;
    buf_add(buf, (const char *)body + of_body, body_len - of_body);
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
    if (buf->len + 1 <= buf->cap / 2) /* the caller may keep it for long */
        data = mem_resize(data, buf->len + 1, 1);
    *buf = (struct buf){0};
    return data;
}

void buf_free(struct buf *buf)
{
    free(buf->data);
    *buf = (struct buf){0};
}
