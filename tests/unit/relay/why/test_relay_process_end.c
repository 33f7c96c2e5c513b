/* What is read from the end of a process: crashes, the frames of tracebacks, exit codes. */
#include "why_world.h"

#include "relay/why_records/crash_log.h"
#include "relay/why_records/process_end.h"

#include <string.h>

static void crashes_are_read(void **state)
{
    (void)state;
    static const struct {
        const char *text, *signal;
    } cases[] = {
        {"x\n*** SIGBUS received at time=1 on cpu 0 ***\n", "SIGBUS"},
        {"*** SIGSEGV received at time=1 ***\n*** SIGABRT received at time=2 ***\n", "SIGABRT"},
        {"Fatal Python error: Segmentation fault\n\nStack (most recent call first):\n", "SIGSEGV"},
        {"Fatal Python error: none_dealloc\n", "SIGABRT"},
        {"I write *** SIGNALS *** myself\n", NULL},
        {"", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct crash_log crash;
        assert_int_equal(crash_log_read(cases[i].text, &crash), cases[i].signal != NULL);
        if (cases[i].signal)
            assert_string_equal(crash.signal, cases[i].signal);
    }
}

/* Of an abort the line before it is told, if that is the same task's. */
static void an_abort_has_its_last_words(void **state)
{
    (void)state;
    static const struct {
        const char *text, *reason;
    } cases[] = {
        {"hello\nfree(): invalid pointer\n*** SIGABRT received at time=1 ***\n",
         "free(): invalid pointer"},
        {"terminate called\n  what():  CUDA error\n\n \n*** SIGABRT received at time=1 ***\n"
         "[2026 E 1 1] logging.cc:474: *** SIGABRT received at time=1 ***\n",
         "  what():  CUDA error"},
        {"malloc(): bad size\nFatal Python error: Aborted\n\nStack (most recent call first):\n",
         "malloc(): bad size"},
        {"of another task\n:task_name:abort\n*** SIGABRT received at time=1 ***\n", NULL},
        {"*** SIGABRT received at time=1 ***\n", NULL},
        {"hello\n*** SIGSEGV received at time=1 ***\n", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct crash_log crash;
        assert_true(crash_log_read(cases[i].text, &crash));
        if (!cases[i].reason) {
            assert_null(crash.reason);
            continue;
        }
        assert_int_equal(crash.reason_len, strlen(cases[i].reason));
        assert_memory_equal(crash.reason, cases[i].reason, crash.reason_len);
    }
}

static void a_frame_ends_with_its_line(void **state)
{
    (void)state;
    struct why_report report = {0};
    why_report_traceback(&report,
                         "  File \"a.py\", line \n1 in f\n  File \"b.py\", line 2, in g\n");
    assert_int_equal(report.frame_count, 1);
    assert_string_equal(report.frames[0].file, "b.py");
    why_report_clear(&report);
}

static void exit_codes_have_words(void **state)
{
    (void)state;
    static const int codes[] = {0, 1, 126, 127, 130, 137, 139, 143};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        assert_non_null(process_end_exit_code_words(codes[i]));
    assert_null(process_end_exit_code_words(77));
    struct process_end end =
        process_end_of_text("SYSTEM_ERROR", "Worker exits with an exit code 77.");
    assert_string_equal(end.code, "exit_code");
    assert_int_equal(end.exit_code, 77);
    end = process_end_of_text("NODE_OUT_OF_MEMORY", "1 worker(s) were killed");
    assert_string_equal(end.code, "out_of_memory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(crashes_are_read),
        cmocka_unit_test(an_abort_has_its_last_words),
        cmocka_unit_test(a_frame_ends_with_its_line),
        cmocka_unit_test(exit_codes_have_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
