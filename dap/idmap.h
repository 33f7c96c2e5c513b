/* Maps the ids of many debuggees to ids of one session. Each debuggee numbers threads, frames,
 * variables, … for itself; DAP requires ids that are unique within 1 … 2^31-1. Pure. */
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
    ID_MODULE, /* numbers only; a module id that is a string is left alone */
    ID_LOCATION,
    ID_KIND_COUNT,
};

struct idmap;

/* An empty map has no memory except its struct (250 bytes) and 24 bytes for each slot ever used. An
 * id takes 30 to 50 bytes. Every call is O(1) for each id that it handles and never walks over the
 * ids of another debuggee. */
struct idmap *idmap_create(void);
void idmap_destroy(struct idmap **map);

/* Starts the numbers of each kind at `next` (ID_FIRST_MAPPED … 2^31-1) instead of ID_FIRST_MAPPED.
 * Call before any other function. */
void idmap_start(struct idmap *map, int64_t next);

/* The session's id for `foreign`, an id of the debuggee in `slot` (0, 1, …; below 2^28): the
 * existing one, or a new one. The ids of the first debuggee in slot 0 stay as they are if they are
 * below ID_FIRST_MAPPED, so that a session of one debuggee changes nothing. All others are numbered
 * upwards from ID_FIRST_MAPPED, and no number is used again before 2^31 is reached: a client that
 * sends an id of an old stop then gets an error, not data of another task.
 * `thread` is the debuggee's thread whose stop the id lives in, 0 if it lives as long as the
 * debuggee. Threads, sources, breakpoints and modules always do, whatever `thread` is.
 * 0 (DAP's "nothing") stays 0. Anything else that is not a positive number below 2^31 also stays
 * unchanged and gets no entry. */
#define ID_FIRST_MAPPED (1 << 24)
int64_t idmap_out(struct idmap *map, uint32_t slot, enum id_kind kind, int64_t foreign,
                  int64_t thread);

struct idmap_entry {
    uint32_t slot;
    int64_t foreign;
    int64_t thread; /* the thread whose stop the id lives in, or 0; of a thread: itself */
};

/* False if the session has no such id, or its stop or debuggee has ended. */
bool idmap_in(const struct idmap *map, enum id_kind kind, int64_t id, struct idmap_entry *out);

/* For ids that the session gives itself, such as that of a breakpoint which all debuggees have:
 * idmap_number() returns a number of this kind that idmap_out() gives to no other id, and
 * idmap_alias() makes idmap_out() return it for a debuggee's id. Several debuggees' ids may have
 * the same number. idmap_in() does not know a number from idmap_number(). */
int64_t idmap_number(struct idmap *map, enum id_kind kind);
void idmap_alias(struct idmap *map, uint32_t slot, enum id_kind kind, int64_t foreign, int64_t id);

/* Call when the thread resumes: frees the ids of its stop. */
void idmap_end_stop(struct idmap *map, uint32_t slot, int64_t thread);
/* Call when the debuggee is gone: frees all its ids. Another debuggee may then use the slot. */
void idmap_drop(struct idmap *map, uint32_t slot);

size_t idmap_count(const struct idmap *map);

#endif
