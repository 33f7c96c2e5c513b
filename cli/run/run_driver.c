#include "cli/run/run_driver.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "cli/pauses/relay_pauses.h"
#include "cli/run/break_ask.h"
#include "cli/run/run_console.h"
#include "dap/scan.h"
#include "relay/locate/relay_call.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* LOOK_MS: between two looks at the relay, which also keep a relay that ends when it is idle.
 * UNNAMED_MS: for the relay to learn where something has stopped, and in which task. DRIVER_MS:
 * between two looks at the driver, without a pidfd. */
enum { LOOK_MS = 350, ANSWER_MS = 5000, UNNAMED_MS = 6000, DRIVER_MS = 50, KILLED = 128 };

extern char **environ;

/* One that no client has. */
struct run_stop {
    struct pause pause;
    int64_t seen_us; /* when it was first in the list */
    bool told;       /* it was said, or had a console */
};

struct run_stops {
    struct run_stop *items;
    size_t count;
};

struct watch_run {
    struct loop *loop;
    const struct relay_address *relay;
    const char *run;
    struct relay_call *call;
    struct run_console *console; /* or NULL */
    struct pause last;           /* what had the last console, until the next look at the pauses */
    struct run_stops stops;      /* of the last look */
    char **problems;             /* that were said */
    size_t problem_count;
    bool price_said, away_said; /* each is said once */
    struct timer *next;         /* look */
    bool breakpoints;           /* the next look is at these */
    bool early;                 /* the last look was asked while a console was open */
};

/* --- its process --- */

static pid_t driver_pid;
static volatile sig_atomic_t end_asked; /* by a signal for which there is no driver any more */

static void pass_on(int signal)
{
    if (driver_pid > 0)
        kill(driver_pid, signal);
    else
        end_asked = 1;
}

/* ^C and ^\ reach the driver by the terminal; the others are passed on. One that was ignored
 * before, by nohup or by a shell that has no jobs, stays ignored: here, and in the driver. */
static struct {
    int number;
    bool passed;
    struct sigaction before;
} taken[] = {{.number = SIGINT},
             {.number = SIGQUIT},
             {.number = SIGTERM, .passed = true},
             {.number = SIGHUP, .passed = true}};

enum { TAKEN = sizeof taken / sizeof *taken };

static void take_signals(void)
{
    struct sigaction ignore = {.sa_handler = SIG_IGN}, pass = {.sa_handler = pass_on};
    for (size_t i = 0; i < TAKEN; i++) {
        sigaction(taken[i].number, NULL, &taken[i].before);
        if (taken[i].before.sa_handler != SIG_IGN)
            sigaction(taken[i].number, taken[i].passed ? &pass : &ignore, NULL);
    }
}

static void leave_signals(void)
{
    for (size_t i = 0; i < TAKEN; i++)
        sigaction(taken[i].number, &taken[i].before, NULL);
}

/* Python imports the agent's start from there. */
static void add_to_python_path(const char *directory)
{
    const char *old = getenv("PYTHONPATH");
    char *all = old && *old ? mem_format("%s:%s", directory, old) : mem_string(directory);
    setenv("PYTHONPATH", all, 1);
    free(all);
}

static int spawn(char **command, struct err *err)
{
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    sigemptyset(&none);
    sigemptyset(&usual);
    for (size_t i = 0; i < TAKEN; i++)
        if (taken[i].before.sa_handler != SIG_IGN)
            sigaddset(&usual, taken[i].number);
    sigaddset(&usual, SIGPIPE);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &usual);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    int code = posix_spawnp(&driver_pid, command[0], NULL, &attributes, command, environ);
    posix_spawnattr_destroy(&attributes);
    if (code == 0)
        return 0;
    err_set(err, ERR_FAILED, "%s cannot be run", command[0]);
    return err_why(err, "%s", strerror(code));
}

/* --- what is said --- */

static const struct run_stop *find_stop(const struct run_stops *stops, const struct pause *pause)
{
    for (size_t i = 0; i < stops->count; i++)
        if (pause_same_stop(&stops->items[i].pause, pause))
            return &stops->items[i];
    return NULL;
}

static void clear_stops(struct run_stops *stops)
{
    for (size_t i = 0; i < stops->count; i++)
        pause_clear(&stops->items[i].pause);
    free(stops->items);
    *stops = (struct run_stops){0};
}

/* True for a stop of this run that no client has. An older relay does not tell the run. */
static bool is_own_stop(const struct watch_run *watch, const struct pause *pause)
{
    return pause->debugger == PAUSE_PYDEVD && pause->reason && pause->clients <= 0 &&
           (!*pause->run || text_equal(pause->run, watch->run));
}

/* The relay asks the process for the line and the task once it has stopped. A busy process answers
 * late, and a thread of a worker's may run no task. */
static bool is_described(const struct run_stop *stop)
{
    const struct pause *pause = &stop->pause;
    bool known = pause->file && (pause->task_name || !*pause->worker_id);
    return known || loop_now_us() - stop->seen_us >= (int64_t)UNNAMED_MS * 1000;
}

static void say_stop(const struct pause *pause)
{
    char title[256];
    pause_title(pause, title, sizeof title);
    struct buf line = {0};
    buf_printf(&line, "raydbg: %s stopped%s", title,
               text_equal(pause->reason, "exception") ? " by an exception" : "");
    if (pause->file)
        buf_printf(&line, " at %s:%" PRId64, text_basename(pause->file), pause->line);
    buf_printf(&line, " · raydbg attach %" PRId64 "@%s", pause->pid,
               pause->node_ip ? pause->node_ip : "");
    char *clean = text_printable(line.data, line.len, "");
    fprintf(stderr, "%s\n", clean);
    free(clean);
    buf_free(&line);
}

/* Says that it has stopped, or opens its console. False: that is for later, a console is open. */
static bool tell(struct watch_run *watch, const struct pause *pause)
{
    struct err err;
    if (run_console_is_open(watch->console))
        return false;
    if (run_console_may_open(watch->console) && run_console_open(watch->console, pause, &err))
        pause_copy(&watch->last, pause);
    else
        say_stop(pause);
    return true;
}

/* The console ended by the user's word: the task is where the user has left it, or it went on, by
 * `quit` or another client, and has stopped anew. An older relay does not tell. */
static bool was_left_here(const struct pause *pause)
{
    return pause->client_left || !pause->stopped_ms;
}

/* A task that was left where it is gets no console at once again; if the console failed, the user
 * has not seen it yet. One that went on has stopped anew, if only at the same line. */
static bool is_known(const struct watch_run *watch, const struct pause *last,
                     const struct run_stop *before, const struct pause *pause)
{
    if (!last->pid || !pause_same(last, pause))
        return before && before->told;
    enum run_console_end end = run_console_end(watch->console);
    if (end == RUN_CONSOLE_FAILED)
        say_stop(pause);
    return end == RUN_CONSOLE_FAILED || (end == RUN_CONSOLE_LEFT && was_left_here(pause));
}

static void note_stop(struct watch_run *watch, const struct pause *last, const struct pause *pause,
                      struct run_stop *stop)
{
    const struct run_stop *before = find_stop(&watch->stops, pause);
    pause_copy(&stop->pause, pause);
    stop->seen_us = before ? before->seen_us : loop_now_us();
    stop->told = is_known(watch, last, before, pause) || (is_described(stop) && tell(watch, pause));
}

static void note_pauses(struct watch_run *watch, const struct http_reply *reply)
{
    struct relay_pauses said = {0};
    struct run_stops stops = {0};
    struct err err;
    if (watch->early || run_console_is_open(watch->console) ||
        relay_pauses_parse(&said, reply->body, reply->len, &err) != 0)
        return;
    struct pause last = watch->last;
    watch->last = (struct pause){0};
    stops.items = mem_array(said.pauses.count + 1, sizeof *stops.items);
    for (size_t i = 0; i < said.pauses.count; i++)
        if (is_own_stop(watch, &said.pauses.items[i]))
            note_stop(watch, &last, &said.pauses.items[i], &stops.items[stops.count++]);
    pause_clear(&last);
    clear_stops(&watch->stops);
    watch->stops = stops;
    relay_pauses_clear(&said);
}

/* Takes over `problem`. */
static void say_problem(struct watch_run *watch, char *problem, const char *format)
{
    size_t i = 0;
    while (i < watch->problem_count && !text_equal(watch->problems[i], problem))
        i++;
    if (text_empty(problem) || i < watch->problem_count) {
        free(problem);
        return;
    }
    char *clean = text_printable(problem, strlen(problem), "");
    fprintf(stderr, format, clean);
    free(clean);
    watch->problems = mem_resize(watch->problems, i + 1, sizeof *watch->problems);
    watch->problems[watch->problem_count++] = problem;
}

static void note_problems(struct watch_run *watch, const struct http_reply *reply)
{
    struct scan scan;
    struct span all, list, item;
    size_t cursor = 0;
    scan_init(&scan, reply->body, reply->len);
    if (!scan_value(&scan, &all))
        return;
    if (!run_console_is_open(watch->console)) {
        watch->price_said = watch->price_said || break_say_price(reply->body, all);
        watch->away_said = watch->away_said || break_say_away(reply->body, all);
    }
    say_problem(watch, scan_string_at(reply->body, all, "processes/problem"),
                "raydbg: a process cannot be debugged: %s\n");
    if (!scan_find(reply->body, all, "breakpoints", &list))
        return;
    while (scan_element(reply->body, list, &cursor, &item))
        say_problem(watch, scan_string_at(reply->body, item, "problem"),
                    "raydbg: a breakpoint's condition fails, and it does not stop: %s\n");
}

static void look(void *arg);

static void on_answer(void *arg, const struct http_reply *reply)
{
    struct watch_run *watch = arg;
    watch->call = NULL;
    if (reply->result == HTTP_ANSWERED && reply->status == 200) {
        if (watch->breakpoints)
            note_problems(watch, reply);
        else
            note_pauses(watch, reply);
    }
    watch->breakpoints = !watch->breakpoints;
    watch->next = timer_start(watch->loop, LOOK_MS, look, watch);
}

static void look(void *arg)
{
    struct watch_run *watch = arg;
    watch->next = NULL;
    watch->early = run_console_is_open(watch->console); /* its answer may still have that client */
    watch->call = relay_call(watch->relay, watch->loop, "GET",
                             watch->breakpoints ? "/v1/breakpoints" : "/v1/pauses", NULL, ANSWER_MS,
                             on_answer, watch);
}

/* --- */

int run_driver_start(const char *directory, char **command, pid_t *pid, struct err *err)
{
    add_to_python_path(directory);
    take_signals();
    if (spawn(command, err) != 0) {
        leave_signals();
        return -1;
    }
    *pid = driver_pid;
    return 0;
}

int run_driver_code(int status)
{
    return WIFSIGNALED(status) ? KILLED + WTERMSIG(status) : WEXITSTATUS(status);
}

static void on_end(void *arg)
{
    *(bool *)arg = true;
}

/* Runs the loop until the driver has ended, and the console with it. A console that is suspended
 * then would keep this job until the user brings it to the foreground, or for ever. */
static void wait_for_driver(struct watch_run *watch, int *status)
{
    bool ended = false;
    /* glibc has pidfd_open() since 2.36, Linux since 5.3. */
    int process = (int)syscall(SYS_pidfd_open, driver_pid, 0);
    struct watch *end = process < 0 ? NULL : watch_start(watch->loop, process, on_end, &ended);
    while (waitpid(driver_pid, status, WNOHANG) == 0)
        loop_run_until(watch->loop, &ended, end ? -1 : DRIVER_MS);
    driver_pid = 0;
    watch_stop(&end);
    if (process >= 0)
        close(process);
    while (run_console_is_open(watch->console)) {
        if (end_asked || run_console_is_suspended(watch->console))
            run_console_hang_up(watch->console);
        loop_run_once(watch->loop, DRIVER_MS);
    }
}

int run_driver(struct loop *loop, const struct run_driver_options *options, char **command,
               struct err *err)
{
    int status = 0;
    struct watch_run watch = {
        .loop = loop, .relay = options->relay, .run = options->run, .console = options->console};
    pid_t pid;
    if (run_driver_start(options->directory, command, &pid, err) != 0)
        return -1;
    look(&watch);
    wait_for_driver(&watch, &status);
    leave_signals();
    timer_cancel(&watch.next);
    relay_call_cancel(&watch.call);
    clear_stops(&watch.stops);
    pause_clear(&watch.last);
    for (size_t i = 0; i < watch.problem_count; i++)
        free(watch.problems[i]);
    free(watch.problems);
    return run_driver_code(status);
}
