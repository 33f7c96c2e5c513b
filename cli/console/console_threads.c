/* The worker's threads, and the exception that stopped one. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/console/console_parse.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct row {
    int64_t id;
    int64_t number; /* the number that users type */
    char *name;
    bool stopped;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *left = a, *right = b;
    return (left->number > right->number) - (left->number < right->number);
}

/* A copy: requests change the client's list of threads. With many tasks the session's ids are
 * large, so users see a count instead. */
static struct row *copy_rows(const struct console *console, const struct dap_client_thread *threads,
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

char *thread_location(struct console *console, int64_t id)
{
    char arguments[128];
    struct reply reply;
    struct err err;
    snprintf(arguments, sizeof arguments,
             "{\"threadId\":%" PRId64 ",\"startFrame\":0,\"levels\":1}", id);
    if (dap_client_request(console->debuggee, "stackTrace", arguments, &reply, &err) != 0)
        return NULL;
    size_t cursor = 0;
    struct json frame, list = json_get(reply.body, "stackFrames");
    char *location = NULL;
    if (json_each(list, &cursor, &frame)) {
        char *path = json_string(frame, "source/path");
        char *name = json_string(frame, "name");
        char *shown = console_format_path(&console->style, path ? path : "?", console->cwd);
        char *clean = text_printable(name ? name : "?", strlen(name ? name : "?"), "");
        location = mem_format("%s:%" PRId64 " in %s", shown, json_integer(frame, "line", 0), clean);
        free(path);
        free(name);
        free(shown);
        free(clean);
    }
    reply_clear(&reply);
    return location;
}

void thread_announce(struct console *console, int64_t id)
{
    const struct dap_client_thread *known = dap_client_thread(console->debuggee, id);
    struct err err;
    size_t count;
    if (known && !known->name) {
        dap_client_threads(console->debuggee, &known, &count, &err);
        known = dap_client_thread(console->debuggee, id);
    }
    if (!known)
        return;
    const char *raw = known->name ? known->name : "?";
    char *name = text_printable(raw, strlen(raw), "");
    char *location = thread_location(console, id);
    if (console->options->many)
        console_note(console, "%s stopped%s%s", name, location ? " at " : "",
                     location ? location : "");
    else
        console_note(console, "thread %" PRId64 " (%s) stopped%s%s", id, name,
                     location ? " at " : "", location ? location : "");
    free(name);
    free(location);
}

static void print_row(struct console *console, const struct row *row, int width,
                      const char *location)
{
    const char *mark = row->id == console->thread ? console_format_arrow(&console->style)
                       : console->style.utf8      ? " "
                                                  : "  ";
    int used = (int)console_format_characters(row->name, strlen(row->name));
    console_print(console, "  %s %3" PRId64 "  %s%*s  %s%s%s\n", mark, row->number, row->name,
                  width - used, "", row->stopped ? "stopped" : "running", location ? " at " : "",
                  location ? location : "");
}

static void print_row_json(struct console *console, struct buf *out, const struct row *row,
                           const char *location)
{
    buf_printf(out, "%s{\"thread\":%" PRId64 ",\"name\":", out->len ? ",\n " : "[", row->number);
    message_quote(out, row->name);
    buf_printf(out, ",\"state\":\"%s\",\"place\":", row->stopped ? "stopped" : "running");
    if (location)
        message_quote(out, location);
    else
        buf_add_string(out, "null");
    buf_printf(out, ",\"selected\":%s}", row->id == console->thread ? "true" : "false");
}

int console_verb_threads(struct console *console, char *argument)
{
    (void)argument;
    const struct dap_client_thread *threads;
    size_t count;
    struct err err;
    struct buf json = {0};
    if (dap_client_threads(console->debuggee, &threads, &count, &err) != 0)
        return console_fail(console, &err);
    struct row *rows = copy_rows(console, threads, count);
    int width = 0;
    for (size_t i = 0; i < count; i++) {
        int wide = (int)console_format_characters(rows[i].name, strlen(rows[i].name));
        width = wide > width ? wide : width;
    }
    for (size_t i = 0; i < count; i++) {
        char *location = rows[i].stopped ? thread_location(console, rows[i].id) : NULL;
        if (console->options->json)
            print_row_json(console, &json, &rows[i], location);
        else
            print_row(console, &rows[i], width, location);
        free(location);
    }
    if (console->options->json) {
        buf_add_string(&json, count ? "]\n" : "[]\n");
        console_write(console, &json);
    }
    free_rows(rows, count);
    return 0;
}

static const struct dap_client_thread *numbered(struct console *console, int64_t number)
{
    size_t count;
    const struct dap_client_thread *threads = dap_client_known(console->debuggee, &count);
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
    const struct dap_client_thread *thread = numbered(console, id);
    if (!thread)
        return console_error(console, "there is no thread %" PRId64 ": threads lists them", id);
    if (!thread->stopped)
        return console_error(console, "thread %" PRId64 " is running", id);
    return stop_show(console, thread->id);
}

static bool is_link(const char *line)
{
    return text_starts(line, "The above exception was the direct cause of") ||
           text_starts(line, "During handling of the above exception,");
}

/* Prints the exceptions of a chained traceback, the first one first: the last line of each part
 * names one. */
static void print_chain(struct console *console, char *trace, const char *newest)
{
    const char *last = NULL;
    int number = 0;
    for (char *line; (line = strsep(&trace, "\n"));) {
        if (is_link(line) && last)
            console_print(console, "  %s %d  %s\n", console->style.utf8 ? " " : "  ", number++,
                          last);
        else if (*line && *line != ' ' && !text_starts(line, "Traceback "))
            last = line;
    }
    console_print(console, "  %s %d  %s\n", console_format_arrow(&console->style), number, newest);
}

/* The exception that a thread has stopped at. */
struct raised {
    char *trace; /* NULL: not known */
    char *line;  /* "ValueError: no" */
};

/* False: the user has been told why not. */
static bool ask_raised(struct console *console, struct raised *out)
{
    char arguments[64];
    struct reply reply;
    struct err err;
    if (!console->post_mortem) {
        console_error(console, "this thread did not stop at an exception");
        return false;
    }
    snprintf(arguments, sizeof arguments, "{\"threadId\":%" PRId64 "}", console->thread);
    if (dap_client_request(console->debuggee, "exceptionInfo", arguments, &reply, &err) != 0) {
        console_fail(console, &err);
        return false;
    }
    char *type = json_string(reply.body, "exceptionId");
    char *message = json_string(reply.body, "description");
    console_format_strip_note(type);
    out->trace = json_string(reply.body, "details/stackTrace");
    out->line = mem_format("%s%s%s", type ? type : "exception", text_empty(message) ? "" : ": ",
                           message ? message : "");
    free(message);
    free(type);
    reply_clear(&reply);
    return true;
}

static void raised_clear(struct raised *raised)
{
    free(raised->trace);
    free(raised->line);
}

/* Like pdb of Python 3.13. The frames are those of the newest exception: debugpy keeps no
 * others. */
int console_verb_exceptions(struct console *console, char *argument)
{
    (void)argument;
    struct raised raised;
    if (!ask_raised(console, &raised))
        return -1;
    const char *trace = raised.trace ? raised.trace : "";
    char *clean = text_printable(trace, strlen(trace), "\n");
    char *newest = text_printable(raised.line, strcspn(raised.line, "\n"), "");
    print_chain(console, clean, newest);
    free(newest);
    free(clean);
    raised_clear(&raised);
    return 0;
}

int console_verb_exceptioninfo(struct console *console, char *argument)
{
    (void)argument;
    struct raised raised;
    struct buf out = {0};
    if (!ask_raised(console, &raised))
        return -1;
    if (!text_empty(raised.trace))
        console_format_value(&out, &console->style, raised.trace, 0, false, "");
    if (!raised.trace || !text_ends(parse_strip(raised.trace), raised.line))
        console_format_value(&out, &console->style, raised.line, 0, false, "");
    console_write(console, &out);
    raised_clear(&raised);
    return 0;
}
