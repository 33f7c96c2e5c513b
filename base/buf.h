/* A growable run of bytes. */
#ifndef RAYDBG_BASE_BUF_H
#define RAYDBG_BASE_BUF_H

#include <stdbool.h>
#include <stddef.h>

/* All zero is a valid, empty buffer. `data` is always followed by a NUL once anything was added. */
struct buf {
    char *data;
    size_t len;
    size_t cap;
};

void buf_add(struct buf *buf, const void *bytes, size_t len);
void buf_add_string(struct buf *buf, const char *text);
void buf_printf(struct buf *buf, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Makes room for `len` more bytes and returns where they go; the caller adds to `len` itself. */
char *buf_reserve(struct buf *buf, size_t len);
/* Drops the first `len` bytes. */
void buf_consume(struct buf *buf, size_t len);
/* Empties, keeping the memory unless it is larger than `keep` bytes. */
void buf_clear(struct buf *buf, size_t keep);
/* Gives the bytes, NUL-terminated, to the caller to free; the buffer is empty after. */
char *buf_take(struct buf *buf);
void buf_free(struct buf *buf);

#endif
