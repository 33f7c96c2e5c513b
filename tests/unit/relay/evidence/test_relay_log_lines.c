/* The bytes of a log, in parts of every size, become lines with prefixes, without markers, fit for
 * a terminal. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "relay/evidence/log_lines.h"

#include <stdlib.h>
#include <string.h>

/* What is shown of `text`, which arrives in parts of `part` bytes. */
static char *shown(const struct log_lines_options *options, const char *text, size_t len,
                   size_t part)
{
    struct log_lines lines = {.options = *options};
    struct buf out = {0};
    for (size_t i = 0; i < len; i += part)
        log_lines_add(&lines, text + i, len - i < part ? len - i : part, &out);
    log_lines_end(&lines, &out);
    buf_add_string(&out, "");
    return buf_take(&out);
}

static void expect(const struct log_lines_options *options, const char *text, const char *want)
{
    for (size_t part = 1; part <= strlen(text); part++) {
        char *got = shown(options, text, strlen(text), part);
        assert_string_equal(got, want);
        free(got);
    }
}

static void bytes_go_through(void **state)
{
    (void)state;
    static const char text[] = "a\0b\xff\xfe\n\033[31mred\n\n:task_name:x\nno end";
    struct log_lines lines = {0};
    struct buf out = {0};
    log_lines_add(&lines, text, 7, &out);
    log_lines_add(&lines, text + 7, sizeof text - 1 - 7, &out);
    log_lines_end(&lines, &out);
    assert_int_equal(out.len, sizeof text - 1);
    assert_memory_equal(out.data, text, out.len);
    buf_free(&out);
}

static void lines_have_prefixes(void **state)
{
    (void)state;
    const struct log_lines_options options = {.prefix = "out  "};
    expect(&options, "one\n\ntwo\nthree", "out  one\nout  \nout  two\nout  three\n");
    expect(&options, "one\n", "out  one\n");
}

static void markers_are_hidden(void **state)
{
    (void)state;
    const struct log_lines_options options = {.has_markers = true};
    expect(&options, ":job_id:01000000\n:task_name:f\nhello\n:actor_name:A\n :job_id: is mine\n",
           "hello\n :job_id: is mine\n");
}

static void lines_of_one_task(void **state)
{
    (void)state;
    const struct log_lines_options options = {.only_behind = "f"};
    expect(
        &options,
        "before\n:task_name:ff\nof ff\n:task_name:f\nof f\n:task_name:g\nof g\n:task_name:f\nagain",
        "of f\nagain");
}

static void a_terminal_gets_no_control_characters(void **state)
{
    (void)state;
    const struct log_lines_options options = {.terminal = true};
    expect(&options, "\033[1;31mred\033[0m\t\xc3\xa4\n\033]0;title\007\n\033[2Jwiped \xff\n",
           "\033[1;31mred\033[0m\t\xc3\xa4\n?]0;title?\n?[2Jwiped ?\n");
}

static void lines_are_selected(void **state)
{
    (void)state;
    regex_t grep;
    assert_int_equal(regcomp(&grep, "err(or)?$", REG_EXTENDED | REG_NOSUB), 0);
    const struct log_lines_options options = {.grep = &grep};
    expect(&options, "an error\nerrors\nan err", "an error\nan err");
    regfree(&grep);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes_go_through),
        cmocka_unit_test(lines_have_prefixes),
        cmocka_unit_test(markers_are_hidden),
        cmocka_unit_test(lines_of_one_task),
        cmocka_unit_test(a_terminal_gets_no_control_characters),
        cmocka_unit_test(lines_are_selected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
