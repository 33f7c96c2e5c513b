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

static void the_last_lines(void **state)
{
    (void)state;
    static const char text[] =
        ":task_name:f\none\ntwo\n:task_name:g\nof g\n:task_name:f\nthree\n:job_id:01\n";
    struct log_lines_options options = {.only_behind = "f", .tail = 2};
    expect(&options, text, "two\nthree\n");
    options.tail = 9;
    expect(&options, text, "one\ntwo\nthree\n");
    options = (struct log_lines_options){.has_markers = true, .prefix = "out  ", .tail = 2};
    expect(&options, text, "out  of g\nout  three\n");
    options.tail = 1;
    expect(&options, "one\n:task_name:f\nno end", "out  no end\n");
    expect(&options, ":task_name:f\n", "");
}

static void the_last_of_very_many_lines(void **state)
{
    (void)state;
    enum { LINES = 10000, TAIL = 20 };
    const struct log_lines_options options = {.only_behind = "f", .tail = TAIL};
    struct buf text = {0}, want = {0};
    buf_add_string(&text, ":task_name:f\n");
    for (int i = 0; i < LINES; i++)
        buf_printf(i < LINES - TAIL ? &text : &want, "line %d\n", i);
    buf_add(&text, want.data, want.len);
    char *got = shown(&options, text.data, text.len, 777);
    assert_string_equal(got, want.data);
    free(got);
    buf_free(&text);
    buf_free(&want);
}

/* What is before a part of a log does not matter once there are enough lines that may be shown. */
static void enough_of_the_last_lines(void **state)
{
    (void)state;
    static const struct {
        const char *only_behind, *text;
        bool enough;
        size_t seen;
    } rows[] = {
        {NULL, "one\ntwo\n", true, 2},
        {NULL, "one\n:task_name:f\n:task_name:f\n", false, 3},
        {NULL, "one\n:task_name:f\n:job_id:01\ntwo\nthree\n", true, 5},
        {NULL, "one\ntwo", false, 1},
        {"f", "one\ntwo\nthree\n", false, 3}, /* perhaps of another task */
        {"f", "one\n:task_name:f\ntwo\nthree\n", true, 4},
        {"f", "one\n:task_name:f\ntwo\n:task_name:g\nthree\n", false, 5},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct log_lines lines = {
            .options = {.has_markers = true, .only_behind = rows[i].only_behind, .tail = 2}};
        struct buf out = {0};
        log_lines_add(&lines, rows[i].text, strlen(rows[i].text), &out);
        assert_int_equal(log_lines_has_tail(&lines), rows[i].enough);
        assert_int_equal(lines.seen, rows[i].seen);
        log_lines_end(&lines, &out);
        buf_free(&out);
    }
}

static void a_line_without_an_end_is_shown_in_parts(void **state)
{
    (void)state;
    enum { PART = 1000, PARTS = 5000 };
    const struct log_lines_options options = {.prefix = "out  ", .has_markers = true};
    struct log_lines lines = {.options = options};
    struct buf out = {0};
    char part[PART];
    memset(part, 'x', sizeof part);
    for (int i = 0; i < PARTS; i++) {
        log_lines_add(&lines, part, sizeof part, &out);
        assert_true(lines.line.cap < (size_t)4 << 20); /* it is not kept whole */
    }
    log_lines_add(&lines, "\nnext", 5, &out);
    log_lines_end(&lines, &out);
    assert_int_equal(out.len, strlen("out  \nout  next\n") + (size_t)PART * PARTS);
    assert_memory_equal(out.data, "out  xxx", 8);
    assert_string_equal(out.data + out.len - strlen("x\nout  next\n"), "x\nout  next\n");
    buf_free(&out);
}

static void a_long_line_matches_anywhere(void **state)
{
    (void)state;
    enum { BEFORE = 3 << 20 };
    regex_t grep;
    assert_int_equal(regcomp(&grep, "fault", REG_EXTENDED | REG_NOSUB), 0);
    const struct log_lines_options options = {.grep = &grep};
    char *text = malloc(BEFORE + 16);
    memset(text, 'x', BEFORE);
    strcpy(text + BEFORE, "y fault z\nnext\n");
    char *got = shown(&options, text, strlen(text), 100000);
    assert_non_null(strstr(got, "y fault z\n"));
    assert_null(strstr(got, "next"));
    free(got);
    free(text);
    regfree(&grep);
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
        cmocka_unit_test(the_last_lines),
        cmocka_unit_test(the_last_of_very_many_lines),
        cmocka_unit_test(enough_of_the_last_lines),
        cmocka_unit_test(a_line_without_an_end_is_shown_in_parts),
        cmocka_unit_test(a_long_line_matches_anywhere),
        cmocka_unit_test(a_terminal_gets_no_control_characters),
        cmocka_unit_test(lines_are_selected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
