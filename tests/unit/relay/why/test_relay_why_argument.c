/* Which of several tasks of one name is to blame for an argument that could not be made. */
#include "why_world.h"

#include "relay/why/why_judge.h"
#include "relay/why_records/why_names.h"

#include <string.h>

#define FAILED "  At least one of the input arguments for this task could not be computed:\n"

static struct ray_attempt *attempt_of(struct why_world *world, const char *name)
{
    for (size_t i = 0; i < world->records.attempt_count; i++)
        if (text_equal(world->records.attempts[i].name, name))
            return &world->records.attempts[i];
    fail_msg("no attempt of %s", name);
    return NULL;
}

/* The attempt fails in this process at this time, with these words. */
static void fail_as(struct ray_attempt *attempt, const char *name, int64_t pid, int64_t at_ms,
                    const char *message)
{
    free(attempt->name);
    free(attempt->error_message);
    free(attempt->raised_traceback);
    attempt->name = mem_string(name);
    attempt->pid = pid;
    attempt->state = RAY_ATTEMPT_FAILED;
    attempt->state_ms[RAY_ATTEMPT_FAILED] = at_ms;
    attempt->has_error = true;
    attempt->error_type = RAY_ERROR_TASK_EXECUTION_EXCEPTION;
    attempt->error_message = mem_string(message);
    attempt->raised_traceback = NULL;
}

/* In the job of `child_of_failed`. */
static void place(const struct why_world *world, struct ray_attempt *attempt, const char *ip)
{
    text_copy(attempt->job_id, sizeof attempt->job_id, "01000000");
    for (size_t i = 0; i < world->records.node_count; i++)
        if (text_equal(world->records.nodes[i].ip, ip))
            text_copy(attempt->node_id, sizeof attempt->node_id, world->records.nodes[i].node_id);
    assert_string_equal(why_records_ip(&world->records, attempt->node_id), ip);
}

#define RAISED(pid, error)                                                                         \
    "User exception:\nray::load() (pid=" pid ", ip=127.0.0.1)\n  File \"app.py\", line 7, in "     \
    "load\n" error
#define CHILD(pid, error)                                                                          \
    "User exception:\nray::child_of_failed() (pid=9, ip=127.0.0.1)\n" FAILED                       \
    "ray.exceptions.RayTaskError: ray::load() (pid=" pid ", ip=127.0.0.1)\n  File \"app.py\", "    \
    "line 7, in load\n" error

static void check(const struct why_world *world, const char *words)
{
    struct why_report report;
    why_world_judge(world, "child_of_failed", &report);
    assert_string_equal(report.code, "argument_failed");
    if (!strstr(report.cause, words))
        fail_msg("%s", report.cause);
    why_report_clear(&report);
}

/* This attempt is blamed. */
static void check_blamed(const struct why_world *world, const struct ray_attempt *attempt,
                         const char *words)
{
    struct why_report report;
    char id[ID_TEXT(ID_TASK_BYTES)];
    check(world, words);
    why_world_judge(world, "child_of_failed", &report);
    assert_true(why_world_list_has(&report.next, why_short_id(attempt->task_id, id)));
    why_report_clear(&report);
}

static void the_one_that_raised_this(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    struct ray_attempt *child = attempt_of(&world, "child_of_failed");
    struct ray_attempt *one = attempt_of(&world, "raise_value"), *two = attempt_of(&world, "segv");
    struct ray_attempt *three = attempt_of(&world, "abort");
    int64_t now = world.records.now_ms;
    place(&world, one, "127.0.0.1");
    place(&world, two, "127.0.0.1");
    place(&world, three, "127.0.0.1");
    fail_as(one, "load", 7, now - 3000, RAISED("7", "ValueError: a"));
    fail_as(two, "load", 8, now - 2000, RAISED("8", "ValueError: a"));
    fail_as(three, "load", 7, now - 1000, RAISED("7", "KeyError: 'b'"));
    fail_as(child, "child_of_failed", 9, now, CHILD("7", "ValueError: a"));
    check_blamed(&world, one, "makes one of its arguments, failed: it raised ValueError: a");
    fail_as(child, "child_of_failed", 9, now, CHILD("7", "KeyError: 'b'"));
    check_blamed(&world, three, "failed: it raised KeyError: 'b'");
    fail_as(child, "child_of_failed", 9, now, CHILD("8", "ValueError: a"));
    check_blamed(&world, two, "failed: it raised ValueError: a");
    /* Ray has forgotten it: its words are left. */
    fail_as(child, "child_of_failed", 9, now, CHILD("7", "OSError: c"));
    check(&world,
          "it did not run: load, which makes one of its arguments, failed: it raised OSError: c");
    why_world_close(&world);
}

/* Of two tasks of one name that raised the same in processes of one pid. */
static void the_one_that_it_can_be(void **state)
{
    enum { OF_OTHER_NODE, OF_OTHER_JOB, LATER, ONE_MORE, CASES };
    (void)state;
    for (int i = 0; i < CASES; i++) {
        struct why_world world;
        struct why_report report;
        char id[ID_TEXT(ID_TASK_BYTES)];
        why_world_open(&world, "2.60.0");
        struct ray_attempt *child = attempt_of(&world, "child_of_failed");
        struct ray_attempt *one = attempt_of(&world, "raise_value");
        struct ray_attempt *two = attempt_of(&world, "segv");
        int64_t now = world.records.now_ms;
        fail_as(one, "load", 7, now - 3000, RAISED("7", "ValueError: a"));
        fail_as(two, "load", 7, i == LATER ? now : now - 2000, RAISED("7", "ValueError: a"));
        fail_as(child, "child_of_failed", 9, now - 1000, CHILD("7", "ValueError: a"));
        place(&world, one, "127.0.0.1");
        place(&world, two, i == OF_OTHER_NODE ? "127.0.0.2" : "127.0.0.1");
        if (i == OF_OTHER_JOB)
            text_copy(two->job_id, sizeof two->job_id, "02000000");
        if (i < ONE_MORE) {
            check_blamed(&world, one, "makes one of its arguments, failed: it raised ValueError");
        } else {
            check(&world, "load, which makes one of its arguments, failed: it raised ValueError");
            why_world_judge(&world, "child_of_failed", &report);
            assert_true(why_world_list_has(&report.unknown, "which load: 2 tasks of this name"));
            assert_false(why_world_list_has(&report.next, why_short_id(one->task_id, id)));
            assert_false(why_world_list_has(&report.next, why_short_id(two->task_id, id)));
            why_report_clear(&report);
        }
        why_world_close(&world);
    }
}

/* All of a chain may have one name; the first of it has raised. */
static void a_chain_of_one_name(void **state)
{
    static const char message[] =
        "User exception:\nray::load() (pid=9, ip=127.0.0.1)\n" FAILED
        "ray.exceptions.RayTaskError: ray::load() (pid=8, ip=127.0.0.1)\n" FAILED
        "ray.exceptions.RayTaskError: ray::load() (pid=7, ip=127.0.0.1)\n  File \"app.py\", line "
        "7, "
        "in load\nValueError: a";
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    int64_t now = world.records.now_ms;
    place(&world, attempt_of(&world, "raise_value"), "127.0.0.1");
    fail_as(attempt_of(&world, "raise_value"), "load", 7, now - 3000, RAISED("7", "ValueError: a"));
    fail_as(attempt_of(&world, "segv"), "load", 9, now, message);
    why_world_judge(&world, "load", &report);
    assert_string_equal(report.code, "argument_failed");
    assert_non_null(strstr(report.cause, "which one of its arguments depends on, failed: it raised "
                                         "ValueError: a"));
    why_report_clear(&report);
    why_world_close(&world);
}

/* Nothing but the task itself has the name. */
static void none_of_a_chain_is_known(void **state)
{
    struct why_world world;
    (void)state;
    why_world_open(&world, "2.60.0");
    fail_as(attempt_of(&world, "child_of_failed"), "child_of_failed", 9, world.records.now_ms,
            "User exception:\nray::child_of_failed() (pid=9)\n" FAILED
            "ray.exceptions.RayTaskError: ray::child_of_failed() (pid=9)\nValueError: a");
    check(&world, "it did not run: child_of_failed, which makes one of its arguments, failed");
    why_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_one_that_raised_this),
        cmocka_unit_test(the_one_that_it_can_be),
        cmocka_unit_test(a_chain_of_one_name),
        cmocka_unit_test(none_of_a_chain_is_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
