/* What protobuf-c packs, of every shape, is what our own decoder reads. */
#include "cmocka_prelude.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/text.h"
#include "core_worker.pb-c.h"
#include "node_manager.pb-c.h"
#include "proto/object_reply.h"
#include "proto/wire.h"

#include <stdlib.h>
#include <string.h>

enum { REFS = 500 };

static const struct ray_version v2_9 = {2, 9, 3}, v2_44 = {2, 44, 1}, v2_60 = {2, 60, 0};
static struct err err;
static uint64_t seed;

static uint64_t next_random(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return seed >> 24;
}

/* Often 0, which is not sent, and sometimes of ten bytes. */
static int64_t some_number(void)
{
    uint64_t kind = next_random() % 4;
    if (kind == 0)
        return 0;
    return kind == 1 ? -1 : (int64_t)(next_random() >> next_random() % 40);
}

static ProtobufCBinaryData some_bytes(size_t len)
{
    uint8_t *bytes = mem_alloc(len);
    for (size_t i = 0; i < len; i++)
        bytes[i] = (uint8_t)next_random();
    return (ProtobufCBinaryData){len, bytes};
}

static RayWire__ObjectRefInfo *some_ref(void)
{
    static char *const sites[] = {"", "(put object) | a.py:f:1", "(task call) | b.py:<module>:2"};
    RayWire__ObjectRefInfo *ref = mem_alloc(sizeof *ref);
    ray_wire__object_ref_info__init(ref);
    ref->object_id = some_bytes(ID_OBJECT_BYTES);
    ref->call_site = sites[next_random() % 3];
    ref->object_size = some_number();
    ref->local_ref_count = some_number();
    ref->submitted_task_ref_count = some_number();
    ref->n_contained_in_owned = next_random() % 3;
    ref->contained_in_owned = mem_array(ref->n_contained_in_owned, sizeof *ref->contained_in_owned);
    for (size_t i = 0; i < ref->n_contained_in_owned; i++)
        ref->contained_in_owned[i] = some_bytes(ID_OBJECT_BYTES);
    ref->pinned_in_memory = next_random() % 2;
    ref->task_status = (int32_t)(next_random() % 14);
    ref->attempt_number = next_random() % 3;
    return ref;
}

static RayWire__ObjectRefInfo **some_refs(size_t count)
{
    RayWire__ObjectRefInfo **refs = mem_array(count, sizeof *refs);
    for (size_t i = 0; i < count; i++)
        refs[i] = some_ref();
    return refs;
}

static void free_refs(RayWire__ObjectRefInfo **refs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        for (size_t k = 0; k < refs[i]->n_contained_in_owned; k++)
            free(refs[i]->contained_in_owned[k].data);
        free(refs[i]->contained_in_owned);
        free(refs[i]->object_id.data);
        free(refs[i]);
    }
    free(refs);
}

static struct buf packed(const ProtobufCMessage *message)
{
    struct buf out = {0};
    size_t len = protobuf_c_message_get_packed_size(message);
    protobuf_c_message_pack(message, (uint8_t *)buf_reserve(&out, len));
    out.len = len;
    return out;
}

static ProtobufCBinaryData binary(const struct buf *buf)
{
    return (ProtobufCBinaryData){buf->len, (uint8_t *)buf->data};
}

static struct buf worker_reply(const ProtobufCMessage *stats)
{
    struct buf inner = packed(stats);
    RayWire__GetCoreWorkerStatsReply reply = RAY_WIRE__GET_CORE_WORKER_STATS_REPLY__INIT;
    reply.core_worker_stats = binary(&inner);
    struct buf out = packed(&reply.base);
    buf_free(&inner);
    return out;
}

static int64_t no_less(int64_t number, int64_t least)
{
    return number < least ? least : number;
}

static void check_ref(const struct ray_object_ref *got, const RayWire__ObjectRefInfo *want,
                      int status)
{
    assert_memory_equal(got->id.bytes, want->object_id.data, ID_OBJECT_BYTES);
    assert_string_equal(got->call_site, want->call_site);
    assert_int_equal(got->size, no_less(want->object_size, -1));
    assert_int_equal(got->local, no_less(want->local_ref_count, 0));
    assert_int_equal(got->submitted, no_less(want->submitted_task_ref_count, 0));
    assert_int_equal(got->contained_in, want->n_contained_in_owned);
    assert_int_equal(got->pinned, want->pinned_in_memory);
    assert_int_equal(got->attempt, want->attempt_number);
    assert_int_equal(got->status, status);
}

#define SET_STATS(stats, refs, id)                                                                 \
    do {                                                                                           \
        (stats).worker_id = (id);                                                                  \
        (stats).ip_address = address;                                                              \
        (stats).port = 10002;                                                                      \
        (stats).pid = 4711;                                                                        \
        (stats).worker_type = RAY_DRIVER;                                                          \
        (stats).objects_total = REFS + 7;                                                          \
        (stats).num_owned_objects = 3;                                                             \
        (stats).n_object_refs = REFS;                                                              \
        (stats).object_refs = (refs);                                                              \
    } while (0)

static void check_worker(const struct ray_worker_objects *got, ProtobufCBinaryData id)
{
    char text[ID_TEXT(ID_UNIQUE_BYTES)];
    text_hex(id.data, id.len, text);
    assert_string_equal(got->worker_id, text);
    assert_string_equal(got->actor_id, "");
    assert_string_equal(got->ip, "10.0.0.7");
    assert_int_equal(got->port, 10002);
    assert_int_equal(got->pid, 4711);
    assert_int_equal(got->type, RAY_DRIVER);
    assert_int_equal(got->objects_total, REFS + 7);
    assert_int_equal(got->owned, 3);
    assert_int_equal(got->ref_count, REFS);
}

static void reads_workers_of_both_numberings(void **state)
{
    (void)state;
    static char address[] = "10.0.0.7";
    seed = 1;
    RayWire__ObjectRefInfo **refs = some_refs(REFS);
    ProtobufCBinaryData id = some_bytes(ID_UNIQUE_BYTES);
    RayWire__CoreWorkerStatsV1 v1 = RAY_WIRE__CORE_WORKER_STATS_V1__INIT;
    RayWire__CoreWorkerStatsV2 v2 = RAY_WIRE__CORE_WORKER_STATS_V2__INIT;
    SET_STATS(v1, refs, id);
    SET_STATS(v2, refs, id);
    const struct {
        const ProtobufCMessage *stats;
        struct ray_version version;
        int moved; /* from 6 on */
    } cases[] = {
        {&v1.base, v2_9, 2}, {&v1.base, v2_44, 0}, {&v2.base, v2_60, 0}, {&v2.base, {0}, 0}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf bytes = worker_reply(cases[i].stats);
        struct ray_worker_objects got;
        assert_int_equal(object_reply_worker((const uint8_t *)bytes.data, bytes.len,
                                             cases[i].version, &got, &err),
                         0);
        check_worker(&got, id);
        for (size_t k = 0; k < REFS; k++) {
            int status = refs[k]->task_status;
            check_ref(&got.refs[k], refs[k], status < 6 ? status : status + cases[i].moved);
        }
        ray_worker_objects_clear(&got);
        buf_free(&bytes);
    }
    free(id.data);
    free_refs(refs, REFS);
}

#define SET_STORE(store)                                                                           \
    do {                                                                                           \
        (store).spill_time_total_s = 2.5;                                                          \
        (store).spilled_bytes_total = 2;                                                           \
        (store).spilled_objects_total = 3;                                                         \
        (store).restore_time_total_s = 4.25;                                                       \
        (store).restored_bytes_total = 5;                                                          \
        (store).restored_objects_total = 6;                                                        \
        (store).object_store_bytes_used = 7;                                                       \
        (store).object_store_bytes_avail = 8;                                                      \
        (store).object_store_bytes_primary_copy = 9;                                               \
        (store).object_store_bytes_fallback = 10;                                                  \
        (store).num_local_objects = 11;                                                            \
        (store).object_pulls_queued = true;                                                        \
        (store).num_object_store_primary_copies = 13;                                              \
        (store).cumulative_created_objects = 14;                                                   \
        (store).cumulative_created_bytes = 15;                                                     \
    } while (0)

static void check_store(const struct ray_store_stats *got)
{
    assert_true(got->spill_seconds == 2.5 && got->restore_seconds == 4.25);
    assert_int_equal(got->spilled_bytes, 2);
    assert_int_equal(got->spilled_objects, 3);
    assert_int_equal(got->restored_bytes, 5);
    assert_int_equal(got->restored_objects, 6);
    assert_int_equal(got->used, 7);
    assert_int_equal(got->available, 8);
    assert_int_equal(got->primary_copies_bytes, 9);
    assert_int_equal(got->fallback, 10);
    assert_int_equal(got->objects, 11);
    assert_true(got->pulls_queued);
    assert_int_equal(got->primary_copies, 13);
    assert_int_equal(got->created_objects, 14);
    assert_int_equal(got->created_bytes, 15);
}

static void reads_stores_of_both_numberings(void **state)
{
    (void)state;
    RayWire__ObjectStoreStatsV1 v1 = RAY_WIRE__OBJECT_STORE_STATS_V1__INIT;
    RayWire__ObjectStoreStatsV2 v2 = RAY_WIRE__OBJECT_STORE_STATS_V2__INIT;
    SET_STORE(v1);
    v1.consumed_bytes = 12;
    SET_STORE(v2);
    const struct {
        const ProtobufCMessage *store;
        struct ray_version version;
    } cases[] = {{&v1.base, v2_9},  {&v1.base, {2, 48, 0}}, {&v1.base, {0}},
                 {&v2.base, v2_60}, {&v2.base, {2, 49, 0}}, {&v2.base, {0}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct buf store = packed(cases[i].store);
        RayWire__GetNodeStatsReply reply = RAY_WIRE__GET_NODE_STATS_REPLY__INIT;
        reply.store_stats = binary(&store);
        struct buf bytes = packed(&reply.base);
        struct ray_node_objects got;
        assert_int_equal(
            object_reply_node((const uint8_t *)bytes.data, bytes.len, cases[i].version, &got, &err),
            0);
        check_store(&got.store);
        assert_int_equal(got.worker_count, 0);
        ray_node_objects_clear(&got);
        buf_free(&store);
        buf_free(&bytes);
    }
}

static void wrong_wire_types_are_unknown_fields(void **state)
{
    (void)state;
    /* field 1 as a number, 2 as 8 bytes, 3 as 4 bytes, 200 as bytes */
    static const uint8_t bytes[] = {8, 150,  1, 17, 1, 2, 3,    4,    5, 6,   7,
                                    8, 0x1D, 1, 2,  3, 4, 0xC2, 0x0C, 2, 'h', 'i'};
    static const uint32_t tags[] = {WIRE_TAG(1, WIRE_VARINT), WIRE_TAG(2, WIRE_FIXED64),
                                    WIRE_TAG(3, WIRE_FIXED32), WIRE_TAG(200, WIRE_LENGTH)};
    struct wire wire = wire_of(bytes, sizeof bytes);
    struct wire_field field;
    for (size_t i = 0; i < 4; i++) {
        assert_true(wire_next(&wire, &field));
        assert_int_equal(field.tag, tags[i]);
    }
    assert_int_equal(field.len, 2);
    assert_false(wire_next(&wire, &field));
    assert_false(wire.malformed);
    for (size_t cut = 1; cut < sizeof bytes; cut++) {
        wire = wire_of(bytes, cut);
        while (wire_next(&wire, &field))
            ;
        assert_int_equal(wire.malformed, cut != 3 && cut != 12 && cut != 17);
    }
}

static void what_is_no_field_is_malformed(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[12];
        size_t len;
    } cases[] = {
        {{0, 1}, 2},                                                    /* number 0 */
        {{0x0B, 1}, 2},                                                 /* a group */
        {{0xFF, 0xFF, 0xFF, 0xFF, 0x7F, 0}, 6},                         /* a number too large */
        {{8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 12}, /* a varint too long */
        {{10, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, 11},     /* a length of 2^64 - 1 */
    };
    struct wire_field field;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct wire wire = wire_of(cases[i].bytes, cases[i].len);
        assert_false(wire_next(&wire, &field));
        assert_true(wire.malformed);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_workers_of_both_numberings),
        cmocka_unit_test(reads_stores_of_both_numberings),
        cmocka_unit_test(wrong_wire_types_are_unknown_fields),
        cmocka_unit_test(what_is_no_field_is_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
