/* Shows a thread's stop: the location, the reason, displays, and a breakpoint's commands. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CONTEXT_LINES = 2 };

static void print_header(struct console *console, const char *how)
{
    const struct pause *pause = console->options->pause;
    const struct cluster_facts *facts =
        console->options->origin ? pause_source_facts(console->options->origin) : NULL;
    const char *dot = console_format_dot(&console->style);
    struct buf out = {0};
    if (console->options->quiet || console->greeted)
        return;
    console_format_tinted(&out, &console->style, TINT_BOLD, console->title);
    if (pause && *pause->job_id) {
        size_t len = strlen(pause->job_id);
        while (len > 2 && memcmp(pause->job_id + len - 2, "00", 2) == 0)
            len -= 2;
        buf_printf(&out, "%sjob %.*s", dot, (int)len, pause->job_id);
    }
    if (pause && pause->pid) { /* Ray <= 2.34 does not give a pdb's */
        buf_printf(&out, "%s", dot);
        console_format_one_line(&out, &console->style, pause->node_ip ? pause->node_ip : "?", 60);
        buf_printf(&out, " pid %" PRId64, pause->pid);
    }
    if (facts && *facts->python_version) {
        buf_printf(&out, "%sPython ", dot);
        console_format_one_line(&out, &console->style, facts->python_version, 20);
    }
    buf_printf(&out, "%s%s\n", dot, how);
    console_write(console, &out);
}

/* "ValueError: bad 3" of the exception that stopped the thread. */
static void print_exception(struct console *console, const char *fallback)
{
    char arguments[64];
    struct reply reply;
    struct err err;
    char *type = NULL, *message = NULL;
    snprintf(arguments, sizeof arguments, "{\"threadId\":%" PRId64 "}", console->thread);
    if (dap_client_request(console->debuggee, "exceptionInfo", arguments, &reply, &err) == 0) {
        type = json_string(reply.body, "exceptionId");
        message = json_string(reply.body, "description");
        console_format_strip_note(type);
    }
    reply_clear(&reply);
    char *line = text_empty(type)      ? mem_string(fallback)
                 : text_empty(message) ? mem_string(type)
                                       : mem_format("%s: %s", type, message);
    struct buf out = {0};
    console_format_tint(&out, &console->style, TINT_ERROR);
    console_format_one_line(&out, &console->style, line, 2 * console->style.columns);
    console_format_tint(&out, &console->style, TINT_PLAIN);
    buf_add_string(&out, "\n");
    console_write(console, &out);
    free(line);
    free(type);
    free(message);
}

static bool is_breakpoint_call(struct console *console, const struct stack_frame *frame)
{
    const struct source *source = stack_source(console, frame);
    const char *line = source ? source_line(source, frame->line) : NULL;
    return line && strstr(line, "breakpoint(");
}

/* Prints the location and the lines around it; only the current line if the previous stop was in
 * the same function. */
static void print_stop(struct console *console, const struct stack_frame *frame, const char *note)
{
    char *function = mem_format("%s\n%s", frame->path, frame->name);
    bool same = text_equal(function, console->shown_function) && text_empty(note);
    int64_t around = same ? 0 : CONTEXT_LINES;
    if (!same)
        stack_print_location(console, frame, note);
    stack_print_lines(console, frame, frame->line - around, frame->line + around);
    free(console->shown_function);
    console->shown_function = function;
}

/* The reason for the stop, printed after the location; "" if there is nothing to add. */
static void note_of(struct console *console, const struct dap_client_thread *thread, int number,
                    bool other, char *note, size_t size)
{
    if (number)
        snprintf(note, size, "breakpoint %d", number);
    else if (text_equal(thread->reason, "pause"))
        text_copy(note, size, "paused");
    else if (text_equal(thread->reason, "step") && text_equal(thread->text, "returns"))
        text_copy(note, size, "returns"); /* from pdb's agent */
    else
        text_copy(note, size, other ? console->label : "");
}

static void select_thread(struct console *console, int64_t id)
{
    dap_client_seen(console->debuggee, id);
    console->thread = console->last_thread = id;
    if (console->options->many)
        many_name(console, id);
    else
        snprintf(console->label, sizeof console->label, "thread %" PRId64, id);
}

/* Shows the stop of the selected thread, whose stack is loaded; `text` is the exception's. */
static void show(struct console *console, const char *text, const char *note, int number)
{
    const struct stack_frame *frame = stack_selected(console);
    print_header(console, console->post_mortem                 ? "post mortem"
                          : number                             ? "stopped at a breakpoint"
                          : is_breakpoint_call(console, frame) ? "stopped at breakpoint()"
                                                               : "stopped");
    console->greeted = true;
    if (console->post_mortem)
        print_exception(console, text);
    print_stop(console, frame, note);
    displays_show(console);
}

int stop_show(struct console *console, int64_t id)
{
    const struct dap_client_thread *thread = dap_client_thread(console->debuggee, id);
    struct err err;
    if (!thread)
        return console_error(console, "there is no thread %" PRId64, id);
    char *text = mem_string(thread->text ? thread->text : "exception");
    char *commands, note[64] = "";
    bool other = console->last_thread && console->last_thread != id;
    console->post_mortem = text_equal(thread->reason, "exception");
    console_measure(console);
    select_thread(console, id);
    console_format_strip_note(text);
    console_flush_output(console);
    if (stack_load(console, &err) != 0) {
        stack_clear(console);
        free(text);
        return console_fail(console, &err);
    }
    int number = breakpoints_hit(console, stack_selected(console), &commands);
    thread = dap_client_thread(console->debuggee, id); /* requests may have moved it */
    if (thread)
        note_of(console, thread, number, other, note, sizeof note);
    if (!scripts_silent(commands))
        show(console, text, note, number);
    scripts_queue(console, commands);
    free(commands);
    free(text);
    return 0;
}
