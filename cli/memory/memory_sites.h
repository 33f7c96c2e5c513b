/* Groups the objects of a sweep by owner and call site, one line for each. An object and its bytes
 * count once; each reference to it counts. Pure. */
#ifndef RAYDBG_CLI_MEMORY_MEMORY_SITES_H
#define RAYDBG_CLI_MEMORY_MEMORY_SITES_H

#include "relay/sweep/sweep_query.h"

/* The kind of reference that keeps an object, by the counts of all processes. */
enum memory_hold {
    MEMORY_BY_VARIABLE, /* a Python reference in a driver or a worker */
    MEMORY_BY_ACTOR,    /* Python references in actors only: their state, or methods that run */
    MEMORY_BY_TASK,     /* only tasks that have not ended, as an argument */
    MEMORY_BY_VALUE,    /* only values that use its bytes (an array is a view of them) */
    MEMORY_BY_OBJECT,   /* only other objects that contain it */
    MEMORY_BY_HANDLE,   /* an actor's handle, not data */
    MEMORY_BY_NOBODY,   /* no process counts a reference */
    MEMORY_HOLDS,
};
/* "no variable: only inside of other objects"; "" for the usual ones. */
const char *memory_hold_note(enum memory_hold hold);
/* The same for a narrow column: "only in objects". */
const char *memory_hold_mark(enum memory_hold hold);

/* `rows` are all references to one object. */
enum memory_hold memory_hold_of(const struct object_sweep *sweep, const struct object_row *rows,
                                size_t count);

/* The references of one process to a line's objects, of one kind. */
struct memory_holder {
    uint32_t process;
    enum object_reference reference;
    size_t refs;
    int64_t bytes;
};

struct memory_line {
    int32_t owner;         /* index into processes, or -1 */
    const char *call_site; /* the owner's, else a holder's; "" unknown */
    const char *task_name; /* of the tasks that made them, if there is no call site; else "" */
    size_t objects, unknown /* of unknown size */, refs;
    int64_t bytes;
    size_t holds[MEMORY_HOLDS];    /* number of objects */
    struct memory_holder *holders; /* most bytes first */
    size_t holder_count;
    size_t first; /* a row of one of its objects; lines->next[] has the others', then SIZE_MAX */
};

struct memory_sites {
    struct memory_line *lines; /* in the order of `sort_by` */
    size_t count;
    size_t *next; /* for the first row of an object: the first row of the line's next object */
};

/* Makes the lines of the report's rows. The sweep must outlive `out`. */
void memory_sites_make(struct memory_sites *out, const struct object_sweep *sweep,
                       const struct object_report *report, enum object_sort_by sort_by);
void memory_sites_clear(struct memory_sites *lines);

/* True if the object was made by ray.put or as a large argument, and not returned: its index shows
 * that. */
bool memory_was_put(const struct object_id *id);
/* Task results below this size stay in their owner's memory (Ray's max_direct_call_object_size);
 * objects that were put are always in a store. */
#define MEMORY_INLINE_BYTES 102400
bool memory_may_be_inlined(const struct object_row *row);

/* True if Ray records call sites. Those of arguments do not count: they are always recorded. */
bool memory_has_call_sites(const struct object_sweep *sweep);

#endif
