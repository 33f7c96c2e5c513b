/* What is typed about many tasks, and what they are called for short. Pure. */
#ifndef RAYDBG_CLI_CONSOLE_GROUP_H
#define RAYDBG_CLI_CONSOLE_GROUP_H

#include <stdbool.h>
#include <stddef.h>

enum group_line {
    GROUP_NONE, /* the console's own, or Python */
    GROUP_LOOK, /* for the session: "compare loss", "stacks workers", "group g1 Trainer.*" */
    GROUP_MOVE, /* the same, and tasks run for it: "all next", "g1 continue", "continue --skip 9" */
    GROUP_MEET, /* the same, and its answer comes when they have stopped: "barrier train.py:41" */
    GROUP_FOCUS, /* it chooses a task: "focus rank 7" */
};

/* A line that begins with "/" is always the session's; "compare = 3" and "stacks[0]" are Python,
 * and "next" alone is the console's. */
enum group_line group_line_kind(const char *line);

/* Whether the session would answer it with JSON, and is not told how to. */
bool group_line_has_format(const char *line);

/* What tells a thread from the others, the beginning of its name: "rank 3" of "rank 3 Trainer.step
 * 10.0.0.7 pid 811", "pid 811", "bob"; as many words more as it takes to be no other's, for a
 * worker may have several threads. `names` are those of all; any may be NULL. */
void group_label(const char *name, const char *const *names, size_t count, char *out, size_t size);

/* Which thread a user means: the only one whose name begins so, or the only one in whose name the
 * words are; a number alone is a rank. `*matches` is how many there are; the first one's index. */
size_t group_find(const char *const *names, size_t count, const char *words, size_t *matches);

#endif
