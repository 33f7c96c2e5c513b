/* Prints the console's own text, and the output of the task and the session. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/terminal.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Bytes for each write to a terminal: few, so that ^C takes effect soon. */
enum { PIECE = 4096 };

/* --- printing --- */

/* Waits while the terminal takes no bytes: a program that shares it may have left it non-blocking.
 * False if `stoppable` and ^C came first; the rest is not printed. */
static bool write_terminal(const char *text, size_t len, bool stoppable)
{
    struct pollfd room = {.fd = STDOUT_FILENO, .events = POLLOUT};
    while (len && !(stoppable && input_is_interrupted())) {
        ssize_t wrote = write(STDOUT_FILENO, text, len < PIECE ? len : PIECE);
        if (wrote < 0 && (errno == EAGAIN || errno == EINTR))
            wrote = poll(&room, 1, -1) < 0 && errno != EINTR ? -1 : 0;
        if (wrote < 0)
            return true;
        text += wrote;
        len -= (size_t)wrote;
    }
    return !len;
}

/* False if ^C came first. */
static bool print(const struct console *console, const char *text, size_t len, bool stoppable)
{
    if (!console->interactive) {
        fwrite(text, 1, len, stdout);
        fflush(stdout);
        return true;
    }
    fflush(stdout);
    return write_terminal(text, len, stoppable);
}

void console_measure(struct console *console)
{
    console->style.columns = terminal_columns(stdout);
}

void console_print(struct console *console, const char *format, ...)
{
    va_list args;
    char *text = NULL;
    input_hide(console->input);
    va_start(args, format);
    int len = vasprintf(&text, format, args);
    va_end(args);
    if (len > 0)
        print(console, text, (size_t)len, false);
    if (len >= 0)
        free(text);
}

void console_write(struct console *console, struct buf *out)
{
    console_flush_output(console); /* what was printed before a value stands before it */
    input_hide(console->input);
    if (out->len && !print(console, out->data, out->len, out->len > PIECE)) {
        fputs(console->style.colour ? "\033[0m\n" : "\n", stdout);
        if (!console->queue.count) { /* else ^C stays pending and ends the queue, too */
            input_interrupted();
            console_note(console, "interrupted");
        }
        fflush(stdout);
    }
    buf_free(out);
}

void console_note(struct console *console, const char *format, ...)
{
    FILE *stream = console->interactive ? stdout : stderr;
    va_list args;
    input_hide(console->input);
    fputs(console->style.colour ? "\033[2m[" : "[", stream);
    va_start(args, format);
    vfprintf(stream, format, args);
    va_end(args);
    fputs(console->style.colour ? "]\033[0m\n" : "]\n", stream);
    fflush(stream);
}

int console_error(struct console *console, const char *format, ...)
{
    va_list args;
    input_hide(console->input);
    bool colour = console->style.colour && terminal_colour(stderr);
    fputs(colour ? "\033[31m*** " : "*** ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputs(colour ? "\033[0m\n" : "\n", stderr);
    return -1;
}

/* A worker that dies is reported by the session, and by each request that it leaves unanswered. */
static bool is_said(const struct console *console, const struct err *err)
{
    return console->said && *err->what && strstr(console->said, err->what);
}

int console_fail(struct console *console, const struct err *err)
{
    if (is_said(console, err)) {
        console->said_again = true;
        return -1;
    }
    char *what = text_printable(err->what, strlen(err->what), "");
    char *why = text_printable(err->why, strlen(err->why), "\n");
    console_error(console, "%s%s%s", what, *why ? "\n    " : "", why);
    free(what);
    free(why);
    return -1;
}

/* --- the task's output --- */

static void print_output(struct console *console, const char *category, const char *text,
                         size_t len)
{
    bool plain = text_equal(category, "stdout");
    bool dim = !plain && console->style.colour;
    char *clean = text_printable(text, len, "\n\t");
    if (plain || console->interactive) {
        console_print(console, "%s%s%s", dim ? "\033[2m" : "", clean, dim ? "\033[0m" : "");
    } else {
        input_hide(console->input);
        fputs(clean, stderr);
    }
    free(clean);
}

void console_flush_output(struct console *console)
{
    if (!console->partial.len)
        return;
    buf_add_string(&console->partial, "\n");
    print_output(console, "stdout", console->partial.data, console->partial.len);
    buf_clear(&console->partial, 4096);
}

/* debugpy sends a line and its line end in two events: an incomplete line waits for the rest. */
static void on_stdout(struct console *console, const char *text)
{
    buf_add_string(&console->partial, text);
    if (!console->partial.len)
        return;
    for (char *at = console->partial.data; (at = strstr(at, "\r\n")); at++)
        *at = ' ';
    const char *newline = memrchr(console->partial.data, '\n', console->partial.len);
    if (!newline)
        return;
    size_t len = (size_t)(newline - console->partial.data) + 1;
    print_output(console, "stdout", console->partial.data, len);
    buf_consume(&console->partial, len);
}

/* Messages that the user does not need: Ray's about breakpoint() and about our connection;
 * debugpy's about a slow evaluation, which the console replaces by a shorter note; pydevd's about
 * the exception by which Ray ends a worker whose driver is gone. */
static bool is_noise(const char *text)
{
    static const char *const starts[] = {"Debugger client is connected", "Ray debugger is ",
                                         "Waiting for debugger to attach",
                                         "<class 'SystemExit'> raised from within the callback"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (text_starts(text, starts[i]))
            return true;
    return text_starts(text, "Evaluating: ") && strstr(text, "did not finish after");
}

/* Removes the prefix by which logs identify the session's lines. */
static const char *without_name(const char *text)
{
    return text_starts(text, "raydbg: ") ? text + strlen("raydbg: ") : text;
}

void console_on_output(void *arg, const char *category, const char *text)
{
    struct console *console = arg;
    bool ours = text_starts(text, "raydbg: ");
    bool why_not = console->silent && ours && text_equal(category, "important");
    console->told_why_not |= why_not;
    if ((console->silent && !why_not) || (console->options->quiet && !ours))
        return;
    if (ours && text_equal(category, "important")) {
        free(console->said);
        console->said = mem_string(without_name(text));
    }
    /* The console has said so itself, at ^C. */
    if (ours && text_equal(without_name(text), "what was still being evaluated was interrupted\n"))
        return;
    if (ours && strstr(text, "INTENDED")) /* Ray's exit type: not a failure */
        console->end_intended = true;
    bool task_over = ours && text_equal(without_name(text), "the task has ended\n"); /* from pdb */
    if (task_over)
        console->end_intended = true;
    if (ours && text_equal(without_name(text), "the actor's call has ended\n")) /* from pdb, too */
        console->call_over = true; /* printed when the console has nothing left to wait for */
    else if (console->end_intended && strstr(text, "job has finished"))
        console->job_over = true; /* printed when the console ends */
    else if (task_over || (console->end_intended && strstr(text, "it was idle")))
        console->worker_over = true; /* also printed then: the task had ended before its worker */
    else if (text_equal(category, "stdout"))
        on_stdout(console, text);
    else if (!is_noise(text))
        print_output(console, category, without_name(text), strlen(without_name(text)));
}
