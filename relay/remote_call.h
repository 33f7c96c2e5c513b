/* A step from a task into another that it calls, and back to where the result is taken: what Ray
 * itself does about it, as expressions for a worker's debugger, debugpy or pdb. Pure.
 *
 * Ray's core worker has two notes: the next task that is submitted stops as it begins; whoever gets
 * the result of this task stops in ray.get(). A uuid goes along with each. */
#ifndef RAYDBG_RELAY_REMOTE_CALL_H
#define RAYDBG_RELAY_REMOTE_CALL_H

#include "relay/pause.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum remote_call_way {
    REMOTE_CALL_INTO, /* the task that is submitted next */
    REMOTE_CALL_BACK, /* whoever takes this one's result */
};

enum { REMOTE_CALL_UUID = 33 };

void remote_call_uuid(char uuid[REMOTE_CALL_UUID]);

/* The arguments of an `evaluate` in this frame that makes the note; the caller frees. Its result is
 * for remote_call_task(). */
char *remote_call_note(enum remote_call_way way, const char *uuid, int64_t frame);
/* The same, to take back a note that has led nowhere; the result says whether it had not. */
char *remote_call_forget(enum remote_call_way way, const char *uuid);
bool remote_call_was_unused(const char *result);
/* The id of the task that an `evaluate` ran in, out of its result. */
bool remote_call_task(const char *result, char task_id[ID_TEXT(ID_TASK_BYTES)]);

/* The same, for which remote functions a line of the function calls. */
char *remote_call_functions(const char *function, int64_t line, int64_t frame);
/* What a step into them is called: "into remote task f"; NULL if there are none. The caller frees.
 */
char *remote_call_label(const char *result);

/* Whether the pause is what the note has led to. `task_id` is where an INTO was made. */
bool remote_call_is(const struct pause *pause, enum remote_call_way way, const char *uuid,
                    const char *task_id);

#endif
