#include "relay/objects/object_origin.h"

#include "base/text.h"

#include <string.h>

/* A task id: unique bytes and an actor id. That is unique bytes (all ones without an actor) and the
 * job id. */
enum { OWN_BYTES = ID_TASK_BYTES - ID_ACTOR_BYTES, ACTOR_OWN = ID_ACTOR_BYTES - ID_JOB_BYTES };
/* RayConfig's max_num_generator_returns: the indices of put objects are above it. */
enum { PUTS_ABOVE = 100000000 };

static bool is_ones(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != 0xFF)
            return false;
    return true;
}

static uint32_t index_of(const struct object_id *id)
{
    const uint8_t *at = id->bytes + ID_TASK_BYTES;
    return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

bool object_origin_is_handle(const struct object_id *id)
{
    return is_ones(id->bytes, OWN_BYTES) && !is_ones(id->bytes + OWN_BYTES, ACTOR_OWN) &&
           index_of(id) <= PUTS_ABOVE;
}

void object_origin_read(const struct object_id *id, struct object_origin *out)
{
    struct object_id task = *id;
    *out = (struct object_origin){.kind = ORIGIN_TASK, .put = index_of(id) > PUTS_ABOVE};
    const uint8_t *actor = id->bytes + OWN_BYTES;
    bool has_actor = !is_ones(actor, ACTOR_OWN);
    bool creates = is_ones(id->bytes + 1, OWN_BYTES - 1);
    if (has_actor)
        text_hex(actor, ID_ACTOR_BYTES, out->actor_id);
    text_hex(actor + ACTOR_OWN, ID_JOB_BYTES, out->job_id);
    if (creates && !has_actor)
        out->kind = ORIGIN_DRIVER;
    else if (out->put && !creates)
        out->kind = has_actor ? ORIGIN_ACTOR : ORIGIN_PUT;
    else if (object_origin_is_handle(id))
        out->kind = ORIGIN_HANDLE;
    if (creates)
        task.bytes[0] = 0xFF;
    object_id_task(&task, out->task_id);
}

bool object_origin_is_driver(const char *task_id)
{
    const size_t ones = (size_t)2 * (ID_TASK_BYTES - ID_JOB_BYTES);
    return strlen(task_id) == (size_t)2 * ID_TASK_BYTES && strspn(task_id, "f") >= ones;
}
