/* Parses lines about many tasks, and makes short names for threads. Pure. */
#ifndef RAYDBG_CLI_CONSOLE_CONSOLE_NAMES_H
#define RAYDBG_CLI_CONSOLE_CONSOLE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

enum group_line {
    GROUP_NONE,  /* a console verb, or Python */
    GROUP_LOOK,  /* sent to the session: "compare loss", "stacks workers", "group g1 Trainer.*" */
    GROUP_MOVE,  /* the same, resumes tasks: "all next", "g1 continue", "continue --skip 9" */
    GROUP_MEET,  /* the same, responds when they have stopped: "barrier train.py:41" */
    GROUP_FOCUS, /* selects a task: "focus rank 7" */
};

/* A line that begins with "/" always goes to the session; "compare = 3" and "stacks[0]" are Python,
 * and "next" alone is the console's. */
enum group_line group_line_kind(const char *line);

/* True if the line's verb takes --format and the line has none. */
bool group_line_has_format(const char *line);

/* The short name of a thread: "rank 3" for "rank 3 Trainer.step 10.0.0.7 pid 811", or "pid 811", or
 * "bob". It gets more words of `name` until no other name begins with it, since a worker may have
 * several threads. `names` are the names of all threads; any may be NULL. */
void console_names_label(const char *name, const char *const *names, size_t count, char *out,
                         size_t size);

/* Finds the thread that the user means: by rank if `words` is a number, else by the beginning of
 * its name, else by words within it. Sets `*matches` to the number of matches; returns the first
 * one's index. */
size_t console_names_find(const char *const *names, size_t count, const char *words,
                          size_t *matches);

#endif
