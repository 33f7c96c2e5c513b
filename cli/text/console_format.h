/* Formats the console's values, source lines and locations. Pure: text in, text out. */
#ifndef RAYDBG_CLI_TEXT_CONSOLE_FORMAT_H
#define RAYDBG_CLI_TEXT_CONSOLE_FORMAT_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct style {
    bool colour;
    bool utf8;
    int columns;
};

enum tint { TINT_PLAIN, TINT_BOLD, TINT_DIM, TINT_MARK, TINT_ERROR };

/* Begins a run of text in a tint, or ends it (TINT_PLAIN); appends nothing without colour. */
void console_format_tint(struct buf *out, const struct style *style, enum tint tint);
void console_format_tinted(struct buf *out, const struct style *style, enum tint tint,
                           const char *text);

const char *console_format_arrow(const struct style *style);    /* "→" or "->" */
const char *console_format_ellipsis(const struct style *style); /* "…" or "..." */
const char *console_format_dot(const struct style *style);      /* " · " or " - " */

/* The length in bytes of the first `count` characters of UTF-8 text (of all if it is shorter). */
size_t console_format_prefix(const char *text, size_t count);
size_t console_format_characters(const char *text, size_t len);
/* The length in bytes of the beginning that fits into `columns` of a terminal. */
size_t console_format_fit(const char *text, int columns);

/* Appends one line of at most `columns` columns. The rest, from a line end on, too, becomes an
 * ellipsis. Returns true if anything was cut. */
bool console_format_one_line(struct buf *out, const struct style *style, const char *text,
                             int columns);

/* Appends a worker's value, made printable except for its line ends, of at most `limit` characters
 * (0: all). A note counts the characters that were cut and says `how` to see them. Ends with a
 * newline. `partial`: the worker has cut the value already. */
void console_format_value(struct buf *out, const struct style *style, const char *value,
                          size_t limit, bool partial, const char *how);

/* The same for the beginning of a value that has `total` characters in the worker. */
void console_format_value_of(struct buf *out, const struct style *style, const char *value,
                             size_t total, const char *how);

/* Makes one line of a value: each line end and the white space around it become a space. In
 * place. */
void console_format_flatten(char *text);

/* "  → 12    text": the number right-aligned to `digits`. */
void console_format_source_line(struct buf *out, const struct style *style, int64_t number,
                                int digits, const char *text, bool current);
int console_format_digits(int64_t number);

/* A short path: relative to `cwd` (may be NULL), or from site-packages on, or, if it is longer than
 * 60 characters, with an ellipsis for its head. The caller frees. */
char *console_format_path(const struct style *style, const char *path, const char *cwd);

/* "ValueError       (note: …)" → "ValueError", in place: pydevd adds the note to a post-mortem
 * stop. */
void console_format_strip_note(char *text);

#endif
