/* What the console prints: its own words, and what the task and the session say. */
#include "cli/console_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- printing --- */

void console_print(struct console *console, const char *format, ...)
{
    va_list args;
    input_hide(console->input);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    fflush(stdout);
}

void console_write(struct console *console, struct buf *out)
{
    input_hide(console->input);
    if (out->len)
        fwrite(out->data, 1, out->len, stdout);
    fflush(stdout);
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
    fputs("*** ", stderr);
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fputc('\n', stderr);
    return -1;
}

int console_fail(struct console *console, const struct err *err)
{
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
    FILE *stream = plain || console->interactive ? stdout : stderr;
    bool dim = !plain && console->style.colour;
    char *clean = text_printable(text, len, "\n\t");
    input_hide(console->input);
    fprintf(stream, "%s%s%s", dim ? "\033[2m" : "", clean, dim ? "\033[0m" : "");
    fflush(stream);
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

/* debugpy sends a line and its end in two events: what is no whole line waits for the rest. */
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

/* What the user does not have to read: Ray's words on a breakpoint() and on our own coming, and
 * debugpy's long one on a slow evaluation, which is said in a line of our own. */
static bool is_noise(const char *text)
{
    static const char *const starts[] = {"Debugger client is connected", "Ray debugger is ",
                                         "Waiting for debugger to attach"};
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (text_starts(text, starts[i]))
            return true;
    return text_starts(text, "Evaluating: ") && strstr(text, "did not finish after");
}

/* The session speaks for a log, where each line says who speaks. */
static const char *without_name(const char *text)
{
    return text_starts(text, "raydbg: ") ? text + strlen("raydbg: ") : text;
}

void console_on_output(void *arg, const char *category, const char *text)
{
    struct console *console = arg;
    bool ours = text_starts(text, "raydbg: ");
    if (console->silent || (console->options->quiet && !ours))
        return;
    if (ours && strstr(text, "INTENDED")) /* Ray's word: nobody would call it a death */
        console->fate_intended = true;
    bool task_over = ours && text_equal(without_name(text), "the task has ended\n"); /* pdb's */
    if (task_over)
        console->fate_intended = true;
    if (ours && text_equal(without_name(text), "the actor's call has ended\n")) /* pdb's, too */
        console->call_over = true; /* said when the console has nothing more to wait for */
    else if (console->fate_intended && strstr(text, "job has finished"))
        console->job_over = true; /* said when the console ends */
    else if (task_over || (console->fate_intended && strstr(text, "it was idle")))
        console->worker_over = true; /* the same: its task was over before */
    else if (text_equal(category, "stdout"))
        on_stdout(console, text);
    else if (!is_noise(text))
        print_output(console, category, without_name(text), strlen(without_name(text)));
}
