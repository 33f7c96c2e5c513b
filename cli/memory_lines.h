/* The objects of a sweep, brought together by who owns them and where they were made: a line each.
 * Pure. An object counts once, with its bytes; the references to it each. */
#ifndef RAYDBG_CLI_MEMORY_LINES_H
#define RAYDBG_CLI_MEMORY_LINES_H

#include "relay/object_query.h"

/* What keeps an object, by the counts of all processes that refer to it. */
enum memory_hold {
    MEMORY_BY_VARIABLE, /* a Python reference in a driver or a worker */
    MEMORY_BY_ACTOR,    /* Python references in actors only: their state, or methods that run */
    MEMORY_BY_TASK,     /* only tasks that have not ended, as their argument */
    MEMORY_BY_VALUE,    /* only values that use its bytes (an array is a view of them) */
    MEMORY_BY_OBJECT,   /* only other objects that have it inside */
    MEMORY_BY_HANDLE,   /* an actor's handle, not data */
    MEMORY_BY_NOBODY,   /* no process counts a reference */
    MEMORY_HOLDS,
};
/* "no variable: only inside of other objects"; "" for what is usual. */
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
    const char *task_name; /* of the tasks that made them, where there is no call site; "" */
    size_t objects, unknown /* of unknown size */, refs;
    int64_t bytes;
    size_t holds[MEMORY_HOLDS];    /* objects */
    struct memory_holder *holders; /* most bytes first */
    size_t holder_count;
    size_t first; /* a row of one of its objects; lines->next[] leads on, to SIZE_MAX */
};

struct memory_lines {
    struct memory_line *lines; /* as the query wants them sorted */
    size_t count;
    size_t *next; /* of the first row of each object, the first row of the line's next object */
};

/* Of the report's rows. The sweep must outlive it. */
void memory_lines_make(struct memory_lines *out, const struct object_sweep *sweep,
                       const struct object_report *report, enum object_sort_by sort_by);
void memory_lines_clear(struct memory_lines *lines);

/* By ray.put or as a large argument, not returned: its index tells. */
bool memory_was_put(const struct object_id *id);
/* Task results below this size stay in their owner's memory (Ray's max_direct_call_object_size);
 * what was put is always in a store. */
#define MEMORY_INLINE_BYTES 102400
bool memory_may_be_inlined(const struct object_row *row);

/* Whether Ray records call sites: arguments have one in any case, which does not count. */
bool memory_has_call_sites(const struct object_sweep *sweep);

#endif
