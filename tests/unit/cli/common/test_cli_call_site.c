/* Call sites and sizes as people read them. */
#include "cmocka_prelude.h"

#include "cli/common/byte_units.h"
#include "cli/common/call_site.h"

#include <stdlib.h>

static void check_site(const char *call_site, const char *expected)
{
    struct buf out = {0};
    buf_add_string(&out, "");
    call_site_text(call_site, &out);
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

static void sites_are_short(void **state)
{
    (void)state;
    check_site("(put object)  | /app/train.py:main:12 | /app/run.py:<module>:3",
               "train.py:12 ray.put in main");
    check_site("(task call)  | train.py:<module>:8", "train.py:8 task call in <module>");
    check_site("(actor call)  | C:\\app\\a.py:f:8", "C:\\app\\a.py:8 actor call in f");
    check_site("/app/train.py:main:12", "train.py:12 in main");
}

static void rays_own_frames_are_passed_over(void **state)
{
    (void)state;
    check_site("(put object)  | /x/site-packages/ray/_private/client_mode_hook.py:wrapper:134 | "
               "/x/site-packages/ray/_private/auto_init_hook.py:auto_init_wrapper:22 | "
               "/app/train.py:main:12",
               "train.py:12 ray.put in main");
    check_site("(put object)  | /x/ray/_private/client_mode_hook.py:wrapper:134",
               "client_mode_hook.py:134 ray.put in wrapper");
}

static void arguments_name_their_task(void **state)
{
    (void)state;
    const char *name = NULL;
    check_site("(deserialize task arg) prog.sleeper", "argument of prog.sleeper");
    check_site("(deserialize actor task arg) prog.Holder.keep", "argument of prog.Holder.keep");
    assert_true(call_site_of_argument("(deserialize actor task arg) a.b", &name));
    assert_string_equal(name, "a.b");
    assert_true(call_site_of_argument("(deserialize task arg) ", &name));
    assert_string_equal(name, "");
    assert_false(call_site_of_argument("(put object) | a.py:f:1", &name));
    assert_false(call_site_of_argument("", &name));
}

static void other_forms_stay(void **state)
{
    (void)state;
    check_site("", "");
    check_site("main.cc", "main.cc");
    check_site(":1", ":1");
    check_site("::1", "::1");
    check_site("a.py:f:", "a.py:f:");
    check_site(" |  | ", "");
    check_site("(put object) ", "ray.put");
}

static void unknown_sites_are_told(void **state)
{
    (void)state;
    assert_false(call_site_known(""));
    assert_false(call_site_known("<unknown>"));
    assert_false(call_site_known(NULL));
    assert_true(call_site_known("(put object) "));
}

static void check_size(int64_t bytes, enum byte_units units, const char *expected)
{
    char text[MEMORY_SIZE_TEXT];
    assert_string_equal(byte_units_size(bytes, units, text), expected);
}

static void sizes_have_units(void **state)
{
    (void)state;
    check_size(-1, MEMORY_AUTO, "?");
    check_size(0, MEMORY_AUTO, "0 B");
    check_size(999, MEMORY_AUTO, "999 B");
    check_size(1000, MEMORY_AUTO, "1.0 KB");
    check_size(8000266, MEMORY_AUTO, "8.0 MB");
    check_size(99940000, MEMORY_AUTO, "99.9 MB");
    check_size(99960000, MEMORY_AUTO, "100 MB");
    check_size(999600000, MEMORY_AUTO, "1.0 GB");
    check_size(2400000000, MEMORY_AUTO, "2.4 GB");
    check_size(INT64_MAX, MEMORY_AUTO, "9.2 EB");
    check_size(8000266, MEMORY_B, "8000266 B");
    check_size(8000266, MEMORY_KB, "8000.3 KB");
    check_size(8000266, MEMORY_MB, "8.000 MB");
    check_size(8000266, MEMORY_GB, "0.008000 GB");
    check_size(INT64_MAX, MEMORY_B, "9223372036854775807 B");
}

static void growth_has_a_sign(void **state)
{
    (void)state;
    char text[MEMORY_SIZE_TEXT];
    assert_string_equal(byte_units_growth(1500, MEMORY_AUTO, text), "+1.5 KB");
    assert_string_equal(byte_units_growth(-1500, MEMORY_AUTO, text), "-1.5 KB");
    assert_string_equal(byte_units_growth(0, MEMORY_AUTO, text), "0 B");
}

static void units_have_names(void **state)
{
    (void)state;
    enum byte_units units;
    assert_true(byte_units_parse("mb", &units));
    assert_int_equal(units, MEMORY_MB);
    assert_true(byte_units_parse("auto", &units));
    assert_int_equal(units, MEMORY_AUTO);
    assert_false(byte_units_parse("", &units));
    assert_false(byte_units_parse("TB", &units));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sites_are_short),
        cmocka_unit_test(rays_own_frames_are_passed_over),
        cmocka_unit_test(arguments_name_their_task),
        cmocka_unit_test(other_forms_stay),
        cmocka_unit_test(unknown_sites_are_told),
        cmocka_unit_test(sizes_have_units),
        cmocka_unit_test(growth_has_a_sign),
        cmocka_unit_test(units_have_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
