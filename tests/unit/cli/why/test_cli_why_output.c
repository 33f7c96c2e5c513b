/* A report on the terminal and as JSON; the report is that of a real crash. */
#include "why_world.h"

#include "cli/why/why_output.h"
#include "relay/why/why_json.h"
#include "relay/why/why_judge.h"

#include <cjson/cJSON.h>
#include <string.h>

static const struct why_style utf8 = {.utf8 = true, .width = 200}, ascii = {.width = 200};

static void report_of(struct why_world *world, const char *name, const char *log,
                      struct why_report *report)
{
    struct why_subject subject;
    struct why_needs needs;
    struct err err;
    assert_int_equal(why_subject_find(&world->records, name, &subject, &err), 0);
    why_judge_needs(&world->records, &subject, &needs);
    for (size_t i = 0; log && i < needs.log_count; i++)
        why_world_log(world, needs.logs_of[i]->worker_id, log);
    *report = (struct why_report){0};
    why_judge(&world->records, &subject, report);
}

static void has(const struct buf *out, const char *text)
{
    if (!strstr(out->data, text))
        fail_msg("no '%s' in:\n%s", text, out->data);
}

static void a_crash_as_text(void **state)
{
    (void)state;
    struct why_world world;
    struct why_report report;
    struct buf out = {0};
    why_world_open(&world, "2.60.0");
    report_of(&world, "segv", "segv", &report);
    why_output_report(&report, &utf8, &out);
    has(&out, "segv · ");
    has(&out, "\n  its process crashed in native code: SIGSEGV\n");
    has(&out, "\n  → programs/failures.py:");
    has(&out, " in segv\n    ctypes/__init__.py:519 in string_at\n");
    has(&out, "\nnext: raydbg logs ");
    assert_null(strchr(out.data, '\033'));
    buf_free(&out);
    why_output_report(&report, &ascii, &out);
    has(&out, "segv - ");
    has(&out, "\n  -> programs/failures.py:");
    for (const char *at = out.data; *at; at++)
        assert_true((unsigned char)*at < 0x80);
    buf_free(&out);
    why_report_clear(&report);
    why_world_close(&world);
}

static void text_of_others_is_harmless(void **state)
{
    (void)state;
    struct why_report report = {.kind = "task", .code = "exception"};
    struct buf out = {0};
    report.id = mem_string("0011223344556677");
    report.name = mem_string("evil\033[2J");
    report.summary = mem_string("job 01");
    why_report_cause(&report, "exception", "it raised Error: \033]0;x\007 two\nlines \xff");
    why_output_report(&report, &utf8, &out);
    has(&out, "evil?[2J");
    has(&out, "it raised Error: ?]0;x? two lines ?\n");
    assert_null(strchr(out.data, '\033'));
    buf_free(&out);
    why_json_report(&report, &out);
    cJSON *json = cJSON_Parse(out.data);
    assert_non_null(json);
    assert_string_equal(cJSON_GetObjectItem(json, "name")->valuestring, "evil?[2J");
    cJSON_Delete(json);
    buf_free(&out);
    why_report_clear(&report);
}

static void a_crash_as_json(void **state)
{
    (void)state;
    static const char *const members[] = {"kind", "id",      "name",    "state",  "since_ms",
                                          "code", "cause",   "details", "frames", "chain",
                                          "ray",  "unknown", "next"};
    struct why_world world;
    struct why_report report;
    struct buf out = {0};
    why_world_open(&world, "2.60.0");
    report_of(&world, "segv", "segv", &report);
    why_json_report(&report, &out);
    cJSON *json = cJSON_Parse(out.data);
    assert_non_null(json);
    assert_int_equal(cJSON_GetArraySize(json), sizeof members / sizeof *members);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        assert_string_equal(cJSON_GetArrayItem(json, (int)i)->string, members[i]);
    assert_string_equal(cJSON_GetObjectItem(json, "code")->valuestring, "native_crash");
    assert_string_equal(cJSON_GetObjectItem(json, "state")->valuestring, "failed");
    const cJSON *frame = cJSON_GetArrayItem(cJSON_GetObjectItem(json, "frames"), 2);
    assert_string_equal(cJSON_GetObjectItem(frame, "function")->valuestring, "segv");
    assert_true(cJSON_IsTrue(cJSON_GetObjectItem(frame, "in_program")));
    cJSON_Delete(json);
    buf_free(&out);
    why_report_clear(&report);
    why_world_close(&world);
}

static void the_overview_is_a_table(void **state)
{
    (void)state;
    struct why_world world;
    struct why_overview overview;
    struct buf out = {0};
    why_world_open(&world, "2.60.0");
    why_overview_make(&world.records, &overview);
    why_output_overview(&world.records, &overview, "10.0.0.5:6379", &utf8, &out);
    has(&out, "CAUSE");
    has(&out, "waits_for_b");
    has(&out, "tasks of 10.0.0.5:6379: ");
    has(&out, "next: raydbg why ");
    buf_free(&out);
    why_overview_clear(&overview);
    why_world_close(&world);

    const struct why_records none = {.now_ms = 10000000, .since_ms = 10000000 - 3600000};
    why_overview_make(&none, &overview);
    why_output_overview(&none, &overview, "10.0.0.5:6379", &utf8, &out);
    has(&out, "Nothing waits, and nothing failed in the last 60 m.\n");
    buf_free(&out);
    why_overview_clear(&overview);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_crash_as_text),
        cmocka_unit_test(text_of_others_is_harmless),
        cmocka_unit_test(a_crash_as_json),
        cmocka_unit_test(the_overview_is_a_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
