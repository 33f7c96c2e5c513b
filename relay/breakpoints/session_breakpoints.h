/* The breakpoints by file that DAP sessions have set in the processes of a run (`raydbg run`), for
 * those that exist and those that begin later. They are gone when their session is, and no list of
 * the relay's own breakpoints has them. Pure. */
#ifndef RAYDBG_RELAY_BREAKPOINTS_SESSION_BREAKPOINTS_H
#define RAYDBG_RELAY_BREAKPOINTS_SESSION_BREAKPOINTS_H

#include "base/buf.h"
#include "dap/scan.h"

#include <stdbool.h>
#include <stdint.h>

struct session_breakpoints;

struct session_breakpoints *session_breakpoints_create(void);
void session_breakpoints_destroy(struct session_breakpoints **sets);

/* Takes the arguments of the owner's setBreakpoints, in place of its earlier ones for that file.
 * `run` is the id of the run's agent key. Returns the file, borrowed until the next call, or NULL:
 * the arguments name no absolute path, or the owner has too many, and nothing was changed. */
const char *session_breakpoints_set(struct session_breakpoints *sets, const void *owner,
                                    const char *run, const char *json, struct span arguments);
/* Removes one file of the owner's and returns its name, which the caller frees; NULL: none is left.
 */
char *session_breakpoints_drop(struct session_breakpoints *sets, const void *owner);

/* Sets for this owner if tasks of the run stop when they fail. True if that changes it for the
 * run. */
bool session_breakpoints_stop_failures(struct session_breakpoints *sets, const void *owner,
                                       const char *run, bool stop);
/* True if tasks of this run that fail are to stop, for any owner. */
bool session_breakpoints_stops_failures(const struct session_breakpoints *sets, const char *run);

/* True if a session has a breakpoint in the processes of this run. */
bool session_breakpoints_concern(const struct session_breakpoints *sets, const char *run);
/* Calls `fn` for each file that a session has named for this run. */
void session_breakpoints_each_file(const struct session_breakpoints *sets, const char *run,
                                   void (*fn)(void *arg, const char *file), void *arg);
/* Appends the elements of DAP's setBreakpoints for the file in a process of this run, each behind a
 * comma, except the first after a '['. They are the client's own, except that a log point prints in
 * the task (file_breakpoint_dap()), whether a session looks at the process or not. */
void session_breakpoints_dap(const struct session_breakpoints *sets, const char *run,
                             const char *file, struct buf *out);

/* Takes in the body of a response to setBreakpoints of a process of this run. */
void session_breakpoints_note(struct session_breakpoints *sets, const char *run, const char *json,
                              struct span body);
/* The condition or the text of a log point has failed; false if no session has this breakpoint. */
bool session_breakpoints_note_problem(struct session_breakpoints *sets, int64_t id,
                                      const char *problem);
/* Appends the body of the response to the owner's setBreakpoints for this file: an entry is
 * verified once a process has verified it. False, and nothing appended, if the owner has not named
 * it. */
bool session_breakpoints_body(const struct session_breakpoints *sets, const void *owner,
                              const char *file, struct buf *out);

#endif
