/* A relay's breakpoints by file, in a file of the state directory. */
#ifndef RAYDBG_RELAY_BREAKPOINTS_BREAKPOINT_STORE_H
#define RAYDBG_RELAY_BREAKPOINTS_BREAKPOINT_STORE_H

#include "relay/breakpoints/file_breakpoint.h"

#include <stddef.h>

struct breakpoint_store;

enum { BREAKPOINT_STORE_MOST = 1000 };

/* Reads what an earlier relay has left in `path` (NULL: nothing is remembered). A file that cannot
 * be read as such is logged, and the store is empty. */
struct breakpoint_store *breakpoint_store_create(const char *path);
void breakpoint_store_destroy(struct breakpoint_store **store);

/* Takes over `breakpoint`, in place of an earlier one of the same run (or of none) at the same
 * line, and gives it an id. -1 if there are too many; the caller clears it then. */
int breakpoint_store_add(struct breakpoint_store *store, struct file_breakpoint *breakpoint,
                         struct err *err);
/* Removes the one with this id; false if there is none. */
bool breakpoint_store_remove(struct breakpoint_store *store, int64_t id);

/* Its condition has failed. */
void breakpoint_store_note_problem(struct breakpoint_store *store, int64_t id, const char *problem);

/* Counts a hit of the one with this id, and remembers its last. That one if this hit is to stop,
 * else NULL. `*spent`: it was the last that can. */
const struct file_breakpoint *breakpoint_store_count(struct breakpoint_store *store, int64_t id,
                                                     bool *spent);

/* In the order in which they were made; NULL past the last. */
const struct file_breakpoint *breakpoint_store_at(const struct breakpoint_store *store, size_t i);
const struct file_breakpoint *breakpoint_store_find(const struct breakpoint_store *store,
                                                    int64_t id);

/* In these, `run` is that of a process, "" if it is not known. A process has no breakpoint of
 * another run. True if one reaches the processes of the run there. */
bool breakpoint_store_reaches(const struct breakpoint_store *store,
                              const struct breakpoint_node *node, const char *run);
/* True if one at this line does. */
bool breakpoint_store_has(const struct breakpoint_store *store, const char *file, int64_t line,
                          const struct breakpoint_node *node, const char *run);
/* Appends the elements of the setBreakpoints that brings the file's breakpoints to such a process,
 * with commas between them; nothing if none reaches it. Of several at one line it has the last. */
void breakpoint_store_dap(const struct breakpoint_store *store, const char *file,
                          const struct breakpoint_node *node, const char *run, struct buf *out);
/* Calls `fn` once for each file that has a breakpoint. */
void breakpoint_store_each_file(const struct breakpoint_store *store,
                                void (*fn)(void *arg, const char *file), void *arg);

#endif
