#include "relay/debuggee/debugpy_arguments.h"

#include "base/text.h"
#include "dap/shape.h"

#include <stdlib.h>
#include <string.h>

enum verdict { PASSES, LEFT_OUT, UNKNOWN, WRONG };

struct argument {
    const char *name;
    const struct shape *shape;
    const char *expected;
};

static const struct shape flag = {.kind = SHAPE_FLAG};
static const struct shape integer = {.kind = SHAPE_INTEGER};
static const struct shape number = {.kind = SHAPE_NUMBER};
static const struct shape text = {.kind = SHAPE_TEXT};
static const struct shape texts = {.kind = SHAPE_LIST, .element = &text};

static const struct shape_member mapping_members[] = {
    {"localRoot", &text, false}, {"remoteRoot", &text, false}, {NULL, NULL, false}};
static const struct shape mapping = {.kind = SHAPE_OBJECT, .members = mapping_members};
static const struct shape mappings = {.kind = SHAPE_LIST, .element = &mapping};

static const struct shape_member rule_members[] = {{"path", &text, false},
                                                   {"module", &text, false},
                                                   {"include", &flag, false},
                                                   {NULL, NULL, false}};
static const struct shape rule = {.kind = SHAPE_OBJECT, .members = rule_members};
static const struct shape rules = {.kind = SHAPE_LIST, .element = &rule};

static const char *const presentations[] = {"group", "inline", "hide", NULL};
static const struct shape presentation = {.kind = SHAPE_WORD, .words = presentations};
static const struct shape_member presentation_members[] = {
    {"all", &presentation, false},       {"special", &presentation, false},
    {"function", &presentation, false},  {"class", &presentation, false},
    {"protected", &presentation, false}, {NULL, NULL, false}};
static const struct shape variable_presentation = {.kind = SHAPE_OBJECT,
                                                   .members = presentation_members};

static const struct shape_member reload_members[] = {{"enable", &flag, false},
                                                     {"watchDirectories", &texts, false},
                                                     {"pollingInterval", &number, false},
                                                     {"exclude", &texts, false},
                                                     {"include", &texts, false},
                                                     {NULL, NULL, false}};
static const struct shape auto_reload = {.kind = SHAPE_OBJECT, .members = reload_members};

static const struct shape_member range_members[] = {
    {"from", &integer, false}, {"to", &integer, false}, {NULL, NULL, false}};
static const struct shape exit_code = {
    .kind = SHAPE_INTEGER_OR_OBJECT, .nullable = true, .members = range_members};
static const struct shape exit_codes = {.kind = SHAPE_LIST, .element = &exit_code};

/* set_ide_os() asserts that it is one of these. */
static const char *const systems[] = {"unix", "windows", "win", NULL};
static const struct shape client_system = {.kind = SHAPE_WORD, .words = systems};
static const char *const path_formats[] = {"path", NULL};
static const struct shape path_format = {.kind = SHAPE_WORD, .words = path_formats};

#define FLAG(name)                                                                                 \
    {                                                                                              \
        name, &flag, "true or false"                                                               \
    }
#define TEXT(name)                                                                                 \
    {                                                                                              \
        name, &text, "a string"                                                                    \
    }

static const struct argument attach_arguments[] = {
    {"pathMappings", &mappings, "a list of {\"localRoot\": \"…\", \"remoteRoot\": \"…\"}"},
    {"rules", &rules, "a list of {\"path\" or \"module\": \"…\", \"include\": true or false}"},
    {"variablePresentation", &variable_presentation,
     "an object of \"all\", \"special\", \"function\", \"class\" and \"protected\", each "
     "\"group\", \"inline\" or \"hide\""},
    {"autoReload", &auto_reload,
     "an object of \"enable\": true or false, \"watchDirectories\", \"exclude\" and \"include\": "
     "lists of strings, and \"pollingInterval\": a number"},
    {"breakOnSystemExit", &exit_codes,
     "a list of integers, null, and {\"from\": …, \"to\": …} of integers"},
    {"clientOS", &client_system, "\"unix\" or \"windows\""},
    {"debugOptions", &texts, "a list of strings"},
    {"maxExceptionStackFrames", &integer, "an integer"},
    FLAG("breakOnSystemExitZero"),
    FLAG("debugStdLib"),
    FLAG("django"),
    FLAG("flask"),
    FLAG("jinja"),
    FLAG("redirectOutput"),
    FLAG("resolveSymlinks"),
    FLAG("showReturnValue"),
    FLAG("steppingResumesAllThreads"),
    FLAG("stopAllThreadsOnSuspend"),
    FLAG("stopOnEntry"),
    FLAG("terminateChildProcesses"),
};

static const struct argument initialize_arguments[] = {
    TEXT("adapterID"),
    TEXT("clientID"),
    TEXT("clientName"),
    TEXT("locale"),
    {"pathFormat", &path_format, "\"path\""},
    FLAG("columnsStartAt1"),
    FLAG("linesStartAt1"),
    FLAG("supportsANSIStyling"),
    FLAG("supportsArgsCanBeInterpretedByShell"),
    FLAG("supportsInvalidatedEvent"),
    FLAG("supportsMemoryEvent"),
    FLAG("supportsMemoryReferences"),
    FLAG("supportsProgressReporting"),
    FLAG("supportsRunInTerminalRequest"),
    FLAG("supportsStartDebuggingRequest"),
    FLAG("supportsVariablePaging"),
    FLAG("supportsVariableType"),
};

/* Settings of editors around a session, and what debugpy reads in a `launch` only. */
static const char *const left_out[] = {
    "args",
    "autoStartBrowser",
    "cluster",
    "code",
    "compounds",
    "console",
    "consoleName",
    "consoleTitle",
    "cwd",
    "dap-server-path",
    "debugAdapterPath",
    "debugAdapterPython",
    "debugLauncherPath",
    "debugLauncherPython",
    "debugServer",
    "debugpyArgs",
    "env",
    "envFile",
    "gevent",
    "internalConsoleOptions",
    "isOutputRedirected",
    "linux",
    "linuxAttachPreferLldb",
    "logToFile",
    "module",
    "name",
    "onTerminate", /* the relay lets the task go on in any case: docs/facts/debugpy.md#0.2 */
    "osx",
    "postDebugTask",
    "preLaunchTask",
    "presentation",
    "processName",
    "program",
    "purpose",
    "pyramid",
    "python",
    "pythonArgs",
    "pythonPath",
    "request",
    "restart",
    "serverReadyAction",
    "sudo",
    "suppressMultipleSessionWarning",
    "tokenFile",
    "type",
    "windows",
    "workspaceFolder",
};

/* --- members --- */

/* *expected is set for a value of the wrong type. */
static enum verdict check(const struct argument *table, size_t count, const char *json,
                          struct span key, struct span value, const char **expected)
{
    for (size_t i = 0; i < count; i++) {
        if (!scan_key_is(json, key, table[i].name))
            continue;
        if (json[value.at] == 'n')
            return LEFT_OUT;
        *expected = table[i].expected;
        return shape_fits(table[i].shape, json, value) ? PASSES : WRONG;
    }
    return UNKNOWN;
}

static enum verdict check_initialize(const char *json, struct span key, struct span value,
                                     const char **expected)
{
    return check(initialize_arguments, sizeof initialize_arguments / sizeof *initialize_arguments,
                 json, key, value, expected);
}

static bool is_left_out(const char *json, struct span key)
{
    if (key.len > 3 && json[key.at + 1] == '_' && json[key.at + 2] == '_')
        return true; /* VS Code's "__sessionId" */
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; i++)
        if (scan_key_is(json, key, left_out[i]))
            return true;
    return false;
}

static enum verdict check_attach(const char *json, struct span key, struct span value,
                                 const char **expected)
{
    if (is_left_out(json, key))
        return LEFT_OUT;
    return check(attach_arguments, sizeof attach_arguments / sizeof *attach_arguments, json, key,
                 value, expected);
}

static int wrong_type(const char *request, const char *json, struct span key, const char *expected,
                      struct err *err)
{
    char *name = scan_string(json, key);
    err_set(err, ERR_USAGE, "%s: \"%s\" must be %s", request, name, expected);
    free(name);
    return err_hint(err, "docs/editors.md lists the arguments");
}

/* A client may choose any name: only the beginning of a long one is shown. */
static void add_unknown(struct buf *unknown, const char *json, struct span key)
{
    enum { SHOWN = 40 };
    char *name = scan_string(json, key), shown[SHOWN];
    text_copy(shown, sizeof shown, name);
    buf_printf(unknown, "%s\"%s\"%s", unknown->len ? ", " : "", shown,
               strlen(name) < SHOWN ? "" : "…");
    free(name);
}

void debugpy_arguments_append(struct buf *out, const char *json, struct span key, struct span value)
{
    buf_printf(out, "%s%.*s:%.*s", out->len ? "," : "{", (int)key.len, json + key.at,
               (int)value.len, json + value.at);
}

int debugpy_arguments_add(struct debugpy_arguments *out, const char *json, struct span key,
                          struct span value, struct err *err)
{
    const char *expected;
    switch (check_attach(json, key, value, &expected)) {
    case PASSES:
        debugpy_arguments_append(&out->upstream, json, key, value);
        debugpy_arguments_append(&out->each, json, key, value);
        break;
    case LEFT_OUT:
        break;
    case UNKNOWN:
        add_unknown(&out->unknown, json, key);
        break;
    case WRONG:
        return wrong_type("attach", json, key, expected, err);
    }
    return 0;
}

int debugpy_arguments_check_initialize(const char *json, struct span arguments, struct err *err)
{
    struct span key, value;
    size_t cursor = 0;
    const char *expected;
    if (arguments.len && json[arguments.at] != '{')
        return err_set(err, ERR_USAGE, "initialize: \"arguments\" must be an object");
    while (arguments.len && scan_member(json, arguments, &cursor, &key, &value))
        if (check_initialize(json, key, value, &expected) == WRONG)
            return wrong_type("initialize", json, key, expected, err);
    return 0;
}

char *debugpy_arguments_initialize(const char *json, struct span arguments, bool sub_process)
{
    struct buf out = {0};
    size_t cursor = 0;
    struct span key, value;
    const char *expected;
    bool adapter_named = false;
    while (arguments.len && scan_member(json, arguments, &cursor, &key, &value)) {
        if (!sub_process && scan_key_is(json, key, "supportsStartDebuggingRequest"))
            continue;
        if (scan_key_is(json, key, "supportsRunInTerminalRequest"))
            continue;
        if (json[value.at] == 'f' &&
            (scan_key_is(json, key, "linesStartAt1") || scan_key_is(json, key, "columnsStartAt1")))
            continue;
        if (check_initialize(json, key, value, &expected) != PASSES)
            continue;
        adapter_named = adapter_named || scan_key_is(json, key, "adapterID");
        debugpy_arguments_append(&out, json, key, value);
    }
    if (!adapter_named)
        buf_printf(&out, "%s\"adapterID\":\"raydbg\"", out.len ? "," : "{");
    buf_add_string(&out, "}");
    return buf_take(&out);
}
