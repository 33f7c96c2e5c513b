/* The names of threads in a session over many tasks. An editor's side bar shows a name's first 12
 * characters, so the part that differs between tasks comes first. Pure. */
#ifndef RAYDBG_RELAY_PAUSE_TASK_LABEL_H
#define RAYDBG_RELAY_PAUSE_TASK_LABEL_H

#include "relay/pause/pause.h"

/* `rank`: "3", or NULL; `thread`: the debuggee's name of the thread if the worker has more than one
 * to show, or NULL. `format` is the user's template with {rank} {task} {actor} {class} {node}
 * {host} {pid} {thread} {job}; an unknown value is empty, and the blanks around it become one.
 * With `format` NULL:
 *     rank 3 Trainer.step 10.0.0.7 pid 811
 *     trainer-a Trainer.step 10.0.0.7 pid 811     an actor with a name
 *     pid 811 square 10.0.0.7
 * The caller frees. */
char *task_label(const char *format, const struct pause *pause, const char *rank,
                 const char *thread);

/* "Trainer.step", else the actor's class, else "task". Borrowed. */
const char *task_label_task(const struct pause *pause);

#endif
