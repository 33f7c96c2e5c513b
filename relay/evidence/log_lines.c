#include "relay/evidence/log_lines.h"

#include "base/text.h"
#include "relay/evidence/log_time.h"
#include "relay/why_records/log_marker.h"

#include <stdlib.h>
#include <string.h>

/* A longer line is handled in parts of LINE_BYTES: a program may write without line breaks. Of the
 * last lines KEPT_BYTES are kept. */
enum { LINE_BYTES = 1 << 20, KEPT_BYTES = 64 << 20, KEPT_MORE = 64 };

static bool starts(const struct buf *line, const char *prefix)
{
    return line->len >= strlen(prefix) && memcmp(line->data, prefix, strlen(prefix)) == 0;
}

/* True if Ray wrote the line, not the program. */
static bool is_marker(struct log_lines *lines)
{
    const char *wanted = lines->options.only_behind;
    const struct buf *line = &lines->line;
    size_t task = strlen(log_marker_task);
    if (!log_marker_is(line->data, line->len))
        return false;
    if (wanted && starts(line, log_marker_task))
        lines->behind = line->len == task + strlen(wanted) &&
                        memcmp(line->data + task, wanted, strlen(wanted)) == 0;
    return true;
}

/* The length of a sequence that sets colours, ESC [ … m, at `at`; 0 if there is none. */
static size_t colour_at(const char *at, size_t left)
{
    size_t len = 2;
    if (left < 3 || at[0] != '\033' || at[1] != '[')
        return 0;
    while (len < left && (at[len] == ';' || (at[len] >= '0' && at[len] <= '9')))
        len++;
    return len < left && at[len] == 'm' ? len + 1 : 0;
}

static void add_for_terminal(struct buf *out, const char *text, size_t len)
{
    for (size_t i = 0; i < len;) {
        size_t colour = colour_at(text + i, len - i), plain = i;
        if (colour) {
            buf_add(out, text + i, colour);
            i += colour;
            continue;
        }
        do
            i++;
        while (i < len && !colour_at(text + i, len - i));
        text_add_printable(out, text + plain, i - plain, "\t");
    }
}

static bool matches(const struct log_lines *lines)
{
    if (!lines->options.grep)
        return true;
    regmatch_t range = {0, (regoff_t)lines->line.len};
    return regexec(lines->options.grep, lines->line.data, 1, &range, REG_STARTEND) == 0;
}

static bool is_before(struct log_lines *lines)
{
    int64_t since = lines->options.since_ms;
    int64_t ms = since && lines->line.len ? log_time_of(lines->line.data, lines->line.len) : 0;
    if (ms)
        lines->before = ms < since;
    return lines->before;
}

/* Shows the line, or its next part; the line is shown from the first part on that matches. */
static void show(struct log_lines *lines, bool ends, bool breaks, struct buf *out)
{
    const struct log_lines_options *options = &lines->options;
    if (!lines->inside) {
        lines->shown = false;
        is_before(lines);
    }
    if (!lines->shown && !lines->before && (!lines->inside || lines->line.len) && matches(lines)) {
        lines->shown = true;
        if (options->prefix)
            buf_add_string(out, options->prefix);
    }
    if (!lines->shown)
        return;
    if (options->terminal)
        add_for_terminal(out, lines->line.data, lines->line.len);
    else
        buf_add(out, lines->line.data, lines->line.len);
    if (ends && (breaks || options->prefix))
        buf_add_string(out, "\n");
}

/* --- the last lines --- */

static size_t count_breaks(const char *at, size_t len)
{
    size_t count = 0;
    const char *end = at + len;
    while (at < end && (at = memchr(at, '\n', (size_t)(end - at)))) {
        count++;
        at++;
    }
    return count;
}

/* Drops what is before the last lines, and what is more than can be kept. */
static void trim(struct log_lines *lines)
{
    struct buf *kept = &lines->kept;
    int32_t left = lines->options.tail;
    size_t at = kept->len;
    if (at && kept->data[at - 1] == '\n')
        at--;
    while (at && (kept->data[at - 1] != '\n' || --left > 0))
        at--;
    if (kept->len - at > KEPT_BYTES) {
        at = kept->len - KEPT_BYTES;
        lines->lost = true;
    }
    buf_consume(kept, at);
    lines->kept_lines = kept->len ? count_breaks(kept->data, kept->len) : 0;
}

static void keep(struct log_lines *lines, bool breaks)
{
    struct buf *kept = &lines->kept;
    buf_add(kept, lines->line.data, lines->line.len);
    if (breaks)
        buf_add_string(kept, "\n");
    lines->kept_lines += breaks;
    if (lines->kept_lines > 2 * (size_t)lines->options.tail + KEPT_MORE ||
        kept->len > 2 * (size_t)KEPT_BYTES)
        trim(lines);
}

/* The log has ended: now it is known which lines are the last. */
static void show_kept(struct log_lines *lines, struct buf *out)
{
    struct buf kept;
    trim(lines);
    if (lines->lost && lines->kept_lines < (size_t)lines->options.tail)
        buf_printf(out, "[the last %d lines are too long: these are their last %d MiB]\n",
                   (int)lines->options.tail, KEPT_BYTES >> 20);
    kept = lines->kept;
    lines->kept = (struct buf){0};
    lines->options.tail = 0;
    lines->options.has_markers = false;
    lines->options.only_behind = NULL;
    lines->inside = lines->hidden = false;
    log_lines_add(lines, kept.data, kept.len, out);
    buf_free(&kept);
}

/* --- lines --- */

/* Handles the line, or its next part: it `ends`, with a line break or at the end of the log. */
static void flush(struct log_lines *lines, bool ends, bool breaks, struct buf *out)
{
    const struct log_lines_options *options = &lines->options;
    buf_add(&lines->line, "", 0);
    if (!lines->inside) {
        lines->hidden = (options->has_markers || options->only_behind) && is_marker(lines);
        if (options->only_behind && !lines->behind)
            lines->hidden = true;
    }
    if (!lines->hidden && options->tail)
        keep(lines, breaks);
    else if (!lines->hidden)
        show(lines, ends, breaks, out);
    lines->seen += breaks;
    lines->inside = !ends;
    buf_clear(&lines->line, 1 << 16);
}

static bool passes_through(const struct log_lines_options *options)
{
    return !options->terminal && !options->prefix && !options->grep && !options->has_markers &&
           !options->only_behind && !options->since_ms && !options->tail;
}

void log_lines_add(struct log_lines *lines, const char *bytes, size_t len, struct buf *out)
{
    if (passes_through(&lines->options)) {
        buf_add(out, bytes, len);
        return;
    }
    while (len) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end ? (size_t)(end - bytes) : len, room = LINE_BYTES - lines->line.len;
        if (part > room) {
            part = room;
            end = NULL;
        }
        buf_add(&lines->line, bytes, part);
        if (end)
            flush(lines, true, true, out);
        else if (lines->line.len == LINE_BYTES)
            flush(lines, false, false, out);
        bytes += part + (end != NULL);
        len -= part + (end != NULL);
    }
}

bool log_lines_has_tail(const struct log_lines *lines)
{
    return lines->kept_lines >= (size_t)lines->options.tail || lines->lost;
}

static void end_line(struct log_lines *lines, struct buf *out)
{
    if (lines->line.len || lines->inside)
        flush(lines, true, false, out);
}

void log_lines_end(struct log_lines *lines, struct buf *out)
{
    end_line(lines, out);
    if (lines->options.tail) {
        show_kept(lines, out);
        end_line(lines, out);
    }
    buf_free(&lines->line);
}
