/* Commands that run before the next one is read: those after ";;", the rest of a pasted list, and
 * the commands of a breakpoint. */
#ifndef RAYDBG_CLI_TEXT_CONSOLE_QUEUE_H
#define RAYDBG_CLI_TEXT_CONSOLE_QUEUE_H

#include <stddef.h>

/* All zero is an empty queue. */
struct command_queue {
    char **lines; /* the last one runs next */
    size_t count;
};

/* Adds a line that runs before all others. Copies the text. */
void queue_put_first(struct command_queue *queue, const char *line);
/* The next line, which the caller frees; NULL if there is none. */
char *queue_take(struct command_queue *queue);
void queue_clear(struct command_queue *queue);

#endif
