/* Who waits for a task that is stopped in a debugger, and who has that: on the records of a real
 * cluster in which tests/integration/programs/failures.py waits. */
#include "why_world.h"

#include "relay/evidence/pause_evidence.h"
#include "relay/why/why_json.h"
#include "relay/why/why_judge.h"
#include "relay/why_records/why_names.h"

#include <string.h>

static void check(const struct why_world *world, const char *name, const char *code,
                  const char *words)
{
    struct why_report report;
    why_world_judge(world, name, &report);
    if (!text_equal(report.code, code) || !strstr(report.cause, words))
        fail_msg("%s: %s: %s", name, report.code, report.cause);
    why_report_clear(&report);
}

static struct ray_attempt *running(const struct why_world *world, const char *name)
{
    for (size_t i = 0; i < world->records.attempt_count; i++) {
        struct ray_attempt *it = &world->records.attempts[i];
        if (text_equal(it->name, name) && it->state == RAY_ATTEMPT_RUNNING)
            return it;
    }
    fail_msg("%s does not run", name);
    return NULL;
}

/* A relay's list with this one pause. */
static void hold(struct why_world *world, const char *name, struct pause pause)
{
    const struct ray_attempt *attempt = running(world, name);
    const struct pause_list list = {&pause, 1};
    text_copy(pause.task_id, sizeof pause.task_id, attempt->task_id);
    text_copy(pause.worker_id, sizeof pause.worker_id, attempt->worker_id);
    pause_evidence_add(&world->records, &list, "127.0.0.1:4713");
}

static void held_by_a_client(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    check(&world, "waits_for_b", "waits_for_resources", "");
    hold(&world, "holder",
         (struct pause){.state = PAUSE_HELD,
                        .reason = "step",
                        .file = "/app/train.py",
                        .line = 22,
                        .driver = "vim @ 10.0.0.1:77",
                        .clients = 1});
    check(&world, "holder", "paused",
          "it is stopped at train.py:22: vim @ 10.0.0.1:77 drives it through the relay "
          "127.0.0.1:4713");
    check(&world, "waits_for_b", "waits_for_paused", "it waits for holder (");
    check(&world, "Serial.behind", "queued_in_actor", "");
    why_world_close(&world);
}

static void set_amount(struct ray_resources *resources, const char *name, double amount)
{
    for (size_t i = 0; i < resources->count; i++)
        if (text_equal(resources->items[i].name, name)) {
            resources->items[i].amount = amount;
            return;
        }
    resources->items = mem_resize(resources->items, resources->count + 1, sizeof *resources->items);
    resources->items[resources->count++] = (struct ray_resource){mem_string(name), amount};
}

/* What a stopped task has does not matter to a task that waits for something else. */
static void another_resource(void **state)
{
    struct why_world world;
    struct ray_attempt *stopped, *holder;
    (void)state;
    why_world_open(&world, "2.60.0");
    stopped = running(&world, "slow_producer");
    holder = running(&world, "holder");
    set_amount(&stopped->resources, "CPU", 1);
    text_copy(stopped->node_id, sizeof stopped->node_id, holder->node_id);
    hold(&world, "slow_producer", (struct pause){.state = PAUSE_WAITING});
    check(&world, stopped->task_id, "paused", "");
    check(&world, "waits_for_b", "waits_for_resources", ""); /* its node has CPUs */
    set_amount(&stopped->resources, "b", 0.05);
    check(&world, "waits_for_b", "waits_for_paused", "it may wait for slow_producer (");
    for (size_t i = 0; i < world.records.node_count; i++)
        if (!text_equal(world.records.nodes[i].node_id, holder->node_id))
            text_copy(stopped->node_id, sizeof stopped->node_id, world.records.nodes[i].node_id);
    check(&world, "waits_for_b", "waits_for_resources", ""); /* it is on another node */
    why_world_close(&world);
}

/* Others hold enough of it, too, and may end first; what several stopped tasks hold is added up. */
static void what_others_hold(void **state)
{
    struct why_world world;
    struct ray_attempt *holder, *other;
    (void)state;
    why_world_open(&world, "2.60.0");
    holder = running(&world, "holder");
    other = running(&world, "slow_producer");
    set_amount(&holder->resources, "b", 1);
    set_amount(&other->resources, "b", 2.5);
    text_copy(other->node_id, sizeof other->node_id, holder->node_id);
    hold(&world, "holder", (struct pause){.state = PAUSE_WAITING});
    check(&world, "waits_for_b", "waits_for_paused", "it may wait for holder (");
    hold(&world, "slow_producer", (struct pause){.state = PAUSE_WAITING});
    check(&world, "waits_for_b", "waits_for_paused", "it waits for ");
    why_world_close(&world);
}

static void held_by_nobody(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    hold(&world, "Serial.slow", (struct pause){.state = PAUSE_HELD, .reason = "breakpoint"});
    check(&world, "Serial.behind", "waits_for_paused", "holds it, and no client is attached");
    hold(&world, "holder", (struct pause){.state = PAUSE_HELD}); /* it runs */
    check(&world, "waits_for_b", "waits_for_resources", "");
    why_world_close(&world);
}

static void post_mortem(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    hold(&world, "Serial.slow",
         (struct pause){
             .state = PAUSE_HELD, .reason = "exception", .file = "/app/train.py", .line = 22});
    check(&world, "Serial.slow", "paused",
          "it is stopped at train.py:22, where it raised an exception (post mortem): the relay ");
    check(&world, "Serial.behind", "waits_for_paused", "(post mortem): the relay");
    hold(&world, "holder", (struct pause){.state = PAUSE_HELD, .reason = "exception"});
    check(&world, "holder", "paused",
          "it is stopped at the line that raised an exception (post mortem): the relay ");
    why_world_close(&world);
}

static void in_rays_pdb(void **state)
{
    struct why_world world;
    struct ray_pdb pdb = {.address = "localhost:39947", .file = "/app/train.py", .line = 7};
    (void)state;
    why_world_open(&world, "2.60.0");
    pause_evidence_add_pdbs(&world.records, &pdb, 1); /* of a driver: it has no task */
    assert_int_equal(world.records.pause_count, 0);
    text_copy(pdb.task_id, sizeof pdb.task_id, running(&world, "Serial.slow")->task_id);
    pause_evidence_add_pdbs(&world.records, &pdb, 1);
    check(&world, "Serial.slow", "paused", "stopped at train.py:7 in Ray's legacy pdb and waits");
    check(&world, "Serial.behind", "waits_for_paused", "Ray's legacy pdb");
    pdb.address = ""; /* Ray's exit_debugger leaves such entries */
    text_copy(pdb.task_id, sizeof pdb.task_id, running(&world, "holder")->task_id);
    pause_evidence_add_pdbs(&world.records, &pdb, 1);
    check(&world, "waits_for_b", "waits_for_resources", "");
    why_world_close(&world);
}

/* An attempt and a process of it that a test may change. */
static struct ray_attempt *changeable(struct why_world *world, const char *name)
{
    for (size_t i = 0; i < world->records.attempt_count; i++)
        if (text_equal(world->records.attempts[i].name, name))
            return &world->records.attempts[i];
    fail_msg("no %s", name);
    return NULL;
}

static struct ray_worker *worker_of(struct why_world *world, const char *name)
{
    const struct ray_attempt *attempt = running(world, name);
    for (size_t i = 0; i < world->records.worker_count; i++)
        if (text_equal(world->records.workers[i].worker_id, attempt->worker_id))
            return &world->records.workers[i];
    fail_msg("no process of %s", name);
    return NULL;
}

/* Runs in the process of another, as a call of a threaded actor does. */
static void run_beside(struct why_world *world, const char *name, const char *other)
{
    struct ray_attempt *attempt = changeable(world, name);
    attempt->state = RAY_ATTEMPT_RUNNING;
    attempt->state_ms[RAY_ATTEMPT_RUNNING] = world->records.now_ms - 5000;
    text_copy(attempt->worker_id, sizeof attempt->worker_id, running(world, other)->worker_id);
}

static void check_unknown(const struct why_world *world, const char *name, const char *words)
{
    struct why_report report;
    why_world_judge(world, name, &report);
    if (!why_world_list_has(&report.unknown, words))
        fail_msg("%s: %s", name, report.cause);
    why_report_clear(&report);
}

static void one_of_several_in_a_process(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_worker *worker = worker_of(&world, "Serial.slow");
    run_beside(&world, "Serial.behind", "Serial.slow");
    worker->paused_threads = 1;
    check(&world, "Serial.slow", "paused", "it may be stopped at a breakpoint and waits");
    check(&world, "Serial.behind", "paused", "it may be stopped at a breakpoint and waits");
    check_unknown(&world, "Serial.slow", "it is: 1 of the 2 that run in its process is stopped");
    worker->paused_threads = 2;
    check(&world, "Serial.slow", "paused", "it is stopped at a breakpoint and waits");
    check(&world, "Serial.behind", "paused", "it is stopped at a breakpoint and waits");
    /* Of one of them it is known. */
    worker->paused_threads = 1;
    hold(&world, "Serial.slow", (struct pause){.state = PAUSE_WAITING});
    check(&world, "Serial.slow", "paused", "it is stopped at a breakpoint and waits");
    why_world_judge(&world, "Serial.behind", &report);
    assert_string_not_equal(report.code, "paused");
    why_report_clear(&report);
    why_world_close(&world);
}

/* A relay that holds the process tells that it has stopped, and not how many of its tasks have. */
static void held_with_several_in_a_process(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    run_beside(&world, "Serial.behind", "Serial.slow");
    hold(&world, "Serial.slow",
         (struct pause){.state = PAUSE_HELD, .reason = "breakpoint", .ambiguous = true});
    check(&world, "Serial.slow", "paused", "it may be stopped at a breakpoint");
    check(&world, "Serial.behind", "paused", "it may be stopped at a breakpoint");
    check_unknown(&world, "Serial.slow",
                  "at least 1 of the 2 that run in its process is stopped, and Ray does not");
    worker_of(&world, "Serial.slow")->paused_threads = 2; /* no client has attached yet */
    check(&world, "Serial.behind", "paused", "it is stopped at a breakpoint");
    why_world_close(&world);
}

static void what_waits_for_one_of_several(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    worker_of(&world, "holder")->paused_threads = 1;
    check(&world, "waits_for_b", "waits_for_paused", "holder (");
    run_beside(&world, "Serial.slow", "holder");
    check(&world, "waits_for_b", "waits_for_paused", "it may wait for holder (");
    check(&world, "waits_for_b", "waits_for_paused", "which may be stopped at a breakpoint");
    check_unknown(&world, "waits_for_b", "1 of the 2 that run in its process is stopped");
    why_world_close(&world);
}

/* An argument of some task of the owner's is the first result of this task; NULL: of a task of
 * which Ray has no record. */
static struct ray_object_ref *give_argument(struct why_world *world, const char *waiting,
                                            const struct ray_attempt *maker)
{
    struct why_records *records = &world->records;
    const struct ray_worker *owner = why_owner_of_task(records, changeable(world, waiting));
    assert_non_null(owner);
    if (!records->refs) {
        records->refs = mem_array(1, sizeof *records->refs);
        records->refs_count = 1;
        text_copy(records->refs->worker_id, sizeof records->refs->worker_id, owner->worker_id);
        records->refs->objects = mem_alloc(sizeof *records->refs->objects);
        *records->refs->objects = (struct ray_worker_objects){0};
    }
    struct ray_worker_objects *objects = records->refs->objects;
    objects->refs = mem_resize(objects->refs, objects->ref_count + 1, sizeof *objects->refs);
    struct ray_object_ref *ref = &objects->refs[objects->ref_count++];
    *ref = (struct ray_object_ref){.size = -1, .local = 1, .submitted = 1, .call_site = ""};
    memset(ref->id.bytes, 7, ID_TASK_BYTES);
    for (size_t i = 0; maker && i < ID_TASK_BYTES; i++) {
        unsigned value;
        assert_int_equal(sscanf(maker->task_id + 2 * i, "%2x", &value), 1);
        ref->id.bytes[i] = (uint8_t)value;
    }
    ref->id.bytes[ID_TASK_BYTES] = 1;
    return ref;
}

/* Of several arguments that are not made yet Ray does not tell which is whose. */
static void one_of_several_arguments(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    const struct ray_attempt *stopped = running(&world, "slow_producer");
    struct ray_attempt *other = changeable(&world, "waits_in_get");
    hold(&world, "slow_producer", (struct pause){.state = PAUSE_WAITING});
    give_argument(&world, "waits_for_argument", stopped);
    check(&world, "waits_for_argument", "waits_for_paused", "it waits for slow_producer (");
    give_argument(&world, "waits_for_argument", other);
    check(&world, "waits_for_argument", "waits_for_paused", "it may wait for slow_producer (");
    check_unknown(&world, "waits_for_argument", "which of them: Ray tells only that its owner");
    other->state = RAY_ATTEMPT_FINISHED;
    check(&world, "waits_for_argument", "waits_for_paused", "it waits for slow_producer (");
    struct ray_object_ref *ref = give_argument(&world, "waits_for_argument", NULL);
    check(&world, "waits_for_argument", "waits_for_paused", "it may wait for slow_producer (");
    ref->status = RAY_TASK_FINISHED;
    check(&world, "waits_for_argument", "waits_for_paused", "it waits for slow_producer (");
    ref->status = RAY_TASK_NIL;
    ref->submitted = 0; /* no argument */
    check(&world, "waits_for_argument", "waits_for_paused", "it waits for slow_producer (");
    why_world_close(&world);
}

/* A call in a threaded actor's queue starts as soon as any call before it ends. */
static void one_of_several_calls(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    const struct ray_attempt *slow = running(&world, "Serial.slow");
    hold(&world, "Serial.slow", (struct pause){.state = PAUSE_WAITING});
    check(&world, "Serial.behind", "waits_for_paused", "it waits for Serial.slow (");
    struct ray_attempt *other = changeable(&world, "Actor.put");
    run_beside(&world, "Actor.put", "Serial.slow");
    text_copy(other->actor_id, sizeof other->actor_id, slow->actor_id);
    check(&world, "Serial.behind", "waits_for_paused", "it may wait for Serial.slow (");
    hold(&world, "Actor.put", (struct pause){.state = PAUSE_WAITING});
    check(&world, "Serial.behind", "waits_for_paused", "it waits for ");
    why_world_close(&world);
}

/* The process was killed in the debugger; the task is tried again in another. */
static void a_pdb_of_an_earlier_process(void **state)
{
    struct why_world world;
    struct ray_pdb pdb = {.address = "localhost:39947", .file = "/app/train.py", .line = 7};
    (void)state;
    why_world_open(&world, "2.60.0");
    text_copy(pdb.task_id, sizeof pdb.task_id, running(&world, "Serial.slow")->task_id);
    text_copy(pdb.worker_id, sizeof pdb.worker_id, running(&world, "holder")->worker_id);
    pause_evidence_add_pdbs(&world.records, &pdb, 1);
    check(&world, "Serial.behind", "queued_in_actor", "");
    struct why_pause *pause = &world.records.pauses[0];
    text_copy(pause->worker_id, sizeof pause->worker_id, running(&world, "Serial.slow")->worker_id);
    check(&world, "Serial.behind", "waits_for_paused", "train.py:7");
    why_world_close(&world);
}

/* Ray up to 2.34 tells the job and the process's title only. */
static void a_pdb_that_tells_no_task(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    const struct ray_attempt *holder = running(&world, "holder");
    int64_t began = holder->state_ms[RAY_ATTEMPT_RUNNING];
    struct ray_pdb pdb = {.address = "localhost:39947",
                          .file = "/app/train.py",
                          .line = 7,
                          .proctitle = "ray::holder",
                          .since_ms = began - 1};
    text_copy(pdb.job_id, sizeof pdb.job_id, holder->job_id);
    pause_evidence_add_pdbs(&world.records, &pdb, 1); /* an earlier attempt's */
    check(&world, "waits_for_b", "waits_for_resources", "");
    pdb.since_ms = began + 1;
    pdb.proctitle = "python holder"; /* a driver's */
    pause_evidence_add_pdbs(&world.records, &pdb, 1);
    check(&world, "waits_for_b", "waits_for_resources", "");
    pdb.proctitle = "ray::holder";
    pdb.job_id[0] = '7';
    pause_evidence_add_pdbs(&world.records, &pdb, 1);
    check(&world, "waits_for_b", "waits_for_resources", "");
    pdb.job_id[0] = holder->job_id[0];
    pause_evidence_add_pdbs(&world.records, &pdb, 1);
    check(&world, "holder", "paused", "it is stopped at train.py:7 in Ray's legacy pdb and waits");
    check(&world, "waits_for_b", "waits_for_paused", "train.py:7");
    /* Another of this name runs, too. */
    struct ray_attempt *other = changeable(&world, "Serial.slow");
    char *name = other->name;
    other->name = mem_string("holder");
    other->state_ms[RAY_ATTEMPT_RUNNING] = began;
    text_copy(other->job_id, sizeof other->job_id, holder->job_id);
    check(&world, holder->task_id, "paused", "it may be stopped at train.py:7");
    check_unknown(&world, holder->task_id, "1 of the 2 that run in this job under this name is");
    free(name);
    why_world_close(&world);
}

static void a_report_is_read_back(void **state)
{
    struct why_world world;
    struct why_report report, again = {0};
    struct buf first = {0}, second = {0};
    (void)state;
    why_world_open(&world, "2.60.0");
    why_world_judge(&world, "raise_value", &report);
    why_json_report(&report, &first);
    buf_add(&first, "", 1);
    assert_true(why_json_read(first.data, &again));
    assert_string_equal(again.cause, report.cause);
    again.code = report.code; /* of which only a few are read */
    why_json_report(&again, &second);
    buf_add(&second, "", 1);
    assert_string_equal(second.data, first.data);
    why_report_clear(&again);
    static const char *const others[] = {"", "{", "[]", "{}", "{\"id\":1,\"cause\":\"x\"}"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(why_json_read(others[i], &again));
    why_report_clear(&report);
    buf_free(&first);
    buf_free(&second);
    why_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(held_by_a_client),
        cmocka_unit_test(another_resource),
        cmocka_unit_test(what_others_hold),
        cmocka_unit_test(held_by_nobody),
        cmocka_unit_test(post_mortem),
        cmocka_unit_test(in_rays_pdb),
        cmocka_unit_test(one_of_several_in_a_process),
        cmocka_unit_test(held_with_several_in_a_process),
        cmocka_unit_test(what_waits_for_one_of_several),
        cmocka_unit_test(one_of_several_arguments),
        cmocka_unit_test(one_of_several_calls),
        cmocka_unit_test(a_pdb_of_an_earlier_process),
        cmocka_unit_test(a_pdb_that_tells_no_task),
        cmocka_unit_test(a_report_is_read_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
