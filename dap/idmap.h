/* The ids of many debuggees as those of one session: threads, frames, variables, … are numbered by
 * each debuggee for itself, and DAP wants them unique within 1 … 2^31-1. Pure. */
#ifndef RAYDBG_DAP_IDMAP_H
#define RAYDBG_DAP_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each kind is a number space of its own. */
enum id_kind {
    ID_THREAD,
    ID_FRAME,
    ID_VARIABLES,
    ID_SOURCE,
    ID_BREAKPOINT,
    ID_TARGET, /* of goto and step-in */
    ID_MODULE, /* numbers only; a module's id that is a string is left alone */
    ID_LOCATION,
    ID_KIND_COUNT,
};

struct idmap;

/* Empty, it has no memory beyond its own struct (250 bytes) and 24 bytes for each slot that there
 * was. An id takes 30 to 50 bytes. All calls are O(1) for each id that they are about; none ever
 * goes through the ids of another debuggee. */
struct idmap *idmap_create(void);
void idmap_destroy(struct idmap **map);

/* The first number of each kind that is given is `next` (ID_FIRST_MAPPED … 2^31-1), not
 * ID_FIRST_MAPPED; before any other call. */
void idmap_start(struct idmap *map, int64_t next);

/* The session's id for `foreign`, an id of the debuggee in `slot` (0, 1, …; below 2^28): the one it
 * has, or a new one. Those of the first debuggee in slot 0 are the debuggee's own while they are
 * below ID_FIRST_MAPPED, so that a session of one debuggee is the identity; all others are numbered
 * from there on, upwards, and a number is not used again before 2^31 has been reached: a client
 * that asks with an id of an old stop is told so, instead of being shown another task's.
 * `thread` is the debuggee's thread whose stop the id lives in, 0 if it lives as long as the
 * debuggee, as threads, sources, breakpoints and modules do whatever `thread` says.
 * 0 (DAP's "nothing") stays 0; so does what is no positive number below 2^31, and has no entry. */
#define ID_FIRST_MAPPED (1 << 24)
int64_t idmap_out(struct idmap *map, uint32_t slot, enum id_kind kind, int64_t foreign,
                  int64_t thread);

struct idmap_entry {
    uint32_t slot;
    int64_t foreign;
    int64_t thread; /* a thread's is itself */
};

/* False if the session has no such id (any more). */
bool idmap_in(const struct idmap *map, enum id_kind kind, int64_t id, struct idmap_entry *out);

/* For what the session numbers itself, such as a breakpoint that all debuggees have: a number of
 * this kind that nobody else gets, and the debuggee's id that it is from now on said for. Several
 * debuggees' ids may be the same one; to idmap_in() it is unknown. */
int64_t idmap_number(struct idmap *map, enum id_kind kind);
void idmap_alias(struct idmap *map, uint32_t slot, enum id_kind kind, int64_t foreign, int64_t id);

/* The thread goes on: the ids of its stop are free. */
void idmap_end_stop(struct idmap *map, uint32_t slot, int64_t thread);
/* The debuggee is gone, with all its ids; the slot may be used anew, by another. */
void idmap_drop(struct idmap *map, uint32_t slot);

size_t idmap_count(const struct idmap *map);

#endif
