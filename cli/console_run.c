/* Letting the task run, waiting for it to stop, and showing where it did. */
#include "cli/console_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURN_MS = 100, SILENCE_MS = 2000, GRACE_MS = 1000, CONTEXT_LINES = 2 };

/* --- waiting --- */

bool run_ask_pause(struct console *console, int64_t thread)
{
    struct err err;
    char arguments[64];
    snprintf(arguments, sizeof arguments, "{\"threadId\":%" PRId64 "}", thread);
    console->pausing = true;
    console->gave_up = false;
    console_note(console, "pausing; ^C again leaves");
    int result =
        debuggee_request_within(console->debuggee, "pause", arguments, SILENCE_MS, NULL, &err);
    if (result != 0 && !console->gave_up)
        console_fail(console, &err);
    return !console->gave_up;
}

/* ^C while the task runs: pauses it, and leaves if that was tried already. */
static bool wants_out(struct console *console)
{
    if (input_end_asked())
        return true;
    if (!input_interrupted())
        return false;
    if (console->pausing || !console->interactive)
        return true;
    return !run_ask_pause(console, 1);
}

enum wait_end run_wait(struct console *console, int64_t timeout_ms)
{
    int64_t start = loop_now_us() / 1000;
    bool told = !console->interactive || timeout_ms >= 0;
    for (;;) {
        int64_t waited = loop_now_us() / 1000 - start;
        console->waiting_since_us = 0; /* this is no request */
        if (debuggee_has_fresh_stop(console->debuggee))
            return WAIT_STOPPED;
        if (debuggee_ended(console->debuggee))
            return WAIT_ENDED;
        if (wants_out(console))
            return WAIT_LEFT;
        if (console->call_over || watcher_finished(&console->watcher))
            return WAIT_FINISHED;
        if (timeout_ms >= 0 && waited >= timeout_ms)
            return WAIT_TIMEOUT;
        if (!told && waited >= SILENCE_MS) {
            told = true;
            console_note(console, "running; ^C pauses");
        }
        loop_run_once(console->loop, TURN_MS);
    }
}

/* Another thread stopped first: the one that was stepped gets a moment, for it may wait for a lock
 * that the other holds. */
static void await_thread(struct console *console, int64_t thread)
{
    int64_t end = loop_now_us() / 1000 + GRACE_MS;
    while (!debuggee_ended(console->debuggee) && loop_now_us() / 1000 < end) {
        const struct debuggee_thread *it = debuggee_thread(console->debuggee, thread);
        if (!it || it->stopped)
            return;
        loop_run_once(console->loop, TURN_MS);
    }
}

void run_announce(struct console *console)
{
    const struct debuggee_thread *thread;
    if (console->options->many) {
        many_announce(console);
        return;
    }
    while ((thread = debuggee_next_stop(console->debuggee))) {
        int64_t id = thread->id;
        if (!console->thread)
            run_show_stop(console, id);
        else if (id != console->thread)
            thread_announce(console, id);
    }
}

static void take_stop(struct console *console, int64_t wanted)
{
    console->call_over = false;
    if (wanted)
        await_thread(console, wanted);
    const struct debuggee_thread *thread = debuggee_thread(console->debuggee, wanted);
    if (!thread || !thread->stopped)
        thread = debuggee_next_stop(console->debuggee);
    if (thread)
        run_show_stop(console, thread->id);
    run_announce(console);
}

static void end_console(struct console *console, int exit_code)
{
    console->leaving = true;
    console->exit_code = exit_code;
}

/* A worker that ends although nobody wanted it to is a failure; without a cluster nobody can say.
 */
int run_exit_code(const struct console *console)
{
    const struct err *end = debuggee_end(console->debuggee);
    if (end)
        return (int)end->code;
    bool known = console->options->origin && !console->options->many && !console->fate_intended;
    return known && !console->finished ? ERR_FAILED : ERR_NONE;
}

void run_say_end(struct console *console)
{
    const struct err *end = debuggee_end(console->debuggee);
    if (end)
        console_fail(console, end);
    else if (console->options->many)
        console_print(console, "%s: no more to come\n", console->title);
    else if (console->job_over)
        console_print(console, "%s has ended, and its job\n", console->title);
    else if (console->worker_over)
        console_print(console, "%s has ended\n", console->title);
}

static bool is_actor(const struct console *console)
{
    return console->watcher.pause && *console->watcher.pause->actor_id;
}

/* An actor lives on, and may stop in its next call: a user at a terminal decides how long to wait.
 */
static enum wait_end await_next_call(struct console *console)
{
    console_note(console, "%s has ended; waiting for the actor's next stop, ^C leaves",
                 console->title);
    watcher_rest(&console->watcher);
    console->call_over = false;
    free(console->shown_place); /* another call is another place */
    console->shown_place = NULL;
    enum wait_end end;
    do
        end = run_wait(console, TURN_MS);
    while (end == WAIT_TIMEOUT);
    return end;
}

void run_until_stop(struct console *console, int64_t thread)
{
    if (console->options->many) {
        many_until_stop(console, thread ? thread : console->last_thread);
        return;
    }
    enum wait_end end = run_wait(console, -1);
    console_flush_output(console);
    if (end == WAIT_FINISHED && is_actor(console) && console->interactive)
        end = await_next_call(console);
    switch (end) {
    case WAIT_STOPPED:
        take_stop(console, console->pausing ? console->last_thread : thread);
        break;
    case WAIT_FINISHED:
        console_print(console, "%s has ended\n", console->title);
        console->finished = true;
        end_console(console, ERR_NONE);
        break;
    case WAIT_ENDED:
        run_say_end(console);
        end_console(console, run_exit_code(console));
        break;
    case WAIT_LEFT:
        end_console(console, console->interactive ? ERR_NONE : ERR_FAILED);
        break;
    case WAIT_TIMEOUT:
        break;
    }
    console->pausing = false;
}

void run_pause(struct console *console)
{
    if (run_ask_pause(console, console->options->many ? console->last_thread : 1))
        run_until_stop(console, console->last_thread);
}

/* --- showing a stop --- */

static void print_header(struct console *console, const char *how)
{
    const struct pause *pause = console->options->pause;
    const struct cluster_facts *facts =
        console->options->origin ? origin_facts(console->options->origin) : NULL;
    const char *dot = view_dot(&console->style);
    struct buf out = {0};
    if (console->options->quiet || console->greeted)
        return;
    view_tinted(&out, &console->style, TINT_BOLD, console->title);
    if (pause && *pause->job_id) {
        size_t len = strlen(pause->job_id);
        while (len > 2 && memcmp(pause->job_id + len - 2, "00", 2) == 0)
            len -= 2;
        buf_printf(&out, "%sjob %.*s", dot, (int)len, pause->job_id);
    }
    if (pause && pause->pid) { /* Ray <= 2.34 does not tell a pdb's */
        buf_printf(&out, "%s", dot);
        view_one_line(&out, &console->style, pause->node_ip ? pause->node_ip : "?", 60);
        buf_printf(&out, " pid %" PRId64, pause->pid);
    }
    if (facts && *facts->python_version) {
        buf_printf(&out, "%sPython ", dot);
        view_one_line(&out, &console->style, facts->python_version, 20);
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
    if (debuggee_request(console->debuggee, "exceptionInfo", arguments, &reply, &err) == 0) {
        type = json_string(reply.body, "exceptionId");
        message = json_string(reply.body, "description");
        view_strip_note(type);
    }
    reply_clear(&reply);
    char *line = text_empty(type)      ? mem_string(fallback)
                 : text_empty(message) ? mem_string(type)
                                       : mem_format("%s: %s", type, message);
    struct buf out = {0};
    view_tint(&out, &console->style, TINT_ERROR);
    view_one_line(&out, &console->style, line, 2 * console->style.columns);
    view_tint(&out, &console->style, TINT_PLAIN);
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

/* Where, in one line more than is needed only when the function is another than at the stop before.
 */
static void print_stop(struct console *console, const struct stack_frame *frame, const char *note)
{
    char *place = mem_format("%s\n%s", frame->path, frame->name);
    bool same = text_equal(place, console->shown_place) && text_empty(note);
    int64_t around = same ? 0 : CONTEXT_LINES;
    if (!same)
        stack_print_place(console, frame, note);
    stack_print_lines(console, frame, frame->line - around, frame->line + around);
    free(console->shown_place);
    console->shown_place = place;
}

int run_show_stop(struct console *console, int64_t id)
{
    const struct debuggee_thread *thread = debuggee_thread(console->debuggee, id);
    struct err err;
    if (!thread)
        return console_error(console, "there is no thread %" PRId64, id);
    char *reason = mem_string(thread->reason ? thread->reason : "");
    char *text = mem_string(thread->text ? thread->text : "exception");
    bool other = console->last_thread && console->last_thread != id;
    debuggee_seen(console->debuggee, id);
    console->thread = console->last_thread = id;
    if (console->options->many)
        many_name(console, id);
    else
        snprintf(console->label, sizeof console->label, "thread %" PRId64, id);
    console->post_mortem = text_equal(reason, "exception");
    view_strip_note(text);
    console_flush_output(console);
    if (stack_load(console, &err) != 0) {
        free(reason);
        free(text);
        return console_fail(console, &err);
    }
    const struct stack_frame *frame = stack_selected(console);
    int number = breaks_hit(console, frame);
    char note[64] = "";
    if (number)
        snprintf(note, sizeof note, "breakpoint %d", number);
    else if (text_equal(reason, "pause"))
        text_copy(note, sizeof note, "paused");
    else if (text_equal(reason, "step") && text_equal(text, "returns")) /* pdb's agent */
        text_copy(note, sizeof note, "returns");
    else if (other)
        text_copy(note, sizeof note, console->label);
    print_header(console, console->post_mortem                 ? "post mortem"
                          : number                             ? "stopped at a breakpoint"
                          : is_breakpoint_call(console, frame) ? "stopped at breakpoint()"
                                                               : "stopped");
    console->greeted = true;
    if (console->post_mortem)
        print_exception(console, text);
    print_stop(console, frame, note);
    displays_show(console);
    free(reason);
    free(text);
    return 0;
}

/* --- verbs --- */

/* Sends the request; what was known of the stop is forgotten. */
static int resume(struct console *console, const char *command)
{
    struct err err;
    int64_t thread = console->thread;
    watcher_start(&console->watcher);
    console->pausing = false;
    console->thread = 0;
    stack_clear(console);
    if (debuggee_resume(console->debuggee, command, thread, &err) == 0)
        return 0;
    struct err ignored;
    console->thread = debuggee_ended(console->debuggee) ? 0 : thread;
    if (console->thread && stack_load(console, &ignored) != 0)
        console->thread = 0;
    return console_fail(console, &err);
}

static int step(struct console *console, const char *command)
{
    int64_t thread = console->thread;
    if (resume(console, command) != 0 && !debuggee_ended(console->debuggee))
        return -1;
    run_until_stop(console, thread);
    return 0;
}

int console_verb_next(struct console *console, char *argument)
{
    (void)argument;
    return step(console, "next");
}

int console_verb_step(struct console *console, char *argument)
{
    (void)argument;
    return step(console, "stepIn");
}

int console_verb_return(struct console *console, char *argument)
{
    (void)argument;
    return step(console, "stepOut");
}

int console_verb_remote(struct console *console, char *argument)
{
    (void)argument;
    if (resume(console, "raydbg/stepIntoRemote") != 0 && !debuggee_ended(console->debuggee))
        return -1;
    run_until_stop(console, 0);
    return 0;
}

int console_verb_get(struct console *console, char *argument)
{
    (void)argument;
    if (resume(console, "raydbg/stepOutToGet") != 0 && !debuggee_ended(console->debuggee))
        return -1;
    run_until_stop(console, 0);
    return 0;
}

int console_verb_continue(struct console *console, char *argument)
{
    (void)argument;
    if (console->thread && resume(console, "continue") != 0 && !debuggee_ended(console->debuggee))
        return -1;
    run_until_stop(console, 0);
    return 0;
}

/* A breakpoint on the way out of the function ends at whichever comes first. */
static int until_line(struct console *console, const char *argument)
{
    int64_t line;
    const struct stack_frame *frame = stack_selected(console);
    if (!text_to_int(argument, 1, INT32_MAX, &line))
        return console_error(console, "until: '%s' is no line number", argument);
    if (line <= frame->line)
        return console_error(console, "until: line %" PRId64 " is not below the current one", line);
    if (breaks_add_hidden(console, frame->path, line) != 0)
        return -1;
    int result = step(console, "stepOut");
    if (!debuggee_ended(console->debuggee))
        breaks_remove_hidden(console);
    return result;
}

/* True when the thread has stopped anywhere but further up in `place`, or will not stop again. */
static bool until_arrived(struct console *console, const char *place, int64_t line)
{
    struct err err;
    const struct debuggee_thread *thread = debuggee_thread(console->debuggee, console->last_thread);
    if (!thread || !thread->stopped || !text_equal(thread->reason, "step"))
        return true;
    console->thread = thread->id;
    if (stack_load(console, &err) != 0)
        return true;
    const struct stack_frame *frame = stack_selected(console);
    char *here = mem_format("%s\n%s", frame->path, frame->name);
    bool arrived = !text_equal(here, place) || frame->line > line;
    free(here);
    return arrived;
}

int console_verb_until(struct console *console, char *argument)
{
    if (*argument)
        return until_line(console, argument);
    const struct stack_frame *frame = stack_selected(console);
    int64_t line = frame->line;
    char *place = mem_format("%s\n%s", frame->path, frame->name);
    int result = 0;
    bool arrived = false;
    while (!arrived && result == 0) {
        result = resume(console, "next");
        if (result == 0 && run_wait(console, SILENCE_MS) != WAIT_STOPPED)
            break;
        arrived = until_arrived(console, place, line);
        if (input_interrupted())
            break;
    }
    free(place);
    if (result == 0)
        run_until_stop(console, console->last_thread);
    return result;
}

static int leave(struct console *console)
{
    end_console(console, ERR_NONE);
    return 0;
}

int console_verb_detach(struct console *console, char *argument)
{
    (void)argument;
    console->kill = false;
    return leave(console);
}

int console_verb_quit(struct console *console, char *argument)
{
    (void)argument;
    return leave(console);
}
