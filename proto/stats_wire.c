#include "proto/stats_wire.h"

#include <stdbool.h>

/* Protobuf's wire types. */
enum { VARINT = 0, FIXED64 = 1, LENGTH = 2, FIXED32 = 5 };

/* Fields that one numbering has with a wire type that the other has not (ray-facts.md 1b; read in
 * the descriptors of 2.9.3, 2.40.0, 2.44.1, 2.49.2 and 2.50.1 to 2.60.0). Every worker's answer has
 * worker_id and pid, so that at least one row always applies. */
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

struct reader {
    const uint8_t *at, *end;
};

static bool read_varint(struct reader *reader, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
        uint8_t byte = *reader->at++;
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static bool skip_value(struct reader *reader, uint32_t wire)
{
    uint64_t len = 0;
    switch (wire) {
    case VARINT:
        return read_varint(reader, &len);
    case FIXED64:
        len = 8;
        break;
    case FIXED32:
        len = 4;
        break;
    case LENGTH:
        if (!read_varint(reader, &len))
            return false;
        break;
    default:
        return false; /* groups are not in proto3 */
    }
    if (len > (uint64_t)(reader->end - reader->at))
        return false;
    reader->at += len;
    return true;
}

static enum stats_numbering tell(uint64_t tag)
{
    for (size_t i = 0; i < sizeof tells / sizeof *tells; i++)
        if (tag >> 3 == tells[i].field && (tag & 7) == tells[i].wire)
            return tells[i].means;
    return STATS_UNKNOWN;
}

enum stats_numbering stats_numbering_of(const uint8_t *bytes, size_t len)
{
    enum stats_numbering found = STATS_UNKNOWN;
    if (!len)
        return found;
    struct reader reader = {bytes, bytes + len};
    while (reader.at < reader.end) {
        uint64_t tag;
        if (!read_varint(&reader, &tag) || !skip_value(&reader, (uint32_t)(tag & 7)))
            return STATS_UNKNOWN;
        enum stats_numbering one = tell(tag);
        if (one != STATS_UNKNOWN && found != STATS_UNKNOWN && one != found)
            return STATS_UNKNOWN;
        if (one != STATS_UNKNOWN)
            found = one;
    }
    return found;
}
