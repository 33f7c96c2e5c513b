/* The Prometheus text: every line as the format wants it, and true. */
#include "cmocka_prelude.h"

#include "base/wall_clock.h"
#include "relay/io/metrics.h"

#include <locale.h>
#include <regex.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int reset(void **state)
{
    (void)state;
    metrics_reset();
    return 0;
}

static void assert_line(const struct buf *text, const char *line)
{
    char *whole = malloc(strlen(line) + 3);
    sprintf(whole, "\n%s\n", line);
    if (!strstr(text->data, whole))
        fail_msg("no line '%s' in\n%s", line, text->data);
    free(whole);
}

static double value_of(const struct buf *text, const char *name)
{
    char start[128];
    snprintf(start, sizeof start, "\n%s ", name);
    const char *line = strstr(text->data, start);
    assert_non_null(line);
    return strtod(line + strlen(start), NULL);
}

static void test_values(void **state)
{
    (void)state;
    struct buf out = {0};
    metrics_set(METRIC_SESSIONS_DRIVER, 3);
    metrics_add(METRIC_SESSIONS_DRIVER, -1);
    metrics_add(METRIC_BYTES_TO_WORKER_TOTAL, 5000000000);
    metrics_add(METRIC_BYTES_TO_WORKER_TOTAL, 1);
    metrics_add(METRIC_REFUSED_ORIGIN_TOTAL, 1);
    metrics_set(METRIC_KEEPER_HELD, 7);
    metrics_render(&out);
    assert_line(&out, "raydbg_build_info{version=\"" RAYDBG_VERSION "\"} 1");
    assert_line(&out, "raydbg_sessions{role=\"driver\"} 2");
    assert_line(&out, "raydbg_sessions{role=\"observer\"} 0");
    assert_line(&out, "raydbg_bytes_total{direction=\"to_worker\"} 5000000001");
    assert_line(&out, "raydbg_refused_total{reason=\"origin\"} 1");
    assert_line(&out, "raydbg_refused_total{reason=\"token\"} 0");
    assert_line(&out, "raydbg_keeper_held 7");
    assert_line(&out, "# TYPE raydbg_bytes_total counter");
    assert_line(&out, "# TYPE raydbg_sessions gauge");
    buf_free(&out);
}

static void test_the_histogram(void **state)
{
    (void)state;
    struct buf out = {0};
    metrics_attach_seconds(0.004);
    metrics_attach_seconds(0.005); /* le: less or equal */
    metrics_attach_seconds(0.3);
    metrics_attach_seconds(100);
    metrics_render(&out);
    assert_line(&out, "# TYPE raydbg_attach_seconds histogram");
    assert_line(&out, "raydbg_attach_seconds_bucket{le=\"0.005\"} 2");
    assert_line(&out, "raydbg_attach_seconds_bucket{le=\"0.250\"} 2");
    assert_line(&out, "raydbg_attach_seconds_bucket{le=\"0.500\"} 3");
    assert_line(&out, "raydbg_attach_seconds_bucket{le=\"30\"} 3");
    assert_line(&out, "raydbg_attach_seconds_bucket{le=\"+Inf\"} 4");
    assert_line(&out, "raydbg_attach_seconds_sum 100.309000");
    assert_line(&out, "raydbg_attach_seconds_count 4");
    buf_free(&out);
}

static void test_the_process(void **state)
{
    (void)state;
    struct buf out = {0};
    int64_t before_ms = wall_clock_ms();
    metrics_start();
    metrics_render(&out);
    double start = value_of(&out, "process_start_time_seconds");
    assert_true(start * 1000 >= (double)before_ms && start * 1000 <= (double)wall_clock_ms() + 1);
    double rss = value_of(&out, "process_resident_memory_bytes");
    assert_true(rss > 1e6 && rss < 1e11);
    double fds = value_of(&out, "process_open_fds");
    int more = dup(0);
    buf_clear(&out, 0);
    metrics_render(&out);
    assert_true(value_of(&out, "process_open_fds") == fds + 1);
    assert_true(value_of(&out, "process_start_time_seconds") == start);
    assert_true(value_of(&out, "process_max_fds") >= fds);
    close(more);
    buf_free(&out);
}

/* A locale in which a decimal point is a comma. The machine may have none: localedef makes it. */
static void set_comma_locale(char *directory)
{
    char command[256], number[16];
    assert_non_null(mkdtemp(directory));
    snprintf(command, sizeof command, "localedef -i de_DE -f UTF-8 '%s/de_DE.UTF-8'", directory);
    if (system(command) != 0)
        fail_msg("%s: tools/setup installs the sources of locales", command);
    setenv("LOCPATH", directory, 1);
    assert_non_null(setlocale(LC_ALL, "de_DE.UTF-8"));
    snprintf(number, sizeof number, "%.1f", 1.5);
    assert_string_equal(number, "1,5");
}

static void end_comma_locale(const char *directory)
{
    char command[256];
    setlocale(LC_ALL, "C");
    unsetenv("LOCPATH");
    snprintf(command, sizeof command, "rm -rf '%s'", directory);
    assert_int_equal(system(command), 0);
}

/* Each line is a comment or a sample, each sample's family has HELP and TYPE before it, once, and
 * no sample comes twice. */
static void test_the_format(void **state)
{
    (void)state;
    struct buf out = {0};
    regex_t sample, comment;
    assert_int_equal(regcomp(&sample, "^([a-z_]+)([{][a-z]+=\"[^\"]*\"[}])? -?[0-9]+([.][0-9]+)?$",
                             REG_EXTENDED),
                     0);
    assert_int_equal(regcomp(&comment,
                             "^# (HELP [a-z_]+ [A-Z0-9].*[.]|TYPE [a-z_]+ "
                             "(counter|gauge|histogram))$",
                             REG_EXTENDED),
                     0);
    metrics_attach_seconds(1.5);
    char directory[] = "/tmp/raydbg-locale-XXXXXX";
    set_comma_locale(directory);
    metrics_render(&out);
    end_comma_locale(directory);
    assert_int_equal(out.data[out.len - 1], '\n');
    char *seen[200], family[64] = "";
    size_t count = 0, families = 0;
    for (char *line = strtok(out.data, "\n"); line; line = strtok(NULL, "\n")) {
        regmatch_t match[3];
        if (*line == '#') {
            if (regexec(&comment, line, 0, NULL, 0) != 0)
                fail_msg("'%s'", line);
            families += sscanf(line, "# TYPE %63s", family) == 1;
            continue;
        }
        if (regexec(&sample, line, 3, match, 0) != 0)
            fail_msg("'%s'", line);
        if (strncmp(line, family, strlen(family)) != 0)
            fail_msg("'%s' is none of %s", line, family);
        *strrchr(line, ' ') = '\0';
        for (size_t i = 0; i < count; i++)
            assert_string_not_equal(seen[i], line);
        seen[count++] = line;
    }
    assert_true(count > METRIC_COUNT && families > 15);
    regfree(&sample);
    regfree(&comment);
    buf_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_values, reset),
        cmocka_unit_test_setup(test_the_histogram, reset),
        cmocka_unit_test_setup(test_the_process, reset),
        cmocka_unit_test_setup(test_the_format, reset),
    };
    return cmocka_run_group_tests_name("metrics", tests, NULL, NULL);
}
