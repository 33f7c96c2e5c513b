#include "proto/object_reply.h"

#include "base/mem.h"
#include "proto/stats_wire.h"
#include "proto/string_pool.h"
#include "proto/wire.h"

#include <stdlib.h>
#include <string.h>

/* Uses proto/wire.h instead of protobuf-c: a node's answer may have 200,000 references, and
 * protobuf-c allocates several times for each and copies unknown fields. */

static int64_t at_least(int64_t number, int64_t least)
{
    return number < least ? least : number;
}

/* Limits a number to INT32_MAX. */
static int32_t narrow(uint64_t number)
{
    return number > INT32_MAX ? INT32_MAX : (int32_t)number;
}

static bool is_before(struct ray_version version, int major, int minor)
{
    bool known = version.major || version.minor || version.patch;
    return known && ray_version_compare(version, major, minor, 0) < 0;
}

/* --- one reference --- */

/* Ray <= 2.38 has no PENDING_ACTOR_TASK_… (6, 7): later numbers are two less there. */
static int8_t status_of(uint64_t number, bool early)
{
    enum { FIRST_MOVED = 6, MOVED_BY = 2 };
    if (early && number >= FIRST_MOVED)
        number += MOVED_BY;
    return (int8_t)(number > INT8_MAX ? INT8_MAX : number);
}

/* False if the message is malformed. A well-formed one may still lack an id: see *has_id. */
static bool read_ref(const struct wire_field *message, bool early, struct ray_string_pool *pool,
                     struct ray_object_ref *out, bool *has_id)
{
    struct wire wire = wire_of(message->bytes, message->len);
    struct wire_field field;
    *out = (struct ray_object_ref){.call_site = ""};
    *has_id = false;
    while (wire_next(&wire, &field))
        switch (field.tag) {
        case WIRE_TAG(1, WIRE_LENGTH):
            *has_id = field.len == sizeof out->id.bytes;
            if (*has_id)
                memcpy(out->id.bytes, field.bytes, sizeof out->id.bytes);
            break;
        case WIRE_TAG(2, WIRE_LENGTH):
            out->call_site = ray_string_pool_add(pool, field.bytes, field.len);
            break;
        case WIRE_TAG(3, WIRE_VARINT):
            out->size = at_least(wire_signed(&field), -1);
            break;
        case WIRE_TAG(4, WIRE_VARINT):
            out->local = at_least(wire_signed(&field), 0);
            break;
        case WIRE_TAG(5, WIRE_VARINT):
            out->submitted = at_least(wire_signed(&field), 0);
            break;
        case WIRE_TAG(6, WIRE_LENGTH):
            out->contained_in++;
            break;
        case WIRE_TAG(7, WIRE_VARINT):
            out->pinned = field.value != 0;
            break;
        case WIRE_TAG(8, WIRE_VARINT):
            out->status = status_of(field.value, early);
            break;
        case WIRE_TAG(9, WIRE_VARINT):
            out->attempt = narrow(field.value);
            break;
        default:
            break;
        }
    return !wire.malformed;
}

/* --- a process --- */

enum stats_field {
    OTHER,
    IP,
    PORT,
    ACTOR_ID,
    REFS,
    JOB_ID,
    WORKER_ID,
    PID,
    WORKER_TYPE,
    OBJECTS_TOTAL,
    OWNED,
};

/* Fields by their number. Checked: v1 2.9.3 ... 2.49.2, v2 2.51.2 ... 2.60.0. */
enum { STATS_NUMBERS = 26 };
static const uint8_t stats_v1[STATS_NUMBERS] = {
    [7] = IP,         [8] = PORT, [9] = ACTOR_ID,     [18] = REFS,          [19] = JOB_ID,
    [20] = WORKER_ID, [22] = PID, [23] = WORKER_TYPE, [24] = OBJECTS_TOTAL, [25] = OWNED,
};
static const uint8_t stats_v2[STATS_NUMBERS] = {
    [3] = IP,         [4] = PORT, [5] = ACTOR_ID,     [13] = REFS,          [14] = JOB_ID,
    [15] = WORKER_ID, [17] = PID, [18] = WORKER_TYPE, [19] = OBJECTS_TOTAL, [20] = OWNED,
};

/* OTHER for an unknown number, and for a wire type that the field does not have. */
static enum stats_field stats_field_of(const uint8_t *numbering, uint32_t tag)
{
    static const enum wire_type types[] = {
        [IP] = WIRE_LENGTH,     [ACTOR_ID] = WIRE_LENGTH,  [REFS] = WIRE_LENGTH,
        [JOB_ID] = WIRE_LENGTH, [WORKER_ID] = WIRE_LENGTH, [OWNED] = WIRE_VARINT,
    };
    uint32_t number = tag >> 3;
    enum stats_field found = number < STATS_NUMBERS ? numbering[number] : OTHER;
    return (tag & 7) == types[found] ? found : OTHER;
}

static void set_stats(struct ray_worker_objects *out, enum stats_field what,
                      const struct wire_field *field)
{
    switch (what) {
    case IP:
        free(out->ip);
        out->ip = mem_string_n((const char *)field->bytes, field->len);
        break;
    case PORT:
        out->port = field->value <= UINT16_MAX ? (uint16_t)field->value : 0;
        break;
    case ACTOR_ID:
        record_set_id(out->actor_id, ID_ACTOR_BYTES, field->bytes, field->len);
        break;
    case JOB_ID:
        record_set_id(out->job_id, ID_JOB_BYTES, field->bytes, field->len);
        break;
    case WORKER_ID:
        record_set_id(out->worker_id, ID_UNIQUE_BYTES, field->bytes, field->len);
        break;
    case PID:
        out->pid = (int64_t)(uint32_t)field->value;
        break;
    case WORKER_TYPE:
        if (field->value <= RAY_RESTORE_WORKER)
            out->type = (enum ray_worker_type)field->value;
        break;
    case OBJECTS_TOTAL:
        out->objects_total = at_least(wire_signed(field), -1);
        break;
    case OWNED:
        out->owned = at_least(wire_signed(field), -1);
        break;
    case REFS:
    case OTHER:
        break;
    }
}

/* The number of references to allocate room for. Messages that are too short for an id are left
 * out, so that no answer makes us allocate much more memory than it has bytes. */
static size_t count_refs(const uint8_t *numbering, const uint8_t *bytes, size_t len)
{
    struct wire wire = wire_of(bytes, len);
    struct wire_field field;
    size_t count = 0;
    while (wire_next(&wire, &field))
        count += stats_field_of(numbering, field.tag) == REFS && field.len >= 2 + ID_OBJECT_BYTES;
    return count;
}

/* False, with `out` cleared, if the message is malformed. */
static bool read_stats(const uint8_t *bytes, size_t len, struct ray_version version,
                       struct ray_worker_objects *out)
{
    *out = (struct ray_worker_objects){0};
    enum stats_numbering found = stats_numbering_of(bytes, len);
    if (found == STATS_UNKNOWN)
        return false;
    const uint8_t *numbering = found == STATS_V1 ? stats_v1 : stats_v2;
    bool early = is_before(version, 2, 39);
    struct wire wire = wire_of(bytes, len);
    struct wire_field field;
    bool good = true, has_id;
    out->refs = mem_array(count_refs(numbering, bytes, len), sizeof *out->refs);
    out->pool = ray_string_pool_create();
    while (good && wire_next(&wire, &field)) {
        enum stats_field what = stats_field_of(numbering, field.tag);
        set_stats(out, what, &field);
        if (what != REFS || field.len < 2 + ID_OBJECT_BYTES)
            continue;
        good = read_ref(&field, early, out->pool, &out->refs[out->ref_count], &has_id);
        out->ref_count += good && has_id;
    }
    if (!out->ip)
        out->ip = mem_string("");
    good = good && !wire.malformed;
    if (!good)
        ray_worker_objects_clear(out);
    return good;
}

static int malformed(const char *who, struct err *err)
{
    return err_set(err, ERR_FAILED, "the %s's answer about objects could not be read", who);
}

int object_reply_worker(const uint8_t *bytes, size_t len, struct ray_version version,
                        struct ray_worker_objects *out, struct err *err)
{
    struct wire wire = wire_of(bytes, len);
    struct wire_field field, stats = {0};
    while (wire_next(&wire, &field))
        if (field.tag == WIRE_TAG(1, WIRE_LENGTH))
            stats = field;
    if (wire.malformed || !read_stats(stats.bytes, stats.len, version, out))
        return malformed("worker", err);
    return 0;
}

/* --- a node --- */

/* The integers of ObjectStoreStats, by field number. Ray <= 2.48 has consumed_bytes as 12, and all
 * later numbers are one more there. */
enum { STORE_NUMBERS = 17, CONSUMED = 12, CREATED_BYTES_V1 = 16 };

static bool has_consumed(const int64_t numbers[STORE_NUMBERS], struct ray_version version)
{
    if (version.major || version.minor || version.patch)
        return is_before(version, 2, 49);
    return numbers[CREATED_BYTES_V1] != 0;
}

/* Seconds that a raylet has counted; 0 for a number that cannot be one. JSON_SECONDS has
 * microseconds in an int64: 9e12 seconds at most. */
static double seconds_of(const struct wire_field *field)
{
    double seconds = wire_double(field);
    return seconds >= 0 && seconds < 9e12 ? seconds : 0;
}

static bool read_store(const struct wire_field *message, struct ray_version version,
                       struct ray_store_stats *out)
{
    struct wire wire = wire_of(message->bytes, message->len);
    struct wire_field field;
    int64_t numbers[STORE_NUMBERS] = {0};
    double spill_seconds = 0, restore_seconds = 0;
    while (wire_next(&wire, &field)) {
        uint32_t number = field.tag >> 3;
        if (field.tag == WIRE_TAG(1, WIRE_FIXED64))
            spill_seconds = seconds_of(&field);
        else if (field.tag == WIRE_TAG(4, WIRE_FIXED64))
            restore_seconds = seconds_of(&field);
        else if ((field.tag & 7) == WIRE_VARINT && number < STORE_NUMBERS)
            numbers[number] = wire_signed(&field);
    }
    const int64_t *tail = &numbers[has_consumed(numbers, version) ? CONSUMED + 1 : CONSUMED];
    *out = (struct ray_store_stats){
        .spill_seconds = spill_seconds,
        .spilled_bytes = numbers[2],
        .spilled_objects = numbers[3],
        .restore_seconds = restore_seconds,
        .restored_bytes = numbers[5],
        .restored_objects = numbers[6],
        .used = numbers[7],
        .available = numbers[8],
        .primary_copies_bytes = numbers[9],
        .fallback = numbers[10],
        .objects = numbers[11],
        .pulls_queued = tail[0] != 0,
        .primary_copies = tail[1],
        .created_objects = tail[2],
        .created_bytes = tail[3],
    };
    return !wire.malformed;
}

static size_t count_workers(const uint8_t *bytes, size_t len)
{
    struct wire wire = wire_of(bytes, len);
    struct wire_field field;
    size_t count = 0;
    while (wire_next(&wire, &field))
        count += field.tag == WIRE_TAG(1, WIRE_LENGTH) && field.len > ID_UNIQUE_BYTES;
    return count;
}

int object_reply_node(const uint8_t *bytes, size_t len, struct ray_version version,
                      struct ray_node_objects *out, struct err *err)
{
    struct wire wire = wire_of(bytes, len);
    struct wire_field field;
    bool good = true;
    *out = (struct ray_node_objects){0};
    out->workers = mem_array(count_workers(bytes, len), sizeof *out->workers);
    while (good && wire_next(&wire, &field)) {
        if (field.tag == WIRE_TAG(6, WIRE_LENGTH))
            good = read_store(&field, version, &out->store);
        if (field.tag != WIRE_TAG(1, WIRE_LENGTH) || field.len <= ID_UNIQUE_BYTES)
            continue;
        good = read_stats(field.bytes, field.len, version, &out->workers[out->worker_count]);
        out->worker_count += good;
    }
    if (good && !wire.malformed)
        return 0;
    ray_node_objects_clear(out);
    return malformed("raylet", err);
}

/* --- locations --- */

/* WorkerObjectLocationsPubMessage shows its own numbering. For an object that the worker knows,
 * spilled_node_id (4) is always present (nil if it is not spilled), and up to Ray 2.52
 * primary_node_id (6), too; for any other object only ref_removed is present. The fields
 * ref_removed, pending_creation and did_spill are 7, 8, 9 up to 2.52, and 5, 6, 7 from 2.55 on,
 * which has no primary_node_id. */
enum { FIRST_FLAG_V1 = 7, FIRST_FLAG_V2 = 5, FLAG_NUMBERS = 10 };

static unsigned first_flag(const bool flags[FLAG_NUMBERS], bool has_spilled_node, bool has_primary)
{
    bool removed_v1 = flags[FIRST_FLAG_V1] && !has_spilled_node;
    bool v1 = has_primary || flags[8] || flags[9] || removed_v1;
    return v1 ? FIRST_FLAG_V1 : FIRST_FLAG_V2;
}

static size_t count_nodes(const struct wire_field *message)
{
    struct wire wire = wire_of(message->bytes, message->len);
    struct wire_field field;
    size_t count = 0;
    while (wire_next(&wire, &field))
        count += field.tag == WIRE_TAG(1, WIRE_LENGTH) && field.len == ID_UNIQUE_BYTES;
    return count;
}

static void add_node(struct ray_object_location *out, const struct wire_field *field)
{
    if (field->len != ID_UNIQUE_BYTES)
        return;
    char *id = out->node_ids[out->node_count];
    record_set_id(id, ID_UNIQUE_BYTES, field->bytes, field->len);
    out->node_count += *id != '\0';
}

/* The caller frees the fields of `out`, whatever this returns. */
static bool read_location(const struct wire_field *message, struct ray_object_location *out)
{
    struct wire wire = wire_of(message->bytes, message->len);
    struct wire_field field;
    bool flags[FLAG_NUMBERS] = {false}, has_spilled_node = false, has_primary = false;
    char primary[ID_TEXT(ID_UNIQUE_BYTES)] = "";
    out->size = -1;
    out->node_ids = mem_array(count_nodes(message), sizeof *out->node_ids);
    while (wire_next(&wire, &field)) {
        uint32_t number = field.tag >> 3;
        if (field.tag == WIRE_TAG(1, WIRE_LENGTH)) {
            add_node(out, &field);
        } else if (field.tag == WIRE_TAG(2, WIRE_VARINT)) {
            out->size = at_least(wire_signed(&field), -1);
        } else if (field.tag == WIRE_TAG(3, WIRE_LENGTH)) {
            free(out->spilled_url);
            out->spilled_url = mem_string_n((const char *)field.bytes, field.len);
        } else if (field.tag == WIRE_TAG(4, WIRE_LENGTH)) {
            has_spilled_node = true;
            record_set_id(out->spilled_node_id, ID_UNIQUE_BYTES, field.bytes, field.len);
        } else if (field.tag == WIRE_TAG(6, WIRE_LENGTH)) {
            has_primary = true;
            record_set_id(primary, ID_UNIQUE_BYTES, field.bytes, field.len);
        } else if ((field.tag & 7) == WIRE_VARINT && number < FLAG_NUMBERS) {
            flags[number] = field.value != 0;
        }
    }
    if (!out->spilled_url)
        out->spilled_url = mem_string("");
    const bool *found = &flags[first_flag(flags, has_spilled_node, has_primary)];
    out->known = !found[0];
    out->pending = found[1];
    out->did_spill = found[2];
    /* Once all copies are gone, the owner puts an error into its own node's store. The error counts
     * as a copy, but not as the primary one (measured: 2.9.3, 2.44.1). */
    out->lost = has_primary && !*primary && out->node_count && !out->pending && !*out->spilled_url;
    return !wire.malformed;
}

int object_reply_locations(const uint8_t *bytes, size_t len, struct ray_object_location *out,
                           size_t count, struct err *err)
{
    struct wire wire = wire_of(bytes, len);
    struct wire_field field;
    struct ray_object_location *read = mem_array(count, sizeof *read);
    size_t at = 0;
    bool good = true;
    while (good && wire_next(&wire, &field))
        if (field.tag == WIRE_TAG(1, WIRE_LENGTH)) {
            good = at < count && read_location(&field, &read[at]);
            at += at < count;
        }
    good = good && !wire.malformed && at == count;
    for (size_t i = 0; good && i < count; i++) {
        read[i].id = out[i].id;
        out[i] = read[i];
    }
    if (good)
        free(read);
    else
        ray_object_locations_free(read, count);
    return good ? 0 : malformed("owner", err);
}
