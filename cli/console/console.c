/* The console's life: attach, the first stop, commands, the goodbye. */
#include "cli/console/console.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/command_usage.h"
#include "cli/common/signals.h"
#include "cli/common/terminal.h"
#include "cli/console/console_names.h"
#include "cli/console/console_parse.h"
#include "cli/console/console_state.h"
#include "cli/text/console_block.h"
#include "dap/message.h"
#include "dap/path_map.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Without an answer for so long, the console says that it waits. */
enum { SILENCE_US = 2000000 };

/* Limit on nested aliases: a deeper one contains itself. */
enum { ALIASES_DEEP = 16 };

static void on_breakpoint(void *arg, struct json breakpoint)
{
    breakpoints_event(arg, breakpoint);
}

static bool on_wait(void *arg)
{
    struct console *console = arg;
    int64_t now = loop_now_us();
    if (console->patient)
        return true;
    if (console->waiting_since_us == 0) {
        console->waiting_since_us = now;
    } else if (console->waiting_since_us > 0 && now - console->waiting_since_us > SILENCE_US) {
        console->waiting_since_us = -1;
        if (console->interactive)
            console_note(console, "waiting for the worker's answer; ^C stops waiting");
    }
    console->gave_up |= input_interrupted() || (input_end_asked() && !console->parting);
    return !console->gave_up;
}

/* --- attach --- */

/* The `attach` arguments that replace session options: a session in a relay does not see those. */
static void add_relay_arguments(struct buf *out, const struct console_options *options)
{
    if (options->session.task) {
        buf_add_string(out, ",\"task\":");
        message_quote(out, options->session.task);
    }
    if (options->session.kill)
        buf_add_string(out, ",\"kill\":true");
    if (!options->session.tune)
        buf_add_string(out, ",\"noTune\":true");
    if (options->observe)
        buf_add_string(out, ",\"role\":\"observer\"");
    if (options->take_over)
        buf_add_string(out, ",\"takeOver\":true");
    if (options->let_go)
        buf_add_string(out, ",\"onDisconnect\":\"continue\"");
}

static void add_filter(struct buf *out, const char *name, const char *value)
{
    if (!value)
        return;
    buf_printf(out, ",\"%s\":", name);
    message_quote(out, value);
}

static void add_many(struct buf *out, const struct pause_filter *many)
{
    buf_add_string(out, ",\"mode\":\"threads\",\"tasks\":[");
    for (size_t i = 0; i < many->task_count; i++) {
        buf_add_string(out, i ? "," : "");
        message_quote(out, many->tasks[i]);
    }
    buf_add_string(out, many->task_count ? "]" : "\"*\"]");
    add_filter(out, "job", many->job);
    add_filter(out, "actor", many->actor);
    add_filter(out, "node", many->node);
}

static char *attach_arguments(const struct console_options *options)
{
    struct buf out = {0};
    /* redirectOutput: what the task prints shows here too. */
    buf_printf(&out, "{\"redirectOutput\":%s,\"showReturnValue\":true",
               options->quiet ? "false" : "true");
    if (options->maps)
        buf_printf(&out, ",\"pathMappings\":%s", options->maps);
    if (options->many)
        add_many(&out, options->many);
    if (options->relay)
        add_relay_arguments(&out, options);
    buf_add_string(&out, "}");
    return buf_take(&out);
}

static int attach(struct console *console)
{
    struct err err;
    bool relative;
    char *arguments = attach_arguments(console->options);
    console->paths = path_map_read(arguments, (struct span){0, strlen(arguments)}, &relative);
    char *text = mem_format("attaching to %s", console->title);
    struct progress *progress = progress_start(text);
    int result = dap_client_attach(console->debuggee, arguments, &err);
    progress_stop(&progress);
    free(arguments);
    free(text);
    if (result == 0)
        return 0;
    int code = command_fail(&err);
    return console->gave_up && !input_end_asked() ? EXIT_INTERRUPTED : code;
}

/* --- commands --- */

/* Called between turns of the loop at the prompt. */
static bool on_idle(void *arg)
{
    struct console *console = arg;
    console->waiting_since_us = 0;
    console->gave_up = false;
    run_announce(console);
    if (console->options->many)
        many_prompt(console);
    return !dap_client_ended(console->debuggee);
}

static int run_command(struct console *console, const struct command_line *line)
{
    const struct console_verb *verb = line->verb;
    bool stopped = console->thread != 0;
    if ((!verb || verb->flags & VERB_STOPPED) && !stopped)
        return console->options->many
                   ? console_error(console, "no task is stopped: threads lists them")
                   : console_error(console, "%s runs: continue waits for it to stop",
                                   console->title);
    bool looks = !verb || (verb->flags & VERB_STOPPED && !(verb->flags & VERB_RESUMES));
    if (looks && stack_need(console) != 0)
        return -1;
    if (!verb)
        return console_verb_python(console, line->argument);
    if (*line->argument && !(verb->flags & VERB_ARGUMENT))
        return console_error(console, "%s takes no argument", verb->name);
    return verb->run(console, line->argument);
}

/* Keeps the command for an empty line to repeat. */
static void remember(char **last, const struct command_line *line, const char *text)
{
    free(*last);
    *last = line->verb && line->verb->flags & VERB_REPEATS ? mem_string(text) : NULL;
}

static int run_for_many(struct console *console, const char *text, char **last)
{
    char *copy = mem_string(text);
    console->waiting_since_us = 0;
    int result = many_command(console, parse_strip(copy));
    console_flush_output(console);
    free(copy);
    free(*last);
    *last = NULL;
    return result;
}

/* Runs a line that is not a block. split() has queued the parts after ";;". */
static int run_line(struct console *console, const char *text, char **last)
{
    struct command_line line;
    bool empty = block_is_blank(text);
    if (empty && !(console->interactive && *last))
        return 0;
    if (console->options->many && group_line_kind(text) != GROUP_NONE)
        return run_for_many(console, text, last);
    char *copy = mem_string(empty ? *last : text);
    int result = 0;
    command_line_read(&line, copy);
    if (!line.verb && text[strspn(text, " \t")] != '!' && scripts_is_exit(line.argument)) {
        result =
            console_error(console, "exit() is Python, and would end the worker: quit leaves the "
                                   "console, !exit() runs it");
    } else if (line.verb || (*line.argument && *line.argument != '#')) {
        if (!empty)
            remember(last, &line, copy);
        console->waiting_since_us = 0;
        result = run_command(console, &line);
        console_flush_output(console);
    }
    command_line_clear(&line);
    free(copy);
    return result;
}

static int run_block(struct console *console, const char *text, char **last)
{
    struct command_line line = {.argument = block_dedent(text)};
    free(*last);
    *last = NULL;
    console->waiting_since_us = 0;
    int result = block_is_blank(text) ? 0 : run_command(console, &line);
    console_flush_output(console);
    free(line.argument);
    return result;
}

/* Moves the commands after ";;" into the queue. `alias` takes the whole line, as in pdb. */
static void split(struct console *console, char *text)
{
    char *rest = text_starts(text, "alias ") ? NULL : command_line_split(text);
    if (!rest)
        return;
    queue_put_first(&console->queue, rest);
    for (size_t len = strlen(text); len && strchr(" \t", text[len - 1]);)
        text[--len] = '\0';
}

static int run_text(struct console *console, const struct console_line *line, char **last)
{
    console_measure(console);
    if (console->interacting && scripts_is_exit(line->text)) {
        scripts_stop_interacting(console);
        return 0;
    }
    if (line->block)
        return run_block(console, line->text, last);
    char *copy = mem_string(line->text);
    split(console, copy);
    char *expanded;
    for (int i = 0; i < ALIASES_DEEP && (expanded = aliases_expand(&console->aliases, copy)); i++) {
        free(copy);
        copy = expanded;
        split(console, copy);
    }
    int result = run_line(console, copy, last);
    free(copy);
    return result;
}

static void on_cleared(struct console *console, bool was_empty, int *times)
{
    input_interrupted();
    *times = was_empty ? *times + 1 : 0;
    if (was_empty && !console->thread)
        run_pause(console);
    else if (*times >= 2)
        console_note(console, "^D or quit leaves; %s go%s on", console->title,
                     console->options->many ? "" : "es");
}

static void echo(struct console *console, const char *text)
{
    const char *prompt = console->prompt ? console->prompt : "(raydbg) ";
    char *copy = mem_string(text), *rest = copy;
    for (char *line; (line = strsep(&rest, "\n")); prompt = "... ")
        console_print(console, "%s%s\n", prompt, line);
    free(copy);
}

/* True once the session has ended. A failure that repeats why the worker died precedes that by a
 * moment. */
static bool has_ended(struct console *console)
{
    int64_t until = loop_now_us() + (console->said_again ? SILENCE_US : 0);
    console->said_again = false;
    while (!dap_client_ended(console->debuggee) && loop_now_us() < until)
        loop_run_once(console->loop, 20);
    return dap_client_ended(console->debuggee);
}

static void run_commands(struct console *console)
{
    char *last = NULL;
    int cleared = 0;
    while (!console->leaving && !has_ended(console)) {
        struct console_line line;
        bool was_empty;
        console->gave_up = false;
        if (console->options->many)
            many_prompt(console);
        enum input_status status = reader_next(console, &line, &was_empty);
        if (status == INPUT_CLEARED) {
            on_cleared(console, was_empty, &cleared);
            continue;
        }
        if (status == INPUT_END && console->interacting && console->interactive &&
            isatty(STDIN_FILENO) && !input_end_asked() && !dap_client_ended(console->debuggee)) {
            console_print(console, "\n");
            scripts_stop_interacting(console);
            continue;
        }
        if (status == INPUT_END) {
            /* isatty() is false for a terminal that was closed. */
            console->goodbye = console->interactive && isatty(STDIN_FILENO) && !input_end_asked();
            break;
        }
        cleared = 0;
        run_announce(console); /* announces the stops that came meanwhile */
        if (console->options->echo && !console->interactive)
            echo(console, line.text);
        console->gave_up = false;
        int result = run_text(console, &line, &last);
        free(line.text);
        if (console->gave_up && !console->interactive) {
            console->exit_code = run_left_code(console);
            break;
        }
        if (console->gave_up)
            reader_interrupt(console);
        if (result != 0 && console->options->strict) {
            console->exit_code = ERR_FAILED;
            break;
        }
    }
    free(last);
}

/* --- life --- */

/* After leaving: what the session has said of it is known then. */
static void say_goodbye(struct console *console)
{
    if (console->finished || console->told_why_not)
        return;
    if (console->options->relay && !console->kill)
        return; /* the relay says what happens to the task */
    if (console->options->many)
        console_print(console, console->kill ? "their workers are ended\n" : "they go on\n");
    else if (console->kill)
        console_print(console, "the worker of %s is ended\n", console->title);
    else if (console->post_mortem && console->thread)
        console_print(console, "%s goes on: its exception goes to its caller\n", console->title);
    else
        console_print(console, "%s goes on\n", console->title);
}

/* The goodbye has no answer: the closer lets the task go once there is one. */
static void say_unanswered(struct console *console)
{
    if (!console->exit_code)
        console->exit_code = console->gave_up ? EXIT_INTERRUPTED : ERR_FAILED;
    if (console->options->relay)
        console_note(console, "the relay has not answered: raydbg list shows what becomes of %s",
                     console->title);
    else if (!console->told_why_not)
        console_note(console, "the debugger has not answered yet: %s goes on once it has",
                     console->title);
}

/* The task goes on only after quit, ^D, --let-go, or once it has finished. */
static enum dap_client_leave how_to_leave(const struct console *console)
{
    if (console->kill && !console->finished)
        return DAP_CLIENT_KILL;
    return console->goodbye || console->finished || console->options->let_go ? DAP_CLIENT_GOODBYE
                                                                             : DAP_CLIENT_STAY;
}

static void leave(struct console *console)
{
    bool ended = dap_client_ended(console->debuggee);
    if (input_interrupted())
        console->exit_code = EXIT_INTERRUPTED;
    else if (input_end_asked())
        console->exit_code = ERR_FAILED;
    if (ended && !console->leaving) { /* it ended at the prompt */
        run_say_end(console);
        console->exit_code = run_exit_code(console);
    }
    console_flush_output(console);
    bool runs_on = console->options->one_stop && !console->thread;
    if (console->options->one_stop && !runs_on && !ended && !console->exit_code)
        console->exit_code = CONSOLE_LEFT;
    console->silent = !console->options->relay || console->finished || runs_on;
    console->parting = true;
    console->gave_up = false;
    enum dap_client_left left = dap_client_leave(console->debuggee, how_to_leave(console));
    if (left == DAP_CLIENT_SILENT)
        say_unanswered(console);
    else if (left == DAP_CLIENT_ANSWERED && !ended)
        say_goodbye(console);
}

static char *title_of(const struct console_options *options)
{
    const struct pause *pause = options->pause;
    char many[200];
    if (options->many) {
        pause_filter_describe(options->many, many, sizeof many);
        return text_equal(many, "*") ? mem_string(MANY_ALL) : mem_string(many);
    }
    const char *name = pause ? pause->task_name ? pause->task_name : pause->actor_class : NULL;
    if (name)
        return text_printable(name, strlen(name), "");
    if (pause && *pause->task_id)
        return mem_format("task %.6s", pause->task_id);
    const char *task = options->relay ? options->session.task : NULL;
    return task ? text_printable(task, strlen(task), "") : mem_string("the task");
}

static void open_console(struct console *console, const struct console_options *options)
{
    static const struct dap_client_ops dap_client_ops = {console_on_output, on_breakpoint, on_wait};
    static const struct input_ops input_ops = {on_idle, complete_line};
    bool commands = options->command_count > 0;
    console->options = options;
    console->loop = options->session.loop;
    console->kill = options->session.kill;
    console->interactive = !commands && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO);
    console->style = (struct style){
        .colour = console->interactive && terminal_colour(stdout),
        .utf8 = terminal_utf8(),
    };
    console_measure(console);
    console->title = title_of(options);
    console->watcher.origin = options->origin;
    console->watcher.pause = options->pause;
    if (!getcwd(console->cwd, sizeof console->cwd))
        console->cwd[0] = '\0';
    input_catch_signals();
    console->debuggee =
        dap_client_create(&options->session, options->relay, &dap_client_ops, console);
    if (options->many)
        dap_client_expect_many(console->debuggee);
    if (commands)
        console->input = input_commands(options->commands, options->command_count);
    else if (console->interactive)
        console->input = input_terminal(
            console->loop, options->prompt ? options->prompt : "(raydbg) ", &input_ops, console);
    if (!console->input)
        console->input = input_lines(console->loop, STDIN_FILENO, &input_ops, console);
}

static void close_console(struct console *console)
{
    dap_client_destroy(&console->debuggee);
    input_destroy(&console->input);
    stack_clear(console);
    stack_clear_sources(console);
    breakpoints_clear(console);
    displays_clear(console);
    queue_clear(&console->queue);
    aliases_clear(&console->aliases);
    buf_free(&console->partial);
    free(console->shown_function);
    free(console->said);
    free(console->title);
    free(console->prompt);
    path_map_destroy(&console->paths);
    input_release_signals();
}

bool console_end_asked(void)
{
    return input_end_asked();
}

int console_run(const struct console_options *options)
{
    struct console *console = mem_alloc(sizeof *console);
    open_console(console, options);
    int code = attach(console);
    if (code == 0) {
        watcher_start(&console->watcher);
        run_await_first_stop(console);
        run_commands(console);
        leave(console);
        code = console->exit_code;
    }
    close_console(console);
    free(console);
    return code;
}
