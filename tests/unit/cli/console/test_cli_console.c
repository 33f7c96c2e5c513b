/* The console's pure parts: what a typed line means, and how values and sources are written. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/client/dap_values.h"
#include "cli/console/console_parse.h"
#include "cli/pauses/task_watch.h"
#include "cli/text/console_format.h"
#include "cli/text/console_source.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>

static const struct style plain = {.utf8 = true, .columns = 40};
static const struct style ascii = {.utf8 = false, .columns = 40};

/* --- command lines --- */

static void expect_line(const char *text, const char *verb, const char *argument)
{
    struct command_line line;
    command_line_read(&line, text);
    if (!text_equal(line.verb ? line.verb->name : NULL, verb))
        print_error("'%s' is %s\n", text, line.verb ? line.verb->name : "Python");
    assert_true(text_equal(line.verb ? line.verb->name : NULL, verb));
    assert_string_equal(line.argument, argument);
    command_line_clear(&line);
}

static void test_verbs_aliases_and_prefixes(void **state)
{
    (void)state;
    expect_line("where", "where", "");
    expect_line("  w ", "where", "");
    expect_line("bt", "where", "");
    expect_line("n", "next", "");
    expect_line("unt", "until", "");
    expect_line("cont", "continue", "");
    expect_line("ll", "longlist", "");
    expect_line("longl", "longlist", "");
    expect_line("thread", "thread", "");
    expect_line("threads", "threads", "");
    expect_line("thread 3", "thread", "3");
    expect_line("exc", "exceptioninfo", "");
    expect_line("u 2", "up", "2");
    expect_line("where --all", "where", "--all");
    expect_line("list .", "list", ".");
    expect_line("l 5,10", "list", "5,10");
    expect_line("?", "help", "");
    expect_line("? break", "help", "break");
}

static void test_prefixes_that_are_short_or_ambiguous_are_python(void **state)
{
    (void)state;
    expect_line("g", NULL, "g");
    expect_line("lo", NULL, "lo");
    expect_line("di", NULL, "di");
    expect_line("con", NULL, "con"); /* continue, condition */
    expect_line("dis", NULL, "dis"); /* display, disable */
    expect_line("glob", "globals", "");
    expect_line("loc", "locals", "");
    expect_line("disp x", "display", "x");
    expect_line("nexts", NULL, "nexts");
}

static void test_what_continues_a_name_is_python(void **state)
{
    (void)state;
    expect_line("x + 1", NULL, "x + 1");
    expect_line("x = 3", NULL, "x = 3");
    expect_line("n = 3", NULL, "n = 3");
    expect_line("n += 3", NULL, "n += 3");
    expect_line("n **= 3", NULL, "n **= 3");
    expect_line("n == 3", NULL, "n == 3");
    expect_line("n != 3", NULL, "n != 3");
    expect_line("n - x", NULL, "n - x");
    expect_line("a or b", NULL, "a or b");
    expect_line("a in b", NULL, "a in b");
    expect_line("a, b = 1, 2", NULL, "a, b = 1, 2");
    expect_line("s: int = 3", NULL, "s: int = 3");
    expect_line("c.close()", NULL, "c.close()");
    expect_line("l[0]", NULL, "l[0]");
    expect_line("list(x)", NULL, "list(x)");
    expect_line("source.read()", NULL, "source.read()");
    expect_line("!n", NULL, "n");
    expect_line("! n = 3", NULL, "n = 3");
    expect_line("(n)", NULL, "(n)");
    expect_line("", NULL, "");
    expect_line("b origin", "break", "origin");
    expect_line("b / 2", NULL, "b / 2");
    expect_line("b /x", NULL, "b /x");
    expect_line("n /x.py:3", NULL, "n /x.py:3");
}

static void test_locations_may_begin_with_a_slash(void **state)
{
    (void)state;
    expect_line("break /app/train.py:41", "break", "/app/train.py:41");
    expect_line("b /app/train.py:41, loss > 3", "break", "/app/train.py:41, loss > 3");
    expect_line("tbreak /app/train.py:41", "tbreak", "/app/train.py:41");
    expect_line("cl /app/train.py:41", "clear", "/app/train.py:41");
    expect_line("b /x if y else {1:2}", NULL, "b /x if y else {1:2}");
}

static void test_expressions_may_begin_with_an_operator(void **state)
{
    (void)state;
    expect_line("p -x", "p", "-x");
    expect_line("p *args", "p", "*args");
    expect_line("p(x)", "p", "(x)");
    expect_line("pp(x)", "pp", "(x)");
    expect_line("print(x)", NULL, "print(x)");
    expect_line("p == x", "p", "== x");
    expect_line("p = 3", NULL, "p = 3");
    expect_line("p --all x", "p", "--all x");
    expect_line("display [1]", "display", "[1]");
    expect_line("until 12", "until", "12");
}

/* --- locations --- */

static void expect_location(const char *text, const char *file, int64_t line, const char *function,
                            const char *condition)
{
    struct location location;
    struct err err;
    assert_int_equal(location_read(&location, text, &err), 0);
    assert_true(text_equal(location.file, file));
    assert_int_equal(location.line, line);
    assert_true(text_equal(location.function, function));
    assert_true(text_equal(location.condition, condition));
    location_clear(&location);
}

static void expect_no_location(const char *text)
{
    struct location location;
    struct err err;
    assert_int_equal(location_read(&location, text, &err), -1);
    assert_int_equal(err.code, ERR_USAGE);
    assert_null(location.file);
}

static void test_locations(void **state)
{
    (void)state;
    expect_location("12", NULL, 12, NULL, NULL);
    expect_location(" 12 , i == 4", NULL, 12, NULL, "i == 4");
    expect_location("12, if i == 4", NULL, 12, NULL, "i == 4");
    expect_location("12,", NULL, 12, NULL, NULL);
    expect_location("app.py:7", "app.py", 7, NULL, NULL);
    expect_location("/a/b c.py : 7, f(x, y) > 1", "/a/b c.py", 7, NULL, "f(x, y) > 1");
    expect_location("Trainer.step", NULL, 0, "Trainer.step", NULL);
    expect_location("f, x in ('a', 'b')", NULL, 0, "f", "x in ('a', 'b')");
    expect_location("table['a,b'].f, n", NULL, 0, "table['a,b'].f", "n");
    expect_no_location("");
    expect_no_location(", x");
    expect_no_location("app.py:");
    expect_no_location("app.py:x");
    expect_no_location(":7");
    expect_no_location("app.py:0");
}

static void expect_range(const char *text, int64_t first, int64_t last)
{
    int64_t from = 0, to = 0;
    assert_true(parse_range(text, 11, &from, &to));
    assert_int_equal(from, first);
    assert_int_equal(to, last);
}

static void test_ranges(void **state)
{
    (void)state;
    int64_t from, to;
    expect_range("20", 15, 25);
    expect_range("3", 1, 11);
    expect_range("5,10", 5, 10);
    expect_range(" 5 , 10 ", 5, 10);
    expect_range("50,3", 50, 52);
    assert_false(parse_range("x", 11, &from, &to));
    assert_false(parse_range("0", 11, &from, &to));
    assert_false(parse_range("5,", 11, &from, &to));
    assert_false(parse_range("5,10,15", 11, &from, &to));
}

static void test_words(void **state)
{
    (void)state;
    char text[] = " 1  22 ";
    char *rest = text;
    assert_string_equal(parse_word(&rest), "1");
    assert_string_equal(parse_word(&rest), "22");
    assert_string_equal(parse_word(&rest), "");
    assert_string_equal(parse_word(&rest), "");
}

/* --- values --- */

static void expect_one_line(const struct style *style, const char *text, int columns,
                            const char *expected)
{
    struct buf out = {0};
    bool cut = console_format_one_line(&out, style, text, columns);
    assert_string_equal(out.data ? out.data : "", expected);
    assert_int_equal(cut, !text_equal(text, expected) && strchr(expected, '?') == NULL);
    buf_free(&out);
}

static void test_one_line(void **state)
{
    (void)state;
    expect_one_line(&plain, "short", 10, "short");
    expect_one_line(&plain, "0123456789", 10, "0123456789");
    expect_one_line(&plain, "0123456789a", 10, "012345678…");
    expect_one_line(&ascii, "0123456789a", 10, "0123456...");
    expect_one_line(&plain, "first\nsecond", 20, "first…");
    expect_one_line(&plain, "漢字漢字漢字", 7, "漢字漢…");
    expect_one_line(&plain, "a\033[31mb", 20, "a?[31mb");
    expect_one_line(&plain, "", 20, "");
    expect_one_line(&plain, "abc", 0, "…");
}

static void expect_shown(const char *value, size_t limit, bool partial, const char *expected)
{
    struct buf out = {0};
    console_format_value(&out, &plain, value, limit, partial, "p --all x");
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

static void test_values_are_cut_by_characters(void **state)
{
    (void)state;
    expect_shown("42", 2000, false, "42\n");
    expect_shown("a\nb\n", 2000, false, "a\nb\n");
    expect_shown("", 2000, false, "\n");
    expect_shown("äöü漢字", 5, false, "äöü漢字\n");
    expect_shown("äöü漢字", 3, false, "äöü\n… 2 more characters: p --all x\n");
    expect_shown("äöü漢字", 3, true, "äöü\n… over 2 more characters: p --all x\n");
    expect_shown("a\tb\033]0;x\a", 0, false, "a\tb?]0;x?\n");
    char *big = mem_alloc(100001);
    memset(big, 'x', 100000);
    struct buf out = {0};
    console_format_value(&out, &plain, big, 2000, false, "p --all x");
    assert_non_null(strstr(out.data, "\n… 98,000 more characters: p --all x\n"));
    buf_free(&out);
    free(big);
}

static void test_flatten(void **state)
{
    (void)state;
    char array[] = "array([[1, 2],\n       [3, 4]])";
    console_format_flatten(array);
    assert_string_equal(array, "array([[1, 2], [3, 4]])");
    char spaces[] = "a  b\t c \n\n d";
    console_format_flatten(spaces);
    assert_string_equal(spaces, "a  b\t c d");
}

static void test_prefix_and_counts(void **state)
{
    (void)state;
    assert_int_equal(console_format_prefix("äbc", 2), 3);
    assert_int_equal(console_format_prefix("ä", 5), 2);
    assert_int_equal(console_format_characters("äbc", 4), 3);
    assert_int_equal(console_format_fit("漢字", 3), 3);
    assert_int_equal(console_format_digits(9), 1);
    assert_int_equal(console_format_digits(10), 2);
    assert_int_equal(console_format_digits(99999), 5);
}

/* --- source lines and locations --- */

static void expect_source(const struct style *style, const char *text, bool current,
                          const char *expected)
{
    struct buf out = {0};
    console_format_source_line(&out, style, 8, 2, text, current);
    assert_string_equal(out.data, expected);
    buf_free(&out);
}

static void test_source_lines(void **state)
{
    static const struct style colour = {.colour = true, .utf8 = true, .columns = 40};
    (void)state;
    expect_source(&plain, "    x = 1", true, "  →  8        x = 1\n");
    expect_source(&plain, "    x = 1", false, "     8        x = 1\n");
    expect_source(&ascii, "x = 1", true, "  ->  8    x = 1\n");
    expect_source(&ascii, "x = 1", false, "      8    x = 1\n");
    expect_source(&plain, "\tx\ty", false, "     8            x       y\n");
    expect_source(&plain, "", false, "     8\n");
    expect_source(&plain, "   ", true, "  →  8\n");
    expect_source(&plain, "0123456789012345678901234567890123456789", false,
                  "     8    012345678901234567890123456789…\n");
    expect_source(&plain, "x = '\033[2J'", false, "     8    x = '?[2J'\n");
    expect_source(&colour, "x", true, "\033[36m  →  8  \033[0m  x\n");
    expect_source(&colour, "return 1", false, "     8    \033[35mreturn\033[0m \033[33m1\033[0m\n");
}

static void expect_path(const char *path, const char *cwd, const char *expected)
{
    char *shown = console_format_path(&plain, path, cwd);
    assert_string_equal(shown, expected);
    free(shown);
}

static void test_paths(void **state)
{
    (void)state;
    expect_path("/home/me/app.py", "/home/me", "app.py");
    expect_path("/home/me/a/app.py", "/home/me", "a/app.py");
    expect_path("/home/meme/app.py", "/home/me", "/home/meme/app.py");
    expect_path("/app.py", "/", "/app.py");
    expect_path("/app.py", NULL, "/app.py");
    expect_path("/v/lib/python3.11/site-packages/ray/actor.py", "/", "ray/actor.py");
    expect_path("/a-directory/another-directory/one-more-directory/and-the-last-one/app.py", NULL,
                "…/one-more-directory/and-the-last-one/app.py");
    expect_path("/a\033b.py", NULL, "/a?b.py");
}

static void test_notes_are_stripped(void **state)
{
    (void)state;
    char with[] = "ValueError       (note: full exception trace is shown but …)";
    console_format_strip_note(with);
    assert_string_equal(with, "ValueError");
    char without[] = "ValueError (note)";
    console_format_strip_note(without);
    assert_string_equal(without, "ValueError (note)");
    console_format_strip_note(NULL);
}

/* --- sources --- */

static const char program[] = "import ray\n"             /* 1 */
                              "\n"                       /* 2 */
                              "@ray.remote\n"            /* 3 */
                              "def f(\n"                 /* 4 */
                              "    x,\n"                 /* 5 */
                              "):\n"                     /* 6 */
                              "    # why\n"              /* 7 */
                              "    if x:\n"              /* 8 */
                              "        return 1\n"       /* 9 */
                              "# not in f\n"             /* 10 */
                              "\n"                       /* 11 */
                              "class A:\n"               /* 12 */
                              "    async def g(self):\n" /* 13 */
                              "        def h():\n"       /* 14 */
                              "            return 2\n"   /* 15 */
                              "\n"                       /* 16 */
                              "        return h\n"       /* 17 */
                              "\n"                       /* 18 */
                              "    y = 3\r\n"            /* 19 */
                              "print(A)";                /* 20 */

static void expect_function(const struct source *source, int64_t line, const char *name,
                            int64_t first, int64_t last)
{
    int64_t from, to;
    source_function(source, line, name, &from, &to);
    assert_int_equal(from, first);
    assert_int_equal(to, last);
}

static void test_functions_in_sources(void **state)
{
    (void)state;
    struct source source = {0};
    source_set(&source, mem_string(program));
    assert_int_equal(source.count, 20);
    assert_string_equal(source_line(&source, 19), "    y = 3");
    assert_string_equal(source_line(&source, 20), "print(A)");
    assert_null(source_line(&source, 0));
    assert_null(source_line(&source, 21));
    expect_function(&source, 9, "f", 3, 9);
    expect_function(&source, 4, "f", 3, 9);
    expect_function(&source, 15, "h", 14, 15);
    expect_function(&source, 17, "g", 13, 17);
    expect_function(&source, 20, "<module>", 1, 20);
    expect_function(&source, 1, "gone", 1, 20);
    expect_function(&source, 99, "gone", 1, 20);
    source_clear(&source);
    source_set(&source, mem_string(""));
    assert_int_equal(source.count, 0);
    expect_function(&source, 1, "<module>", 1, 0);
    source_clear(&source);
}

/* --- DAP values --- */

static void test_json(void **state)
{
    static const char text[] =
        "{\"a\":{\"b\":\"x\\ud800y\"},\"n\":9007199254740993,\"null\":null,\"t\":true,"
        "\"list\":[{\"i\":1},{\"i\":2}]}";
    struct json root = {text, {0, sizeof text - 1}}, element;
    (void)state;
    char *string = json_string(root, "a/b");
    assert_string_equal(string, "x\xEF\xBF\xBDy");
    free(string);
    assert_true(json_integer(root, "n", 0) == 9007199254740993);
    assert_int_equal(json_integer(root, "a", -1), -1);
    assert_false(json_present(json_get(root, "null")));
    assert_null(json_string(root, "null"));
    assert_null(json_string(root, "n"));
    assert_true(json_boolean(root, "t", false));
    assert_true(json_boolean(root, "missing", true));
    int64_t sum = 0;
    for (size_t cursor = 0; json_each(json_get(root, "list"), &cursor, &element);)
        sum = 10 * sum + json_integer(element, "i", 0);
    assert_int_equal(sum, 12);
    assert_null(json_string((struct json){0}, "a"));
    size_t cursor = 0;
    assert_false(json_each(json_get(root, "missing"), &cursor, &element));
}

/* --- whether the task is over --- */

static void test_a_task_is_over_when_its_worker_runs_it_no_more(void **state)
{
    (void)state;
    struct pause worker = {.worker_id = "w1", .task_id = "t1", .state = PAUSE_ATTACHED};
    struct pause_list list = {&worker, 1};
    struct pause ours = worker;
    assert_false(pause_is_over(&ours, &list));
    worker.state = PAUSE_IDLE;
    assert_true(pause_is_over(&ours, &list));
    worker.state = PAUSE_ATTACHED;
    text_copy(worker.task_id, sizeof worker.task_id, "t2");
    assert_true(pause_is_over(&ours, &list));
    text_copy(ours.actor_id, sizeof ours.actor_id, "a1");
    assert_false(pause_is_over(&ours, &list)); /* the actor's next call */
    ours.actor_id[0] = '\0';
    worker.task_id[0] = '\0';
    assert_false(pause_is_over(&ours, &list)); /* not told */
    ours.task_id[0] = '\0';
    worker.state = PAUSE_IDLE;
    assert_false(pause_is_over(&ours, &list)); /* it never had a task */
    text_copy(ours.actor_id, sizeof ours.actor_id, "a1");
    assert_false(pause_is_over(&ours, &list));
    list.count = 0;
    assert_false(pause_is_over(&ours, &list)); /* gone: the connection tells */
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_verbs_aliases_and_prefixes),
        cmocka_unit_test(test_prefixes_that_are_short_or_ambiguous_are_python),
        cmocka_unit_test(test_what_continues_a_name_is_python),
        cmocka_unit_test(test_locations_may_begin_with_a_slash),
        cmocka_unit_test(test_expressions_may_begin_with_an_operator),
        cmocka_unit_test(test_locations),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_words),
        cmocka_unit_test(test_one_line),
        cmocka_unit_test(test_values_are_cut_by_characters),
        cmocka_unit_test(test_flatten),
        cmocka_unit_test(test_prefix_and_counts),
        cmocka_unit_test(test_source_lines),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_notes_are_stripped),
        cmocka_unit_test(test_functions_in_sources),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_a_task_is_over_when_its_worker_runs_it_no_more),
    };
    setlocale(LC_ALL, "C.UTF-8");
    return cmocka_run_group_tests_name("cli/console/console", tests, NULL, NULL);
}
