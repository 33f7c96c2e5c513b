/* The private state of the console, shared by console*.c. */
#ifndef RAYDBG_CLI_CONSOLE_CONSOLE_STATE_H
#define RAYDBG_CLI_CONSOLE_CONSOLE_STATE_H

#include "base/buf.h"
#include "cli/client/dap_client.h"
#include "cli/console/console.h"
#include "cli/console/console_verbs.h"
#include "cli/pauses/task_watch.h"
#include "cli/prompt/prompt_input.h"
#include "cli/text/console_alias.h"
#include "cli/text/console_format.h"
#include "cli/text/console_queue.h"
#include "cli/text/console_source.h"

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stack_frame {
    int64_t id;
    char *name;
    char *path; /* "" if it has none */
    int64_t line;
    int64_t source_reference;
    bool ray; /* code of Ray's own */
    bool subtle;
};

/* A source that was requested once; `there` false: not available. */
struct known_source {
    char *path;
    int64_t reference;
    bool there;
    struct source source;
};

struct breakpoint {
    int number;
    char *path; /* NULL: a function breakpoint */
    int64_t line;
    char *function;
    char *condition;
    bool temporary;
    bool hidden; /* `until`'s own */
    bool enabled;
    bool verified;
    int64_t id; /* debugpy's, since it was last set */
    char *message;
    int64_t ignored; /* number of hits to pass, counted since it was last set */
    char *commands;  /* run when it stops, each with its line end; NULL: none */
};

struct display {
    char *expression;
    char *last; /* NULL: not shown yet */
};

struct path_map;

struct console {
    const struct console_options *options;
    struct loop *loop;
    struct dap_client *debuggee;
    struct input *input;
    struct watcher watcher; /* tells whether the task still runs */
    struct style style;
    bool interactive;
    char *title;            /* "square"; for many tasks, the filter */
    char *prompt;           /* for many tasks */
    struct path_map *paths; /* --map; NULL: none */
    char cwd[PATH_MAX];
    struct buf partial; /* the task's output since its last newline */

    struct command_queue queue;
    struct aliases aliases;
    bool after_block; /* the last command was a block */
    bool interacting; /* `interact`: no verbs, all lines are Python */

    bool leaving;      /* no more commands */
    bool parting;      /* waits for the answer to its goodbye: only ^C ends that */
    bool goodbye;      /* the user left with quit or ^D */
    bool kill;         /* end the worker with the console */
    bool silent;       /* print of the session's output only why a task does not go on */
    bool told_why_not; /* that was printed */
    bool finished;     /* the task has ended while it was watched */
    bool end_intended; /* the session reported an intended end of the worker */
    bool job_over;     /* the same, because the job has finished */
    bool worker_over;  /* the same, but the task had ended before */
    char *said;      /* the session's last message, which a request's failure may repeat; or NULL */
    bool said_again; /* one did: the end of the session follows */
    bool call_over;  /* pdb: an actor's call has ended, and the actor lives on */
    int exit_code;
    int64_t waiting_since_us; /* start of the wait for responses; 0: no wait, -1: the user knows */

    int64_t thread;      /* the selected thread; 0: none is stopped */
    int64_t last_thread; /* the thread that was selected last */
    bool pausing;        /* the user asked for a pause */
    char label[48];      /* name of the last selected thread: "thread 3", of many "rank 3" */
    /* For many tasks: the thread that the console waits for (0: none), and the time until which it
     * announces no stops of others. */
    int64_t waiting_for;
    int64_t quiet_until_us;
    bool gave_up; /* the user has interrupted the command: it awaits no more responses */
    bool patient; /* the console itself asks: ^C stays pending */
    struct stack_frame *frames;
    size_t frame_count;
    size_t frame; /* the selected one */
    bool frames_all;
    bool post_mortem;
    char *shown_function; /* function and path of the last stop that was shown */
    bool greeted;
    int64_t list_next; /* 0: around the current line */

    struct known_source *sources;
    size_t source_count;
    struct breakpoint *breakpoints;
    size_t breakpoint_count;
    int last_number;
    struct display *displays;
    size_t display_count;
};

/* --- console_reader.c --- */

/* A command of one or several lines. */
struct console_line {
    char *text; /* owned */
    bool block; /* Python, even if it looks like a verb */
};

enum input_status reader_next(struct console *console, struct console_line *out, bool *was_empty);
/* The user has interrupted a command: those that were pasted with it do not run. */
void reader_interrupt(struct console *console);

/* --- console_output.c --- */

/* Takes the terminal's width anew: before each command and each stop that is shown. */
void console_measure(struct console *console);
/* Prints to stdout. A worker's text must have passed text_printable() or console_format_value(). */
void console_print(struct console *console, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void console_write(struct console *console, struct buf *out); /* to stdout; frees `out` */
/* Prints "[…]": text that is not a command's result. Dimmed on a terminal, to stderr for
 * scripts. */
void console_note(struct console *console, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Print "*** …" to stderr; return -1. */
int console_error(struct console *console, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int console_fail(struct console *console, const struct err *err);
/* Prints the task's output that has no newline yet. */
void console_flush_output(struct console *console);
/* An `output` event: dap_client_ops' on_output, with the console. */
void console_on_output(void *arg, const char *category, const char *text);

/* --- console_run.c --- */

/* The end of a wait for a task that runs. */
enum wait_end {
    WAIT_STOPPED,
    WAIT_ENDED,    /* the worker's debugger is gone */
    WAIT_FINISHED, /* the worker no longer runs the task */
    WAIT_LEFT,     /* the user leaves */
    WAIT_AWAY,     /* the user goes to another task that has stopped */
    WAIT_TIMEOUT,
};

enum wait_end run_wait(struct console *console, int64_t timeout_ms);
/* Waits for a stop after the task was resumed, and shows it; of several stops, that of `thread` (0:
 * any) first. Ends the console if no stop can follow. */
void run_until_stop(struct console *console, int64_t thread);
/* Waits for the first stop after the attach, for a while, and shows it. */
void run_await_first_stop(struct console *console);
/* Prints why the session has ended by itself. */
void run_say_end(struct console *console);
int run_exit_code(const struct console *console);
/* The exit code if the user leaves while the task runs. */
int run_left_code(const struct console *console);
/* Sends `pause` for a thread; false if the user did not wait for the response. */
bool run_ask_pause(struct console *console, int64_t thread);
/* Pauses a task that runs, and shows where. */
void run_pause(struct console *console);
/* Announces the stops of further threads. */
void run_announce(struct console *console);

/* --- console_stop.c --- */

/* Selects a stopped thread and shows where it is; clears the state of the previous stop. */
int stop_show(struct console *console, int64_t id);

/* --- console_stack.c --- */

/* Reads the frames of console->thread and selects the top one. */
int stack_load(struct console *console, struct err *err);
void stack_clear(struct console *console);
/* 0 if a frame is selected, after another attempt to load the stack if the stop's own has failed;
 * else prints why there is none. */
int stack_need(struct console *console);
const struct stack_frame *stack_selected(const struct console *console);
/* The text of a frame's file, or NULL. */
const struct source *stack_source(struct console *console, const struct stack_frame *frame);
/* The same, by path. */
const struct source *stack_source_at(struct console *console, const char *path);
void stack_print_location(struct console *console, const struct stack_frame *frame,
                          const char *note);
void stack_print_lines(struct console *console, const struct stack_frame *frame, int64_t first,
                       int64_t last);
void stack_clear_sources(struct console *console);

/* --- console_threads.c --- */

void thread_announce(struct console *console, int64_t id);
/* The location of a thread's newest frame: "app.py:8 in square"; NULL if the request fails. The
 * caller frees. */
char *thread_location(struct console *console, int64_t id);

/* --- console_many.c --- */

/* The title if the filter is "*". */
#define MANY_ALL "all tasks"

/* Prints how many tasks there are and where they have stopped, and selects one. */
void many_greet(struct console *console);
/* Announces the stops of other threads. Selects another thread if the selected one has ended, or
 * was not resumed by the console but runs. */
void many_announce(struct console *console);
void many_prompt(struct console *console);
/* Fills console->label with the thread's short name. */
void many_name(struct console *console, int64_t id);
/* Waits for this thread's stop, whatever others do, and shows it. */
void many_until_stop(struct console *console, int64_t thread);
/* Selects a thread by its name, such as "rank 7". */
int many_select(struct console *console, const char *words);
/* True for a verb on many tasks that is not one of the console's own, or has a "/" in front.
 * many_help() with "" explains all such verbs. */
bool many_knows(const char *word);
int many_help(struct console *console, const char *word);
void many_complete(const char *word, size_t len, struct candidates *out);
/* Runs a line about more than the selected task. */
int many_command(struct console *console, char *line);

/* --- console_values.c --- */

/* Evaluates in the selected frame. `context` is DAP's; `raw`: a string comes whole and without
 * quotes. */
int value_evaluate(struct console *console, const char *expression, const char *context, bool raw,
                   struct reply *reply, struct err *err);
/* The same, with a time limit. Returns only the result (the caller frees); NULL on failure. */
char *value_text(struct console *console, const char *expression);
/* The same for what has nothing to do with a frame: an evaluation in one keeps its variables alive
 * (relay/inject/injections/snapshots.py). */
char *value_of_process(struct console *console, const char *expression);

/* The variablesReference of a scope of the selected frame. */
int value_scope(struct console *console, const char *name, int64_t *reference, struct err *err);
/* Prints the rows of a `variables` response, one per line, and returns their number. */
size_t values_print(struct console *console, struct json list);

/* --- console_displays.c --- */

void displays_show(struct console *console);
void displays_clear(struct console *console);

/* --- console_breakpoints.c --- */

/* Removes the temporary breakpoints that the stop at `frame` has used up. Returns the number of the
 * breakpoint there, or 0, and a copy of its commands, or NULL. */
int breakpoints_hit(struct console *console, const struct stack_frame *frame, char **commands);
bool breakpoints_has(struct console *console, int64_t number);
/* Replaces the commands of an existing breakpoint; "": none. */
void breakpoints_set_commands(struct console *console, int64_t number, const char *commands);
int breakpoints_add_hidden(struct console *console, const char *path, int64_t line);
void breakpoints_remove_hidden(struct console *console);
void breakpoints_event(struct console *console, struct json json);
void breakpoints_clear(struct console *console);

/* --- console_scripts.c --- */

/* Queues a breakpoint's commands to run next, up to the first that lets the task run. */
void scripts_queue(struct console *console, const char *commands);
/* True if the commands begin with "silent": the stop is not shown. NULL: false. */
bool scripts_silent(const char *commands);
void scripts_stop_interacting(struct console *console);
/* True for "exit()" and "quit()": the user wants to leave. */
bool scripts_is_exit(const char *text);

/* --- console_locations.c --- */

struct location;
/* Fills the condition, and path and line, or only `function` if debugpy has to find it. */
int location_find(struct console *console, const struct location *location,
                  struct breakpoint *fresh, struct err *err);

/* The same for the function `fresh->function`. */
int location_function(struct console *console, struct breakpoint *fresh, struct err *err);

/* --- console_complete.c --- */

/* Finds candidates for the word that ends at `cursor` (bytes) of `line`; for struct input_ops. */
void complete_line(void *arg, const char *line, size_t cursor, struct candidates *out);

#endif
