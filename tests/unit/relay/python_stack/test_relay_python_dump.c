/* The text of `py-spy dump`. */
#include "cmocka_prelude.h"

#include "relay/python_stack/python_dump.h"
#include "relay/python_stack/thread_frames.h"

#include <stdlib.h>
#include <string.h>

/* A real one, of Ray 2.60. */
static const char in_get[] =
    "Process 1731: ray::hung_get\n"
    "Python v3.11.7 (/usr/bin/python3.11)\n"
    "\n"
    "Thread 1731 (idle): \"MainThread\"\n"
    "    Worker.get_objects (ray/_private/worker.py:1007)\n"
    "    get (ray/_private/worker.py:3009)\n"
    "    client_mode_hook.<locals>.decorator.<locals>.wrapper "
    "(ray/_private/client_mode_hook.py:134)\n"
    "    wrap_auto_init.<locals>.auto_init_wrapper (ray/_private/auto_init_hook.py:22)\n"
    "    getter (app.py:31)\n"
    "    Worker.main_loop (ray/_private/worker.py:1069)\n"
    "    <module> (ray/_private/workers/default_worker.py:323)\n"
    "Thread 1843 (idle): \"PythonGCThread\"\n"
    "    Condition.wait (threading.py:327)\n"
    "    Event.wait (threading.py:629)\n"
    "    PythonGCThread.run (ray/_private/gc_collect_manager.py:47)\n"
    "    Thread._bootstrap_inner (threading.py:1045)\n"
    "    Thread._bootstrap (threading.py:1002)\n";

static void a_real_dump(void **state)
{
    (void)state;
    struct python_dump dump;
    assert_true(python_dump_read(in_get, &dump));
    assert_string_equal(dump.title, "ray::hung_get");
    assert_int_equal(dump.count, 2);
    const struct python_thread *main = &dump.threads[0];
    assert_int_equal(main->id, 1731);
    assert_string_equal(main->name, "MainThread");
    assert_false(main->is_active || main->has_gil);
    assert_int_equal(main->count, 7);
    assert_string_equal(main->frames[4].function, "getter");
    assert_string_equal(main->frames[4].file, "app.py");
    assert_int_equal(main->frames[4].line, 31);
    assert_string_equal(main->frames[6].function, "<module>");
    struct thread_frames frames = thread_frames_of(main);
    assert_true(frames.has_users);
    assert_string_equal(frames.waits_in, "ray.get");
    for (size_t i = 0; i < main->count; i++)
        assert_int_equal(thread_frames_is_folded(main, &frames, i), i != 4);
    assert_false(thread_frames_of(&dump.threads[1]).has_users);
    python_dump_clear(&dump);
}

static void odd_lines(void **state)
{
    (void)state;
    static const char text[] = "Process 7: python -c print(1): x\n"
                               "Python v3.9.1 (/usr/bin/python3)\n\n"
                               "Thread 0x7F3A (active+gil)\n"
                               "    operator() (char) (lib/x.so)\n"
                               "    <listcomp> (a (copy).py:4)\n"
                               "    no location\n"
                               "    f (C:\\x.py)\n"
                               "Thread 12 (active): \"a \"quoted\" name\"\n"
                               "    g (b.py:99999999999999)";
    struct python_dump dump;
    assert_true(python_dump_read(text, &dump));
    assert_string_equal(dump.title, "python -c print(1): x");
    assert_int_equal(dump.count, 2);
    assert_int_equal(dump.threads[0].id, 0x7F3A);
    assert_true(dump.threads[0].is_active && dump.threads[0].has_gil);
    assert_null(dump.threads[0].name);
    assert_int_equal(dump.threads[0].count, 3);
    assert_string_equal(dump.threads[0].frames[0].function, "operator() (char)");
    assert_string_equal(dump.threads[0].frames[0].file, "lib/x.so");
    assert_int_equal(dump.threads[0].frames[0].line, 0);
    assert_string_equal(dump.threads[0].frames[1].file, "a (copy).py");
    assert_int_equal(dump.threads[0].frames[1].line, 4);
    assert_string_equal(dump.threads[0].frames[2].file, "C:\\x.py");
    assert_string_equal(dump.threads[1].name, "a \"quoted\" name");
    assert_string_equal(dump.threads[1].frames[0].file, "b.py:99999999999999");
    python_dump_clear(&dump);
}

static void what_is_no_dump(void **state)
{
    static const char *const texts[] = {"",
                                        "\n",
                                        "Thread 1 (idle)\n    f (a.py:1)\n",
                                        "Error: Failed",
                                        "    f (a.py:1)",
                                        "Thread ",
                                        "Process 1"};
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct python_dump dump;
        assert_false(python_dump_read(texts[i], &dump));
        assert_null(dump.threads);
    }
}

/* Text that is cut anywhere is read or refused. */
static void cut_text(void **state)
{
    (void)state;
    for (size_t len = 0; len < sizeof in_get; len++) {
        char *text = strndup(in_get, len);
        struct python_dump dump;
        if (python_dump_read(text, &dump))
            python_dump_clear(&dump);
        free(text);
    }
}

static void a_lock_of_the_programs_own_stays(void **state)
{
    (void)state;
    static const char text[] = "Process 7: ray::T.step\n"
                               "Thread 9 (idle): \"Thread-1\"\n"
                               "    wait (threading.py:327)\n"
                               "    step (train.py:5)\n"
                               "    run (threading.py:982)\n"
                               "    _bootstrap (threading.py:1002)\n";
    struct python_dump dump;
    assert_true(python_dump_read(text, &dump));
    struct thread_frames frames = thread_frames_of(&dump.threads[0]);
    assert_null(frames.waits_in);
    assert_false(thread_frames_is_folded(&dump.threads[0], &frames, 0));
    assert_false(thread_frames_is_folded(&dump.threads[0], &frames, 1));
    assert_true(thread_frames_is_folded(&dump.threads[0], &frames, 2));
    python_dump_clear(&dump);
}

static void a_pause_is_folded(void **state)
{
    (void)state;
    static const char text[] = "Process 7: ray::paused\n"
                               "Thread 7 (idle): \"MainThread\"\n"
                               "    wait (threading.py:331)\n"
                               "    wait_for_client (debugpy/server/api.py:200)\n"
                               "    set_trace (ray/util/debugpy.py:132)\n"
                               "    paused (app.py:9)\n"
                               "    main_loop (ray/_private/worker.py:1)\n";
    struct python_dump dump;
    assert_true(python_dump_read(text, &dump));
    struct thread_frames frames = thread_frames_of(&dump.threads[0]);
    assert_string_equal(frames.waits_in, "the debugger");
    assert_int_equal(frames.first, 3);
    python_dump_clear(&dump);
}

static void problems_have_words(void **state)
{
    (void)state;
    struct python_dump_problem problem =
        python_dump_problem("Failed to execute: py-spy is not installed");
    assert_non_null(strstr(problem.hint, "ray[default]"));
    problem = python_dump_problem("Error: Permission Denied: Try running again with elevated");
    assert_non_null(strstr(problem.hint, "SYS_PTRACE"));
    assert_null(python_dump_problem("something new").what);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_real_dump),
        cmocka_unit_test(odd_lines),
        cmocka_unit_test(what_is_no_dump),
        cmocka_unit_test(cut_text),
        cmocka_unit_test(a_lock_of_the_programs_own_stays),
        cmocka_unit_test(a_pause_is_folded),
        cmocka_unit_test(problems_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
