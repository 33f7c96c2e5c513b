/* How the console writes values, source lines and places. Pure: text in, text out. */
#ifndef RAYDBG_CLI_CONSOLE_VIEW_H
#define RAYDBG_CLI_CONSOLE_VIEW_H

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

/* Begins a run of text in a tint, or ends it (TINT_PLAIN); nothing without colour. */
void view_tint(struct buf *out, const struct style *style, enum tint tint);
void view_tinted(struct buf *out, const struct style *style, enum tint tint, const char *text);

const char *view_arrow(const struct style *style);    /* "→" or "->" */
const char *view_ellipsis(const struct style *style); /* "…" or "..." */
const char *view_dot(const struct style *style);      /* " · " or " - " */

/* The bytes of the first `count` characters of UTF-8 text (all of them if it is shorter). */
size_t view_prefix(const char *text, size_t count);
size_t view_characters(const char *text, size_t len);
/* The bytes of what fits into `columns` of a terminal. */
size_t view_fit(const char *text, int columns);

/* One line of at most `columns` columns: what does not fit, line ends included, becomes an
 * ellipsis; returns whether anything was cut. */
bool view_one_line(struct buf *out, const struct style *style, const char *text, int columns);

/* A value of a worker's, made fit for a terminal, of at most `limit` characters (0: all), with line
 * ends kept; what is cut is counted in a note that names `how` to see it. Ends with a newline.
 * `partial`: the worker has cut it already. */
void view_value(struct buf *out, const struct style *style, const char *value, size_t limit,
                bool partial, const char *how);

/* A value of several lines as one: each line end and the white space around it become a space.
 * In place. */
void view_flatten(char *text);

/* "  → 12    text": the number right-aligned to `digits`. */
void view_source_line(struct buf *out, const struct style *style, int64_t number, int digits,
                      const char *text, bool current);
int view_digits(int64_t number);

/* A path as short as it stays clear: relative to `cwd` (may be NULL), or from site-packages on, or
 * with an ellipsis for its head if it is longer than 60 characters. The caller frees. */
char *view_path(const struct style *style, const char *path, const char *cwd);

/* A frame that runs a worker rather than the user's code. */
bool view_is_ray(const char *path, const char *function);

/* "ValueError       (note: …)" → "ValueError", in place: pydevd adds it to a post-mortem stop. */
void view_strip_note(char *text);

#endif
