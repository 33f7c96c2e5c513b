/* The output of `raydbg memory` for programs: complete, with sizes in bytes. Pure; all append. */
#ifndef RAYDBG_CLI_MEMORY_MEMORY_EXPORT_H
#define RAYDBG_CLI_MEMORY_MEMORY_EXPORT_H

#include "base/buf.h"
#include "relay/sweep/sweep_query.h"

#include <stdbool.h>

/* The sweep as sweep_json_write() writes it, with the report's rows only, by id. If the query
 * groups or sorts, adds a member "groups": the key, totals and rows of each, in order, as
 * indices. */
void memory_json(const struct object_report *report, const struct object_sweep *sweep,
                 const struct sweep_query *query, struct buf *out);
/* The nodes and their counters, without processes and rows. */
void memory_stats_json(const struct object_sweep *sweep, struct buf *out);

/* RFC 4180: a line of titles, and a line for each row. An empty field is unknown. */
void memory_csv(const struct object_report *report, const struct object_sweep *sweep,
                const struct sweep_query *query, struct buf *out);
void memory_stats_csv(const struct object_sweep *sweep, struct buf *out);
/* One field, quoted if necessary. */
void memory_csv_text(const char *text, struct buf *out);

/* Any JSON as block-style YAML 1.2. Appends nothing if it is malformed. */
void memory_yaml(const char *json, size_t len, struct buf *out);

#endif
