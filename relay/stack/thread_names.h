/* Edits a `threads` response for one task's worker: the task and its process replace Python's
 * "MainThread", and Ray's own thread is left out. Pure. */
#ifndef RAYDBG_RELAY_STACK_THREAD_NAMES_H
#define RAYDBG_RELAY_STACK_THREAD_NAMES_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>

struct thread_names {
    const char *task; /* replaces "MainThread" */
    const char *pool; /* prefix for the threads of an actor's pool; NULL: they keep their names */
    int64_t stopped;  /* id of a thread that is always listed, or 0 */
    bool all;         /* list Ray's own threads, too */
};

/* Appends the `threads` response with other names; every other byte is unchanged. Returns false,
 * and appends nothing, if there is nothing to change. */
bool thread_names_edit(const char *json, size_t len, const struct envelope *response,
                       const struct thread_names *names, struct buf *out);

/* The label for a thread with this Python name. A thread that Python did not start, such as one of
 * a threaded actor, is "Dummy-2" in Python and "thread-2" here. The caller frees. */
char *thread_label(const char *name);

#endif
