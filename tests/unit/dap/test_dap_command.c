/* The table of what requests do, against the rules and against itself. */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "dap/dap_command.h"
#include "dap/rules.h"

static const char *const steps[] = {"next", "stepIn", "stepOut"};

static void test_a_step_is_all_that_it_is(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        assert_true(dap_command_is(steps[i], DAP_COMMAND_STEPS));
        assert_true(dap_command_is(steps[i], DAP_COMMAND_RESUMES));
        assert_true(dap_command_is(steps[i], DAP_COMMAND_ENDS_STOP));
        assert_true(dap_command_is(steps[i], DAP_COMMAND_AUDITED));
        assert_true(dap_command_is(steps[i], DAP_COMMAND_NEEDS_STOPPED));
        assert_false(dap_command_is(steps[i], DAP_COMMAND_READS));
        assert_false(dap_command_is(steps[i], DAP_COMMAND_OBSERVES));
        assert_false(dap_command_is(steps[i], DAP_COMMAND_HAS_VALUES));
    }
    assert_true(dap_command_is("continue", DAP_COMMAND_RESUMES));
    assert_false(dap_command_is("continue", DAP_COMMAND_STEPS));
    assert_false(dap_command_is("continue", DAP_COMMAND_NEEDS_STOPPED));
    assert_true(dap_command_is("goto", DAP_COMMAND_ENDS_STOP));
    assert_false(dap_command_is("goto", DAP_COMMAND_RESUMES));
}

/* Whatever moves the debuggee by the rules ends what was seen, and is a line of the audit log. */
static void test_the_rules_agree(void **state)
{
    (void)state;
    size_t count;
    const struct rule *rules = rules_all(&count);
    for (size_t i = 0; i < count; i++) {
        if (rules[i].kind != DAP_REQUEST || rules[i].action != RULE_OBSERVE)
            continue;
        bool ends = text_equal(rules[i].name, "pause") || /* what was seen stays */
                    dap_command_is(rules[i].name, DAP_COMMAND_ENDS_STOP);
        if (!ends || !dap_command_is(rules[i].name, DAP_COMMAND_AUDITED))
            fail_msg("%s", rules[i].name);
    }
}

static void test_what_is_written_down(void **state)
{
    (void)state;
    static const char *const acts[] = {"evaluate", "setVariable",           "setExpression",
                                       "pause",    "raydbg/stepIntoRemote", "raydbg/stepOutToGet"};
    static const char *const others[] = {"variables", "completions", "setBreakpoints",
                                         "disconnect"};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        assert_true(dap_command_is(acts[i], DAP_COMMAND_AUDITED));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        assert_false(dap_command_is(others[i], DAP_COMMAND_AUDITED));
}

static void test_what_ends_a_stop(void **state)
{
    (void)state;
    static const char *const ends[] = {"disconnect", "terminate", "raydbg/release"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        assert_true(dap_command_is(ends[i], DAP_COMMAND_ENDS_STOP));
    assert_false(dap_command_is("evaluate", DAP_COMMAND_ENDS_STOP));
    assert_false(dap_command_is("pause", DAP_COMMAND_ENDS_STOP));
}

static void test_what_needs_a_stopped_thread(void **state)
{
    (void)state;
    static const char *const needs[] = {"stackTrace", "exceptionInfo", "raydbg/stepIntoRemote"};
    for (size_t i = 0; i < sizeof needs / sizeof *needs; i++)
        assert_true(dap_command_is(needs[i], DAP_COMMAND_NEEDS_STOPPED));
    assert_false(dap_command_is("pause", DAP_COMMAND_NEEDS_STOPPED));
    assert_false(dap_command_is("evaluate", DAP_COMMAND_NEEDS_STOPPED));
}

static void test_what_is_not_there_is_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"", "Next", "nexts", "nex", "attach"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (unsigned kind = 1; kind <= DAP_COMMAND_HAS_VALUES; kind <<= 1)
            assert_false(dap_command_is(names[i], (enum dap_command_kind)kind));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_is_all_that_it_is),
        cmocka_unit_test(test_the_rules_agree),
        cmocka_unit_test(test_what_is_written_down),
        cmocka_unit_test(test_what_ends_a_stop),
        cmocka_unit_test(test_what_needs_a_stopped_thread),
        cmocka_unit_test(test_what_is_not_there_is_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
