/* `raydbg memory` for programs: always complete, sizes in bytes. Pure; all append. */
#ifndef RAYDBG_CLI_MEMORY_EXPORT_H
#define RAYDBG_CLI_MEMORY_EXPORT_H

#include "base/buf.h"
#include "relay/object_query.h"

#include <stdbool.h>

/* The sweep as object_sweep_write() has it, with the report's rows only, by id. If the query groups
 * or sorts, with a member "groups": key, totals and the rows of each, in order, as indices. */
void memory_json(const struct object_report *report, const struct object_sweep *sweep,
                 const struct object_query *query, struct buf *out);
/* The nodes and their counters, without processes and rows. */
void memory_stats_json(const struct object_sweep *sweep, struct buf *out);

/* RFC 4180, a line for each row, with a line of titles. Empty is unknown. */
void memory_csv(const struct object_report *report, const struct object_sweep *sweep,
                const struct object_query *query, struct buf *out);
void memory_stats_csv(const struct object_sweep *sweep, struct buf *out);
/* One field, quoted where that is needed. */
void memory_csv_text(const char *text, struct buf *out);

/* Any JSON as block-style YAML 1.2. Appends nothing if it is malformed. */
void memory_yaml(const char *json, size_t len, struct buf *out);

#endif
