/* Sweeps for `raydbg memory`, waited for, with a progress note on a terminal. */
#ifndef RAYDBG_CLI_MEMORY_LOOK_H
#define RAYDBG_CLI_MEMORY_LOOK_H

#include "cli/memory_request.h"

/* Asks, and then what the request needs beyond: names of tasks, the worker that runs query.task,
 * which it sets, the owners' word on locations. `brief`: only a part will be shown, so that only
 * that part's names are worth asking for. Each returns 0, or -1 with `err` set. */
int memory_look(struct loop *loop, struct memory_source *source, struct memory_request *request,
                bool brief, struct object_sweep **out, struct err *err);
/* What an earlier --format json has printed. */
int memory_look_file(const char *path, struct object_sweep **out, struct err *err);
/* Lets `ms` pass. */
void memory_look_wait(struct loop *loop, int64_t ms);

#endif
