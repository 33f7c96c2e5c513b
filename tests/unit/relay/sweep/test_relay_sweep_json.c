/* A sweep as JSON and back, and what a broken or another version's file makes of it. */
#include "cmocka_prelude.h"
#include "object_sample.h"

#include "relay/sweep/sweep_json.h"

#include <stdlib.h>

/* Something of everything. */
static struct object_sweep *full(void)
{
    struct object_sweep *sweep = sample_sweep(2);
    struct object_node *down = &sweep->nodes[1];
    sweep->nodes[0].store = (struct ray_store_stats){
        .used = 1,
        .available = INT64_C(1) << 40,
        .spill_seconds = 12.000345,
        .restored_objects = 4,
        .pulls_queued = true,
    };
    free(down->problem);
    down->problem = mem_string("the raylet does not answer: \"no\"");
    down->asked = false;
    sweep->unanswered = 1;
    struct ray_worker_objects *driver = sample_process(sweep, 0, 70, RAY_DRIVER);
    struct ray_worker_objects *actor = sample_process(sweep, 0, 71, RAY_WORKER);
    free(sweep->processes[1].actor_class);
    sweep->processes[1].actor_class = mem_string("Tr\xC3\xA4iner");
    text_copy(actor->actor_id, sizeof actor->actor_id, ACTOR_ID("e5"));
    actor->objects_total = 12;
    actor->owned = 0;
    sample_process(sweep, 0, 72, RAY_RESTORE_WORKER);
    sample_ref(driver, sample_id("a1", 1), 1000, RAY_TASK_FINISHED)->call_site = "a.py:1\n\"f\"";
    sample_ref(driver, sample_id("d", 1), -1, 5)->pinned = true;
    struct ray_object_ref *borrowed = sample_ref(actor, sample_id("a1", 1), -1, RAY_TASK_NIL);
    borrowed->local = 0;
    borrowed->submitted = 3;
    borrowed->contained_in = 2;
    borrowed->attempt = 4;
    sample_ref(actor, sample_id("b2", 1), 0, RAY_TASK_NIL)->call_site = "a.py:1\n\"f\"";
    sweep->locations = mem_array(2, sizeof *sweep->locations);
    sweep->location_count = 2;
    for (size_t i = 0; i < 2; i++) {
        struct ray_object_location *location = &sweep->locations[i];
        location->id = sample_id(i ? "b2" : "a1", 1);
        location->known = i == 0;
        location->size = i ? -1 : 1000;
        location->spilled_url = mem_string(i ? "file:///tmp/x?offset=0" : "");
    }
    sweep->locations[0].node_ids = mem_array(2, sizeof *sweep->locations[0].node_ids);
    sweep->locations[0].node_count = 2;
    for (size_t i = 0; i < 2; i++)
        text_copy(sweep->locations[0].node_ids[i], sizeof sweep->locations[0].node_ids[i],
                  sweep->nodes[i].node_id);
    sweep->tasks = mem_array(1, sizeof *sweep->tasks);
    sweep->task_count = 1;
    text_copy(sweep->tasks[0].task_id, sizeof sweep->tasks[0].task_id, TASK_ID("a1"));
    sweep->tasks[0].name = mem_string("make");
    sweep->tasks[0].func_or_class = mem_string("");
    sweep->tasks[0].running_ms = INT64_C(1700000000007);
    object_sweep_join(sweep);
    return sweep;
}

/* Reads a copy that ends where `len` says: a byte more is the sanitizer's to find. */
static struct object_sweep *read_copy(const char *json, size_t len, struct err *err)
{
    char *copy = malloc(len ? len : 1);
    assert_non_null(copy);
    memcpy(copy, json, len);
    *err = (struct err){0};
    struct object_sweep *sweep = sweep_json_read(copy, len, err);
    free(copy);
    assert_int_equal(sweep == NULL, err->code != ERR_NONE);
    return sweep;
}

static void check_row(const struct object_row *a, const struct object_row *b)
{
    assert_memory_equal(&a->ref->id, &b->ref->id, sizeof a->ref->id);
    assert_int_equal(a->process, b->process);
    assert_int_equal(a->owner, b->owner);
    assert_int_equal(a->reference, b->reference);
    assert_int_equal(a->size, b->size);
    assert_int_equal(a->ref->size, b->ref->size);
    assert_int_equal(a->ref->status, b->ref->status);
    assert_int_equal(a->ref->attempt, b->ref->attempt);
    assert_int_equal(a->ref->local, b->ref->local);
    assert_int_equal(a->ref->submitted, b->ref->submitted);
    assert_int_equal(a->ref->contained_in, b->ref->contained_in);
    assert_int_equal(a->ref->pinned, b->ref->pinned);
    assert_string_equal(a->ref->call_site, b->ref->call_site);
}

static void everything_comes_back(void **state)
{
    (void)state;
    struct object_sweep *sweep = full();
    struct buf json = {0}, again = {0};
    struct err err;
    sweep_json_write(sweep, &json);
    struct object_sweep *copy = read_copy(json.data, json.len, &err);
    assert_non_null(copy);
    assert_int_equal(copy->taken_ms, sweep->taken_ms);
    assert_int_equal(copy->unanswered, 1);
    assert_string_equal(copy->nodes[1].problem, sweep->nodes[1].problem);
    assert_true(copy->nodes[0].store.spill_seconds > 12.000344);
    assert_true(copy->nodes[0].store.spill_seconds < 12.000346);
    assert_true(copy->nodes[0].store.pulls_queued);
    assert_int_equal(copy->processes[2].worker->type, RAY_RESTORE_WORKER);
    assert_int_equal(copy->processes[1].worker->owned, 0);
    assert_string_equal(copy->processes[1].actor_class, "Tr\xC3\xA4iner");
    assert_int_equal(copy->row_count, 4);
    for (size_t i = 0; i < 4; i++)
        check_row(&copy->rows[i], &sweep->rows[i]);
    assert_int_equal(copy->location_count, 2);
    assert_string_equal(copy->locations[0].node_ids[1], sweep->nodes[1].node_id);
    assert_string_equal(copy->locations[1].spilled_url, "file:///tmp/x?offset=0");
    assert_int_equal(copy->tasks[0].running_ms, INT64_C(1700000000007));
    sweep_json_write(copy, &again);
    assert_string_equal(again.data, json.data);
    buf_free(&json);
    buf_free(&again);
    object_sweep_free(&copy);
    object_sweep_free(&sweep);
}

static void an_empty_one_comes_back(void **state)
{
    (void)state;
    struct object_sweep *sweep = mem_alloc(sizeof *sweep), *copy;
    struct buf json = {0};
    struct err err;
    sweep_json_write(sweep, &json);
    copy = read_copy(json.data, json.len, &err);
    assert_non_null(copy);
    assert_int_equal(copy->row_count, 0);
    object_sweep_free(&copy);
    object_sweep_free(&sweep);
    buf_free(&json);
}

/* Replaces the first `from` of the full sweep's JSON and reads that. */
static struct object_sweep *read_with(const char *from, const char *to, struct err *err)
{
    struct object_sweep *sweep = full();
    struct buf json = {0}, changed = {0};
    sweep_json_write(sweep, &json);
    const char *at = strstr(json.data, from);
    if (!at)
        fail_msg("the JSON has no %s", from);
    buf_add(&changed, json.data, (size_t)(at - json.data));
    buf_add_string(&changed, to);
    buf_add_string(&changed, at + strlen(from));
    struct object_sweep *copy = read_copy(changed.data, changed.len, err);
    buf_free(&json);
    buf_free(&changed);
    object_sweep_free(&sweep);
    return copy;
}

static void faults_are_found(void **state)
{
    (void)state;
    static const struct {
        const char *from, *to, *why;
    } faults[] = {
        {"\"taken\":", "\"token\":", "\"taken\" is missing"},
        {"\"taken\":1700000000.123", "\"taken\":\"now\"", "\"taken\" is not what it should be"},
        {"\"taken\":1700000000.123", "\"taken\":1.1234", "\"taken\" is not what it should be"},
        {"\"nodes\":[", "\"nodes\":{},\"x\":[", "\"nodes\" is no array"},
        {"\"nodes\":[\"00", "\"nodes\":[\"\\\"0",
         "locations[0]: \"nodes\" has something else than ids"},
        {"\"ip\":\"10.0.0.1\"", "\"ip\":5", "nodes[0]: \"ip\" is not what it should be"},
        {"\"asked\":false,", "", "nodes[1]: \"asked\" is missing"},
        {"\"store\":", "\"stare\":", "nodes[0]: \"store\" is missing"},
        {"\"pulls_queued\":true", "\"pulls_queued\":1",
         "nodes[0]: \"pulls_queued\" is not what it should be"},
        {"\"type\":\"driver\"", "\"type\":\"chauffeur\"",
         "processes[0]: \"type\" is not what it should be"},
        {"\"node\":0", "\"node\":2", "processes[0]: \"node\" is none of the nodes"},
        {"\"port\":10001", "\"port\":65536", "processes[0]: \"port\" is not what it should be"},
        {"\"job_id\":\"01000000\"", "\"job_id\":\"0100000\"",
         "processes[0]: \"job_id\" is not what it should be"},
        {"\"call_sites\":[", "\"call_sites\":[7,", "call_sites[0]: it is no string"},
        {"\"object_ref\":\"a1", "\"object_ref\":\"A1",
         "rows[0]: \"object_ref\" is not what it should be"},
        {"\"object_ref\":\"a1", "\"object_ref\":\"c1", "rows[1]: the rows are not in order"},
        {"\"process\":1", "\"process\":0", "rows[1]: the rows are not in order"},
        {"\"process\":0", "\"process\":3", "rows[0]: \"process\" is none of the processes"},
        {"\"process\":0", "\"process\":null", "rows[0]: \"process\" is none of the processes"},
        {"\"owner\":0", "\"owner\":3", "rows[0]: \"owner\" is none of the processes"},
        {"\"owner\":0", "\"owner\":-1", "rows[0]: \"owner\" is not what it should be"},
        {"\"call_site\":0", "\"call_site\":1", "rows[0]: \"call_site\" is none of the call sites"},
        {"\"task_status\":\"FINISHED\"", "\"task_status\":\"ENDED\"",
         "rows[0]: \"task_status\" is not what it should be"},
        {"\"reference_type\":\"LOCAL_REFERENCE\"", "\"reference_type\":\"REMOTE\"",
         "rows[0]: \"reference_type\" is not what it should be"},
        {"\"size\":1000", "\"size\":1000,\"size\":1000", "rows[0]: \"size\" is there twice"},
        {"\"attempt\":5", "\"attempt\":0", "rows[1]: \"attempt\" is not what it should be"},
        {"\"contained_in_owned\":2", "\"contained_in_owned\":4294967296",
         "rows[1]: \"contained_in_owned\" is not what it should be"},
        {"\"known\":true", "\"known\":null", "locations[0]: \"known\" is not what it should be"},
        {"\"nodes\":[\"", "\"nodes\":[\"0", "locations[0]: \"nodes\" has something else than ids"},
        {"\"nodes\":[]", "\"nodes\":0", "locations[1]: \"nodes\" is no array"},
        {"\"attempt\":0", "\"attempt\":2147483648",
         "tasks[0]: \"attempt\" is not what it should be"},
        {"\"tasks\":[", "\"tasks\":[5,", "tasks[0]: there is something else than an object"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        struct err err;
        struct object_sweep *sweep = read_with(faults[i].from, faults[i].to, &err);
        if (sweep || !text_equal(err.why, faults[i].why))
            fail_msg("%s -> %s: %s", faults[i].from, faults[i].to, sweep ? "read" : err.why);
    }
}

static void unknown_members_are_skipped(void **state)
{
    (void)state;
    struct err err;
    struct object_sweep *sweep =
        read_with("\"process\":", "\"colour\":{\"process\":9},\"process\":", &err);
    assert_non_null(sweep);
    assert_int_equal(sweep->row_count, 4);
    object_sweep_free(&sweep);
}

static void cut_anywhere(void **state)
{
    (void)state;
    struct object_sweep *sweep = full();
    struct buf json = {0};
    struct err err;
    sweep_json_write(sweep, &json);
    for (size_t len = 0; len + 1 < json.len; len++) /* the last byte is a line end */
        assert_null(read_copy(json.data, len, &err));
    buf_free(&json);
    object_sweep_free(&sweep);
}

/* Whatever a byte becomes: it is read or it is not, and nothing else happens. */
static void broken_anywhere(void **state)
{
    (void)state;
    static const char bytes[] = "\0\"{}[],9n\xFF";
    struct object_sweep *sweep = full();
    struct buf json = {0};
    size_t refused = 0;
    sweep_json_write(sweep, &json);
    for (size_t i = 0; i < json.len; i++) {
        char was = json.data[i];
        for (size_t k = 0; k < sizeof bytes - 1; k++) {
            struct err err;
            json.data[i] = bytes[k];
            struct object_sweep *copy = read_copy(json.data, json.len, &err);
            refused += copy == NULL;
            object_sweep_free(&copy);
        }
        json.data[i] = was;
    }
    assert_true(refused > 1000);
    buf_free(&json);
    object_sweep_free(&sweep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(everything_comes_back), cmocka_unit_test(an_empty_one_comes_back),
        cmocka_unit_test(faults_are_found),      cmocka_unit_test(unknown_members_are_skipped),
        cmocka_unit_test(cut_anywhere),          cmocka_unit_test(broken_anywhere),
    };
    return cmocka_run_group_tests_name("object_json", tests, NULL, NULL);
}
