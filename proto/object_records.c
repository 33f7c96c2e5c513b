#include "proto/object_records.h"

#include "base/text.h"
#include "proto/string_pool.h"

#include <stdlib.h>
#include <string.h>

/* Ray >= 2.39's numbers; 13 from 2.51 on. */
static const char *const task_status_names[] = {
    "NIL",
    "PENDING_ARGS_AVAIL",
    "PENDING_NODE_ASSIGNMENT",
    "PENDING_OBJ_STORE_MEM_AVAIL",
    "PENDING_ARGS_FETCH",
    "SUBMITTED_TO_WORKER",
    "PENDING_ACTOR_TASK_ARGS_FETCH",
    "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY",
    "RUNNING",
    "RUNNING_IN_RAY_GET",
    "RUNNING_IN_RAY_WAIT",
    "FINISHED",
    "FAILED",
    "GETTING_AND_PINNING_ARGS",
};

void object_id_hex(const struct object_id *id, char out[ID_TEXT(ID_OBJECT_BYTES)])
{
    text_hex(id->bytes, sizeof id->bytes, out);
}

void object_id_task(const struct object_id *id, char out[ID_TEXT(ID_TASK_BYTES)])
{
    text_hex(id->bytes, ID_TASK_BYTES, out);
}

bool object_id_is_put(const struct object_id *id)
{
    enum { FIRST_PUT = 100000001 };
    const uint8_t *index = id->bytes + ID_TASK_BYTES;
    uint32_t number = (uint32_t)index[3] << 24 | (uint32_t)index[2] << 16 |
                      (uint32_t)index[1] << 8 | (uint32_t)index[0];
    return number >= FIRST_PUT;
}

/* The task in a handle's id is the actor's creation: eight bytes 0xFF, then the actor's id. */
bool object_id_is_actor_handle(const struct object_id *id, char actor[ID_TEXT(ID_ACTOR_BYTES)])
{
    enum { UNIQUE = ID_TASK_BYTES - ID_ACTOR_BYTES };
    for (size_t i = 0; i < UNIQUE; i++)
        if (id->bytes[i] != 0xFF)
            return false;
    uint8_t nil = 0xFF; /* a nil actor id is 0xFF up to its job id: a driver's task has it */
    for (size_t i = 0; i < ID_ACTOR_BYTES - ID_JOB_BYTES; i++)
        nil &= id->bytes[UNIQUE + i];
    if (nil == 0xFF)
        return false;
    text_hex(id->bytes + UNIQUE, ID_ACTOR_BYTES, actor);
    return true;
}

bool object_id_made_by(const struct object_id *id, const char *task_id)
{
    uint8_t task[ID_TASK_BYTES];
    size_t from = object_id_is_put(id) ? 1 : 0;
    return text_unhex(task_id, task, sizeof task) &&
           memcmp(id->bytes + from, task + from, sizeof task - from) == 0;
}

bool object_id_parse(const char *hex, size_t len, struct object_id *out)
{
    char digits[ID_TEXT(ID_OBJECT_BYTES)];
    if (len < sizeof digits - 1)
        return false;
    memcpy(digits, hex, sizeof digits - 1);
    digits[sizeof digits - 1] = '\0';
    return text_unhex(digits, out->bytes, sizeof out->bytes);
}

const char *ray_task_status_name(int status)
{
    if (status < 0 || (size_t)status >= sizeof task_status_names / sizeof *task_status_names)
        return "UNKNOWN";
    return task_status_names[status];
}

void ray_worker_objects_clear(struct ray_worker_objects *worker)
{
    if (!worker)
        return;
    free(worker->ip);
    free(worker->refs);
    ray_string_pool_free(worker->pool);
    *worker = (struct ray_worker_objects){0};
}

void ray_node_objects_clear(struct ray_node_objects *node)
{
    if (!node)
        return;
    for (size_t i = 0; i < node->worker_count; i++)
        ray_worker_objects_clear(&node->workers[i]);
    free(node->workers);
    *node = (struct ray_node_objects){0};
}

void ray_object_locations_free(struct ray_object_location *locations, size_t count)
{
    for (size_t i = 0; locations && i < count; i++) {
        free(locations[i].node_ids);
        free(locations[i].spilled_url);
    }
    free(locations);
}
