/* Decoding what real clusters said of a program's objects: puts, results, nested, borrowed, pending
 * and spilled ones, two nodes, the driver on the first. */
#include "recorded.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/object_reply.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct ray_version v2_9 = {2, 9, 3}, v2_44 = {2, 44, 1}, v2_60 = {2, 60, 0};
static struct err err;

/* The driver's puts are numbered; their ids are the same in every cluster. */
#define PUT(n) "00ffffffffffffffffffffffffffffffffffffff01000000" n "e1f505"

static const struct ray_object_ref *ref_of(const struct ray_worker_objects *worker, const char *hex)
{
    struct object_id id;
    assert_true(object_id_parse(hex, strlen(hex), &id));
    for (size_t i = 0; i < worker->ref_count; i++)
        if (memcmp(&worker->refs[i].id, &id, sizeof id) == 0)
            return &worker->refs[i];
    fail_msg("no reference to %s", hex);
    abort();
}

static const struct ray_worker_objects *worker_of_pid(const struct ray_node_objects *node,
                                                      int64_t pid)
{
    for (size_t i = 0; i < node->worker_count; i++)
        if (node->workers[i].pid == pid)
            return &node->workers[i];
    fail_msg("no process with pid %lld", (long long)pid);
    abort();
}

static void check_counts(const struct ray_object_ref *ref, int64_t local, int64_t submitted,
                         unsigned contained, bool pinned)
{
    assert_int_equal(ref->local, local);
    assert_int_equal(ref->submitted, submitted);
    assert_int_equal(ref->contained_in, contained);
    assert_int_equal(ref->pinned, pinned);
}

struct recording {
    const char *name;
    struct ray_version version;
    int64_t driver, holder; /* pids; of the worker that runs with the argument */
    int64_t bytes;          /* of the first put */
    int64_t spilled, created;
    double spill_seconds;
    uint16_t port; /* the driver's */
    int handle_status;
    const char *handle; /* an actor's */
};

static const struct recording recordings[] = {
    {"2.9.3-objects-node",
     {2, 9, 3},
     224,
     320,
     1048826,
     261099396,
     30,
     2.916394558,
     10002,
     RAY_TASK_FINISHED,
     "ffffffffffffffff1403e2d4c7a07a12058036680100000001000000"},
    {"2.44.1-objects-node",
     {2, 44, 1},
     260,
     393,
     1048827,
     261099411,
     29,
     1.494634975,
     10002,
     RAY_TASK_FINISHED,
     "ffffffffffffffff2699094d85bf98a29b1bb04d0100000001000000"},
    {"2.60.0-objects-node",
     {2, 60, 0},
     294,
     384,
     1048827,
     261099413,
     29,
     2.438548097,
     10239,
     RAY_TASK_NIL,
     "ffffffffffffffffdf8acc7cd0a310503c667f300100000001000000"},
};

static void check_store(const struct ray_store_stats *store, const struct recording *recording)
{
    assert_true(store->spill_seconds == recording->spill_seconds);
    assert_true(store->restore_seconds == 0);
    assert_int_equal(store->spilled_bytes, recording->spilled);
    assert_int_equal(store->spilled_objects, 16);
    assert_int_equal(store->available, 200000000);
    assert_int_equal(store->used, store->primary_copies_bytes);
    assert_int_equal(store->objects, 5);
    assert_int_equal(store->primary_copies, 21);
    assert_int_equal(store->created_objects, recording->created);
    assert_int_equal(store->created_bytes / 1000, 396367);
    assert_false(store->pulls_queued);
}

/* How many of its references have this status. */
static size_t count_status(const struct ray_worker_objects *worker, const char *name)
{
    size_t count = 0;
    for (size_t i = 0; i < worker->ref_count; i++)
        count += text_equal(ray_task_status_name(worker->refs[i].status), name);
    return count;
}

static void check_driver(const struct ray_worker_objects *driver, const struct recording *recording)
{
    assert_int_equal(driver->type, RAY_DRIVER);
    assert_string_equal(driver->ip, "127.0.0.1");
    assert_int_equal(driver->port, recording->port);
    assert_string_equal(driver->job_id, "01000000");
    assert_string_equal(driver->actor_id, "");
    assert_int_equal(driver->ref_count, 36);
    assert_int_equal(driver->objects_total, 36);
    assert_int_equal(driver->owned, 31);
    const struct ray_object_ref *ref = ref_of(driver, PUT("01")); /* in a variable */
    assert_int_equal(ref->size, recording->bytes);
    assert_int_equal(ref->status, RAY_TASK_FINISHED);
    assert_true(text_starts(ref->call_site, "(put object)  | "));
    assert_true(text_ends(ref->call_site, "prog.py:<module>:42"));
    check_counts(ref, 1, 0, 0, false);
    check_counts(ref_of(driver, PUT("05")), 0, 0, 1, false); /* only captured in an object */
    check_counts(ref_of(driver, PUT("07")), 1, 1, 0, false); /* an argument */
    check_counts(ref_of(driver, PUT("08")), 1, 0, 0, true);  /* viewed */
    ref = ref_of(driver, recording->handle);
    check_counts(ref, 1, 2, 1, false); /* two calls in flight, and captured */
    assert_int_equal(ref->size, -1);
    assert_int_equal(ref->status, recording->handle_status);
    assert_int_equal(count_status(driver, "SUBMITTED_TO_WORKER"), 4);
    assert_int_equal(count_status(driver, "PENDING_NODE_ASSIGNMENT"), 1);
    assert_int_equal(count_status(driver, "PENDING_ARGS_AVAIL"), 1);
    assert_int_equal(count_status(driver, "NIL"), recording->handle_status ? 3 : 5);
}

static void decodes_nodes_of_each_version(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof recordings / sizeof *recordings; i++) {
        const struct recording *recording = &recordings[i];
        struct buf bytes = load(recording->name);
        struct ray_node_objects node;
        assert_int_equal(object_reply_node(BYTES(bytes), recording->version, &node, &err), 0);
        assert_int_equal(node.worker_count, 7);
        check_store(&node.store, recording);
        check_driver(worker_of_pid(&node, recording->driver), recording);
        const struct ray_worker_objects *holder = worker_of_pid(&node, recording->holder);
        assert_int_equal(holder->type, RAY_WORKER);
        const struct ray_object_ref *ref = ref_of(holder, PUT("07"));
        check_counts(ref, 2, 0, 0, true);
        assert_int_equal(ref->status, RAY_TASK_NIL); /* it does not own it */
        assert_string_equal(ref->call_site, "(deserialize task arg) prog.sleeper");
        ray_node_objects_clear(&node);
        buf_free(&bytes);
    }
}

static void decodes_a_worker(void **state)
{
    (void)state;
    struct buf bytes = load("2.60.0-objects-driver");
    struct ray_worker_objects driver;
    assert_int_equal(object_reply_worker(BYTES(bytes), v2_60, &driver, &err), 0);
    assert_string_equal(driver.worker_id,
                        "01000000ffffffffffffffffffffffffffffffffffffffffffffffff");
    check_driver(&driver, &recordings[2]);
    for (size_t i = 1; i < driver.ref_count; i++)
        for (size_t k = 0; k < i; k++) /* call sites are kept once */
            assert_true(driver.refs[i].call_site == driver.refs[k].call_site ||
                        strcmp(driver.refs[i].call_site, driver.refs[k].call_site) != 0);
    ray_worker_objects_clear(&driver);
    buf_free(&bytes);
}

static void early_numbers_of_states_are_translated(void **state)
{
    (void)state;
    struct buf bytes = load("2.9.3-objects-node");
    struct ray_node_objects node;
    assert_int_equal(object_reply_node(BYTES(bytes), v2_44, &node, &err), 0);
    /* Taken for a later one, its FINISHED (9) is what that calls RUNNING_IN_RAY_GET. */
    const struct ray_worker_objects *driver = worker_of_pid(&node, 224);
    assert_int_equal(count_status(driver, "FINISHED"), 0);
    assert_true(count_status(driver, "RUNNING_IN_RAY_GET") > 20);
    ray_node_objects_clear(&node);
    buf_free(&bytes);
}

/* --- locations --- */

struct expected {
    size_t index;
    size_t nodes;
    int64_t size;
    bool spilled, pending;
};

static void check_location(const struct ray_object_location *location,
                           const struct expected *expected)
{
    assert_true(location->known);
    assert_false(location->lost);
    assert_int_equal(location->node_count, expected->nodes);
    for (size_t i = 0; i < expected->nodes; i++)
        assert_int_equal(strlen(location->node_ids[i]), 56);
    assert_int_equal(location->size, expected->size);
    assert_int_equal(location->pending, expected->pending);
    assert_int_equal(location->did_spill, expected->spilled);
    assert_int_equal(text_starts(location->spilled_url, "/tmp/"), expected->spilled);
    assert_int_equal(strlen(location->spilled_node_id), expected->spilled ? 56 : 0);
}

static void check_locations(const char *name, size_t count, const struct expected *expected,
                            size_t n)
{
    struct buf bytes = load(name);
    struct ray_object_location *locations = mem_array(count, sizeof *locations);
    locations[count - 1].id.bytes[0] = 42;
    assert_int_equal(object_reply_locations(BYTES(bytes), locations, count, &err), 0);
    assert_int_equal(locations[count - 1].id.bytes[0], 42);
    for (size_t i = 0; i < n; i++)
        check_location(&locations[expected[i].index], &expected[i]);
    ray_object_locations_free(locations, count);
    /* One more or less than was asked for is no answer, and leaves nothing to free. */
    struct ray_object_location other[64] = {0};
    assert_int_equal(object_reply_locations(BYTES(bytes), other, count - 1, &err), -1);
    assert_int_equal(object_reply_locations(BYTES(bytes), other, count + 1, &err), -1);
    assert_null(other[0].node_ids);
    buf_free(&bytes);
}

static void decodes_locations_of_each_version(void **state)
{
    (void)state;
    static const struct expected v44[] = {
        {3, 1, 1048835, true, false},   /* spilled, copied to the other node */
        {10, 0, 62914814, true, false}, /* spilled */
        {11, 1, 62914814, false, false}, {15, 1, 3145982, false, false}, /* on the other node */
        {21, 0, -1, false, true},                                        /* pending */
        {29, 0, 15, false, false},                                       /* small: with its owner */
    };
    static const struct expected v60[] = {
        {3, 1, 1048835, true, false},   {8, 0, 62914814, true, false},
        {9, 1, 62914814, false, false}, {13, 1, 3145982, false, false},
        {19, 0, -1, false, true},       {27, 0, 15, false, false},
    };
    static const struct expected spilled = {0, 0, 1048826, true, false};
    static const struct expected copied = {0, 2, 1048834, false, false};
    static const struct expected pending = {0, 0, -1, false, true};
    check_locations("2.44.1-objects-locations", 33, v44, 6);
    check_locations("2.60.0-objects-locations", 31, v60, 6);
    check_locations("2.9.3-objects-location-spilled", 1, &spilled, 1);
    check_locations("2.9.3-objects-location-copied", 1, &copied, 1);
    check_locations("2.9.3-objects-location-pending", 1, &pending, 1);
}

static struct ray_object_location location_of(const void *bytes, size_t len)
{
    struct ray_object_location location = {0};
    assert_int_equal(object_reply_locations(bytes, len, &location, 1, &err), 0);
    return location;
}

static void an_error_in_its_place_is_lost(void **state)
{
    (void)state;
    struct buf bytes = load("2.9.3-objects-location-lost");
    struct ray_object_location location = location_of(bytes.data, bytes.len);
    assert_true(location.lost && location.known && location.node_count == 1);
    assert_int_equal(location.size, 3145981);
    free(location.node_ids);
    free(location.spilled_url);
    buf_free(&bytes);
}

static void what_a_process_has_not_is_unknown(void **state)
{
    (void)state;
    static const struct {
        uint8_t bytes[5];                             /* as recorded */
    } cases[] = {{{10, 2, 56, 1}}, {{10, 2, 40, 1}}}; /* ref_removed is 7, and 5 */
    for (size_t i = 0; i < 2; i++) {
        struct ray_object_location location = location_of(cases[i].bytes, 4);
        assert_false(location.known || location.pending || location.did_spill || location.lost);
        assert_int_equal(location.size, -1);
        assert_string_equal(location.spilled_url, "");
        free(location.node_ids);
        free(location.spilled_url);
    }
}

/* --- what no cluster should say --- */

static void decode(const struct buf *bytes)
{
    struct ray_node_objects node;
    struct ray_worker_objects worker;
    struct ray_object_location locations[33] = {0};
    if (object_reply_node(BYTES(*bytes), v2_9, &node, &err) == 0)
        ray_node_objects_clear(&node);
    if (object_reply_worker(BYTES(*bytes), v2_60, &worker, &err) == 0)
        ray_worker_objects_clear(&worker);
    if (object_reply_locations(BYTES(*bytes), locations, 33, &err) == 0)
        for (size_t i = 0; i < 33; i++) {
            free(locations[i].node_ids);
            free(locations[i].spilled_url);
        }
}

static void survives_cut_and_changed_replies(void **state)
{
    (void)state;
    static const char *const names[] = {"2.9.3-objects-node", "2.60.0-objects-driver",
                                        "2.44.1-objects-locations"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct buf bytes = load(names[i]);
        size_t len = bytes.len;
        for (bytes.len = 0; bytes.len < len; bytes.len += 7)
            decode(&bytes);
        bytes.len = len;
        for (size_t at = 0; at < len; at += 5) {
            char old = bytes.data[at];
            bytes.data[at] = (char)(old ^ (1 << at % 8));
            decode(&bytes);
            bytes.data[at] = old;
        }
        buf_free(&bytes);
    }
}

static void seconds_that_are_none_count_as_0(void **state)
{
    (void)state;
    static const double rows[][2] = {
        {2.5, 2.5}, {8e12, 8e12}, {NAN, 0},   {INFINITY, 0}, {-INFINITY, 0},
        {-1, 0},    {9e12, 0},    {1e300, 0}, {-1e300, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        /* store_stats (6) with spill_time_total_s (1) and restore_time_total_s (4) */
        uint8_t reply[20] = {0x32, 18, 0x09, [11] = 0x21};
        struct ray_node_objects node;
        memcpy(reply + 3, &rows[i][0], sizeof(double));
        memcpy(reply + 12, &rows[i][0], sizeof(double));
        assert_int_equal(object_reply_node(reply, sizeof reply, v2_60, &node, &err), 0);
        assert_true(node.store.spill_seconds == rows[i][1]);
        assert_true(node.store.restore_seconds == rows[i][1]);
        ray_node_objects_clear(&node);
    }
}

static void a_cut_reply_is_an_error(void **state)
{
    (void)state;
    struct buf bytes = load("2.60.0-objects-node");
    struct ray_node_objects node;
    struct ray_worker_objects worker;
    bytes.len--;
    assert_int_equal(object_reply_node(BYTES(bytes), v2_60, &node, &err), -1);
    assert_int_equal(err.code, ERR_FAILED);
    assert_non_null(strstr(err.what, "raylet"));
    buf_free(&bytes);
    assert_int_equal(object_reply_worker(NULL, 0, v2_60, &worker, &err), -1);
    assert_int_equal(object_reply_node(NULL, 0, v2_60, &node, &err), 0); /* no workers */
    assert_int_equal(node.worker_count, 0);
    ray_node_objects_clear(&node);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(decodes_nodes_of_each_version),
        cmocka_unit_test(decodes_a_worker),
        cmocka_unit_test(early_numbers_of_states_are_translated),
        cmocka_unit_test(decodes_locations_of_each_version),
        cmocka_unit_test(an_error_in_its_place_is_lost),
        cmocka_unit_test(what_a_process_has_not_is_unknown),
        cmocka_unit_test(survives_cut_and_changed_replies),
        cmocka_unit_test(seconds_that_are_none_count_as_0),
        cmocka_unit_test(a_cut_reply_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
