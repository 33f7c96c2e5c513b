/* What is read from the words of Ray's memory monitor. */
#include "why_world.h"

#include "relay/why_records/memory_kill.h"

#include <string.h>

/* Ray 2.60; shortened. */
static const char now[] =
    "2 worker(s) were killed due to the node running low on memory. Memory on the node (IP: "
    "10.0.0.7, "
    "ID: 93a1) was 5.73GB used / 6.00GB limit (0.955746)\n"
    "OOM kill reason: Memory usage 6144569344B exceeded threshold of 6120328192B\n"
    "Object store memory usage: [- objects spillable: 2\n- bytes spillable: 150\n- objects in use: "
    "2\n"
    "- bytes in use: 1500000000\n- objects evictable: 1\n- bytes evictable: 250000000\n\n"
    "- objects created by worker: 0\n(global lru) capacity: 35098657996]\n"
    "Ray killed 2 worker(s) based on the killing policy\nConsidered workers: [\n"
    "Selected to kill: (Task: job ID=02000000, lease ID=06, task name=oom_r0, required "
    "resources={CPU: "
    "1}, pid=933, actual memory used=5.01GB, worker ID=38f0)\n"
    "Selected to kill: (Task: job ID=02000000, lease ID=07, task name=small, required "
    "resources={}, "
    "pid=934, actual memory used=0.20GB, worker ID=39f0)\n"
    "(Task: job ID=02000000, task name=spared, pid=935, actual memory used=0.10GB)]\n"
    "To see more. Top 10 memory users: PID\tMEM(GB)\tCOMMAND\n933\t5.01\tray::oom_r0\n"
    "521\t0.36\tpython driver.py --fast\n1\t0.12\tray start\n2\t0.01\tlast\n\nRefer to the docs";

/* Ray before 2.56. */
static const char before[] = "Task was killed due to the node running low on memory.\nMemory on "
                             "the node (IP: 10.97.37.135, ID: "
                             "50ee) where the task (task ID: NIL_ID, name=load, pid=115205, memory "
                             "used=0.18GB) was running was "
                             "14.67GB / 15.44GB (0.95015), which exceeds the memory usage "
                             "threshold of 0.95. Ray killed this "
                             "worker (ID: 1c42) because it was the most recently scheduled task; "
                             "to see more, use `ray logs`. Top "
                             "10 memory users:\nPID\tMEM(GB)\tCOMMAND\n7\t9.00\tray::load";

static void the_words_of_today(void **state)
{
    struct why_report report = {0};
    (void)state;
    memory_kill_tell(now, &report);
    assert_true(why_world_list_has(&report.details, "was 5.73GB used / 6.00GB limit"));
    assert_true(why_world_list_has(&report.details, "exceeded threshold of 6120328192B"));
    assert_true(why_world_list_has(&report.details, "objects in the store had 1.75 GB"));
    assert_true(why_world_list_has(
        &report.details, "Ray chose oom_r0 (pid 933, 5.01 GB), small (pid 934, 0.20 GB)"));
    assert_true(why_world_list_has(
        &report.details, "most of the memory had: ray::oom_r0 (pid 933) 5.01 GB, python "
                         "driver.py --fast (pid 521) 0.36 GB, ray start (pid 1) 0.12 GB"));
    assert_false(why_world_list_has(&report.details, "spared") ||
                 why_world_list_has(&report.details, "last"));
    assert_int_equal(report.unknown.count, 0);
    why_report_clear(&report);
}

static void the_words_before(void **state)
{
    struct why_report report = {0};
    (void)state;
    memory_kill_tell(before, &report);
    assert_true(
        why_world_list_has(&report.details, "because it was the most recently scheduled task"));
    assert_true(
        why_world_list_has(&report.details, "most of the memory had: ray::load (pid 7) 9.00 GB"));
    assert_true(why_world_list_has(&report.unknown, "objects in the store"));
    why_report_clear(&report);
}

/* A text that ends anywhere is read as far as it goes. */
static void a_text_that_is_cut(void **state)
{
    (void)state;
    for (size_t len = 0; len < sizeof now; len++) {
        struct why_report report = {0};
        char *text = mem_string_n(now, len);
        memory_kill_tell(text, &report);
        free(text);
        why_report_clear(&report);
    }
    struct why_report report = {0};
    memory_kill_tell("its process exited", &report);
    assert_int_equal(report.details.count + report.unknown.count, 0);
}

static void a_task_whose_process_ray_has_forgotten(void **state)
{
    struct why_world world;
    struct why_report report;
    (void)state;
    why_world_open(&world, "2.60.0");
    for (size_t i = 0; i < world.records.attempt_count; i++) {
        struct ray_attempt *it = &world.records.attempts[i];
        if (!text_equal(it->name, "raise_value"))
            continue;
        free(it->error_message);
        it->error_message = mem_string(before);
        it->error_type = RAY_ERROR_OUT_OF_MEMORY;
        *it->worker_id = '\0';
    }
    why_world_judge(&world, "raise_value", &report);
    assert_string_equal(report.code, "out_of_memory");
    assert_true(why_world_list_has(&report.details, "ray::load (pid 7) 9.00 GB"));
    why_report_clear(&report);
    why_world_close(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_words_of_today),
        cmocka_unit_test(the_words_before),
        cmocka_unit_test(a_text_that_is_cut),
        cmocka_unit_test(a_task_whose_process_ray_has_forgotten),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
