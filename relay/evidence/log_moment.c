#include "relay/evidence/log_moment.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/evidence/log_time.h"

#include <stdlib.h>
#include <string.h>

/* The lines without a time that are shown of a process that died. */
enum { LAST_WORDS = 12 };

struct line {
    int64_t ms;
    size_t order;
    char *text; /* with its prefix, and a line break */
};

struct log_moment {
    struct log_reader_options options;
    struct line *lines;
    size_t count, room;
};

struct log_moment *log_moment_create(const struct log_reader_options *options)
{
    struct log_moment *moment = mem_alloc(sizeof *moment);
    *moment = (struct log_moment){.options = *options};
    return moment;
}

static void take(struct log_moment *moment, int64_t ms, const char *prefix, const char *text,
                 size_t len)
{
    const struct log_lines_options options = {.terminal = moment->options.terminal,
                                              .grep = moment->options.grep,
                                              .prefix = prefix,
                                              .has_markers = true};
    struct log_lines lines = {.options = options};
    struct buf out = {0};
    log_lines_add(&lines, text, len, &out);
    log_lines_end(&lines, &out);
    if (!out.len)
        return;
    moment->lines = mem_grow(moment->lines, moment->count, &moment->room, sizeof *moment->lines);
    buf_add(&out, "", 1);
    moment->lines[moment->count] = (struct line){ms, moment->count, buf_take(&out)};
    moment->count++;
}

/* The beginning of the last lines without a time, LAST_WORDS at most. */
static const char *last_words(const char *text, size_t len)
{
    const char *at = text + len, *found = at;
    for (int count = 0; at > text && count < LAST_WORDS; count++) {
        const char *begin = at - 1;
        while (begin > text && begin[-1] != '\n')
            begin--;
        if (log_time_of(begin, (size_t)(at - begin)))
            break;
        found = at = begin;
    }
    return found;
}

void log_moment_add(struct log_moment *moment, const char *prefix, const char *text, size_t len,
                    int64_t died_ms)
{
    const struct log_reader_options *options = &moment->options;
    bool died = died_ms >= options->from_ms && died_ms <= options->to_ms;
    const char *end = text + len, *last = died && len ? last_words(text, len) : end;
    int64_t ms = 0;
    for (const char *at = text; at < end;) {
        const char *line_end = memchr(at, '\n', (size_t)(end - at));
        size_t line_len = (size_t)((line_end ? line_end : end) - at);
        int64_t own = log_time_of(at, line_len);
        if (own)
            ms = own;
        int64_t when = at >= last ? died_ms : ms;
        if (when >= options->from_ms && when <= options->to_ms)
            take(moment, when, prefix, at, line_len);
        at += line_len + 1;
    }
}

static int compare_lines(const void *left, const void *right)
{
    const struct line *a = left, *b = right;
    if (a->ms != b->ms)
        return a->ms < b->ms ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

void log_moment_show(struct log_moment *moment, struct buf *out)
{
    char time[LOG_TIME_TEXT];
    if (moment->count)
        qsort(moment->lines, moment->count, sizeof *moment->lines, compare_lines);
    for (size_t i = 0; i < moment->count; i++)
        buf_printf(out, "%s  %s", log_time_text(moment->lines[i].ms, time), moment->lines[i].text);
}

void log_moment_free(struct log_moment **moment)
{
    for (size_t i = 0; *moment && i < (*moment)->count; i++)
        free((*moment)->lines[i].text);
    if (*moment)
        free((*moment)->lines);
    free(*moment);
    *moment = NULL;
}
