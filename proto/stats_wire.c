#include "proto/stats_wire.h"

#include "proto/wire.h"

enum { VARINT = WIRE_VARINT, LENGTH = WIRE_LENGTH };

/* Pairs of field number and wire type that only one of the numberings has (docs/facts/ray.md#1b;
 * read in the descriptors of 2.9.3, 2.40.0, 2.44.1, 2.49.2 and 2.50.1 to 2.60.0). Every worker's
 * answer has worker_id and pid, so that at least one row always matches. */
static const struct {
    uint32_t field;
    uint32_t wire;
    enum stats_numbering means;
} tells[] = {
    {20, LENGTH, STATS_V1}, /* worker_id; V2: num_owned_objects */
    {19, LENGTH, STATS_V1}, /* job_id; V2: objects_total */
    {18, LENGTH, STATS_V1}, /* object_refs; V2: worker_type */
    {17, LENGTH, STATS_V1}, /* actor_title; V2: pid */
    {9, LENGTH, STATS_V1},  /* actor_id; V2: num_local_objects */
    {15, LENGTH, STATS_V2}, /* worker_id; V1: task_queue_length */
    {14, LENGTH, STATS_V2}, /* job_id; V1: used_object_store_memory */
    {13, LENGTH, STATS_V2}, /* object_refs; V1: num_local_objects */
    {17, VARINT, STATS_V2}, /* pid; V1: actor_title */
    {5, LENGTH, STATS_V2},  /* actor_id; V1: none */
};

static enum stats_numbering tell(uint32_t tag)
{
    for (size_t i = 0; i < sizeof tells / sizeof *tells; i++)
        if (tag == WIRE_TAG(tells[i].field, tells[i].wire))
            return tells[i].means;
    return STATS_UNKNOWN;
}

enum stats_numbering stats_numbering_of(const uint8_t *bytes, size_t len)
{
    enum stats_numbering found = STATS_UNKNOWN;
    struct wire wire = wire_of(bytes, len);
    struct wire_field field;
    while (wire_next(&wire, &field)) {
        enum stats_numbering one = tell(field.tag);
        if (one != STATS_UNKNOWN && found != STATS_UNKNOWN && one != found)
            return STATS_UNKNOWN;
        if (one != STATS_UNKNOWN)
            found = one;
    }
    return wire.malformed ? STATS_UNKNOWN : found;
}
