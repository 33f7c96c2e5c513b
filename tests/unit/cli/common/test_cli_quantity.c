/* Durations and sizes as a user writes them in options. */
#include "cmocka_prelude.h"

#include "cli/common/quantity.h"

static const char *const nonsense[] = {
    "",
    " ",
    "-1",
    "-1s",
    "-1K",
    "+1",
    "+1s",
    "1.5",
    "1.5h",
    "1e3",
    "0x10",
    "ten",
    "1x",
    "1 s",
    " 1",
    "1 ",
    "1s ",
    "1ss",
    "1hm",
    "1h30",
    "s",
    "h",
    "K",
    "-",
    "-s",
    "--1",
    "1-",
    "1,0",
    "1_0",
    "\n1",
    "1\n",
    "inf",
    "nan",
    "1KB",
    "1Ki",
    "1kb",
    "1T",
    "1S",
    "1H",
    "1k",
    "1g",
    "none",
    "0x",
    "1\xC2\xB5",
    "99999999999999999999999999999999999999",
    "99999999999999999999999999999999999999s",
    "9223372036854775808",
    "18446744073709551617",
};

static void check_duration(const char *text, int64_t expected)
{
    int64_t got = -7;
    if (!quantity_duration(text, &got))
        fail_msg("'%s' is no duration", text);
    assert_int_equal(got, expected);
}

static void check_size(const char *text, int64_t expected)
{
    int64_t got = -7;
    if (!quantity_size(text, &got))
        fail_msg("'%s' is no size", text);
    assert_int_equal(got, expected);
}

/* What is refused leaves the result as it was. */
static void check_refused(bool (*read)(const char *, int64_t *), const char *text)
{
    int64_t got = -7;
    if (read(text, &got))
        fail_msg("'%s' is taken for %lld", text, (long long)got);
    assert_int_equal(got, -7);
}

static void durations(void **state)
{
    (void)state;
    check_duration("90", 90000);
    check_duration("90s", 90000);
    check_duration("15m", 900000);
    check_duration("2h", 7200000);
    check_duration("1d", 86400000);
    check_duration("0", 0);
    check_duration("0d", 0);
    check_duration("007s", 7000);
    check_duration("24h", 86400000);
}

static void sizes(void **state)
{
    (void)state;
    check_size("4096", 4096);
    check_size("64K", 65536);
    check_size("4M", 4194304);
    check_size("1G", 1073741824);
    check_size("16G", INT64_C(17179869184));
    check_size("0", 0);
    check_size("0G", 0);
    check_size("010", 10);
}

/* The largest that is taken, and the next. A time this long can still be added to a clock's. */
static void limits(void **state)
{
    (void)state;
    check_duration("9223372036", INT64_C(9223372036000));
    check_refused(quantity_duration, "9223372037");
    check_duration("9223372036s", INT64_C(9223372036000));
    check_refused(quantity_duration, "9223372037s");
    check_duration("153722867m", INT64_C(9223372020000));
    check_refused(quantity_duration, "153722868m");
    check_duration("2562047h", INT64_C(9223369200000));
    check_refused(quantity_duration, "2562048h");
    check_duration("106751d", INT64_C(9223286400000));
    check_refused(quantity_duration, "106752d");
    check_size("9223372036854775807", INT64_MAX);
    check_size("9007199254740991K", INT64_C(9007199254740991) * 1024);
    check_refused(quantity_size, "9007199254740992K");
    check_size("8796093022207M", INT64_C(8796093022207) << 20);
    check_refused(quantity_size, "8796093022208M");
    check_size("8589934591G", INT64_C(8589934591) << 30);
    check_refused(quantity_size, "8589934592G");
    check_refused(quantity_size, "9223372036854775807K");
}

static void nonsense_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
        check_refused(quantity_duration, nonsense[i]);
        check_refused(quantity_size, nonsense[i]);
    }
}

static void units_of_the_other_kind_are_refused(void **state)
{
    (void)state;
    check_refused(quantity_duration, "1K");
    check_refused(quantity_duration, "1M");
    check_refused(quantity_duration, "1G");
    check_refused(quantity_size, "1s");
    check_refused(quantity_size, "1m");
    check_refused(quantity_size, "1h");
    check_refused(quantity_size, "1d");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(durations),
        cmocka_unit_test(sizes),
        cmocka_unit_test(limits),
        cmocka_unit_test(nonsense_is_refused),
        cmocka_unit_test(units_of_the_other_kind_are_refused),
    };
    return cmocka_run_group_tests_name("quantity", tests, NULL, NULL);
}
