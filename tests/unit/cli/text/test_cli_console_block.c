/* The console's commands of several lines: what is whole, what a terminal's paste gives. */
#include "cmocka_prelude.h"

#include "cli/console/console_parse.h"
#include "cli/prompt/console_paste.h"
#include "cli/text/console_block.h"
#include "cli/text/console_colour.h"
#include "cli/text/console_queue.h"

#include <stdlib.h>
#include <string.h>

static void test_typed_lines_that_need_more(void **state)
{
    (void)state;
    assert_int_equal(block_state("x = 1"), BLOCK_WHOLE);
    assert_int_equal(block_state(""), BLOCK_WHOLE);
    assert_int_equal(block_state("for i in x:"), BLOCK_BODY);
    assert_int_equal(block_state("for i in x:  # each"), BLOCK_BODY);
    assert_int_equal(block_state("for i in x:\n    continue"), BLOCK_BODY);
    assert_int_equal(block_state("if x: y = 1"), BLOCK_WHOLE);
    assert_int_equal(block_state("@decorated"), BLOCK_BODY);
    assert_int_equal(block_state("x = [1,"), BLOCK_OPEN);
    assert_int_equal(block_state("x = [1,\n\n2]"), BLOCK_WHOLE);
    assert_int_equal(block_state("x[1:"), BLOCK_OPEN);
    assert_int_equal(block_state("x = {1:\n2}"), BLOCK_WHOLE);
    assert_int_equal(block_state("x = 1 + \\"), BLOCK_OPEN);
    assert_int_equal(block_state("x = 1 + \\\n2"), BLOCK_WHOLE);
    assert_int_equal(block_state("f()) :"), BLOCK_BODY);
}

static void test_strings_and_comments_hide_what_is_in_them(void **state)
{
    (void)state;
    assert_int_equal(block_state("x = '('"), BLOCK_WHOLE);
    assert_int_equal(block_state("x = 'it\\'s ('"), BLOCK_WHOLE);
    assert_int_equal(block_state("x = 1  # (for:"), BLOCK_WHOLE);
    assert_int_equal(block_state("x = '#' + ("), BLOCK_OPEN);
    assert_int_equal(block_state("x = 'a:"), BLOCK_WHOLE); /* Python refuses it */
    assert_int_equal(block_state("x = \"\"\"one"), BLOCK_OPEN);
    assert_int_equal(block_state("x = \"\"\"one\n(two\nfor:\"\"\""), BLOCK_WHOLE);
    assert_int_equal(block_state("x = ''"), BLOCK_WHOLE);
    assert_int_equal(block_state("x = '''''"), BLOCK_OPEN);
    assert_int_equal(block_state("x = 'a\\"), BLOCK_OPEN);
}

static void test_pasted_lines_are_whole_unless_the_last_one_begins_a_body(void **state)
{
    (void)state;
    assert_int_equal(block_state_pasted("for i in x:\n    print(i)"), BLOCK_WHOLE);
    assert_int_equal(block_state_pasted("for i in x:\n    if i:"), BLOCK_BODY);
    assert_int_equal(block_state_pasted("f(1,\n  2"), BLOCK_OPEN);
    assert_int_equal(block_state_pasted("def f():\n    return (1,\n        2)\nf()"), BLOCK_WHOLE);
}

static void expect_dedented(const char *text, const char *expected)
{
    char *dedented = block_dedent(text);
    assert_string_equal(dedented, expected);
    free(dedented);
}

static void test_a_block_loses_the_indent_of_all_its_lines(void **state)
{
    (void)state;
    expect_dedented("", "");
    expect_dedented("  \n", "");
    expect_dedented("x", "x");
    expect_dedented("    if x:\n        y\n\n    z\n\n", "if x:\n    y\n\nz");
    expect_dedented("\tif x:\n\t\ty", "if x:\n\ty");
    expect_dedented("\tif x:\n        y", "\tif x:\n        y");
    expect_dedented("        y\n    z", "    y\nz");
}

/* Gives whether the paste has ended; what it is then must be `expected`. */
static bool paste(const wchar_t *bytes, const wchar_t *expected)
{
    struct paste paste = {0};
    bool ended = false;
    for (; *bytes && !ended; bytes++)
        ended = paste_feed(&paste, *bytes);
    if (ended)
        assert_int_equal(wcscmp(paste.text, expected), 0);
    assert_true(!*bytes || !ended);
    paste_clear(&paste);
    return ended;
}

static void test_a_paste_is_what_comes_before_its_mark(void **state)
{
    (void)state;
    assert_true(paste(L"\033[201~", L""));
    assert_true(paste(L"p x\033[201~", L"p x"));
    assert_true(paste(L"for i in x:\r    continue\r\r\033[201~", L"for i in x:\n    continue"));
    assert_true(paste(L"a\r\nb\nc\033[201~", L"a\nb\nc"));
    assert_true(paste(L"\tü\x1\x7f\x9b\033]0;t\a\033[201~", L"\tü]0;t"));
    assert_true(paste(L"x\033[201\033[20\033[201~", L"x[201[20"));
    assert_false(paste(L"p x\033[201", L""));
    assert_false(paste(L"continue\r", L""));
}

static void test_a_huge_paste_is_cut(void **state)
{
    (void)state;
    struct paste paste = {0};
    for (size_t i = 0; i < 3 << 20; i++)
        assert_false(paste_feed(&paste, L'x'));
    bool ended = false;
    for (const wchar_t *c = L"\033[201~"; *c; c++)
        ended = paste_feed(&paste, *c);
    assert_true(ended);
    assert_int_equal(wcslen(paste.text), 1 << 20);
    paste_clear(&paste);
}

static void expect_split(const char *text, const char *first, const char *rest)
{
    char *copy = strdup(text), *after = command_line_split(copy);
    assert_string_equal(copy, first);
    if (rest)
        assert_string_equal(after, rest);
    else
        assert_null(after);
    free(copy);
}

static void test_semicolons_divide_commands(void **state)
{
    (void)state;
    expect_split("n ;; p x;;c", "n ", " p x;;c");
    expect_split("x = 1; y = 2", "x = 1; y = 2", NULL);
    expect_split("p 'a;;b' ;; c", "p 'a;;b' ", " c");
    expect_split("p 'it\\';;s'", "p 'it\\';;s'", NULL);
    expect_split("p x  # a;;b", "p x  # a;;b", NULL);
    expect_split("p 'open", "p 'open", NULL);
}

static void expect_colours(const char *line, const char *expected)
{
    struct buf out = {0};
    colour_python(&out, line);
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

static void test_python_has_colours(void **state)
{
    (void)state;
    expect_colours("x", "x");
    expect_colours("for i in 3.5:", "\033[35mfor\033[0m i \033[35min\033[0m \033[33m3.5\033[0m:");
    expect_colours("format_in = 'a\\'#' # if",
                   "format_in = \033[32m'a\\'#'\033[0m \033[2m# if\033[0m");
    expect_colours("\"\"\"a\"b", "\033[32m\"\"\"a\"b\033[0m");
    expect_colours("x1 = 'open", "x1 = \033[32m'open\033[0m");
    expect_colours("ü.if_", "ü.if_");
}

static void test_queued_commands_run_last_put_first(void **state)
{
    (void)state;
    struct command_queue queue = {0};
    assert_null(queue_take(&queue));
    queue_put_first(&queue, "b");
    queue_put_first(&queue, "a");
    char *first = queue_take(&queue);
    assert_string_equal(first, "a");
    free(first);
    queue_clear(&queue);
    assert_null(queue_take(&queue));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_typed_lines_that_need_more),
        cmocka_unit_test(test_strings_and_comments_hide_what_is_in_them),
        cmocka_unit_test(test_pasted_lines_are_whole_unless_the_last_one_begins_a_body),
        cmocka_unit_test(test_a_block_loses_the_indent_of_all_its_lines),
        cmocka_unit_test(test_a_paste_is_what_comes_before_its_mark),
        cmocka_unit_test(test_a_huge_paste_is_cut),
        cmocka_unit_test(test_semicolons_divide_commands),
        cmocka_unit_test(test_python_has_colours),
        cmocka_unit_test(test_queued_commands_run_last_put_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
