/* The source of the console's commands: a terminal (libedit, with history and completion), lines of
 * stdin, or the command line. The loop runs while it waits. */
#ifndef RAYDBG_CLI_PROMPT_PROMPT_INPUT_H
#define RAYDBG_CLI_PROMPT_PROMPT_INPUT_H

#include "cli/prompt/candidates.h"
#include "relay/io/loop.h"

#include <stdbool.h>
#include <stddef.h>

struct input;

struct input_ops {
    /* Called between turns of the loop while a line is awaited: may print, and send requests to the
     * debuggee. False ends the input. */
    bool (*on_idle)(void *arg);
    void (*complete)(void *arg, const char *line, size_t cursor, struct candidates *out);
};

struct input *input_terminal(struct loop *loop, const char *prompt, const struct input_ops *ops,
                             void *arg);
struct input *input_lines(struct loop *loop, int fd, const struct input_ops *ops, void *arg);
struct input *input_commands(const char *const *commands, size_t count);
void input_destroy(struct input **input);
/* Sets a terminal's prompt, from the next line on. Copies the text. */
void input_set_prompt(struct input *input, const char *prompt);

enum input_status {
    INPUT_LINE,
    INPUT_CLEARED, /* ^C cleared the line; *line is NULL */
    INPUT_END,     /* end of input, or a signal asks the program to end */
};

/* `*line` is valid until the next call; a paste, or one from the command line, may have several
 * lines. `was_empty`, after INPUT_CLEARED: nothing had been typed. */
enum input_status input_next(struct input *input, const char **line, bool *was_empty);
/* The same for a further line of a command: a terminal shows `prompt` for it. */
enum input_status input_next_further(struct input *input, const char *prompt, const char **line,
                                     bool *was_empty);
/* True if a command may continue in the next line; false for those of the command line. */
bool input_has_more(const struct input *input);
/* Adds a terminal's command to its history. */
void input_remember(struct input *input, const char *command);

/* Makes room for output while a prompt shows: hides its line, which comes back when the loop
 * runs. */
void input_hide(struct input *input);

/* Signals. Between the two calls SIGINT only sets a flag, and SIGTERM and SIGHUP request the end.
 * input_end_asked() tells of the last time afterwards, too. */
void input_catch_signals(void);
void input_release_signals(void);
bool input_interrupted(void); /* clears the flag */
bool input_is_interrupted(void);
bool input_end_asked(void);

#endif
