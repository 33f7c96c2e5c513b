/* What the threads of many tasks are called: an editor's side bar shows a name's first 12
 * characters, so what tells the tasks apart comes first. Pure. */
#ifndef RAYDBG_RELAY_MULTI_NAMES_H
#define RAYDBG_RELAY_MULTI_NAMES_H

#include "relay/pause.h"

/* `rank`: "3", or NULL; `thread`: the debuggee's name of the thread if the worker has more than one
 * to show, or NULL. `format` is the user's template with {rank} {task} {actor} {class} {node}
 * {host} {pid} {thread} {job}; what is unknown is empty, and so are blanks around it. NULL:
 *     rank 3 Trainer.step 10.0.0.7 pid 811
 *     trainer-a Trainer.step 10.0.0.7 pid 811     an actor with a name
 *     pid 811 square 10.0.0.7
 * The caller frees. */
char *multi_name(const char *format, const struct pause *pause, const char *rank,
                 const char *thread);

#endif
