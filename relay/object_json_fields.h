/* How a sweep's records are JSON's members, for object_json.c, which writes them, and
 * object_json_read.c. */
#ifndef RAYDBG_RELAY_OBJECT_JSON_FIELDS_H
#define RAYDBG_RELAY_OBJECT_JSON_FIELDS_H

#include "relay/json_fields.h"
#include "relay/object_sweep.h"

extern const struct json_table object_sweep_table, object_node_table, object_store_table,
    object_process_table, object_worker_table, object_task_table, object_location_table;

/* RAY_WORKER is "worker", …; NULL for a type that there is none of. */
const char *object_process_type(enum ray_worker_type type);

#endif
