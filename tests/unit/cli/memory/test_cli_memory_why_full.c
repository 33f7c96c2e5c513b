/* Why a store is full, and what grew. */
#include "cmocka_prelude.h"
#include "memory_sample.h"

#include "cli/memory/memory_diff.h"
#include "cli/memory/memory_why_full.h"

#include <cjson/cJSON.h>

static const struct memory_style wide = {.width = 200};

static struct object_report *run(const struct object_sweep *sweep)
{
    struct sweep_query query = {0};
    return sweep_query_run(&query, sweep);
}

/* The first object of the sample is on both nodes, the actor's spilled; the rest was not asked. */
static void locate(struct object_sweep *sweep)
{
    sweep->locations = mem_array(2, sizeof *sweep->locations);
    sweep->location_count = 2;
    sweep->locations[0] = (struct ray_object_location){
        .id = sample_id("e5", PUT), .known = true, .spilled_url = mem_string("/tmp/x")};
    sweep->locations[1] = (struct ray_object_location){
        .id = sample_id("d", PUT), .known = true, .node_count = 2, .spilled_url = mem_string("")};
    sweep->locations[1].node_ids = mem_array(2, sizeof *sweep->locations[1].node_ids);
    for (size_t i = 0; i < 2; i++)
        text_copy(sweep->locations[1].node_ids[i], ID_TEXT(ID_UNIQUE_BYTES),
                  sweep->nodes[i].node_id);
}

static void a_full_store_is_told(void **state)
{
    (void)state;
    struct object_node node = {.asked = true, .store = {.used = 89, .available = 100}};
    assert_false(memory_is_full(&node));
    node.store.used = 90;
    assert_true(memory_is_full(&node));
    node.asked = false;
    assert_false(memory_is_full(&node));
    node = (struct object_node){.asked = true, .store = {.available = 100, .pulls_queued = true}};
    assert_true(memory_is_full(&node));
    node.store = (struct ray_store_stats){.available = 100, .fallback = 1};
    assert_true(memory_is_full(&node));
    node.store = (struct ray_store_stats){0};
    assert_false(memory_is_full(&node));
}

/* As after spilling: the primary copies are on disk, the bytes still in memory. */
static void a_store_full_of_what_can_go(void **state)
{
    (void)state;
    struct object_sweep *sweep = sample_sweep(1);
    sweep->nodes[0].store = (struct ray_store_stats){
        .used = 8 * MEGA, .available = 8 * MEGA, .primary_copies_bytes = MEGA};
    object_sweep_join(sweep);
    struct object_report *report = run(sweep);
    struct memory_why_full full;
    struct buf out = {0};
    memory_why_full_make(&full, sweep, report);
    assert_int_equal(memory_evictable(&full, 0), 7 * MEGA);
    memory_why_full_print(&full, &wide, 9, &out);
    assert_non_null(strstr(out.data, "node-1 (10.0.0.1) is full, for the most part of what can go: "
                                     "1.0 MB primary copies"));
    memory_why_full_clear(&full);
    buf_free(&out);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

static void it_says_who_and_until_when(void **state)
{
    (void)state;
    struct object_sweep *sweep = memory_sample();
    struct object_report *report = run(sweep);
    struct memory_why_full full;
    struct buf out = {0};
    locate(sweep);
    memory_why_full_make(&full, sweep, report);
    memory_why_full_print(&full, &wide, 2, &out);
    const char *text = strstr(out.data, "1 of 2 object stores is full.\n");
    assert_non_null(text);
    assert_string_equal(
        text,
        "1 of 2 object stores is full.\n"
        "  node-1 (10.0.0.1) is not full: 6.0 MB primary copies, which stay until nobody refers to "
        "them; 0 B only cached, which go when memory is needed; 4.0 MB spilled so far in 2 "
        "objects\n"
        "  node-2 (10.0.0.2) is full: 5.0 MB primary copies, which stay until nobody refers to "
        "them; 2.0 MB other copies that values in use are views of; 0 B only cached, which go when "
        "memory is needed; fetches wait for memory\n"
        "What fills them, and when it goes:\n"
        "  6.0 MB in 3 objects  train.py:12 ray.put in main, owner driver pid 70@node-1 - 2.0 MB "
        "on node-1, 2.0 MB on node-2, 4.0 MB somewhere\n"
        "      1 LOCAL_REFERENCE: when the variable goes out of scope in driver pid 70@node-1\n"
        "      1 USED_BY_PENDING_TASK: when the tasks end that driver pid 70@node-1 has passed it "
        "to (such as train.Trainer.step in Trainer pid 60@node-2)\n"
        "      1 CAPTURED_IN_OBJECT: when the object that holds it goes\n"
        "      1 PINNED_IN_MEMORY: when what was read from it in Trainer pid 60@node-2 (an array "
        "is "
        "a view of the store) and any variable there go\n"
        "      1 object: no variable: only inside of other objects\n"
        "   300 B in 1 object  call site not recorded, owner unknown\n"
        "      1 LOCAL_REFERENCE: when the task in pid 80@node-2 drops its variable, or ends\n"
        "  1 more: --num-entries 3 shows all\n"
        "Most is referred to by Trainer pid 60@node-2 (7.0 MB), driver pid 70@node-1 (6.0 MB), pid "
        "80@node-2 (300 B).\n");
    memory_why_full_clear(&full);
    buf_free(&out);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

static void a_store_with_room_is_told(void **state)
{
    (void)state;
    struct object_sweep *sweep = memory_sample();
    struct object_report *report = run(sweep);
    struct memory_why_full full;
    struct buf out = {0};
    sweep->nodes[1].store = (struct ray_store_stats){.used = 10, .available = 1000};
    memory_why_full_make(&full, sweep, report);
    memory_why_full_print(&full, &wide, 0, &out);
    assert_non_null(
        strstr(out.data, "No object store is full; node-1 (10.0.0.1) has most in it, 6 %.\n"));
    memory_why_full_clear(&full);
    buf_free(&out);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

static void nobody_answered(void **state)
{
    (void)state;
    struct object_sweep *sweep = silent_sample();
    struct object_report *report = run(sweep);
    struct memory_why_full full;
    struct buf out = {0};
    memory_why_full_make(&full, sweep, report);
    memory_why_full_print(&full, &wide, 9, &out);
    assert_non_null(strstr(out.data, "  node-1 (10.0.0.1): did not answer\n"));
    assert_null(strstr(out.data, "What"));
    memory_why_full_clear(&full);
    buf_free(&out);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

static double number(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItem(object, name);
    if (!cJSON_IsNumber(item))
        fail_msg("%s is no number", name);
    return item->valuedouble;
}

static void why_full_as_json(void **state)
{
    (void)state;
    struct object_sweep *sweep = memory_sample();
    struct object_report *report = run(sweep);
    struct memory_why_full full;
    struct buf out = {0};
    locate(sweep);
    memory_why_full_make(&full, sweep, report);
    memory_why_full_json(&full, &out);
    cJSON *root = cJSON_Parse(out.data);
    assert_non_null(root);
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(root, "full")));
    const cJSON *lines = cJSON_GetObjectItem(root, "lines"), *first = lines->child;
    assert_int_equal(cJSON_GetArraySize(lines), 4);
    assert_true(number(first, "stored_bytes") == 8 * MEGA);
    assert_true(number(first, "unlocated_bytes") == 4 * MEGA);
    assert_true(number(first, "no_variable") == 1);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(first, "nodes")), 2);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(first, "held_by")), 4);
    assert_true(number(cJSON_GetObjectItem(first, "owner"), "pid") == 70);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "nodes")), 2);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "processes")), 3);
    cJSON_Delete(root);
    memory_why_full_clear(&full);
    buf_free(&out);
    object_report_free(&report);
    object_sweep_free(&sweep);
}

/* --- what grew --- */

/* Of the driver's objects at a.py one has gone; at b.py there are two more; c.py is new. */
static struct object_sweep *second(bool later)
{
    struct object_sweep *sweep = sample_sweep(1);
    struct ray_worker_objects *driver = sample_process(sweep, 0, 70, RAY_DRIVER);
    unsigned next = PUT;
    for (int i = 0; i < (later ? 1 : 2); i++)
        sample_ref(driver, sample_id("d", next++), 1000, RAY_TASK_FINISHED)->call_site = "a.py:f:1";
    for (int i = 0; i < (later ? 3 : 1); i++)
        sample_ref(driver, sample_id("d", next++), 5000, RAY_TASK_FINISHED)->call_site = "b.py:f:2";
    for (int i = 0; later && i < 1; i++)
        sample_ref(driver, sample_id("d", next++), 300, RAY_TASK_FINISHED)->call_site = "c.py:f:3";
    sample_ref(driver, sample_id("d", next++), 7, RAY_TASK_FINISHED)->call_site = "same.py:f:4";
    sweep->taken_ms += later ? 10000 : 0;
    object_sweep_join(sweep);
    return sweep;
}

static void check_diff(void (*print)(const struct memory_diff *diff, struct buf *out),
                       const char *expected)
{
    struct object_sweep *before = second(false), *after = second(true);
    struct sweep_query query = {.group_by = OBJECT_BY_CALL_SITE};
    struct memory_diff diff;
    struct buf out = {0};
    memory_diff_make(&diff, &query, before, after);
    print(&diff, &out);
    assert_string_equal(out.data, expected);
    memory_diff_clear(&diff);
    buf_free(&out);
    object_sweep_free(&before);
    object_sweep_free(&after);
}

static void all_of_it(const struct memory_diff *diff, struct buf *out)
{
    memory_diff_print(diff, &wide, 20, out);
}

static void part_of_it(const struct memory_diff *diff, struct buf *out)
{
    memory_diff_print(diff, &wide, 1, out);
}

static void most_growth_comes_first(void **state)
{
    (void)state;
    check_diff(all_of_it, "    GROWTH  PER SECOND  OBJECTS  REFS      NOW  CALL SITE\n"
                          "  +10.0 KB     +1.0 KB       +2    +2  15.0 KB  b.py:2 in f\n"
                          "    +300 B       +30 B       +1    +1    300 B  c.py:3 in f\n"
                          "   -1.0 KB      -100 B       -1    -1   1.0 KB  a.py:1 in f\n"
                          "+9.3 KB in 10.0 s: from 7.0 KB in 4 objects to 16.3 KB in 6; "
                          "1 call-site did not change\n");
    check_diff(part_of_it, "    GROWTH  PER SECOND  OBJECTS  REFS      NOW  CALL SITE\n"
                           "  +10.0 KB     +1.0 KB       +2    +2  15.0 KB  b.py:2 in f\n"
                           "  2 more: --num-entries 3 shows all\n"
                           "+9.3 KB in 10.0 s: from 7.0 KB in 4 objects to 16.3 KB in 6; "
                           "1 call-site did not change\n");
}

static void growth_for_programs(void **state)
{
    (void)state;
    check_diff(memory_diff_csv,
               "call-site,bytes_growth,objects_growth,references_growth,bytes_before,bytes_after,"
               "objects_before,objects_after,references_before,references_after\n"
               "b.py:f:2,10000,2,2,5000,15000,1,3,1,3\n"
               "c.py:f:3,300,1,1,0,300,0,1,0,1\n"
               "a.py:f:1,-1000,-1,-1,2000,1000,2,1,2,1\n");
    check_diff(memory_diff_json,
               "{\"from\": 1700000000.123, \"to\": 1700000010.123, \"group_by\": \"call-site\", "
               "\"unchanged\": 1, \"total\": {\"before\": {\"bytes\": 7007, \"objects\": 4, "
               "\"references\": 4}, \"after\": {\"bytes\": 16307, \"objects\": 6, \"references\": "
               "6}, \"growth\": {\"bytes\": 9300, \"objects\": 2, \"references\": 2}},\n"
               "\"changes\": [\n"
               "{\"key\": \"b.py:f:2\", \"before\": {\"bytes\": 5000, \"objects\": 1, "
               "\"references\": 1}, \"after\": {\"bytes\": 15000, \"objects\": 3, \"references\": "
               "3}, \"growth\": {\"bytes\": 10000, \"objects\": 2, \"references\": 2}},\n"
               "{\"key\": \"c.py:f:3\", \"before\": {\"bytes\": 0, \"objects\": 0, \"references\": "
               "0}, \"after\": {\"bytes\": 300, \"objects\": 1, \"references\": 1}, \"growth\": "
               "{\"bytes\": 300, \"objects\": 1, \"references\": 1}},\n"
               "{\"key\": \"a.py:f:1\", \"before\": {\"bytes\": 2000, \"objects\": 2, "
               "\"references\": 2}, \"after\": {\"bytes\": 1000, \"objects\": 1, \"references\": "
               "1}, \"growth\": {\"bytes\": -1000, \"objects\": -1, \"references\": -1}}\n]}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_full_store_is_told),
        cmocka_unit_test(a_store_full_of_what_can_go),
        cmocka_unit_test(it_says_who_and_until_when),
        cmocka_unit_test(a_store_with_room_is_told),
        cmocka_unit_test(nobody_answered),
        cmocka_unit_test(why_full_as_json),
        cmocka_unit_test(most_growth_comes_first),
        cmocka_unit_test(growth_for_programs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
