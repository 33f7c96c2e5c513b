/* The table of what is not simply forwarded. */
#include "cmocka_prelude.h"

#include "dap/rules.h"

#include <string.h>

static enum rule_action action_of(enum rule_side side, enum dap_kind kind, const char *name)
{
    const struct rule *rule = rules_find(side, kind, name);
    assert_non_null(rule);
    assert_int_equal(rule->side, side);
    assert_int_equal(rule->kind, kind);
    assert_true(!rule->name || strcmp(rule->name, name) == 0);
    assert_true(rule->reason && *rule->reason);
    return rule->action;
}

static enum rule_action request(const char *name)
{
    return action_of(RULE_FROM_CLIENT, DAP_REQUEST, name);
}

static enum rule_action event(const char *name)
{
    return action_of(RULE_FROM_DEBUGGEE, DAP_EVENT, name);
}

/* docs/facts/debugpy.md#0.1. */
static void test_what_wedges_debugpy_never_reaches_it(void **state)
{
    (void)state;
    static const char *const wedges[] = {
        "breakpointLocations", "dataBreakpointInfo",
        "disassemble",         "loadedSources",
        "readMemory",          "restartFrame",
        "reverseContinue",     "runInTerminal",
        "setDataBreakpoints",  "setInstructionBreakpoints",
        "startDebugging",      "stepBack",
        "terminateThreads",    "writeMemory",
    };
    for (size_t i = 0; i < sizeof wedges / sizeof *wedges; i++) {
        assert_int_equal(request(wedges[i]), RULE_REFUSE);
        assert_non_null(
            strstr(rules_find(RULE_FROM_CLIENT, DAP_REQUEST, wedges[i])->reason, wedges[i]));
    }
    assert_int_equal(request("cancel"), RULE_ANSWER);
}

/* docs/facts/debugpy.md#0.1, "Safe": none of these may be refused, but for two of them. */
static void test_what_debugpy_handles_passes(void **state)
{
    (void)state;
    static const char *const handled[] = {
        "attach",
        "completions",
        "configurationDone",
        "continue",
        "disconnect",
        "evaluate",
        "exceptionInfo",
        "goto",
        "gotoTargets",
        "initialize",
        "modules",
        "next",
        "pause",
        "pydevdSystemInfo",
        "scopes",
        "setBreakpoints",
        "setDebuggerProperty",
        "setExceptionBreakpoints",
        "setExpression",
        "setFunctionBreakpoints",
        "setPydevdSourceMap",
        "setVariable",
        "source",
        "stackTrace",
        "stepIn",
        "stepInTargets",
        "stepOut",
        "terminate",
        "threads",
        "variables",
        "debugpySystemInfo",
    };
    for (size_t i = 0; i < sizeof handled / sizeof *handled; i++) {
        enum rule_action action = request(handled[i]);
        if (action != RULE_FORWARD && action != RULE_OBSERVE && action != RULE_REWRITE)
            fail_msg("%s does not pass", handled[i]);
    }
    assert_int_equal(request("launch"), RULE_REFUSE);
    assert_non_null(strstr(rules_find(RULE_FROM_CLIENT, DAP_REQUEST, "launch")->reason, "attach"));
    assert_int_equal(request("pydevdAuthorize"), RULE_REFUSE);
}

static void test_what_the_session_handles(void **state)
{
    (void)state;
    static const char *const rewritten[] = {
        "initialize", "attach",        "configurationDone",
        "disconnect", "terminate",     "setExceptionBreakpoints",
        "evaluate",   "setExpression", "setVariable",
        "variables",  "stepInTargets"};
    static const char *const observed[] = {"continue", "next", "stepIn", "stepOut", "pause"};
    static const char *const forwarded[] = {"goto",   "source",     "modules",        "completions",
                                            "scopes", "stackTrace", "setBreakpoints", "threads"};
    for (size_t i = 0; i < sizeof rewritten / sizeof *rewritten; i++)
        assert_int_equal(request(rewritten[i]), RULE_REWRITE);
    for (size_t i = 0; i < sizeof observed / sizeof *observed; i++)
        assert_int_equal(request(observed[i]), RULE_OBSERVE);
    for (size_t i = 0; i < sizeof forwarded / sizeof *forwarded; i++)
        assert_int_equal(request(forwarded[i]), RULE_FORWARD);
    assert_int_equal(request("raydbg/objects"), RULE_ANSWER);
    assert_int_equal(request("raydbg/stepIntoRemote"), RULE_ANSWER);
    assert_int_equal(request("raydbg/stepOutToGet"), RULE_ANSWER);
}

static void test_unknown_commands_are_refused(void **state)
{
    (void)state;
    static const char *const unknown[] = {"foobar", "", "Next", "next ", "initialized", "stopped"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++)
        assert_int_equal(request(unknown[i]), RULE_REFUSE);
}

static void test_events(void **state)
{
    (void)state;
    static const char *const observed[] = {"initialized", "stopped", "continued", "thread",
                                           "terminated",  "exited",  "output"};
    for (size_t i = 0; i < sizeof observed / sizeof *observed; i++)
        assert_int_equal(event(observed[i]), RULE_OBSERVE);
    assert_int_equal(event("debugpySockets"), RULE_DROP);
    assert_int_equal(event("debugpyWaitingForServer"), RULE_DROP);
    assert_int_equal(event("debugpyAttach"), RULE_REWRITE);
    assert_int_equal(event("process"), RULE_FORWARD);
    assert_int_equal(event("module"), RULE_FORWARD);
    assert_int_equal(event("new in a later debugpy"), RULE_FORWARD);
    /* An event's rule is not a command's. */
    assert_int_equal(event("restart"), RULE_FORWARD);
}

static void test_responses(void **state)
{
    (void)state;
    static const char *const rewritten[] = {"stackTrace",   "exceptionInfo", "scopes",
                                            "variables",    "evaluate",      "setVariable",
                                            "setExpression"};
    for (size_t i = 0; i < sizeof rewritten / sizeof *rewritten; i++)
        assert_int_equal(action_of(RULE_FROM_DEBUGGEE, DAP_RESPONSE, rewritten[i]), RULE_REWRITE);
    assert_int_equal(action_of(RULE_FROM_DEBUGGEE, DAP_RESPONSE, "source"), RULE_FORWARD);
}

static void test_no_reverse_request_passes(void **state)
{
    (void)state;
    static const char *const names[] = {"runInTerminal", "startDebugging", "next", "anything"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_int_equal(action_of(RULE_FROM_DEBUGGEE, DAP_REQUEST, names[i]), RULE_REFUSE);
}

static void test_clients_send_requests_only(void **state)
{
    (void)state;
    assert_int_equal(action_of(RULE_FROM_CLIENT, DAP_RESPONSE, "runInTerminal"), RULE_DROP);
    assert_int_equal(action_of(RULE_FROM_CLIENT, DAP_EVENT, "stopped"), RULE_DROP);
}

static void test_the_table(void **state)
{
    (void)state;
    size_t count;
    const struct rule *rules = rules_all(&count);
    assert_true(count > 40);
    for (size_t i = 0; i < count; i++) {
        assert_true(rules[i].name && *rules[i].name && strlen(rules[i].name) < DAP_NAME_MAX);
        assert_true(rules[i].reason && *rules[i].reason);
        /* No row hides another one. */
        assert_ptr_equal(rules_find(rules[i].side, rules[i].kind, rules[i].name), &rules[i]);
        if (rules[i].action == RULE_DROP)
            assert_int_not_equal(rules[i].kind, DAP_REQUEST);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_wedges_debugpy_never_reaches_it),
        cmocka_unit_test(test_what_debugpy_handles_passes),
        cmocka_unit_test(test_what_the_session_handles),
        cmocka_unit_test(test_unknown_commands_are_refused),
        cmocka_unit_test(test_events),
        cmocka_unit_test(test_responses),
        cmocka_unit_test(test_no_reverse_request_passes),
        cmocka_unit_test(test_clients_send_requests_only),
        cmocka_unit_test(test_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
