/* The worker's threads, and the exception that stopped one. */
#include "cli/console_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/console_parse.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    int64_t id;
    int64_t number; /* what a user calls it */
    char *name;
    bool stopped;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

/* A copy, for what is known of threads changes while more is asked. Of many tasks the session's ids
 * are large: they are counted. */
static struct row *copy_rows(const struct console *console, const struct debuggee_thread *threads,
                             size_t count)
{
    struct row *rows = mem_array(count + 1, sizeof *rows);
    for (size_t i = 0; i < count; i++) {
        const char *name = threads[i].name ? threads[i].name : "?";
        rows[i] = (struct row){.id = threads[i].id,
                               .number = console->options->many ? threads[i].number : threads[i].id,
                               .name = text_printable(name, strlen(name), ""),
                               .stopped = threads[i].stopped};
    }
    qsort(rows, count, sizeof *rows, compare_rows);
    return rows;
}

static void free_rows(struct row *rows, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(rows[i].name);
    free(rows);
}

char *thread_place(struct console *console, int64_t id)
{
    char arguments[128];
    struct reply reply;
    struct err err;
    snprintf(arguments, sizeof arguments,
             "{\"threadId\":%" PRId64 ",\"startFrame\":0,\"levels\":1}", id);
    if (debuggee_request(console->debuggee, "stackTrace", arguments, &reply, &err) != 0)
        return NULL;
    size_t cursor = 0;
    struct json frame, list = json_get(reply.body, "stackFrames");
    char *place = NULL;
    if (json_each(list, &cursor, &frame)) {
        char *path = json_string(frame, "source/path");
        char *name = json_string(frame, "name");
        char *shown = view_path(&console->style, path ? path : "?", console->cwd);
        char *clean = text_printable(name ? name : "?", strlen(name ? name : "?"), "");
        place = mem_format("%s:%" PRId64 " in %s", shown, json_integer(frame, "line", 0), clean);
        free(path);
        free(name);
        free(shown);
        free(clean);
    }
    reply_clear(&reply);
    return place;
}

void thread_announce(struct console *console, int64_t id)
{
    const struct debuggee_thread *known = debuggee_thread(console->debuggee, id);
    struct err err;
    size_t count;
    if (known && !known->name) {
        debuggee_threads(console->debuggee, &known, &count, &err);
        known = debuggee_thread(console->debuggee, id);
    }
    if (!known)
        return;
    const char *raw = known->name ? known->name : "?";
    char *name = text_printable(raw, strlen(raw), "");
    char *place = thread_place(console, id);
    if (console->options->many)
        console_note(console, "%s stopped%s%s", name, place ? " at " : "", place ? place : "");
    else
        console_note(console, "thread %" PRId64 " (%s) stopped%s%s", id, name, place ? " at " : "",
                     place ? place : "");
    free(name);
    free(place);
}

static void print_row(struct console *console, const struct row *row, int width, const char *place)
{
    const char *mark = row->id == console->thread ? view_arrow(&console->style)
                       : console->style.utf8      ? " "
                                                  : "  ";
    int used = (int)view_characters(row->name, strlen(row->name));
    console_print(console, "  %s %3" PRId64 "  %s%*s  %s%s%s\n", mark, row->number, row->name,
                  width - used, "", row->stopped ? "stopped" : "running", place ? " at " : "",
                  place ? place : "");
}

static void print_row_json(struct console *console, struct buf *out, const struct row *row,
                           const char *place)
{
    buf_printf(out, "%s{\"thread\":%" PRId64 ",\"name\":", out->len ? ",\n " : "[", row->number);
    message_quote(out, row->name);
    buf_printf(out, ",\"state\":\"%s\",\"place\":", row->stopped ? "stopped" : "running");
    if (place)
        message_quote(out, place);
    else
        buf_add_string(out, "null");
    buf_printf(out, ",\"selected\":%s}", row->id == console->thread ? "true" : "false");
}

int console_verb_threads(struct console *console, char *argument)
{
    (void)argument;
    const struct debuggee_thread *threads;
    size_t count;
    struct err err;
    struct buf json = {0};
    if (debuggee_threads(console->debuggee, &threads, &count, &err) != 0)
        return console_fail(console, &err);
    struct row *rows = copy_rows(console, threads, count);
    int width = 0;
    for (size_t i = 0; i < count; i++) {
        int wide = (int)view_characters(rows[i].name, strlen(rows[i].name));
        width = wide > width ? wide : width;
    }
    for (size_t i = 0; i < count; i++) {
        char *place = rows[i].stopped ? thread_place(console, rows[i].id) : NULL;
        if (console->options->json)
            print_row_json(console, &json, &rows[i], place);
        else
            print_row(console, &rows[i], width, place);
        free(place);
    }
    if (console->options->json) {
        buf_add_string(&json, count ? "]\n" : "[]\n");
        console_write(console, &json);
    }
    free_rows(rows, count);
    return 0;
}

static const struct debuggee_thread *numbered(struct console *console, int64_t number)
{
    size_t count;
    const struct debuggee_thread *threads = debuggee_known(console->debuggee, &count);
    for (size_t i = 0; i < count; i++)
        if (number == (console->options->many ? threads[i].number : threads[i].id))
            return &threads[i];
    return NULL;
}

int console_verb_thread(struct console *console, char *argument)
{
    int64_t id;
    if (!*argument)
        return console_verb_threads(console, argument);
    bool number = text_to_int(argument, INT64_MIN, INT64_MAX, &id);
    if (console->options->many && !(number && numbered(console, id)))
        return many_select(console, argument);
    if (!number)
        return console_error(console, "thread: '%s' is no number (threads lists them)", argument);
    const struct debuggee_thread *thread = numbered(console, id);
    if (!thread)
        return console_error(console, "there is no thread %" PRId64 ": threads lists them", id);
    if (!thread->stopped)
        return console_error(console, "thread %" PRId64 " is running", id);
    return run_show_stop(console, thread->id);
}

int console_verb_exceptioninfo(struct console *console, char *argument)
{
    (void)argument;
    char arguments[64];
    struct reply reply;
    struct err err;
    if (!console->post_mortem)
        return console_error(console, "this thread did not stop at an exception");
    snprintf(arguments, sizeof arguments, "{\"threadId\":%" PRId64 "}", console->thread);
    if (debuggee_request(console->debuggee, "exceptionInfo", arguments, &reply, &err) != 0)
        return console_fail(console, &err);
    char *trace = json_string(reply.body, "details/stackTrace");
    char *type = json_string(reply.body, "exceptionId");
    char *message = json_string(reply.body, "description");
    struct buf out = {0};
    view_strip_note(type);
    char *line = mem_format("%s: %s", type ? type : "exception", message ? message : "");
    if (!text_empty(trace))
        view_value(&out, &console->style, trace, 0, false, "");
    if (!trace || !text_ends(text_strip(trace), line))
        view_value(&out, &console->style, line, 0, false, "");
    console_write(console, &out);
    free(line);
    free(trace);
    free(type);
    free(message);
    reply_clear(&reply);
    return 0;
}
