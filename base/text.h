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

/* The part of a path behind its last slash, or all of it; NULL for NULL. */
const char *text_basename(const char *path);

/* Copies and always terminates; returns false if `text` was cut. */
bool text_copy(char *out, size_t size, const char *text);

/* A whole string that is a decimal integer within [min, max]; false otherwise. */
bool text_to_int(const char *text, int64_t min, int64_t max, int64_t *out);

/* Lower-case hex of `len` bytes into `out` (2 * len + 1 bytes). */
void text_hex(const uint8_t *bytes, size_t len, char *out);
/* `hex` must be exactly 2 * len hex digits; false otherwise. */
bool text_unhex(const char *hex, uint8_t *out, size_t len);

/* True if every byte is visible ASCII: no white space, no control character. */
bool text_is_graphic(const char *text, size_t len);

/* Splits "HOST:PORT" or "[V6]:PORT"; `host` gets no brackets. False if the port is not valid, or if
 * the host is empty, too long or not visible ASCII. */
bool text_split_host_port(const char *text, char *host, size_t host_size, uint16_t *port);
/* The opposite: an IPv6 address gets its brackets. The caller frees it. */
char *text_join_host_port(const char *host, uint16_t port);

/* The length of the valid UTF-8 sequence that the `left` > 0 bytes at `p` start with, or 0. */
size_t text_utf8(const char *p, size_t left);

/* The code point of the character at `at`; `size` is its length from text_utf8(), not 0. */
uint32_t text_code_point(const char *at, size_t size);
/* True if a terminal or an editor would act on the character instead of showing it: C0, DEL, C1,
 * and Unicode's controls that change the direction of text, end a line or are invisible. U+200C and
 * U+200D are not among them: words of some languages need these joiners. */
bool text_is_control(uint32_t code_point);

/* Appends `len` bytes of `text` to `out`: printable ASCII unchanged, except the bytes in `special`;
 * `other` appends each other character. Its `size` is 0 for a single byte that is not UTF-8. */
typedef void (*text_other_fn)(struct buf *out, const char *at, size_t size, const void *arg);
void text_rewrite(struct buf *out, const char *text, size_t len, const char *special,
                  text_other_fn other, const void *arg);

/* Copies `text`, which comes from a worker or a cluster, with a '?' for every control character
 * (text_is_control()) and every byte that is not UTF-8. `keep` lists control bytes that may stay,
 * such as "\n\t". The caller frees the result. */
char *text_printable(const char *text, size_t len, const char *keep);
/* The same, appended to `out`. */
void text_add_printable(struct buf *out, const char *text, size_t len, const char *keep);

/* The number of bytes to change, add or drop to turn one word into the other; SIZE_MAX if either is
 * longer than 64 bytes. */
size_t text_distance(const char *a, size_t a_len, const char *b, size_t b_len);

#endif
