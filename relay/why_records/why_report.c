#include "relay/why_records/why_report.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/ray_path.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *format_text(const char *format, va_list arguments)
{
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        abort();
    return text;
}

void why_list_clear(struct why_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        free(list->items[i]);
    free(list->items);
}

void why_report_clear(struct why_report *report)
{
    free(report->id);
    free(report->name);
    free(report->state);
    free(report->summary);
    free(report->cause);
    why_list_clear(&report->details);
    why_list_clear(&report->ray);
    why_list_clear(&report->unknown);
    why_list_clear(&report->next);
    for (size_t i = 0; i < report->frame_count; i++) {
        free(report->frames[i].file);
        free(report->frames[i].function);
    }
    for (size_t i = 0; i < report->chain_count; i++) {
        free(report->chain[i].id);
        free(report->chain[i].text);
    }
    free(report->frames);
    free(report->chain);
    *report = (struct why_report){0};
}

void why_list_add(struct why_list *list, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = format_text(format, arguments);
    va_end(arguments);
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->items[i], text) == 0) {
            free(text);
            return;
        }
    }
    list->items = mem_resize(list->items, list->count + 1, sizeof *list->items);
    list->items[list->count++] = text;
}

void why_report_cause(struct why_report *report, const char *code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    free(report->cause);
    report->cause = format_text(format, arguments);
    va_end(arguments);
    report->code = code;
}

void why_report_link(struct why_report *report, const char *kind, const char *id,
                     const char *format, ...)
{
    va_list arguments;
    for (size_t i = 0; i < report->chain_count; i++)
        if (report->chain[i].kind == kind && strcmp(report->chain[i].id, id) == 0)
            return;
    report->chain = mem_resize(report->chain, report->chain_count + 1, sizeof *report->chain);
    struct why_link *link = &report->chain[report->chain_count++];
    va_start(arguments, format);
    *link = (struct why_link){kind, mem_string(id), format_text(format, arguments)};
    va_end(arguments);
}

/* --- frames --- */

/* Directories of code that is not the user's, beside Ray's. */
static const char *const foreign[] = {"/site-packages/", "/dist-packages/", "/lib/python3",
                                      "<frozen "};

static bool is_users(const char *file)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (strstr(file, foreign[i]))
            return false;
    return !ray_path_is(file, strlen(file));
}

void why_report_frame(struct why_report *report, const char *file, size_t file_len, int64_t line,
                      const char *function, size_t function_len)
{
    report->frames = mem_resize(report->frames, report->frame_count + 1, sizeof *report->frames);
    struct why_frame *frame = &report->frames[report->frame_count++];
    *frame = (struct why_frame){.file = mem_string_n(file, file_len),
                                .line = line,
                                .function = mem_string_n(function, function_len)};
    frame->is_users = is_users(frame->file);
}

static void reverse_frames(struct why_report *report, size_t first)
{
    for (size_t last = report->frame_count; first + 1 < last; first++, last--) {
        struct why_frame frame = report->frames[first];
        report->frames[first] = report->frames[last - 1];
        report->frames[last - 1] = frame;
    }
}

/* Reads `  File "app.py", line 19, in die`, or without the comma before `in`. */
static bool add_frame(struct why_report *report, const char *line, size_t len)
{
    static const char begins[] = "File \"", number[] = "\", line ";
    const char *at = memmem(line, len, begins, sizeof begins - 1);
    if (!at)
        return false;
    const char *file = at + sizeof begins - 1, *end = line + len;
    const char *quote = memmem(file, (size_t)(end - file), number, sizeof number - 1);
    if (!quote)
        return false;
    char *after;
    long long where = strtoll(quote + sizeof number - 1, &after, 10);
    if (after > end) /* it has skipped the line's end */
        return false;
    const char *in = memmem(after, (size_t)(end - after), "in ", 3);
    if (!in)
        return false;
    in += 3;
    why_report_frame(report, file, (size_t)(quote - file), where, in, (size_t)(end - in));
    return true;
}

void why_report_traceback(struct why_report *report, const char *text)
{
    size_t first = report->frame_count;
    const char *innermost_first = strstr(text, "(most recent call first)");
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        add_frame(report, line, len);
        line += len + (line[len] == '\n');
    }
    if (innermost_first)
        reverse_frames(report, first);
}

/* --- texts --- */

/* Copies text without the sequences that set a terminal's colours. */
static char *without_colours(const char *text, size_t len)
{
    struct buf out = {0};
    for (size_t i = 0; i < len; i++) {
        if (text[i] == '\033' && i + 1 < len && text[i + 1] == '[') {
            i += 2;
            while (i < len && (text[i] < '@' || text[i] > '~'))
                i++;
        } else {
            buf_add(&out, &text[i], 1);
        }
    }
    buf_add_string(&out, "");
    return buf_take(&out);
}

static bool begins_exception(const char *line, size_t len)
{
    return len > 0 && line[0] != ' ' && line[0] != '\t' && line[0] != '\033';
}

char *why_report_exception(const char *text)
{
    const char *last = "";
    size_t last_len = 0;
    bool in_frames = false; /* the text of a message of several lines does not count */
    for (const char *line = text; *line;) {
        size_t len = strcspn(line, "\n");
        bool begins = begins_exception(line, len);
        if (!begins && len > 2 && memmem(line, len, "File \"", 6)) {
            in_frames = true;
        } else if (begins && in_frames) {
            last = line;
            last_len = len;
            in_frames = false;
        }
        line += len + (line[len] == '\n');
    }
    return without_colours(last, last_len);
}

char *why_first_words(const char *text)
{
    /* Beginnings of Ray's list of common causes: 2.34 and later, and 2.9. */
    static const char *const lists[] = {"Some common causes include",
                                        "There are some potential root causes"};
    size_t len = strcspn(text, "\n");
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        const char *list = strstr(text, lists[i]);
        if (list && (size_t)(list - text) < len)
            len = (size_t)(list - text);
    }
    while (len && text[len - 1] == ' ')
        len--;
    return without_colours(text, len);
}

char *why_span(int64_t ms, char out[WHY_SPAN_TEXT])
{
    if (ms < 0)
        snprintf(out, WHY_SPAN_TEXT, "?");
    else if (ms < 10000)
        snprintf(out, WHY_SPAN_TEXT, "%.1f s", (double)ms / 1000);
    else if (ms < 120000)
        snprintf(out, WHY_SPAN_TEXT, "%lld s", (long long)ms / 1000);
    else if (ms < 2LL * 3600000)
        snprintf(out, WHY_SPAN_TEXT, "%lld m", (long long)ms / 60000);
    else if (ms < 48LL * 3600000)
        snprintf(out, WHY_SPAN_TEXT, "%lld h", (long long)ms / 3600000);
    else
        snprintf(out, WHY_SPAN_TEXT, "%lld d", (long long)ms / (24LL * 3600000));
    return out;
}
