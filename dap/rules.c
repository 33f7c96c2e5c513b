#include "dap/rules.h"

#include "base/text.h"

/* debugpy 1.8's adapter knows these commands from the schema and forwards them; pydevd has no
 * handler and sends no answer. The adapter then waits without end and serves neither this client
 * nor any later one (docs/facts/debugpy.md#0.1). */
#define WEDGES(name)                                                                               \
    {                                                                                              \
        RULE_FROM_CLIENT, DAP_REQUEST, name, RULE_REFUSE,                                          \
            "debugpy does not implement '" name                                                    \
            "', and its adapter would hang on it: raydbg holds it back"                            \
    }
#define REQUEST(name, action, reason)                                                              \
    {                                                                                              \
        RULE_FROM_CLIENT, DAP_REQUEST, name, action, reason                                        \
    }
#define PASSES(name) REQUEST(name, RULE_FORWARD, "pydevd, or the adapter, has a handler")
#define RESPONSE(name, action, reason)                                                             \
    {                                                                                              \
        RULE_FROM_DEBUGGEE, DAP_RESPONSE, name, action, reason                                     \
    }
#define EVENT(name, action, reason)                                                                \
    {                                                                                              \
        RULE_FROM_DEBUGGEE, DAP_EVENT, name, action, reason                                        \
    }
#define REVERSE(name)                                                                              \
    {                                                                                              \
        RULE_FROM_DEBUGGEE, DAP_REQUEST, name, RULE_REFUSE,                                        \
            "raydbg does not pass requests from a debuggee to its client"                          \
    }

static const struct rule rules[] = {
    WEDGES("breakpointLocations"),
    WEDGES("dataBreakpointInfo"),
    WEDGES("disassemble"),
    WEDGES("loadedSources"),
    WEDGES("readMemory"),
    WEDGES("restartFrame"),
    WEDGES("reverseContinue"),
    WEDGES("runInTerminal"),
    WEDGES("setDataBreakpoints"),
    WEDGES("setInstructionBreakpoints"),
    WEDGES("startDebugging"),
    WEDGES("stepBack"),
    WEDGES("terminateThreads"),
    WEDGES("writeMemory"),
    REQUEST("raydbg/takeOver", RULE_ANSWER, "the relay's own: this client drives from now on"),
    REQUEST("raydbg/release", RULE_ANSWER, "the relay's own: the task goes on, for all clients"),
    REQUEST("raydbg/objects", RULE_ANSWER, "the relay's own: what the worker's references are"),
    REQUEST("raydbg/clusterObjects", RULE_ANSWER,
            "the relay's own: what the cluster's references are"),
    REQUEST("raydbg/stepIntoRemote", RULE_ANSWER,
            "the relay's own: the session goes on in the remote task"),
    REQUEST("raydbg/stepOutToGet", RULE_ANSWER,
            "the relay's own: the session goes on where the result is taken"),
    REQUEST("cancel", RULE_ANSWER, "wedges debugpy too, but clients send it without asking"),

    REQUEST("launch", RULE_REFUSE,
            "raydbg attaches to running tasks: use \"request\": \"attach\" instead of launch"),
    REQUEST(
        "pydevdAuthorize", RULE_REFUSE,
        "'pydevdAuthorize' is between debugpy's adapter and its worker: a wrong token would lock "
        "the adapter out"),

    REQUEST("initialize", RULE_REWRITE, "the session answers it, the debuggee is found later"),
    REQUEST("attach", RULE_REWRITE,
            "names a task; justMyCode must be false (docs/facts/debugpy.md#0.7)"),
    REQUEST("configurationDone", RULE_REWRITE, "releases the task: only once, and when all is set"),
    REQUEST("setExceptionBreakpoints", RULE_REWRITE,
            "`uncaught` is always set (docs/facts/debugpy.md#0.3)"),
    REQUEST("restart", RULE_REWRITE,
            "wedges debugpy; the session tells the stops once more: the task is not let go"),
    REQUEST("disconnect", RULE_REWRITE,
            "terminateDebuggee kills the worker (docs/facts/debugpy.md#0.2)"),
    REQUEST("terminate", RULE_REWRITE, "kills the worker (docs/facts/debugpy.md#0.2)"),

    REQUEST("continue", RULE_OBSERVE, "threads run; wedges debugpy if none is stopped"),
    REQUEST("next", RULE_OBSERVE, "threads run"),
    REQUEST("stepIn", RULE_OBSERVE, "threads run; a target of the relay's own is another task"),
    REQUEST("stepOut", RULE_OBSERVE, "threads run"),
    REQUEST("pause", RULE_OBSERVE, "a stop will follow"),

    PASSES("completions"),
    PASSES("debugpySystemInfo"),
    REQUEST("evaluate", RULE_REWRITE, "an annotation in it is taken away"),
    PASSES("exceptionInfo"),
    PASSES("goto"),
    PASSES("gotoTargets"),
    PASSES("modules"),
    PASSES("pydevdSystemInfo"),
    PASSES("scopes"),
    PASSES("setBreakpoints"),
    PASSES("setDebuggerProperty"),
    REQUEST("setExpression", RULE_REWRITE, "an annotation in it is taken away"),
    PASSES("setFunctionBreakpoints"),
    PASSES("setPydevdSourceMap"),
    REQUEST("setVariable", RULE_REWRITE, "an annotation in it is taken away"),
    PASSES("source"),
    PASSES("stackTrace"),
    REQUEST("stepInTargets", RULE_REWRITE, "remote tasks are targets, too"),
    PASSES("threads"),
    REQUEST("variables", RULE_REWRITE, "rows of the relay's own are not debugpy's to expand"),

    RESPONSE("scopes", RULE_REWRITE, "the object store is one more"),
    RESPONSE("variables", RULE_REWRITE, "references say their size and owner, and have children"),
    RESPONSE("evaluate", RULE_REWRITE, "references say their size and owner"),
    RESPONSE("setVariable", RULE_REWRITE, "references say their size and owner"),
    RESPONSE("setExpression", RULE_REWRITE, "references say their size and owner"),
    RESPONSE("stackTrace", RULE_REWRITE, "Ray's own frames are marked subtle"),
    RESPONSE("exceptionInfo", RULE_REWRITE,
             "a type name carries pydevd's note (docs/facts/debugpy.md#d)"),

    EVENT("initialized", RULE_OBSERVE, "the attach sequence goes on"),
    EVENT("stopped", RULE_OBSERVE, "which threads are stopped"),
    EVENT("continued", RULE_OBSERVE, "which threads are stopped"),
    EVENT("thread", RULE_OBSERVE, "which threads there are"),
    EVENT("terminated", RULE_OBSERVE, "the worker is gone"),
    EVENT("exited", RULE_OBSERVE, "the worker is gone"),
    EVENT("output", RULE_OBSERVE, "category telemetry is noise of the adapter's"),
    EVENT("debugpySockets", RULE_DROP, "the adapter's ports are of no use to a client"),
    EVENT("debugpyWaitingForServer", RULE_DROP, "the adapter's ports are of no use to a client"),
    EVENT("debugpyAttach", RULE_REWRITE, "a child process, at an address of the worker's node"),

    REVERSE("runInTerminal"),
    REVERSE("startDebugging"),
};

/* The rules for names that are not in the table. */
static const struct rule defaults[2][3] = {
    [RULE_FROM_CLIENT] =
        {
            [DAP_REQUEST] = REQUEST(NULL, RULE_REFUSE, "debugpy does not implement this command"),
            [DAP_RESPONSE] = {RULE_FROM_CLIENT, DAP_RESPONSE, NULL, RULE_DROP,
                              "no reverse request was sent"},
            [DAP_EVENT] = {RULE_FROM_CLIENT, DAP_EVENT, NULL, RULE_DROP,
                           "DAP has no events from clients"},
        },
    [RULE_FROM_DEBUGGEE] =
        {
            [DAP_REQUEST] = REVERSE(NULL),
            [DAP_RESPONSE] = RESPONSE(NULL, RULE_FORWARD, "the default"),
            [DAP_EVENT] = EVENT(NULL, RULE_FORWARD, "the default"),
        },
};

const struct rule *rules_find(enum rule_side side, enum dap_kind kind, const char *name)
{
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (rules[i].side == side && rules[i].kind == kind && text_equal(rules[i].name, name))
            return &rules[i];
    return &defaults[side][kind];
}

const struct rule *rules_all(size_t *count)
{
    *count = sizeof rules / sizeof *rules;
    return rules;
}
