/* The tables of a sweep's records and their JSON members, for sweep_json.c, which writes them, and
 * sweep_json_read.c. */
#ifndef RAYDBG_RELAY_SWEEP_SWEEP_JSON_FIELDS_H
#define RAYDBG_RELAY_SWEEP_SWEEP_JSON_FIELDS_H

#include "dap/json_record.h"
#include "relay/sweep/object_sweep.h"

extern const struct json_table object_sweep_table, object_node_table, object_store_table,
    object_process_table, object_worker_table, object_task_table, object_location_table;

/* "worker" for RAY_WORKER, …; NULL for an unknown type. */
const char *sweep_json_process_type(enum ray_worker_type type);

#endif
