/* What only looks, against the table of all requests. */
#include "cmocka_prelude.h"

#include "base/text.h"
#include "dap/dap_command.h"
#include "dap/reads.h"
#include "dap/rules.h"

static void test_what_may_change_something_is_no_read(void **state)
{
    (void)state;
    static const char *const acts[] = {
        "evaluate",   "setVariable",  "setExpression",   "completions",
        "continue",   "next",         "stepIn",          "stepOut",
        "goto",       "pause",        "setBreakpoints",  "setExceptionBreakpoints",
        "disconnect", "terminate",    "initialize",      "attach",
        "cancel",     "raydbg/group", "raydbg/takeOver", "",
        "unknown",    "Variables",
    };
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (dap_command_is(acts[i], DAP_COMMAND_READS))
            fail_msg("%s is no read", acts[i]);
    static const char *const reads[] = {"threads", "stackTrace", "scopes", "variables"};
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
        assert_true(dap_command_is(reads[i], DAP_COMMAND_READS));
}

/* Whatever moves the debuggee by the rules is none, also what is added to them later. */
static void test_the_rules_agree(void **state)
{
    (void)state;
    size_t count;
    const struct rule *rules = rules_all(&count);
    for (size_t i = 0; i < count; i++)
        if (rules[i].kind == DAP_REQUEST && rules[i].action == RULE_OBSERVE)
            assert_false(dap_command_is(rules[i].name, DAP_COMMAND_READS));
}

static void test_events_that_end_what_was_read(void **state)
{
    (void)state;
    static const char *const ends[] = {"stopped", "continued",  "invalidated",
                                       "thread",  "terminated", "exited"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        assert_true(reads_end_with(ends[i]));
    assert_false(reads_end_with("output"));
    assert_false(reads_end_with("module"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_may_change_something_is_no_read),
        cmocka_unit_test(test_the_rules_agree),
        cmocka_unit_test(test_events_that_end_what_was_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
