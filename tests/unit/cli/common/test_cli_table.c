/* Tables for people: widths, cuts, and nothing that a terminal would act on. */
#include "cmocka_prelude.h"

#include "cli/common/table.h"
#include "cli/common/terminal.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static const struct table_column columns[] = {
    {"ID", false, false}, {"NAME", false, true}, {"PID", true, false}};

static struct buf render(const char *const *cells, size_t count, int width, bool colour, bool utf8)
{
    struct buf out = {0};
    struct table *table = table_create(columns, 3);
    for (size_t i = 0; i < count; i++)
        table_cell(table, cells[i]);
    table_render(table, width, colour, utf8, &out);
    table_free(&table);
    assert_null(table);
    table_free(&table);
    return out;
}

static void check(const char *const *cells, size_t count, int width, bool utf8,
                  const char *expected)
{
    struct buf out = render(cells, count, width, false, utf8);
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

static void columns_are_as_wide_as_they_must(void **state)
{
    (void)state;
    static const char *const cells[] = {"c1", "square", "7", "c2c2", "f", "4711"};
    check(cells, 6, 100, true,
          "  ID    NAME     PID\n"
          "  c1    square     7\n"
          "  c2c2  f       4711\n");
    check(cells, 0, 100, true, "  ID  NAME  PID\n");
    check(cells, 5, 100, true, "  ID    NAME    PID\n  c1    square    7\n"); /* half a row */
}

static void no_blanks_at_the_end(void **state)
{
    (void)state;
    static const char *const cells[] = {"c1", "square", ""};
    check(cells, 3, 100, true, "  ID  NAME    PID\n  c1  square\n");
}

static void what_may_shrink_is_cut(void **state)
{
    (void)state;
    static const char *const cells[] = {"c1c1c1c1", "a_function_with_a_long_name", "4711"};
    check(cells, 3, 30, true,
          "  ID        NAME           PID\n"
          "  c1c1c1c1  a_function_…  4711\n");
    check(cells, 3, 30, false,
          "  ID        NAME           PID\n"
          "  c1c1c1c1  a_function_~  4711\n");
    /* Never narrower than six columns, and ids are never cut. */
    check(cells, 3, 10, true,
          "  ID        NAME     PID\n"
          "  c1c1c1c1  a_fun…  4711\n");
}

/* Just fits: not cut. */
static void the_whole_width_is_used(void **state)
{
    (void)state;
    static const char *const cells[] = {"c1", "sixteen_letters_", "4711"};
    check(cells, 3, 28, true, "  ID  NAME               PID\n  c1  sixteen_letters_  4711\n");
    check(cells, 3, 27, true, "  ID  NAME              PID\n  c1  sixteen_letter…  4711\n");
}

static void columns_of_wide_and_narrow_letters(void **state)
{
    (void)state;
    assert_int_equal(terminal_width("日本"), 4);
    static const char *const cells[] = {"c1", "日本語日本語", "1", "é", "Grüße", "2"};
    check(cells, 6, 100, true,
          "  ID  NAME          PID\n"
          "  c1  日本語日本語    1\n"
          "  é   Grüße           2\n");
    /* Half a letter does not fit: the rest is filled up. */
    check(cells, 6, 21, true,
          "  ID  NAME        PID\n"
          "  c1  日本語日…     1\n"
          "  é   Grüße         2\n");
    check(cells, 6, 20, true,
          "  ID  NAME       PID\n"
          "  c1  日本語日…    1\n"
          "  é   Grüße        2\n");
}

static void cells_are_made_printable(void **state)
{
    (void)state;
    static const char *const cells[] = {"a\033[2J", "b\nc\td\xff", "\xc2\x9b"};
    check(cells, 3, 100, true, "  ID     NAME    PID\n  a?[2J  b?c?d?    ?\n");
}

static void titles_are_bold_in_colour(void **state)
{
    (void)state;
    static const char *const cells[] = {"c1", "f", "1"};
    struct buf out = render(cells, 3, 100, true, true);
    assert_string_equal(out.data, "\033[1m  ID  NAME  PID\033[0m\n  c1  f       1\n");
    buf_free(&out);
}

static void many_rows(void **state)
{
    struct buf out = {0};
    struct table *table = table_create(columns, 3);
    (void)state;
    for (size_t i = 0; i < 3 * 1000; i++)
        table_cell(table, "x");
    table_render(table, 100, false, true, &out);
    table_free(&table);
    size_t lines = 0;
    for (const char *c = out.data; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 1001);
    buf_free(&out);
}

int main(void)
{
    setlocale(LC_ALL, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(columns_are_as_wide_as_they_must),
        cmocka_unit_test(no_blanks_at_the_end),
        cmocka_unit_test(what_may_shrink_is_cut),
        cmocka_unit_test(the_whole_width_is_used),
        cmocka_unit_test(columns_of_wide_and_narrow_letters),
        cmocka_unit_test(cells_are_made_printable),
        cmocka_unit_test(titles_are_bold_in_colour),
        cmocka_unit_test(many_rows),
    };
    return cmocka_run_group_tests_name("table", tests, NULL, NULL);
}
