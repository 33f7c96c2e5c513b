/* Resumes the task, waits for its next stop, and shows it. */
#include "cli/console/console_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/signals.h"
#include "relay/stack/user_threads.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TURN_MS = 100, SILENCE_MS = 2000, GRACE_MS = 1000 };

/* Limits for the first stop. On a terminal, the prompt then comes without one; a script's commands
 * would fail. A thread that waits for a client stops once there is one. */
enum { FIRST_STOP_MS = 2000, FIRST_STOP_SCRIPT_MS = 10000, FIRST_STOP_WAITING_MS = 120000 };

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
        dap_client_request_within(console->debuggee, "pause", arguments, SILENCE_MS, NULL, &err);
    if (result != 0 && !console->gave_up)
        console_fail(console, &err);
    return !console->gave_up;
}

/* Handles ^C while the task runs: the first one pauses it. True if the console should be left. */
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

static int resume(struct console *console, const char *command);

/* True if a thread outlives the call that started it, or the worker does not say. */
static bool user_threads_go_on(struct console *console)
{
    struct buf arguments = {0};
    struct err err;
    user_threads_query(&arguments);
    int64_t asked_us = loop_now_us();
    console->patient = true;
    int result = dap_client_request_within(console->debuggee, "evaluate", arguments.data,
                                           USER_THREADS_MS, NULL, &err);
    console->patient = false;
    buf_free(&arguments);
    bool late = loop_now_us() - asked_us >= USER_THREADS_MS * 1000L;
    return result != 0 && (late || strstr(err.what, user_threads_mark));
}

/* Another thread that is stopped, or 0. */
static int64_t other_stopped(const struct console *console, int64_t id)
{
    size_t count;
    const struct dap_client_thread *threads = dap_client_known(console->debuggee, &count);
    for (size_t i = 0; i < count; i++)
        if (threads[i].stopped && threads[i].id != id)
            return threads[i].id;
    return 0;
}

/* The thread that was stepped does not stop: a step has left the task's code. The user goes on with
 * another one. */
static bool has_stepped_off(const struct console *console)
{
    int64_t id = console->last_thread;
    const struct dap_client_thread *thread = dap_client_thread(console->debuggee, id);
    return thread && thread->stepped_off && other_stopped(console, id);
}

static bool has_finished(struct console *console)
{
    if (!watcher_finished(&console->watcher))
        return false;
    if (console->watcher.pause->debugger == PAUSE_PDB || !user_threads_go_on(console))
        return !dap_client_has_fresh_stop(console->debuggee) &&
               !dap_client_ended(console->debuggee);
    watcher_doubt(&console->watcher);
    return false;
}

enum wait_end run_wait(struct console *console, int64_t timeout_ms)
{
    int64_t start = loop_now_us() / 1000;
    bool told = !console->interactive || timeout_ms >= 0;
    for (;;) {
        int64_t waited = loop_now_us() / 1000 - start;
        console->waiting_since_us = 0; /* waiting here is not a request */
        if (dap_client_has_fresh_stop(console->debuggee) || has_stepped_off(console))
            return WAIT_STOPPED;
        if (dap_client_ended(console->debuggee))
            return WAIT_ENDED;
        if (wants_out(console))
            return WAIT_LEFT;
        if (console->call_over || has_finished(console))
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

/* Waits for the thread that was stepped, after another has stopped first. Only for a moment: it may
 * wait for a lock that the other holds. */
static void await_thread(struct console *console, int64_t thread)
{
    int64_t end = loop_now_us() / 1000 + GRACE_MS;
    while (!dap_client_ended(console->debuggee) && loop_now_us() / 1000 < end) {
        const struct dap_client_thread *it = dap_client_thread(console->debuggee, thread);
        if (!it || it->stopped || it->stepped_off)
            return;
        loop_run_once(console->loop, TURN_MS);
    }
}

void run_announce(struct console *console)
{
    const struct dap_client_thread *thread;
    console_measure(console);
    if (console->options->many) {
        many_announce(console);
        return;
    }
    while ((thread = dap_client_next_stop(console->debuggee))) {
        int64_t id = thread->id;
        if (!console->thread)
            stop_show(console, id);
        else if (id != console->thread)
            thread_announce(console, id);
    }
}

static void take_stop(struct console *console, int64_t wanted)
{
    console->call_over = false;
    if (wanted)
        await_thread(console, wanted);
    const struct dap_client_thread *thread = dap_client_thread(console->debuggee, wanted);
    if (thread && thread->stepped_off)
        console_note(console, "%s has left the task's code", console->label);
    if (!thread || !thread->stopped)
        thread = dap_client_next_stop(console->debuggee);
    int64_t id = thread ? thread->id : other_stopped(console, wanted);
    if (thread && text_equal(thread->reason, "step"))
        console->last_thread = id; /* a step into a remote task leads to a thread of its own */
    if (id)
        stop_show(console, id);
    run_announce(console);
}

static void end_console(struct console *console, int exit_code)
{
    console->leaving = true;
    console->exit_code = exit_code;
}

/* A worker's end that was not intended is a failure. Its cause is known only with a cluster. */
int run_exit_code(const struct console *console)
{
    const struct err *end = dap_client_end(console->debuggee);
    if (end)
        return (int)end->code;
    bool known = console->options->origin && !console->options->many && !console->end_intended;
    return known && !console->finished ? ERR_FAILED : ERR_NONE;
}

int run_left_code(const struct console *console)
{
    return console->interactive ? ERR_NONE : input_end_asked() ? ERR_FAILED : EXIT_INTERRUPTED;
}

void run_say_end(struct console *console)
{
    const struct err *end = dap_client_end(console->debuggee);
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

/* The actor lives on and may stop in its next call: the user decides how long to wait. */
static enum wait_end await_next_call(struct console *console)
{
    console_note(console, "%s has ended; waiting for the actor's next stop, ^C leaves",
                 console->title);
    watcher_rest(&console->watcher);
    console->call_over = false;
    free(console->shown_function); /* the next call is a new stop */
    console->shown_function = NULL;
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
        end_console(console, run_left_code(console));
        break;
    case WAIT_TIMEOUT:
    case WAIT_AWAY:
        break;
    }
    console->pausing = false;
}

static void await_first_of_many(struct console *console)
{
    enum wait_end end = run_wait(console, FIRST_STOP_SCRIPT_MS);
    if (end == WAIT_STOPPED)
        many_greet(console);
    else if (end == WAIT_TIMEOUT)
        console_note(console, "none of %s has stopped yet", console->title);
    else
        run_until_stop(console, 0);
}

static int64_t first_stop_ms(const struct console *console)
{
    const struct pause *pause = console->options->pause;
    if (console->interactive)
        return FIRST_STOP_MS;
    return pause && pause->state == PAUSE_WAITING ? FIRST_STOP_WAITING_MS : FIRST_STOP_SCRIPT_MS;
}

void run_await_first_stop(struct console *console)
{
    if (console->options->many) {
        await_first_of_many(console);
        return;
    }
    enum wait_end end = run_wait(console, first_stop_ms(console));
    if (end == WAIT_STOPPED)
        run_announce(console);
    else if (end == WAIT_TIMEOUT)
        console_note(console, "%s runs; continue waits for it to stop", console->title);
    else
        run_until_stop(console, 0);
}

void run_pause(struct console *console)
{
    if (run_ask_pause(console, console->options->many ? console->last_thread : 1))
        run_until_stop(console, console->last_thread);
}

/* --- verbs --- */

/* Resumes the selected thread by this request, and clears the state of its stop. */
static int resume(struct console *console, const char *command)
{
    struct err err;
    int64_t thread = console->thread;
    watcher_start(&console->watcher);
    console->pausing = false;
    console->thread = 0;
    stack_clear(console);
    if (dap_client_resume(console->debuggee, command, thread, &err) == 0)
        return 0;
    struct err ignored;
    console->thread = dap_client_ended(console->debuggee) ? 0 : thread;
    if (console->thread && stack_load(console, &ignored) != 0)
        console->thread = 0;
    return console_fail(console, &err);
}

static int step(struct console *console, const char *command)
{
    int64_t thread = console->thread;
    if (resume(console, command) != 0 && !dap_client_ended(console->debuggee))
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
    if (resume(console, "raydbg/stepIntoRemote") != 0 && !dap_client_ended(console->debuggee))
        return -1;
    run_until_stop(console, 0);
    return 0;
}

int console_verb_get(struct console *console, char *argument)
{
    (void)argument;
    if (resume(console, "raydbg/stepOutToGet") != 0 && !dap_client_ended(console->debuggee))
        return -1;
    run_until_stop(console, 0);
    return 0;
}

int console_verb_continue(struct console *console, char *argument)
{
    (void)argument;
    if (console->thread && resume(console, "continue") != 0 && !dap_client_ended(console->debuggee))
        return -1;
    if (console->options->one_stop && !dap_client_ended(console->debuggee))
        console->leaving = true;
    else
        run_until_stop(console, 0);
    return 0;
}

/* Steps out of the function with a hidden breakpoint at the line: the first of both ends it. */
static int until_line(struct console *console, const char *argument)
{
    int64_t line;
    const struct stack_frame *frame = stack_selected(console);
    if (!text_to_int(argument, 1, INT32_MAX, &line))
        return console_error(console, "until: '%s' is no line number", argument);
    if (line <= frame->line)
        return console_error(console, "until: line %" PRId64 " is not below the current one", line);
    if (breakpoints_add_hidden(console, frame->path, line) != 0)
        return -1;
    int result = step(console, "stepOut");
    if (!dap_client_ended(console->debuggee))
        breakpoints_remove_hidden(console);
    return result;
}

/* True if the thread has stopped after `line`, outside `function`, or not by a step, or does not
 * stop. */
static bool until_arrived(struct console *console, const char *function, int64_t line)
{
    struct err err;
    const struct dap_client_thread *thread =
        dap_client_thread(console->debuggee, console->last_thread);
    if (!thread || !thread->stopped || !text_equal(thread->reason, "step"))
        return true;
    console->thread = thread->id;
    if (stack_load(console, &err) != 0)
        return true;
    const struct stack_frame *frame = stack_selected(console);
    char *here = mem_format("%s\n%s", frame->path, frame->name);
    bool arrived = !text_equal(here, function) || frame->line > line;
    free(here);
    return arrived;
}

int console_verb_until(struct console *console, char *argument)
{
    if (stack_need(console) != 0)
        return -1;
    if (*argument)
        return until_line(console, argument);
    const struct stack_frame *frame = stack_selected(console);
    int64_t line = frame->line;
    char *function = mem_format("%s\n%s", frame->path, frame->name);
    int result = 0;
    bool arrived = false;
    while (!arrived && result == 0) {
        result = resume(console, "next");
        if (result == 0 && run_wait(console, SILENCE_MS) != WAIT_STOPPED)
            break;
        arrived = until_arrived(console, function, line);
        if (input_interrupted())
            break;
    }
    free(function);
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
    console->goodbye = true;
    return leave(console);
}
