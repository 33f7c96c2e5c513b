#include "cli/text/console_queue.h"

#include "base/mem.h"

#include <stdlib.h>

void queue_put_first(struct command_queue *queue, const char *line)
{
    queue->lines = mem_resize(queue->lines, queue->count + 1, sizeof *queue->lines);
    queue->lines[queue->count++] = mem_string(line);
}

char *queue_take(struct command_queue *queue)
{
    return queue->count ? queue->lines[--queue->count] : NULL;
}

void queue_clear(struct command_queue *queue)
{
    while (queue->count)
        free(queue_take(queue));
    free(queue->lines);
    *queue = (struct command_queue){0};
}
