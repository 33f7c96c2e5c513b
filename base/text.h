/* Small helpers on strings. */
#ifndef RAYDBG_BASE_TEXT_H
#define RAYDBG_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

bool text_equal(const char *a, const char *b); /* NULL equals only NULL */
bool text_starts(const char *text, const char *prefix);
bool text_ends(const char *text, const char *suffix);
bool text_empty(const char *text); /* NULL or "" */

/* Copies and always terminates; returns false if `text` was cut. */
bool text_copy(char *out, size_t size, const char *text);

/* A whole string that is a decimal integer within [min, max]; false otherwise. */
bool text_to_int(const char *text, int64_t min, int64_t max, int64_t *out);

/* Lower-case hex of `len` bytes into `out` (2 * len + 1 bytes). */
void text_hex(const uint8_t *bytes, size_t len, char *out);
/* `hex` must be exactly 2 * len hex digits; false otherwise. */
bool text_unhex(const char *hex, uint8_t *out, size_t len);

/* "HOST:PORT", "[V6]:PORT". `host` is without brackets. False if there is no valid port. */
bool text_split_host_port(const char *text, char *host, size_t host_size, uint16_t *port);

/* The length of the valid UTF-8 sequence that the `left` > 0 bytes at `p` start with, or 0. */
size_t text_utf8(const char *p, size_t left);

/* Appends `len` bytes: runs of printable ASCII without the bytes in `special` as they are, and each
 * other character as `other` writes it. Its `size` is 0 for one byte that is not UTF-8. */
typedef void (*text_other_fn)(struct buf *out, const char *at, size_t size, const void *arg);
void text_rewrite(struct buf *out, const char *text, size_t len, const char *special,
                  text_other_fn other, const void *arg);

/* Copies `text` with every byte that a terminal would act on (C0, DEL, C1 in UTF-8, invalid
 * UTF-8) replaced by '?', for text that comes from a worker or a cluster. `keep` names control
 * bytes that may stay, such as "\n\t". The caller frees the result. */
char *text_printable(const char *text, size_t len, const char *keep);

#endif
