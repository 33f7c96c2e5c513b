/* What the console's parts share; for console*.c alone. */
#ifndef RAYDBG_CLI_CONSOLE_STATE_H
#define RAYDBG_CLI_CONSOLE_STATE_H

#include "base/buf.h"
#include "cli/console.h"
#include "cli/console_input.h"
#include "cli/console_source.h"
#include "cli/console_verbs.h"
#include "cli/console_view.h"
#include "cli/console_watch.h"
#include "cli/debuggee.h"

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
    bool ray; /* Ray's own machinery */
    bool subtle;
};

/* A text that was looked for once; `there` false: not to be had. */
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
    int64_t id; /* debugpy's, of the last time it was set */
    char *message;
};

struct display {
    char *expression;
    char *last; /* NULL: not shown yet */
};

struct console {
    const struct console_options *options;
    struct loop *loop;
    struct debuggee *debuggee;
    struct input *input;
    struct watcher watcher; /* whether the task still runs */
    struct style style;
    bool interactive;
    char *title;  /* "square"; of many, what they are */
    char *prompt; /* of many */
    char cwd[PATH_MAX];
    struct buf partial; /* the task's output since its last newline */

    bool leaving;       /* no more commands */
    bool kill;          /* the worker is to end with the console */
    bool silent;        /* what the session says is said otherwise */
    bool finished;      /* the task has ended while it was watched */
    bool fate_intended; /* the session said that the worker was ended on purpose */
    bool job_over;      /* the same, because the job has finished */
    bool worker_over;   /* Ray ended the worker, idle by then */
    bool call_over;     /* pdb's actor has come to the end of a call, and lives on */
    int exit_code;
    int64_t waiting_since_us; /* a command for the worker's answers; 0: not, -1: said so */

    int64_t thread;      /* the selected one; 0: none is stopped */
    int64_t last_thread; /* the last that was */
    bool pausing;        /* the user asked for a pause */
    char label[48];      /* what the last selected one is called: "thread 3", of many "rank 3" */
    /* Of many tasks: the thread whose stop is waited for (0: none), and how long nothing is said of
     * others. */
    int64_t waiting_for;
    int64_t quiet_until_us;
    bool gave_up; /* the user did not wait for the last request's answer */
    struct stack_frame *frames;
    size_t frame_count;
    size_t frame; /* the selected one */
    bool frames_all;
    bool post_mortem;
    char *shown_place; /* function and path of the last stop that was shown */
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

/* --- console_output.c --- */

/* To stdout. Text of a worker's must have gone through console_view or text_printable(). */
void console_print(struct console *console, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void console_write(struct console *console, struct buf *out); /* and frees it */
/* "[…]": what is no answer to a command; dimmed, to stderr for scripts. */
void console_note(struct console *console, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* "*** …" to stderr; both return -1. */
int console_error(struct console *console, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
int console_fail(struct console *console, const struct err *err);
/* Prints what the task has written without a newline yet. */
void console_flush_output(struct console *console);
/* An `output` event: debuggee_ops' on_output, with the console. */
void console_on_output(void *arg, const char *category, const char *text);

/* --- console_run.c --- */

/* What became of a debuggee that runs. */
enum wait_end {
    WAIT_STOPPED,
    WAIT_ENDED,    /* the worker's debugger is gone */
    WAIT_FINISHED, /* the worker no longer runs the task */
    WAIT_LEFT,     /* the user wants out */
    WAIT_TIMEOUT,
};

enum wait_end run_wait(struct console *console, int64_t timeout_ms);
/* Waits for a stop after something made the task run, and shows what comes; of several stops, that
 * of `thread` first (0: any). Ends the console if there will be none. */
void run_until_stop(struct console *console, int64_t thread);
/* When the session has ended by itself. */
void run_say_end(struct console *console);
int run_exit_code(const struct console *console);
/* Asks for a thread's pause; false if the user did not wait for the answer. */
bool run_ask_pause(struct console *console, int64_t thread);
/* Pauses a task that runs, and shows where. */
void run_pause(struct console *console);
/* Announces the stops of further threads. */
void run_announce(struct console *console);
/* Selects a thread that has stopped and shows where; forgets all of the stop before. */
int run_show_stop(struct console *console, int64_t id);

/* --- console_stack.c --- */

/* Reads the frames of console->thread and selects the top one. */
int stack_load(struct console *console, struct err *err);
void stack_clear(struct console *console);
const struct stack_frame *stack_selected(const struct console *console);
/* The text of a frame's file, or NULL. */
const struct source *stack_source(struct console *console, const struct stack_frame *frame);
void stack_print_place(struct console *console, const struct stack_frame *frame, const char *note);
void stack_print_lines(struct console *console, const struct stack_frame *frame, int64_t first,
                       int64_t last);
void sources_clear(struct console *console);

/* --- console_threads.c --- */

void thread_announce(struct console *console, int64_t id);
/* Where a thread is, by its newest frame: "app.py:8 in square"; NULL if it cannot be asked. The
 * caller frees. */
char *thread_place(struct console *console, int64_t id);

/* --- console_many.c --- */

/* The title of all there are. */
#define MANY_ALL "all tasks"

/* Says what they are and where, and selects one. */
void many_greet(struct console *console);
/* Says which others have stopped, in a few words, and finds another one if the selected one has
 * gone on or ended unasked. */
void many_announce(struct console *console);
void many_prompt(struct console *console);
/* Fills console->label. */
void many_name(struct console *console, int64_t id);
/* Waits for this thread's stop, whatever others do, and shows it. */
void many_until_stop(struct console *console, int64_t thread);
/* By what it is called: "rank 7". */
int many_select(struct console *console, const char *words);
/* Whether it is a verb over many that is not the console's own; of "", all of them are explained.
 */
bool many_knows(const char *word);
int many_help(struct console *console, const char *word);
void many_complete(const char *word, size_t len, struct candidates *out);
/* A line that concerns more than the selected one. */
int many_command(struct console *console, char *line);

/* --- console_values.c --- */

/* Evaluates in the selected frame; `context` as in DAP; `raw`: a string without quotes and whole.
 */
int value_evaluate(struct console *console, const char *expression, const char *context, bool raw,
                   struct reply *reply, struct err *err);
/* The same, for the result alone (the caller frees) and with a time limit; NULL on failure. */
char *value_text(struct console *console, const char *expression);

/* The reference of a scope of the selected frame's. */
int value_scope(struct console *console, const char *name, int64_t *reference, struct err *err);
/* Prints the rows of a `variables` response, a line each; gives their number. */
size_t values_print(struct console *console, struct json list);

/* --- console_displays.c --- */

void displays_show(struct console *console);
void displays_clear(struct console *console);

/* --- console_breaks.c --- */

/* Removes the temporary breakpoints that the stop at `frame` has used up; gives the number of the
 * breakpoint that is there, or 0. */
int breaks_hit(struct console *console, const struct stack_frame *frame);
int breaks_add_hidden(struct console *console, const char *path, int64_t line);
void breaks_remove_hidden(struct console *console);
void breaks_event(struct console *console, struct json json);
void breaks_clear(struct console *console);

/* --- console_places.c --- */

struct location;
/* Fills path and line, or for a function that only debugpy may find, function; and the condition.
 */
int place_locate(struct console *console, const struct location *location, struct breakpoint *fresh,
                 struct err *err);

/* --- console_complete.c --- */

/* Candidates for the word that ends at `cursor` (bytes) of `line`, for input_create(). */
void complete_line(void *arg, const char *line, size_t cursor, struct candidates *out);

#endif
