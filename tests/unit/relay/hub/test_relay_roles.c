/* What an observer may ask: every command of DAP, and every kind of expression. */
#include "cmocka_prelude.h"

#include "base/buf.h"
#include "dap/message.h"
#include "relay/hub/roles.h"
#include "relay/stack/rank.h"

#include <stdio.h>
#include <string.h>

static const char *refusal(const char *json)
{
    struct envelope envelope;
    const char *problem = "none given";
    if (envelope_read(&envelope, json, strlen(json), &problem) != 0)
        fail_msg("%s: %s", problem, json);
    return roles_observer_refusal(json, &envelope);
}

static const char *command_refusal(const char *command, const char *arguments)
{
    struct buf json = {0};
    message_request(&json, 1, command, arguments);
    const char *why = refusal(json.data);
    buf_free(&json);
    return why;
}

static const char *expression_refusal(const char *expression)
{
    struct buf arguments = {0};
    buf_add_string(&arguments, "{\"frameId\":1,\"expression\":");
    message_quote(&arguments, expression);
    buf_add_string(&arguments, ",\"context\":\"hover\"}");
    const char *why = command_refusal("evaluate", arguments.data);
    buf_free(&arguments);
    return why;
}

static void looking_is_allowed(void **state)
{
    (void)state;
    static const char *const looks[] = {
        "cancel",        "completions", "configurationDone", "debugpySystemInfo", "disconnect",
        "exceptionInfo", "gotoTargets", "modules",           "pydevdSystemInfo",  "scopes",
        "source",        "stackTrace",  "stepInTargets",     "threads",           "variables",
    };
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        if (command_refusal(looks[i], NULL) || command_refusal(looks[i], "{\"threadId\":1}"))
            fail_msg("%s is refused", looks[i]);
    }
}

/* Every other request that DAP or debugpy has, and what none has. */
static void driving_is_refused(void **state)
{
    (void)state;
    static const char *const drives[] = {
        "attach", "breakpointLocations", "continue", "dataBreakpointInfo", "disassemble", "goto",
        "initialize", "launch", "loadedSources", "locations", "next", "pause", "readMemory",
        "restart", "restartFrame", "reverseContinue", "runInTerminal", "setBreakpoints",
        "setDataBreakpoints", "setDebuggerProperty", "setExceptionBreakpoints", "setExpression",
        "setFunctionBreakpoints", "setInstructionBreakpoints", "setPydevdSourceMap", "setVariable",
        "startDebugging", "stepBack", "stepIn", "stepOut", "terminate", "terminateThreads",
        "writeMemory", "pydevdAuthorize", "raydbg/takeOver", "unknown",
        /* nearly allowed */
        "", "Scopes", "scopes ", "scope", "threadsx", "thread", "variables\\u0000"};
    for (size_t i = 0; i < sizeof drives / sizeof *drives; i++) {
        char json[200];
        snprintf(json, sizeof json, "{\"seq\":1,\"type\":\"request\",\"command\":\"%s\"}",
                 drives[i]);
        const char *why = refusal(json);
        if (!why)
            fail_msg("%s is allowed", drives[i]);
        assert_non_null(strstr(why, "observes"));
        assert_non_null(strstr(why, "take over"));
    }
}

static void expressions_that_look(void **state)
{
    (void)state;
    static const char *const looks[] = {"x",
                                        "_",
                                        "__class__",
                                        "x1",
                                        "X_9",
                                        "self.model",
                                        "a.b.c.d",
                                        "a[0]",
                                        "a[-1]",
                                        "a[00]",
                                        "a[1234567890123456789012345678901234567890]",
                                        "a['key']",
                                        "a[\"key\"]",
                                        "a['']",
                                        "a['it\"s']",
                                        "a[\"it's\"]",
                                        "a['()']",
                                        "a['][']",
                                        "a['x'][0].y['z']",
                                        "a['{f()}']",
                                        "a['\xC3\xA4']",
                                        "a['\xF0\x9F\x90\x8D']",
                                        "a[' ']",
                                        "a['a=b; import os']"};
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (expression_refusal(looks[i]))
            fail_msg("%s is refused", looks[i]);
    assert_null(expression_refusal(rank_expression));
    char more[4096];
    snprintf(more, sizeof more, "%s ", rank_expression);
    assert_non_null(expression_refusal(more));
}

static void expressions_that_may_do(void **state)
{
    (void)state;
    static const char *const does[] = {
        /* calls, and what calls by another name */
        "f()", "f(x)", "a.f()", "a.f().b", "a[0]()", "a['k']()", "a[f()]", "a[b]", "a[b()]",
        "a[b.c]", "a['k'.f()]", "(f)()", "(x)", "f\n()", "@f", "`x`", "print x", "x(", "x)",
        /* operators and assignments */
        "a+b", "a + b", "-a", "~a", "not a", "a if b else c", "a == b", "a = 1", "a=1", "a:=1",
        "(a:=1)", "a.b=1", "a[0]=1", "a += 1", "*a", "a,b", "a;b", "a; f()", "a[0]; f()", "a\nf()",
        "a\rf()", "a\tf()", "a#", "a\\\n", "a in b", "a[0]+f()", "a['k']+f()",
        /* statements */
        "del a", "import os", "raise x", "await x", "yield x", "lambda: f()", "lambda:0",
        "[f() for x in y]", "{f()}", "{}", "[]", "[x]", "()",
        /* strings that end earlier, or later, than they seem to, and those that compute */
        "a['\\'']", "a[\"\\\"\"]", "a['\\']", "a['\\x41']", "a['k\\", "a['k", "a['k\"]", "a[\"k']",
        "a['k'", "a['k'x]", "a['k''l']", "a['k'f()]", "a['k' ]", "a[ 'k']", "a['k']x", "a['''k''']",
        "a[f'k']", "a[f'{f()}']", "a[F\"{f()}\"]", "f'{f()}'", "f\"{x!r}\"", "a[b'k']", "a[r'k']",
        "a['k'+f()]", "a[''][f'{f()}']", "'text'", "'a'.f()", "\"x\"",
        /* numbers */
        "1", "-1", "0x1", "a[--1]", "a[+1]", "a[1+1]", "a[1:2]", "a[1,2]", "a[1.5]", "a[1 ]", "a[1",
        "a[-", "a[-]", "a[]", "a[", "a]", "a[1]]", "a[0x1]", "a[1_0]", "a[1e3]", "a[None]",
        "a[...]", "a[:]", "1a", "a[\xD9\xA1]",
        /* dots and blanks */
        "", " ", " a", "a ", "a .b", "a. b", "a.", ".a", "a..b", "a.1", "a.[0]", "a[0].", "...",
        "a.b.", "a.b c", "!ls", "%run x", "?a", "a?", "$a", "a!",
        /* beyond ASCII: the tokenizer's own rules decide there, so not even a name */
        "\xC3\xA4", "a.\xC3\xA4", "\xC3\xA4()", "a\xEF\xBC\x88\xEF\xBC\x89", "a\xC2\xA0",
        "\xEF\xBB\xBF"
        "a",
        "a\xE2\x80\xA8"
        "f()"};
    for (size_t i = 0; i < sizeof does / sizeof *does; i++) {
        const char *why = expression_refusal(does[i]);
        if (!why)
            fail_msg("%s is allowed", does[i]);
        assert_non_null(strstr(why, "names, attributes and subscripts only"));
    }
}

/* What JSON's own escapes hide is read as the debuggee would. */
static void escapes_are_undone_first(void **state)
{
    (void)state;
    assert_null(command_refusal("evaluate", "{\"expression\":\"\\u0061.b\"}"));
    assert_null(command_refusal("evaluate", "{\"expression\":\"a[\\u0027k\\u0027]\"}"));
    assert_non_null(command_refusal("evaluate", "{\"expression\":\"f\\u0028\\u0029\"}"));
    assert_non_null(command_refusal("evaluate", "{\"expression\":\"a[\\\"\\\\\\\"()\\\"]\"}"));
    assert_non_null(command_refusal("evaluate", "{\"expression\":\"a\\u0000f()\"}"));
    assert_non_null(command_refusal("evaluate", "{\"expression\":\"a\\ud800\"}"));
    assert_non_null(command_refusal("evaluate", "{\"express\\u0069on\":\"f()\"}"));
    assert_null(command_refusal("evaluate", "{\"express\\u0069on\":\"a\"}"));
    assert_non_null(command_refusal("e\\u0076aluate", "{\"expression\":\"f()\"}"));
}

/* As JSON parsers do it, the last of two counts. */
static void the_last_expression_counts(void **state)
{
    (void)state;
    assert_non_null(command_refusal("evaluate", "{\"expression\":\"a\",\"expression\":\"f()\"}"));
    assert_null(command_refusal("evaluate", "{\"expression\":\"f()\",\"expression\":\"a\"}"));
    assert_non_null(command_refusal("evaluate", "{\"x\":{\"expression\":\"a\"}}"));
}

static void no_expression(void **state)
{
    (void)state;
    static const char *const none[] = {
        NULL,
        "{}",
        "[]",
        "null",
        "\"expression\"",
        "{\"expression\":null}",
        "{\"expression\":1}",
        "{\"expression\":[\"a\"]}",
        "{\"expression\":{\"a\":\"b\"}}",
        "{\"Expression\":\"a\"}",
    };
    for (size_t i = 0; i < sizeof none / sizeof *none; i++)
        if (!command_refusal("evaluate", none[i]))
            fail_msg("%s is allowed", none[i] ? none[i] : "(none)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looking_is_allowed),
        cmocka_unit_test(driving_is_refused),
        cmocka_unit_test(expressions_that_look),
        cmocka_unit_test(expressions_that_may_do),
        cmocka_unit_test(escapes_are_undone_first),
        cmocka_unit_test(the_last_expression_counts),
        cmocka_unit_test(no_expression),
    };
    return cmocka_run_group_tests_name("roles", tests, NULL, NULL);
}
