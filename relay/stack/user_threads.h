/* Tells if a worker that runs no task still runs code of the user's in a thread that has stopped in
 * the debugger: a thread may outlive the call that started it. Pure. */
#ifndef RAYDBG_RELAY_STACK_USER_THREADS_H
#define RAYDBG_RELAY_STACK_USER_THREADS_H

#include "base/buf.h"
#include "dap/envelope.h"

#include <stdbool.h>

/* The time after which the worker counts as one that cannot be asked. */
enum { USER_THREADS_MS = 5000 };

/* A phrase in the error of the query's answer if there is such a thread. */
extern const char user_threads_mark[];

/* Appends the arguments of an `evaluate` that asks. It runs no code of the user's. */
void user_threads_query(struct buf *arguments);

/* True if the answer says that there is such a thread. */
bool user_threads_stand(const char *json, const struct envelope *response);

#endif
