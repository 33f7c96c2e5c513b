/* --why-full: who keeps the bytes that keep the object stores full, and until when. Pure. */
#ifndef RAYDBG_CLI_MEMORY_FULL_H
#define RAYDBG_CLI_MEMORY_FULL_H

#include "cli/memory_output.h"

/* Where a line's objects are, by their owners' word; those that were not asked for, or whose owner
 * did not say, are `unlocated`. Small results in their owner's memory are in none of these. */
struct memory_places {
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

struct memory_full {
    const struct object_sweep *sweep;
    struct memory_lines lines;
    struct memory_places *places; /* one for each line; most bytes in the stores first */
    struct memory_process *processes;
    size_t process_count;
    int64_t *viewed; /* of each node: bytes of copies that are not primary and in use all the same,
                        because a value in a process there is a view of them */
    size_t full;     /* nodes */
};

/* What of a node's store goes when memory is needed. */
int64_t memory_evictable(const struct memory_full *full, size_t node);

/* Nine tenths used, fetches that wait for memory, or bytes that had to go to mapped files. */
bool memory_is_full(const struct object_node *node);

/* The sweep must outlive it. */
void memory_full_make(struct memory_full *out, const struct object_sweep *sweep,
                      const struct object_report *report);
void memory_full_clear(struct memory_full *full);

/* "when the variables go out of scope in driver pid 5842"; appends. */
void memory_release(const struct memory_full *full, const struct memory_line *line,
                    const struct memory_holder *holder, struct buf *out);

/* All append. */
void memory_full_print(const struct memory_full *full, const struct memory_style *style,
                       size_t limit, struct buf *out);
void memory_full_json(const struct memory_full *full, struct buf *out);
void memory_full_csv(const struct memory_full *full, struct buf *out);

#endif
