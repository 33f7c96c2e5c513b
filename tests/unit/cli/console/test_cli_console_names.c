/* Lines about many tasks, and what the tasks are called. */
#include "cmocka_prelude.h"

#include "cli/console/console_names.h"

#include <string.h>

static const struct {
    const char *line;
    enum group_line kind;
} lines[] = {
    {"compare loss", GROUP_LOOK},
    {"compare self.model.norm() workers", GROUP_LOOK},
    {"compare -x", GROUP_LOOK},
    {"compare", GROUP_LOOK}, /* to be told what it takes */
    {"  stacks", GROUP_LOOK},
    {"stacks --full", GROUP_LOOK},
    {"group g1 Trainer.*", GROUP_LOOK},
    {"group g1 -", GROUP_LOOK},
    {"groups", GROUP_LOOK},
    {"barrier train.py:41 g1", GROUP_MEET},
    {"barrier", GROUP_MEET},
    {"barrier -", GROUP_MEET},
    {"all next", GROUP_MOVE},
    {"all continue --skip 10", GROUP_MOVE},
    {"all until train.py:57", GROUP_MOVE},
    {"g1 next", GROUP_MOVE},
    {"g1 n", GROUP_MOVE},
    {"Trainer.* continue", GROUP_MOVE},
    {"workers compare loss", GROUP_LOOK},
    {"all stacks", GROUP_LOOK},
    {"continue --skip 10", GROUP_MOVE},
    {"c --if x > 3", GROUP_MOVE},
    {"focus rank 7", GROUP_FOCUS},
    {"/compare loss", GROUP_LOOK},
    {"/next", GROUP_MOVE},
    {"/g1 next", GROUP_MOVE},
    {"/help", GROUP_LOOK},
    {"/nonsense", GROUP_LOOK}, /* never Python */
    {"/", GROUP_LOOK},
    /* The console's own. */
    {"next", GROUP_NONE},
    {"n", GROUP_NONE},
    {"continue", GROUP_NONE},
    {"step", GROUP_NONE},
    {"until 57", GROUP_NONE},
    {"threads", GROUP_NONE},
    {"help compare", GROUP_NONE},
    {"p next", GROUP_NONE},
    {"display c", GROUP_NONE},
    {"break step", GROUP_NONE},
    {"b n", GROUP_NONE},
    {"whatis stacks", GROUP_NONE},
    {"thread n", GROUP_NONE},
    /* Python. */
    {"", GROUP_NONE},
    {"compare = 3", GROUP_NONE},
    {"compare == 3", GROUP_NONE},
    {"compare += 3", GROUP_NONE},
    {"stacks[0]", GROUP_NONE},
    {"group.x", GROUP_NONE},
    {"barrier.wait()", GROUP_NONE},
    {"groups , 3", GROUP_NONE},
    {"not next", GROUP_NONE},
    {"del step", GROUP_NONE},
    {"return out", GROUP_NONE},
    {"x", GROUP_NONE},
    {"x + next", GROUP_NONE},
    {"3 next", GROUP_NONE},
    {"!compare", GROUP_NONE},
    {"f(x) if y else z", GROUP_NONE},
    {"# compare", GROUP_NONE},
};

static void lines_are_told_from_python(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (group_line_kind(lines[i].line) != lines[i].kind)
            fail_msg("'%s' is %d, not %d", lines[i].line, (int)group_line_kind(lines[i].line),
                     (int)lines[i].kind);
}

static void tables_are_known(void **state)
{
    (void)state;
    assert_true(group_line_has_format("compare loss"));
    assert_true(group_line_has_format("/stacks g1"));
    assert_true(group_line_has_format("g1 compare loss"));
    assert_false(group_line_has_format("compare loss --format csv"));
    assert_false(group_line_has_format("all next"));
    assert_false(group_line_has_format("barrier train.py:41"));
}

static const char *const names[] = {
    "rank 1 thread-2 Pool.work 10.0.0.7 pid 647",
    "rank 1 thread-3 Pool.work 10.0.0.7 pid 647",
    "rank 10 Trainer.step 10.0.0.7 pid 650",
    NULL,
    "pid 558 square 10.0.0.7",
    "pid 55 square 10.0.0.7",
    "bob Trainer.step 10.0.0.7 pid 559",
    "loner",
    "7 of 9",
};
enum { NAMES = sizeof names / sizeof *names };

static void a_label_is_short_and_no_others(void **state)
{
    (void)state;
    static const char *const labels[NAMES] = {"rank 1 thread-2",
                                              "rank 1 thread-3",
                                              "rank 10",
                                              NULL,
                                              "pid 558",
                                              "pid 55",
                                              "bob",
                                              "loner",
                                              "7"};
    char out[48];
    for (size_t i = 0; i < NAMES; i++) {
        if (!names[i])
            continue;
        console_names_label(names[i], names, NAMES, out, sizeof out);
        assert_string_equal(out, labels[i]);
    }
    console_names_label("bob Trainer.step", names, 0, out, 3);
    assert_string_equal(out, "bo");
    console_names_label("", names, NAMES, out, sizeof out);
    assert_string_equal(out, "");
    /* Two of one name: no more words can tell them apart. */
    const char *const twins[] = {"a b", "a b"};
    console_names_label(twins[0], twins, 2, out, sizeof out);
    assert_string_equal(out, "a b");
}

static void threads_are_found_by_words(void **state)
{
    (void)state;
    static const struct {
        const char *words;
        size_t matches, index;
    } cases[] = {
        {"rank 10", 1, 2}, {"10", 1, 2},      {"rank 1", 2, 0},       {"1", 2, 0},
        {"pid 55", 1, 5},  {"pid 558", 1, 4}, {"bob", 1, 6},          {"bo", 0, 0},
        {"square", 2, 4},  {"loner", 1, 7},   {"thread-3", 1, 1},     {"rank 1 thread-2", 1, 0},
        {"7", 1, 8},       {"559", 1, 6},     {"Trainer.step", 2, 2}, {"", 0, 0},
        {"nobody", 0, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t matches, index = console_names_find(names, NAMES, cases[i].words, &matches);
        if (matches != cases[i].matches || (matches && index != cases[i].index))
            fail_msg("'%s': %zu, the first is %zu", cases[i].words, matches, index);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_told_from_python),
        cmocka_unit_test(tables_are_known),
        cmocka_unit_test(a_label_is_short_and_no_others),
        cmocka_unit_test(threads_are_found_by_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
