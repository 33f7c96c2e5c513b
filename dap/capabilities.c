#include "dap/capabilities.h"

#include "base/text.h"
#include "dap/rules.h"

#include <stdlib.h>

/* The result of capabilities_filter() for debugpy 1.8.22's `initialize` body, byte for byte, so
 * that a session sees when its debuggee's capabilities do not differ. */
static const char defaults[] =
    "{\"supportsCompletionsRequest\": true, "
    "\"supportsConditionalBreakpoints\": true, "
    "\"supportsConfigurationDoneRequest\": true, "
    "\"supportsDebuggerProperties\": true, "
    "\"supportsDelayedStackTraceLoading\": false, "
    "\"supportsEvaluateForHovers\": true, "
    "\"supportsExceptionInfoRequest\": true, "
    "\"supportsExceptionOptions\": true, "
    "\"supportsFunctionBreakpoints\": true, "
    "\"supportsHitConditionalBreakpoints\": true, "
    "\"supportsLogPoints\": true, "
    "\"supportsModulesRequest\": true, "
    "\"supportsSetExpression\": true, "
    "\"supportsSetVariable\": true, "
    "\"supportsValueFormattingOptions\": true, "
    "\"supportsTerminateDebuggee\": true, "
    "\"supportsTerminateRequest\": true, "
    "\"supportsGotoTargetsRequest\": true, "
    "\"supportsClipboardContext\": true, "
    "\"exceptionBreakpointFilters\": ["
    "{\"filter\": \"raised\", \"label\": \"Raised Exceptions\", \"default\": false, "
    "\"description\": \"Break whenever any exception is raised.\"}, "
    "{\"filter\": \"uncaught\", \"label\": \"Uncaught Exceptions\", \"default\": true, "
    "\"description\": \"Break when the process is exiting due to unhandled exception.\"}, "
    "{\"filter\": \"userUnhandled\", \"label\": \"User Uncaught Exceptions\", \"default\": false, "
    "\"description\": \"Break when exception escapes into library code.\"}], "
    "\"supportsStepInTargetsRequest\": true}";

const char *capabilities_default(void)
{
    return defaults;
}

const char *capabilities_launch_filter(void)
{
    return "{\"filter\": \"" CAPABILITIES_UNCAUGHT_IN_TASKS "\", \"label\": \"Uncaught in Tasks\", "
           "\"default\": false, \"description\": \"Stop a task or actor method that fails, where "
           "the exception was raised.\"}";
}

void capabilities_for_launch(struct buf *out)
{
    struct span list;
    if (!scan_find(defaults, (struct span){0, sizeof defaults - 1}, "exceptionBreakpointFilters",
                   &list))
        return;
    size_t end = list.at + list.len - 1;
    buf_add(out, defaults, end);
    buf_printf(out, ", %s", capabilities_launch_filter());
    buf_add(out, defaults + end, sizeof defaults - 2 - end);
}

bool capabilities_will_launch(const char *json, struct span arguments)
{
    bool will = false;
    return arguments.len && scan_boolean_at(json, arguments, "supportsRaydbgLaunch", &will) && will;
}

/* Capabilities, and the command that each promises. */
static const struct {
    const char *name;
    const char *command;
} promises[] = {
    {"supportsBreakpointLocationsRequest", "breakpointLocations"},
    {"supportsCancelRequest", "cancel"},
    {"supportsDataBreakpointBytes", "dataBreakpointInfo"},
    {"supportsDataBreakpoints", "setDataBreakpoints"},
    {"supportsDisassembleRequest", "disassemble"},
    {"supportsInstructionBreakpoints", "setInstructionBreakpoints"},
    {"supportsLoadedSourcesRequest", "loadedSources"},
    {"supportsReadMemoryRequest", "readMemory"},
    {"supportsRestartFrame", "restartFrame"},
    {"supportsRestartRequest", "restart"},
    {"supportsStepBack", "stepBack"},
    {"supportsTerminateThreadsRequest", "terminateThreads"},
    {"supportsWriteMemoryRequest", "writeMemory"},
};

/* VS Code then asks for the top frame first, and after a step that leaves the other frames as they
 * were it does not draw the stack again: "Load More Stack Frames" stays below a stack that is whole
 * (docs/facts/vscode.md). `levels` is followed all the same. */
static const char misleads[] = "supportsDelayedStackTraceLoading";

/* False if the capability promises a command that the relay refuses or, like `cancel`, answers
 * without doing anything, or if it misleads a client. */
static bool holds(const char *text, struct span key)
{
    if (scan_key_is(text, key, misleads))
        return false;
    for (size_t i = 0; i < sizeof promises / sizeof *promises; i++) {
        if (scan_key_is(text, key, promises[i].name)) {
            enum rule_action action =
                rules_find(RULE_FROM_CLIENT, DAP_REQUEST, promises[i].command)->action;
            return action != RULE_REFUSE && action != RULE_ANSWER;
        }
    }
    return true;
}

void capabilities_filter(const char *text, struct span upstream, struct buf *out)
{
    struct span key, value;
    size_t cursor = 0, done = upstream.at;
    if (!upstream.len || text[upstream.at] != '{') {
        buf_add_string(out, "{}");
        return;
    }
    while (scan_member(text, upstream, &cursor, &key, &value)) {
        if (holds(text, key))
            continue;
        buf_add(out, text + done, value.at - done);
        buf_add_string(out, "false");
        done = value.at + value.len;
    }
    buf_add(out, text + done, upstream.at + upstream.len - done);
}

void capabilities_withdraw(struct buf *object)
{
    static const char own[] = "supportsConfigurationDoneRequest"; /* the session waits for it */
    const struct span promised = {0, sizeof defaults - 1};
    struct span key, value, found;
    struct buf withdrawn = {0};
    size_t cursor = 0;
    bool on;
    while (scan_member(defaults, promised, &cursor, &key, &value)) {
        char *name = scan_string(defaults, key);
        if (scan_boolean(defaults, value, &on) && on && !text_equal(name, own) &&
            !scan_find(object->data, (struct span){0, object->len}, name, &found))
            buf_printf(&withdrawn, "%s\"%s\": false", withdrawn.len ? ", " : "", name);
        free(name);
    }
    if (withdrawn.len) {
        cursor = 0;
        if (scan_member(object->data, (struct span){0, object->len}, &cursor, &key, &value))
            buf_add_string(&withdrawn, ", ");
        buf_add(&withdrawn, object->data + 1, object->len - 1); /* without its opening brace */
        object->len = 1;
        buf_add(object, withdrawn.data, withdrawn.len);
    }
    buf_free(&withdrawn);
}

bool capabilities_takes_role(const char *json, struct span arguments)
{
    struct span client;
    bool takes;
    if (!arguments.len)
        return false;
    if (scan_boolean_at(json, arguments, "supportsRaydbgRole", &takes))
        return takes;
    return scan_find(json, arguments, "clientID", &client) &&
           scan_string_is(json, client, "vscode");
}
