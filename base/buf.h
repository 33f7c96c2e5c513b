/* A growable run of bytes. */
#ifndef RAYDBG_BASE_BUF_H
#define RAYDBG_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* All zero is a valid, empty buffer. `data` is always followed by a NUL once anything was added.
 * Only buf_free() and buf_take() know where its memory begins. */
struct buf {
    char *data;
    size_t len;
    size_t cap;
};

/* Makes the capacity at least `need`. */
void buf_grow(struct buf *buf, size_t need);
/* Makes room for `len` more bytes and returns where they go; the caller then adds to `buf->len`. */
static inline char *buf_reserve(struct buf *buf, size_t len)
{
    if (buf->len + len >= buf->cap)
        buf_grow(buf, buf->len + len + 1);
    return buf->data + buf->len;
}

static inline void buf_add(struct buf *buf, const void *bytes, size_t len)
{
    char *to = buf_reserve(buf, len);
    if (len)
        memcpy(to, bytes, len);
    to[len] = '\0';
    buf->len += len;
}

/* Adds what is left of `head` and `body`, one after the other, behind their first `done` bytes. */
void buf_add_rest(struct buf *buf, const void *head, size_t head_len, const void *body,
                  size_t body_len, size_t done);
void buf_add_string(struct buf *buf, const char *text);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Drops the first `len` bytes. */
void buf_consume(struct buf *buf, size_t len);
/* Empties the buffer; frees its memory if that is larger than `keep` bytes. */
void buf_clear(struct buf *buf, size_t keep);
/* Returns the bytes, NUL-terminated; the caller frees them. The buffer is empty after. */
char *buf_take(struct buf *buf);
void buf_free(struct buf *buf);

#endif
