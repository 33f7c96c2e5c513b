/* The tables of `raydbg memory`: the stores as bars, lines and groups as tables, and a comparison
 * of the totals of references and stores. Pure; all append. */
#ifndef RAYDBG_CLI_MEMORY_MEMORY_OUTPUT_H
#define RAYDBG_CLI_MEMORY_MEMORY_OUTPUT_H

#include "base/buf.h"
#include "cli/common/byte_units.h"
#include "cli/memory/memory_sites.h"

#include <stdbool.h>

struct memory_style {
    int width;
    bool colour, utf8;
    bool whole; /* print whole ids: not for a terminal */
    enum byte_units units;
};

/* "driver pid 5842", "Trainer (bob) pid 5865@node-1": with the node if there are several. -1 gives
 * "unknown": the owner has died, or has dropped the reference. */
void memory_process_name(const struct object_sweep *sweep, int32_t process, struct buf *out);
/* "node-1 (10.0.0.7)" */
void memory_node_name(const struct object_node *node, struct buf *out);
/* "00ffff..01e1f505", or the whole id. */
void memory_object_name(const struct object_id *id, const struct memory_style *style,
                        struct buf *out);
/* Like call_site_text(); nothing if the call site is unknown. */
void memory_site_name(const char *call_site, struct buf *out);

/* "Driver" or "Worker", as in `ray memory`. */
const char *memory_type_name(const struct object_sweep *sweep, const struct object_row *row);
/* "node-1, node-2; spilled on node-1", "lost", "in its owner"; nothing if the location is
 * unknown. */
void memory_where(const struct object_sweep *sweep, const struct object_row *row, struct buf *out);

/* A bar for each node, with its spilled bytes, or the reason why it did not answer. */
void memory_print_stores(const struct object_sweep *sweep, const struct memory_style *style,
                         struct buf *out);
/* --stats-only: all counters. */
void memory_print_stats(const struct object_sweep *sweep, const struct memory_style *style,
                        struct buf *out);
/* The first `limit` lines, and a summary of the rest. */
void memory_print_lines(const struct memory_sites *lines, const struct object_sweep *sweep,
                        const struct memory_style *style, size_t limit, struct buf *out);
/* The first groups, each with its first rows, and a summary of the rest. `by` is what the groups
 * are by; `locations`: show their columns. */
void memory_print_groups(const struct object_report *report, const struct object_sweep *sweep,
                         const struct memory_style *style, enum object_group_by by, size_t groups,
                         size_t rows, bool locations, struct buf *out);
/* The totals of the references, those of the stores, and why they differ. `whole`: the report has
 * all rows, so that the two can be compared. */
void memory_print_totals(const struct object_report *report, const struct object_sweep *sweep,
                         const struct memory_style *style, bool whole, struct buf *out);

#endif
