/* Expressions for a worker's debugger, debugpy or pdb, that use Ray's own support for a step from a
 * task into another that it calls, and back to where the result is taken. Pure.
 *
 * Ray's core worker has two notes: one makes the next task that is submitted stop as it begins; the
 * other makes the caller that gets this task's result stop in ray.get(). Each note has a uuid. */
#ifndef RAYDBG_RELAY_SESSION_REMOTE_CALL_H
#define RAYDBG_RELAY_SESSION_REMOTE_CALL_H

#include "relay/pause/pause.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum remote_call_way {
    REMOTE_CALL_INTO, /* the task that is submitted next */
    REMOTE_CALL_BACK, /* the caller that takes this task's result */
};

enum { REMOTE_CALL_UUID = 33 };

void remote_call_uuid(char uuid[REMOTE_CALL_UUID]);

/* The arguments of an `evaluate` in this frame that makes the note; the caller frees.
 * remote_call_task() reads its result. */
char *remote_call_note(enum remote_call_way way, const char *uuid, int64_t frame);
/* The arguments of an `evaluate` that takes the note back; the caller frees.
 * remote_call_was_unused() reads from its result whether the note was still there. `frame`: the one
 * in which the note is being made, as pydevd evaluates without a frame at once, ahead of what a
 * thread has to do; or 0. */
char *remote_call_forget(enum remote_call_way way, const char *uuid, int64_t frame);
bool remote_call_was_unused(const char *result);
/* Reads the id of the task that made the note from the result of remote_call_note()'s `evaluate`;
 * false if there is none. */
bool remote_call_task(const char *result, char task_id[ID_TEXT(ID_TASK_BYTES)]);

/* The arguments of an `evaluate` that lists the remote functions which this line of the function
 * calls; the caller frees. */
char *remote_call_functions(const char *function, int64_t line, int64_t frame);
/* The label of a step into these functions: "into remote task f"; NULL if there are none. The
 * caller frees. */
char *remote_call_label(const char *result);

/* True if the note has led to this pause. `task_id` made the note, if it is REMOTE_CALL_INTO. */
bool remote_call_is(const struct pause *pause, enum remote_call_way way, const char *uuid,
                    const char *task_id);

#endif
