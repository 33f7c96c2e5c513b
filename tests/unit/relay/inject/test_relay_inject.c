/* The expression that a worker evaluates: its shape, and what the options put into it. What it does
 * there is for the integration tests. */
#include "cmocka_prelude.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/inject/inject.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct inject_options all_options[] = {
    {.tune = false}, {.sub_process = true}, {.tune = true}, {.tune = true, .sub_process = true}};

/* A row as the runner gets it: "('name',(3,0),". */
static bool has_row(const char *expression, const struct injection *row)
{
    char text[100];
    snprintf(text, sizeof text, "('%s',(%d,%d),(%d,%d),%s,'", row->name, row->low.major,
             row->low.minor, row->high.major, row->high.minor, row->once ? "True" : "False");
    return strstr(expression, text) != NULL;
}

static bool is_wanted(const struct injection *row, const struct inject_options *options)
{
    return row->when == INJECT_ALWAYS || (row->when == INJECT_TUNE && options->tune) ||
           (row->when == INJECT_SUB_PROCESS && options->sub_process) ||
           (row->when == INJECT_NO_SUB_PROCESS && !options->sub_process) ||
           (row->when == INJECT_ADAPTER && !options->reverse);
}

/* debugpy takes what has a line end for statements, and prints its value. */
static void it_is_one_line_of_ascii(void **state)
{
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char *expression = inject_expression(&all_options[i]);
        for (const char *c = expression; *c; c++)
            assert_in_range(*c, ' ', '~');
        assert_true(text_starts(expression, "(lambda "));
        assert_true(text_ends(expression, "]})"));
        free(expression);
    }
}

static void a_warning_of_it_is_known(void **state)
{
    char *expression = inject_expression(&all_options[0]);
    char *output = mem_format("Evaluating: %s did not finish after 3.00 seconds.", expression);
    (void)state;
    assert_true(inject_is_warned_of(output));
    assert_false(inject_is_warned_of(expression));
    assert_false(inject_is_warned_of("Evaluating: (lambda n: n)(2) did not finish"));
    free(output);
    free(expression);
}

static void rows_follow_the_options(void **state)
{
    size_t count;
    const struct injection *rows = inject_table(&count);
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        char *expression = inject_expression(&all_options[i]);
        for (size_t k = 0; k < count; k++) {
            if (has_row(expression, &rows[k]) != is_wanted(&rows[k], &all_options[i]))
                print_error("%s with tune %d, sub_process %d\n", rows[k].name, all_options[i].tune,
                            all_options[i].sub_process);
            assert_int_equal(has_row(expression, &rows[k]), is_wanted(&rows[k], &all_options[i]));
        }
        free(expression);
    }
}

/* A pydevd that has dialled the relay has no adapter beside it. */
static void without_an_adapter_it_is_left_alone(void **state)
{
    const struct inject_options reverse = {.tune = true, .reverse = true}, usual = {.tune = true};
    char *without = inject_expression(&reverse), *with = inject_expression(&usual);
    (void)state;
    assert_null(strstr(without, "('keepalive'"));
    assert_non_null(strstr(with, "('keepalive'"));
    assert_non_null(strstr(without, "('guard'"));
    free(without);
    free(with);
}

/* By name, so that a row with the wrong condition shows. */
static void named_rows(void **state)
{
    const struct inject_options plain = {.tune = false}, full = {.tune = true, .sub_process = true};
    char *without = inject_expression(&plain), *with = inject_expression(&full);
    (void)state;
    static const char *const always[] = {
        "'all-stop'", "'guard'",       "'conditions'", "'files'", "'looks'",     "'sources'",
        "'forks'",    "'leaving'",     "'snapshots'",  "'limit'", "'interrupt'", "'breakpoint'",
        "'get'",      "'stepped-off'", "'postmortem'", "'output'"};
    for (size_t i = 0; i < sizeof always / sizeof *always; i++) {
        assert_non_null(strstr(without, always[i]));
        assert_non_null(strstr(with, always[i]));
    }
    assert_null(strstr(without, "('nodelay'"));
    assert_null(strstr(without, "('wake'"));
    assert_null(strstr(without, "('subprocess'"));
    assert_non_null(strstr(without, "('no-subprocess'"));
    assert_non_null(strstr(with, "('nodelay'"));
    assert_non_null(strstr(with, "('wake'"));
    assert_non_null(strstr(with, "('subprocess'"));
    assert_null(strstr(with, "('no-subprocess'"));
    free(without);
    free(with);
}

static void rows_are_whole(void **state)
{
    size_t count;
    const struct injection *rows = inject_table(&count);
    (void)state;
    assert_true(count > 0);
    for (size_t i = 0; i < count; i++) {
        assert_false(text_empty(rows[i].name));
        assert_false(text_empty(rows[i].purpose));
        assert_false(text_empty(rows[i].fact));
        assert_true(text_ends(rows[i].source, "\n"));
        assert_true(rows[i].low.major * 1000 + rows[i].low.minor <
                    rows[i].high.major * 1000 + rows[i].high.minor);
        /* The answer has names between commas; they go into a Python literal as they are. */
        assert_int_equal(strcspn(rows[i].name, "',\\ =!"), strlen(rows[i].name));
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(rows[i].name, rows[k].name);
        for (const char *c = rows[i].source; *c; c++)
            assert_true(*c == '\n' || (*c >= ' ' && *c <= '~'));
    }
}

/* Undoes the quoting of a Python literal; returns what is behind its closing quote. */
static const char *unquote(const char *literal, char *out)
{
    assert_int_equal(*literal, '\'');
    for (literal++; *literal != '\''; literal++) {
        assert_int_not_equal(*literal, '\0');
        if (*literal == '\\')
            *out++ = *++literal == 'n' ? '\n' : *literal;
        else
            *out++ = *literal;
    }
    *out = '\0';
    return literal + 1;
}

/* Each source comes out of its literal as it went in. */
static void sources_survive_their_quoting(void **state)
{
    size_t count, found = 0;
    const struct injection *rows = inject_table(&count);
    const struct inject_options options = {.tune = true};
    char *expression = inject_expression(&options);
    char *source = malloc(strlen(expression) + 1);
    (void)state;
    for (size_t i = 0; i < count; i++) {
        char start[100];
        snprintf(start, sizeof start, "('%s',(", rows[i].name);
        const char *at = strstr(expression, start);
        if (!at)
            continue;
        at = strstr(at, rows[i].once ? ",True,'" : ",False,'");
        assert_non_null(at);
        const char *end = unquote(strchr(at, '\''), source);
        assert_string_equal(source, rows[i].source);
        assert_true(text_starts(end, "),"));
        found++;
    }
    assert_int_equal(found, count - 1); /* all but `subprocess` */
    const char *runner = strstr(expression, "{'runner':");
    assert_non_null(runner);
    assert_true(text_starts(unquote(runner + strlen("{'runner':"), source), ",'steps':[("));
    assert_non_null(strstr(source, "def run(steps):\n"));
    free(source);
    free(expression);
}

static void only_tune_is_all_that_a_stranger_gets(void **state)
{
    (void)state;
    const struct inject_options options = {.tune = true, .only_tune = true};
    char *expression = inject_expression(&options);
    size_t count;
    const struct injection *rows = inject_table(&count);
    for (size_t i = 0; i < count; i++)
        assert_int_equal(has_row(expression, &rows[i]), rows[i].when == INJECT_TUNE);
    free(expression);
}

static void the_answer_tells_facts(void **state)
{
    (void)state;
    assert_int_equal(inject_cut_s("3.12.1/1.8.22 nodelay,keepalive adapter=7 cut=900s"), 900);
    assert_int_equal(inject_cut_s("3.12.1/1.8.22 keepalive!PermissionError(1, 'x') adapter=7"),
                     INJECT_CUT_DEBUGPY_S);
    assert_int_equal(inject_cut_s("3.12.1/1.8.22 nodelay,keepalive adapter=7"), 0);
    assert_int_equal(inject_cut_s("3.12.1/1.8.22 nodelay"), 0);
    assert_int_equal(inject_cut_s(NULL), 0);
    assert_int_equal(inject_adapter("3.12.1/1.8.22 nodelay,keepalive adapter=7 cut=900s"), 7);
    assert_int_equal(inject_adapter(NULL), 0);
    assert_int_equal(inject_adapter("3.12.1/1.8.22 nodelay waiting=2"), 0);
    assert_int_equal(inject_waiting("3.12.1/1.8.22 nodelay,keepalive adapter=7 waiting=3"), 3);
    assert_int_equal(inject_waiting("3.12.1/1.8.22 nodelay waiting=0"), 0);
    assert_int_equal(inject_waiting("3.12.1/1.8.22 nodelay"), -1);
    assert_int_equal(inject_waiting(NULL), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_is_one_line_of_ascii),
        cmocka_unit_test(a_warning_of_it_is_known),
        cmocka_unit_test(rows_follow_the_options),
        cmocka_unit_test(without_an_adapter_it_is_left_alone),
        cmocka_unit_test(named_rows),
        cmocka_unit_test(rows_are_whole),
        cmocka_unit_test(sources_survive_their_quoting),
        cmocka_unit_test(only_tune_is_all_that_a_stranger_gets),
        cmocka_unit_test(the_answer_tells_facts),
    };
    return cmocka_run_group_tests_name("inject", tests, NULL, NULL);
}
