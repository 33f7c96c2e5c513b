#include "relay/evidence/log_lines.h"

#include "base/text.h"
#include "relay/evidence/log_time.h"
#include "relay/why_records/log_marker.h"

#include <stdlib.h>
#include <string.h>

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

/* Shows the line that is complete, and begins the next. */
static void flush(struct log_lines *lines, bool breaks, struct buf *out)
{
    const struct log_lines_options *options = &lines->options;
    buf_add(&lines->line, "", 0);
    bool hidden = (options->has_markers || options->only_behind) && is_marker(lines);
    if (options->only_behind && !lines->behind)
        hidden = true;
    if (!hidden && !is_before(lines) && matches(lines)) {
        if (options->prefix)
            buf_add_string(out, options->prefix);
        if (options->terminal)
            add_for_terminal(out, lines->line.data ? lines->line.data : "", lines->line.len);
        else
            buf_add(out, lines->line.data, lines->line.len);
        if (breaks || options->prefix)
            buf_add_string(out, "\n");
    }
    buf_clear(&lines->line, 1 << 16);
}

static bool passes_through(const struct log_lines_options *options)
{
    return !options->terminal && !options->prefix && !options->grep && !options->has_markers &&
           !options->only_behind && !options->since_ms;
}

void log_lines_add(struct log_lines *lines, const char *bytes, size_t len, struct buf *out)
{
    if (passes_through(&lines->options)) {
        buf_add(out, bytes, len);
        return;
    }
    while (len) {
        const char *end = memchr(bytes, '\n', len);
        size_t part = end ? (size_t)(end - bytes) : len;
        buf_add(&lines->line, bytes, part);
        if (end)
            flush(lines, true, out);
        bytes += part + (end != NULL);
        len -= part + (end != NULL);
    }
}

void log_lines_end(struct log_lines *lines, struct buf *out)
{
    if (lines->line.len)
        flush(lines, false, out);
    buf_free(&lines->line);
}
