/* What `raydbg memory` shows people: the stores as bars, lines and groups as tables, and how both
 * sides' totals agree. Pure; all append. */
#ifndef RAYDBG_CLI_MEMORY_OUTPUT_H
#define RAYDBG_CLI_MEMORY_OUTPUT_H

#include "base/buf.h"
#include "cli/memory_lines.h"
#include "cli/memory_units.h"

#include <stdbool.h>

struct memory_style {
    int width;
    bool colour, utf8;
    bool whole; /* whole ids: not for a terminal */
    enum memory_units units;
};

/* "driver pid 5842", "Trainer (bob) pid 5865@node-1": the node where there are several. -1 gives
 * "unknown": who owned it has died, or has dropped the reference. */
void memory_process_name(const struct object_sweep *sweep, int32_t process, struct buf *out);
/* "node-1 (10.0.0.7)" */
void memory_node_name(const struct object_node *node, struct buf *out);
/* "00ffff..01e1f505", or the whole one. */
void memory_object_name(const struct object_id *id, const struct memory_style *style,
                        struct buf *out);
/* As memory_site(); nothing if it is not known. */
void memory_site_name(const char *call_site, struct buf *out);

/* "Driver", "Worker", as `ray memory` says. */
const char *memory_type_name(const struct object_sweep *sweep, const struct object_row *row);
/* "node-1, node-2; spilled on node-1", "lost", "in its owner"; nothing where it was not asked. */
void memory_where(const struct object_sweep *sweep, const struct object_row *row, struct buf *out);

/* A bar for each node, with what was spilled; for one that did not answer, why. */
void memory_print_stores(const struct object_sweep *sweep, const struct memory_style *style,
                         struct buf *out);
/* --stats-only: all counters. */
void memory_print_stats(const struct object_sweep *sweep, const struct memory_style *style,
                        struct buf *out);
/* The first `limit` lines, and what the rest is. */
void memory_print_lines(const struct memory_lines *lines, const struct object_sweep *sweep,
                        const struct memory_style *style, size_t limit, struct buf *out);
/* The first groups, which are `by` something, each with its first rows, and what the rest is.
 * `locations`: they were asked for. */
void memory_print_groups(const struct object_report *report, const struct object_sweep *sweep,
                         const struct memory_style *style, enum object_group_by by, size_t groups,
                         size_t rows, bool locations, struct buf *out);
/* What the references sum up to, what the raylets say, and why it is not the same. `whole`: the
 * report has all rows, so that both can be compared. */
void memory_print_totals(const struct object_report *report, const struct object_sweep *sweep,
                         const struct memory_style *style, bool whole, struct buf *out);

#endif
