/* Times of log lines, what --since leaves out, and the lines of several logs around one moment. */
#include "cmocka_prelude.h"

#include "relay/evidence/log_moment.h"
#include "relay/evidence/log_time.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DAY_MS = 86400000 };

static int64_t time_of(const char *line)
{
    return log_time_of(line, strlen(line));
}

static void set_zone(const char *zone)
{
    setenv("TZ", zone, 1);
    tzset();
}

static void times_of_lines(void **state)
{
    (void)state;
    set_zone("UTC");
    int64_t ray = time_of("[2026-11-22 07:36:06,315 E 301 301] (raylet) file.cc:660: text");
    assert_int_equal(ray, 1795332966315);
    assert_int_equal(time_of("2026-11-22 07:36:06,315\tINFO file.py:284 -- text"), ray);
    assert_int_equal(time_of("2026-11-22T07:36:06.315Z text"), ray);
    assert_int_equal(time_of("2026-11-22 07:36:06 text"), ray - 315);
    static const char *const none[] = {
        "",
        "text",
        "2026-11-22",
        "2026-11-22 7:36",
        "2026-13-22 07:36:06",
        "2026-",
        "[2026-11-22 ",
        "2026-11-32 07:36:06",
        "2026-11-22 27:36:06",
        "1026-11-22 07:36:06",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(time_of(none[i]), 0);
    assert_int_equal(log_time_of("2026-11-22 07:36:06,315", 15), 0);
    set_zone("XXX-1"); /* an hour east of Greenwich */
    assert_int_equal(time_of("2026-11-22 07:36:06,315"), ray - 3600000);
    set_zone("UTC");
}

static void times_that_are_given(void **state)
{
    (void)state;
    set_zone("UTC");
    int64_t now = 1795332966315, midnight = now - now % DAY_MS;
    assert_int_equal(log_time_parse("2026-11-22 07:36:06", now), now - 315);
    assert_int_equal(log_time_parse("2026-11-22", now), midnight);
    assert_int_equal(log_time_parse("07:36:06", now), now - 315);
    assert_int_equal(log_time_parse("07:36", now), now - 6315);
    static const char *const none[] = {"", "yesterday", "07", "07:36:06x", "2026-11-22 x", "7:36"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        assert_int_equal(log_time_parse(none[i], now), 0);
    char text[LOG_TIME_TEXT];
    assert_string_equal(log_time_text(now, text), "07:36:06.315");
}

static void since_leaves_out(void **state)
{
    (void)state;
    set_zone("UTC");
    static const char text[] = "before any time\n2026-11-22 07:36:05,000 old\nof old\n"
                               "2026-11-22 07:36:06,000 new\nof new\n";
    struct log_lines lines = {.options.since_ms = 1795332966000};
    struct buf out = {0};
    log_lines_add(&lines, text, strlen(text), &out);
    log_lines_end(&lines, &out);
    buf_add(&out, "", 1);
    assert_string_equal(out.data, "before any time\n2026-11-22 07:36:06,000 new\nof new\n");
    buf_free(&out);
}

static void lines_of_a_moment(void **state)
{
    (void)state;
    set_zone("UTC");
    static const char raylet[] = "[2026-11-22 07:36:00,000 I 1 1] early\nof early\n"
                                 "[2026-11-22 07:36:06,400 I 1 1] it died\nof that\n"
                                 "[2026-11-22 07:36:20,000 I 1 1] late\n";
    static const char worker[] = ":task_name:f\n2026-11-22 07:36:05,900 logged\nlast\nwords";
    const struct log_reader_options options = {.from_ms = 1795332964000, .to_ms = 1795332968000};
    struct log_moment *moment = log_moment_create(&options);
    struct buf out = {0};
    log_moment_add(moment, "raylet  ", raylet, strlen(raylet), 0);
    log_moment_add(moment, "762  ", worker, strlen(worker), 1795332966315);
    log_moment_add(moment, "763  ", "alive, without a time\n", 22, 0);
    log_moment_add(moment, "764  ", "died long before\n", 17, 1795330000000);
    log_moment_add(moment, "765  ", "", 0, 1795332966315);
    log_moment_show(moment, &out);
    buf_add(&out, "", 1);
    assert_string_equal(out.data, "07:36:05.900  762  2026-11-22 07:36:05,900 logged\n"
                                  "07:36:06.315  762  last\n"
                                  "07:36:06.315  762  words\n"
                                  "07:36:06.400  raylet  [2026-11-22 07:36:06,400 I 1 1] it died\n"
                                  "07:36:06.400  raylet  of that\n");
    buf_free(&out);
    log_moment_free(&moment);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(times_of_lines),
        cmocka_unit_test(times_that_are_given),
        cmocka_unit_test(since_leaves_out),
        cmocka_unit_test(lines_of_a_moment),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
