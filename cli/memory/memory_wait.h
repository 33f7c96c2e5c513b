/* Waits for the sweeps of `raydbg memory`, with a progress note on a terminal. */
#ifndef RAYDBG_CLI_MEMORY_MEMORY_WAIT_H
#define RAYDBG_CLI_MEMORY_MEMORY_WAIT_H

#include "cli/memory/memory_request.h"

/* Asks for a sweep, and then for what the request needs beyond: names of tasks, the worker that
 * runs query.task (sets query.task_worker), the owners' locations. `brief`: only a part will be
 * shown, so it asks only for the names of that part. Each returns 0, or -1 with `err` set. */
int memory_wait(struct loop *loop, struct memory_source *source, struct memory_request *request,
                bool brief, struct object_sweep **out, struct err *err);
/* Reads what an earlier --format json has printed. */
int memory_wait_file(const char *path, struct object_sweep **out, struct err *err);
/* Lets `ms` pass. */
void memory_wait_ms(struct loop *loop, int64_t ms);

#endif
