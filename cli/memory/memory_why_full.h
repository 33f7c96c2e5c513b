/* --why-full: which references keep the object stores full, and until when. Pure. */
#ifndef RAYDBG_CLI_MEMORY_MEMORY_WHY_FULL_H
#define RAYDBG_CLI_MEMORY_MEMORY_WHY_FULL_H

#include "cli/memory/memory_output.h"

/* The locations of a line's objects, according to their owners. Objects whose owner was not asked
 * or did not answer are `unlocated`. Small results in their owner's memory count nowhere. */
struct memory_locations {
    int64_t *nodes; /* bytes in each node's store, copies counted */
    int64_t stored; /* their sum, with `unlocated` */
    int64_t spilled, unlocated;
    const struct memory_line *line;
};

/* A process, and the bytes that it refers to. */
struct memory_process {
    uint32_t process;
    int64_t bytes;
    size_t refs;
};

struct memory_why_full {
    const struct object_sweep *sweep;
    struct memory_sites lines;
    struct memory_locations *locations; /* one for each line; most bytes in the stores first */
    struct memory_process *processes;
    size_t process_count;
    int64_t *viewed; /* per node: bytes of non-primary copies that a value there is a view of */
    size_t full;     /* number of full nodes */
};

/* The bytes of a node's store that go when memory is needed. */
int64_t memory_evictable(const struct memory_why_full *full, size_t node);

/* True if nine tenths are used, fetches wait for memory, or bytes had to go to mapped files. */
bool memory_is_full(const struct object_node *node);

/* The sweep must outlive `out`. */
void memory_why_full_make(struct memory_why_full *out, const struct object_sweep *sweep,
                          const struct object_report *report);
void memory_why_full_clear(struct memory_why_full *full);

/* When the holder lets go: "when the variables go out of scope in driver pid 5842"; appends. */
void memory_release(const struct memory_why_full *full, const struct memory_line *line,
                    const struct memory_holder *holder, struct buf *out);

/* All append. */
void memory_why_full_print(const struct memory_why_full *full, const struct memory_style *style,
                           size_t limit, struct buf *out);
void memory_why_full_json(const struct memory_why_full *full, struct buf *out);
void memory_why_full_csv(const struct memory_why_full *full, struct buf *out);

#endif
