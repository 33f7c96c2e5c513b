/* What is said of one object, from what is known of it; and what its id tells. */
#include "cmocka_prelude.h"
#include "sample_ids.h"

#include "base/text.h"
#include "relay/objects/object_details.h"
#include "relay/objects/object_origin.h"

#include <stdlib.h>
#include <string.h>

#define TASK "c8dc174c83599034ffffffffffffffffffffffff01000000"
#define N1 UNIQUE_ID("11")
#define N2 UNIQUE_ID("22")

static const char *node_name(void *arg, const char *node_id)
{
    (void)arg;
    return text_equal(node_id, N1) ? "node-1" : "node-2";
}

/* The last id. */
static const struct object_id *id(const char *hex)
{
    static struct object_id out;
    assert_true(object_id_parse(hex, strlen(hex), &out));
    return &out;
}

/* Facts of an object that is all well: this worker's own. */
static struct object_facts facts_of(const char *hex, const struct ray_object_ref *ref,
                                    const struct ray_object_location *location)
{
    return (struct object_facts){
        .id = id(hex),
        .ref = ref,
        .ref_why = "no ref",
        .mine = ref && ref->status != RAY_TASK_NIL,
        .owner = OBJECT_OWNER_ALIVE,
        .owner_pid = 5842,
        .owner_node = "node-1",
        .owner_why = "no owner",
        .location = location,
        .location_why = "no location",
        .task_why = "no task",
        .node_name = node_name,
    };
}

static void check(const struct object_facts *facts, const char *name, const char *value)
{
    struct object_property all[OBJECT_DETAILS];
    object_facts_describe(facts, NULL, all);
    size_t at = 0;
    while (at < OBJECT_DETAILS && !text_equal(all[at].name, name))
        at++;
    assert_true(at < OBJECT_DETAILS);
    assert_string_equal(all[at].value, value);
    object_details_clear(all);
}

static void check_state(const struct object_facts *facts, enum object_state expected,
                        const char *status)
{
    struct object_note note;
    assert_int_equal(object_facts_note(facts, &note), expected != OBJECT_STATE_UNKNOWN);
    assert_int_equal(note.state, expected);
    assert_string_equal(note.status, status);
}

/* --- rows --- */

static void the_rows_are_nine_and_in_order(void **state)
{
    static const char *const names[] = {"size",  "nodes",  "owner",   "call site", "reference",
                                        "kinds", "copies", "spilled", "created by"};
    struct object_property all[OBJECT_DETAILS];
    struct object_facts facts = {.id = id(TASK "01000000"), .node_name = node_name};
    (void)state;
    object_facts_describe(&facts, NULL, all); /* nothing at all is known */
    for (size_t i = 0; i < OBJECT_DETAILS; i++) {
        assert_string_equal(all[i].name, names[i]);
        assert_true(i == 4 || text_starts(all[i].value, "unknown: "));
    }
    object_details_clear(all);
}

static void a_stored_object(void **state)
{
    char nodes[2][ID_TEXT(ID_UNIQUE_BYTES)] = {N2, N1};
    struct ray_object_ref ref = {.size = 8000254,
                                 .status = RAY_TASK_FINISHED,
                                 .local = 2,
                                 .pinned = true,
                                 .submitted = 1,
                                 .contained_in = 3,
                                 .call_site = "(put object)  | /a.py:f:1"};
    struct ray_object_location at = {.known = true, .node_ids = nodes, .node_count = 2};
    struct ray_task task = {.task_id = TASK, .name = (char *)"train\033[2J"};
    struct object_facts facts = facts_of("00dc174c83599034ffffffffffffffffffffffff01000000"
                                         "01e1f505",
                                         &ref, &at);
    (void)state;
    facts.task = &task;
    check_state(&facts, OBJECT_STATE_READY, "");
    check(&facts, "size", "8.0 MB (8000254 bytes)");
    check(&facts, "nodes", "node-2, node-1");
    check(&facts, "owner", "pid 5842@node-1 (this worker)");
    check(&facts, "call site", "/a.py:f:1 (put object)");
    check(&facts, "kinds",
          "local (2), pinned in memory, used by pending task (1), captured in objects (3)");
    check(&facts, "copies", "2");
    check(&facts, "spilled", "no");
    check(&facts, "created by", "train?[2J (c8dc174c), by ray.put");
}

static void one_that_is_small_is_not_lost(void **state)
{
    struct ray_object_ref ref = {.size = 100 * 1024, .status = RAY_TASK_FINISHED, .call_site = ""};
    struct ray_object_location at = {.known = true};
    struct object_facts facts = facts_of(TASK "01000000", &ref, &at);
    (void)state;
    check_state(&facts, OBJECT_STATE_READY, "");
    check(&facts, "nodes", "node-1 (in its owner's memory)");
    check(&facts, "copies", "1, in its owner's memory");
    check(&facts, "kinds", "none: nothing in this worker holds it");
    check(&facts, "call site",
          "unknown: Ray records none (start it with RAY_record_ref_creation_sites=1)");
    ref.size++; /* larger than what Ray inlines */
    check_state(&facts, OBJECT_STATE_LOST, "no copy left");
    check(&facts, "nodes", "none: no copy left");
    facts.location = NULL; /* its owner has not told yet: nothing is known to be lost */
    check_state(&facts, OBJECT_STATE_READY, "");
    check(&facts, "nodes", "unknown: no location");
}

static void a_spilled_object(void **state)
{
    struct ray_object_ref ref = {.size = 5000000, .status = RAY_TASK_NIL, .call_site = "<unknown>"};
    struct ray_object_location at = {.known = true,
                                     .did_spill = true,
                                     .size = 5000000,
                                     .spilled_url = (char *)"/tmp/s?offset=0",
                                     .spilled_node_id = N2};
    char nodes[1][ID_TEXT(ID_UNIQUE_BYTES)] = {N2};
    struct object_facts facts = facts_of(TASK "01000000", &ref, &at);
    (void)state;
    check_state(&facts, OBJECT_STATE_SPILLED, "");
    check(&facts, "nodes", "none: it is spilled");
    check(&facts, "spilled", "node-2: /tmp/s?offset=0");
    check(&facts, "call site", "unknown: Ray says none for what came within another object");
    at.node_ids = nodes;
    at.node_count = 1; /* and restored */
    check_state(&facts, OBJECT_STATE_READY, "");
    check(&facts, "nodes", "node-2");
    at.spilled_url = (char *)"";
    check(&facts, "spilled", "no (it was)");
    at.spilled_url = (char *)"s3://bucket/x";
    at.spilled_node_id[0] = '\0';
    check(&facts, "spilled", "external storage: s3://bucket/x");
}

static void one_that_is_not_made_yet(void **state)
{
    struct ray_object_ref ref = {.size = -1, .status = 5};
    struct ray_object_location at = {.known = true, .pending = true, .size = 0};
    struct ray_task task = {.task_id = TASK, .name = (char *)"slow"};
    struct object_facts facts = facts_of(TASK "01000000", &ref, &at);
    (void)state;
    check_state(&facts, OBJECT_STATE_PENDING, ray_task_status_name(5));
    check(&facts, "size", "unknown: it is not made yet");
    check(&facts, "spilled", "no: it is not made yet");
    ref.status = RAY_TASK_FINISHED; /* it was made, and lost */
    check_state(&facts, OBJECT_STATE_PENDING, "RECONSTRUCTING");
    ref.status = RAY_TASK_NIL; /* another's: the task knows */
    facts.mine = false;
    facts.task = &task;
    check_state(&facts, OBJECT_STATE_PENDING, "NOT_RUNNING");
    task.running_ms = 1;
    check_state(&facts, OBJECT_STATE_PENDING, "RUNNING");
    check(&facts, "nodes", "none yet: RUNNING");
    facts.location = NULL; /* its owner has not told */
    check_state(&facts, OBJECT_STATE_UNKNOWN, "");
}

static void an_owner_that_died(void **state)
{
    struct ray_object_ref ref = {.size = 10, .status = RAY_TASK_NIL};
    struct object_facts facts = facts_of(TASK "01000000", &ref, NULL);
    (void)state;
    facts.owner = OBJECT_OWNER_DEAD;
    check_state(&facts, OBJECT_STATE_LOST, "owner died");
    check(&facts, "owner", "pid 5842@node-1 (it died)");
    check(&facts, "copies", "none: owner died");
    facts.owner = OBJECT_OWNER_NODE_DEAD;
    check_state(&facts, OBJECT_STATE_LOST, "owner's node died");
    facts.owner_pid = 0; /* one of several */
    check(&facts, "owner", "unknown: no owner");
}

static void an_actors_handle_has_no_bytes(void **state)
{
    struct ray_object_ref ref = {.size = -1, .status = 5, .local = 1};
    struct ray_object_location at = {.known = true, .pending = true};
    struct object_facts facts = facts_of("ffffffffffffffff0781aced74ae55cfe2040b5701000000"
                                         "01000000",
                                         &ref, &at);
    (void)state;
    check_state(&facts, OBJECT_STATE_UNKNOWN, "");
    check(&facts, "size", "none: it is an actor's handle");
    check(&facts, "copies", "none: it is an actor's handle");
    check(&facts, "kinds", "actor handle, local (1)");
}

/* --- call sites --- */

static void check_site(const char *from, const char *expected)
{
    char *text = object_call_site(from);
    assert_string_equal(text, expected);
    free(text);
}

static void the_users_frame_is_first(void **state)
{
    (void)state;
    check_site("(put object)  | /v/site-packages/ray/a.py:w:1 | /app.py:f:2 | /m.py:g:3",
               "/app.py:f:2 | /v/site-packages/ray/a.py:w:1 | /m.py:g:3 (put object)");
    check_site("(deserialize task arg) program.outer", "program.outer (deserialize task arg)");
    check_site("/app.py:f:2", "/app.py:f:2");
    check_site("(task call) ", "(task call)");
    check_site("(never closed", "(never closed");
    check_site("| | ", "");
    check_site("", "");
    char many[400] = "";
    for (int i = 0; i < 40; i++)
        strcat(many, i ? " | a" : "a");
    check_site(many, many); /* nothing is lost */
}

/* --- ids --- */

static void check_origin(const char *hex, enum object_origin_kind kind, bool put,
                         const char *task_id, const char *actor_id)
{
    struct object_origin origin;
    object_origin_read(id(hex), &origin);
    assert_int_equal(origin.kind, kind);
    assert_int_equal(origin.put, put);
    assert_string_equal(origin.task_id, task_id);
    assert_string_equal(origin.actor_id, actor_id);
    assert_string_equal(origin.job_id, "01000000");
}

/* As Ray 2.60.0 made them. */
static void an_id_tells_where_it_is_from(void **state)
{
    static const char actor[] = "0781aced74ae55cfe2040b5701000000";
    (void)state;
    check_origin(TASK "01000000", ORIGIN_TASK, false, TASK, "");
    check_origin(TASK "00e1f505", ORIGIN_TASK, false, TASK, ""); /* a generator's last */
    check_origin("00dc174c83599034ffffffffffffffffffffffff0100000002e1f505", ORIGIN_PUT, true,
                 "00dc174c83599034ffffffffffffffffffffffff01000000", "");
    check_origin("00ffffffffffffffffffffffffffffffffffffff0100000001e1f505", ORIGIN_DRIVER, true,
                 "ffffffffffffffffffffffffffffffffffffffff01000000", "");
    check_origin("f9f60060c265e2890781aced74ae55cfe2040b570100000001000000", ORIGIN_TASK, false,
                 "f9f60060c265e2890781aced74ae55cfe2040b5701000000", actor);
    check_origin("00f48b5b472168dc0781aced74ae55cfe2040b570100000002e1f505", ORIGIN_ACTOR, true,
                 "00f48b5b472168dc0781aced74ae55cfe2040b5701000000", actor);
    check_origin("00ffffffffffffff0781aced74ae55cfe2040b570100000001e1f505", ORIGIN_TASK, true,
                 "ffffffffffffffff0781aced74ae55cfe2040b5701000000", actor);
    check_origin("ffffffffffffffff0781aced74ae55cfe2040b570100000001000000", ORIGIN_HANDLE, false,
                 "ffffffffffffffff0781aced74ae55cfe2040b5701000000", actor);
    assert_true(object_origin_is_driver("ffffffffffffffffffffffffffffffffffffffff01000000"));
    assert_false(object_origin_is_driver(TASK));
    assert_false(object_origin_is_driver(""));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rows_are_nine_and_in_order),
        cmocka_unit_test(a_stored_object),
        cmocka_unit_test(one_that_is_small_is_not_lost),
        cmocka_unit_test(a_spilled_object),
        cmocka_unit_test(one_that_is_not_made_yet),
        cmocka_unit_test(an_owner_that_died),
        cmocka_unit_test(an_actors_handle_has_no_bytes),
        cmocka_unit_test(the_users_frame_is_first),
        cmocka_unit_test(an_id_tells_where_it_is_from),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
