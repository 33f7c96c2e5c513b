/* Turns the bytes of one log into what is shown. Pure. */
#ifndef RAYDBG_RELAY_EVIDENCE_LOG_LINES_H
#define RAYDBG_RELAY_EVIDENCE_LOG_LINES_H

#include "base/buf.h"

#include <regex.h>
#include <stdbool.h>
#include <stdint.h>

struct log_lines_options {
    int64_t since_ms; /* leave out the lines from before, and those without a time behind them; 0 */
    bool terminal;    /* control characters and broken UTF-8 become '?'; colours stay */
    const char *prefix;      /* in front of each line, or NULL */
    const regex_t *grep;     /* only lines that match, or NULL */
    bool has_markers;        /* leave out Ray's marker lines, ":task_name:…" */
    const char *only_behind; /* only the text behind the marker of a task of this name, or NULL */
    int32_t tail; /* only the last so many lines, without those that the markers rule out; 0: all */
};

/* The state of one log; all zero at first, except `options`. */
struct log_lines {
    struct log_lines_options options;
    struct buf line; /* that is not at its end yet; of a very long one, the next part of it */
    bool inside;     /* `line` goes on with a line whose beginning has been handled */
    bool hidden;     /* that line is not the program's, or not the wanted task's */
    bool shown;      /* that line's beginning is shown */
    bool before;     /* `since_ms`: the last time seen was before */
    bool behind;     /* the wanted task's marker was the last one */
    size_t seen;     /* lines that have ended, shown or not */
    struct buf kept; /* `tail`: the last lines so far, and some before them */
    size_t kept_lines;
    bool lost; /* lines were too long to keep all of the last ones */
};

/* Appends to `out` what these bytes complete. Without any option set the bytes go through as they
 * are; with `tail` they come at the end. */
void log_lines_add(struct log_lines *lines, const char *bytes, size_t len, struct buf *out);
/* With `tail`: true if there are as many lines as that, or as can be kept. Then it does not matter
 * what the log has before the bytes that were added. */
bool log_lines_has_tail(const struct log_lines *lines);
/* The log has ended: appends a last line without a line break, with one if it has a prefix. Frees
 * the state. */
void log_lines_end(struct log_lines *lines, struct buf *out);

#endif
