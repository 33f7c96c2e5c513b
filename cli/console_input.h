/* Where the console's commands come from: a terminal (libedit, with history and completion), lines
 * of stdin, or the command line. The loop runs while it waits. */
#ifndef RAYDBG_CLI_CONSOLE_INPUT_H
#define RAYDBG_CLI_CONSOLE_INPUT_H

#include "relay/loop.h"

#include <stdbool.h>
#include <stddef.h>

struct input;

/* What may stand for the last `typed` bytes before the cursor. Strings are owned. */
struct candidates {
    char **words;
    size_t count;
    size_t typed;
};

void candidates_add(struct candidates *candidates, const char *word);
void candidates_clear(struct candidates *candidates);
/* The bytes that all words begin with. */
size_t candidates_common(const struct candidates *candidates);

struct input_ops {
    /* Between turns of the loop while a line is awaited: may print, and ask the debuggee. False
     * ends the input. */
    bool (*on_idle)(void *arg);
    void (*complete)(void *arg, const char *line, size_t cursor, struct candidates *out);
};

struct input *input_terminal(struct loop *loop, const char *prompt, const struct input_ops *ops,
                             void *arg);
struct input *input_lines(struct loop *loop, int fd, const struct input_ops *ops, void *arg);
struct input *input_commands(const char *const *commands, size_t count);
void input_destroy(struct input **input);
/* Of a terminal, from the next line on. The text is copied. */
void input_set_prompt(struct input *input, const char *prompt);

enum input_status {
    INPUT_LINE,
    INPUT_CLEARED, /* ^C took the line away; *line NULL */
    INPUT_END,     /* end of input, or a signal asks the program to end */
};

/* `*line` is valid until the next call. `was_empty`, after INPUT_CLEARED: nothing had been typed.
 */
enum input_status input_next(struct input *input, const char **line, bool *was_empty);

/* Makes room for output while a prompt shows: the line goes, and comes back when the loop turns. */
void input_hide(struct input *input);

/* Signals. From the first call on, SIGINT only counts, and SIGTERM and SIGHUP ask for the end. */
void input_catch_signals(void);
bool input_interrupted(void); /* and forgets it */
bool input_end_asked(void);

#endif
