#include "relay/debuggee/request_guards.h"

#include "base/text.h"
#include "dap/dap_command.h"
#include "dap/shape.h"

/* debugpy/common/messaging.py: JsonIOStream.MAX_BODY_SIZE, less room for a longer seq. */
enum { REQUEST_MAX = 0xFFFFFF - 32 };

const char *request_guards_size_refusal(size_t len)
{
    return len > REQUEST_MAX
               ? "the request is too large: debugpy reads no message of more than 16 MiB; send "
                 "less at a time, or have the task read a file"
               : NULL;
}

/* For a running thread, debugpy never answers `exceptionInfo`; a step stops it later, when no
 * client expects it; a `stackTrace` takes 600 ms, in which debugpy answers nothing else. */
static const char *needs_stopped_thread(const struct stopped_threads *stopped, const char *json,
                                        const struct envelope *request)
{
    int64_t thread;
    bool known = scan_integer_at(json, request->arguments, "threadId", &thread) &&
                 stopped_threads_has(stopped, thread);
    return known ? NULL : "this thread is not stopped";
}

/* --- what pydevd cannot digest --- */

static const struct shape flag_or_null = {.kind = SHAPE_FLAG, .nullable = true};
static const struct shape integer = {.kind = SHAPE_INTEGER};
static const struct shape integer_or_null = {.kind = SHAPE_INTEGER, .nullable = true};
static const struct shape text = {.kind = SHAPE_TEXT};
static const struct shape text_or_null = {.kind = SHAPE_TEXT, .nullable = true};
static const struct shape filled = {.kind = SHAPE_FILLED};
static const struct shape path = {.kind = SHAPE_PATH};

static const struct shape_member file_members[] = {{"path", &path, true}, {NULL, NULL, false}};
static const struct shape file = {.kind = SHAPE_OBJECT, .members = file_members};
static const struct shape_member source_members[] = {{"path", &text_or_null, false},
                                                     {NULL, NULL, false}};
static const struct shape source = {.kind = SHAPE_OBJECT, .members = source_members};

static const struct shape_member breakpoint_members[] = {{"line", &integer, true},
                                                         {"condition", &text_or_null, false},
                                                         {"hitCondition", &text_or_null, false},
                                                         {"logMessage", &text_or_null, false},
                                                         {NULL, NULL, false}};
static const struct shape breakpoint = {.kind = SHAPE_OBJECT, .members = breakpoint_members};
static const struct shape breakpoints = {
    .kind = SHAPE_LIST, .nullable = true, .element = &breakpoint};

static const struct shape_member function_members[] = {{"name", &text, true},
                                                       {"condition", &text_or_null, false},
                                                       {"hitCondition", &text_or_null, false},
                                                       {NULL, NULL, false}};
static const struct shape function = {.kind = SHAPE_OBJECT, .members = function_members};
static const struct shape functions = {.kind = SHAPE_LIST, .nullable = true, .element = &function};

static const struct shape texts = {.kind = SHAPE_LIST, .element = &text};
static const struct shape_member names_members[] = {
    {"names", &texts, true}, {"negate", &flag_or_null, false}, {NULL, NULL, false}};
static const struct shape names = {.kind = SHAPE_OBJECT, .members = names_members};
static const struct shape name_path = {.kind = SHAPE_LIST, .nullable = true, .element = &names};
static const char *const break_modes[] = {"never", "always", "unhandled", "userUnhandled", NULL};
static const struct shape break_mode = {.kind = SHAPE_EXACT_WORD, .words = break_modes};
static const struct shape_member exception_members[] = {
    {"breakMode", &break_mode, true}, {"path", &name_path, false}, {NULL, NULL, false}};
static const struct shape exception = {.kind = SHAPE_OBJECT, .members = exception_members};
static const struct shape exceptions = {
    .kind = SHAPE_LIST, .nullable = true, .element = &exception};

static const struct shape_member map_members[] = {{"line", &integer, true},
                                                  {"endLine", &integer, true},
                                                  {"runtimeLine", &integer, true},
                                                  {"runtimeSource", &file, true},
                                                  {NULL, NULL, false}};
static const struct shape map = {.kind = SHAPE_OBJECT, .members = map_members};
static const struct shape maps = {.kind = SHAPE_LIST, .element = &map};

static const char *const systems[] = {"UNIX", "WINDOWS", "WIN", NULL};
static const struct shape client_system = {
    .kind = SHAPE_EXACT_WORD, .nullable = true, .words = systems};
/* An empty pattern matches every file, and the thread would have no frames. */
static const struct shape patterns = {.kind = SHAPE_LIST, .nullable = true, .element = &filled};
/* pydevd imports any other name, and fails if it cannot. */
static const char *const exception_names[] = {"ArithmeticError",   "AssertionError",
                                              "AttributeError",    "BaseException",
                                              "EOFError",          "Exception",
                                              "ImportError",       "IndexError",
                                              "KeyError",          "KeyboardInterrupt",
                                              "LookupError",       "MemoryError",
                                              "NameError",         "OSError",
                                              "OverflowError",     "RuntimeError",
                                              "StopIteration",     "SyntaxError",
                                              "SystemError",       "SystemExit",
                                              "TypeError",         "UnicodeError",
                                              "ValueError",        "ZeroDivisionError",
                                              "UnboundLocalError", NULL};
static const struct shape exception_name = {.kind = SHAPE_EXACT_WORD, .words = exception_names};
static const struct shape built_in_exceptions = {
    .kind = SHAPE_LIST, .nullable = true, .element = &exception_name};

#define BREAKPOINTS                                                                                \
    "\"breakpoints\" must be a list of objects, each with a \"line\" that is an integer; "         \
    "\"condition\", "                                                                              \
    "\"hitCondition\" and \"logMessage\" are strings"
#define PATTERNS(name) "\"" name "\" must be a list of strings that are not empty"
#define EXCEPTION_NAMES(name) "\"" name "\" must be a list of names of Python's built-in exceptions"

/* Each of these, of another type, ends pydevd's reader and with it the adapter, or is never
 * answered. What is not here gets a failure from pydevd itself (debugpy 1.8.0-1.8.22, measured by
 * tests/agent/test_requests.py). */
static const struct guard {
    const char *command, *member;
    const struct shape *shape;
    bool required;
    const char *refusal;
} guards[] = {
    {"completions", "text", &text, false, "\"text\" must be a string"},
    {"completions", "column", &integer, false, "\"column\" must be an integer"},
    {"completions", "line", &integer_or_null, false, "\"line\" must be an integer"},
    {"evaluate", "expression", &text, false, "\"expression\" must be a string"},
    {"goto", "targetId", &integer, false, "\"targetId\" must be an integer"},
    {"gotoTargets", "source", &source, false, "\"source\" must be an object with a \"path\""},
    {"gotoTargets", "line", &integer, false, "\"line\" must be an integer"},
    {"scopes", "frameId", &integer, false, "\"frameId\" must be an integer"},
    {"setBreakpoints", "source", &file, true,
     "debugpy can only set breakpoints in a source that has a path"},
    {"setBreakpoints", "breakpoints", &breakpoints, false, BREAKPOINTS},
    {"setDebuggerProperty", "ideOS", &client_system, false,
     "\"ideOS\" must be \"UNIX\" or \"WINDOWS\""},
    {"setDebuggerProperty", "dontTraceStartPatterns", &patterns, false,
     PATTERNS("dontTraceStartPatterns")},
    {"setDebuggerProperty", "dontTraceEndPatterns", &patterns, false,
     PATTERNS("dontTraceEndPatterns")},
    {"setDebuggerProperty", "skipSuspendOnBreakpointException", &built_in_exceptions, false,
     EXCEPTION_NAMES("skipSuspendOnBreakpointException")},
    {"setDebuggerProperty", "skipPrintBreakpointException", &built_in_exceptions, false,
     EXCEPTION_NAMES("skipPrintBreakpointException")},
    {"setExceptionBreakpoints", "exceptionOptions", &exceptions, false,
     "\"exceptionOptions\" must be a list of objects, each with a \"breakMode\" and a \"path\" of "
     "{\"names\": [\"…\"]}"},
    {"setExpression", "expression", &text, false, "\"expression\" must be a string"},
    {"setExpression", "value", &text, false, "\"value\" must be a string"},
    {"setFunctionBreakpoints", "breakpoints", &functions, false,
     "\"breakpoints\" must be a list of objects, each with a \"name\"; \"condition\" and "
     "\"hitCondition\" are strings"},
    {"setPydevdSourceMap", "source", &file, true, "\"source\" must have a \"path\""},
    {"setPydevdSourceMap", "pydevdSourceMaps", &maps, true,
     "\"pydevdSourceMaps\" must be a list of objects, each with \"line\", \"endLine\", "
     "\"runtimeLine\" and \"runtimeSource\""},
    {"setVariable", "name", &text, false, "\"name\" must be a string"},
    {"setVariable", "value", &text, false, "\"value\" must be a string"},
    {"source", "sourceReference", &integer, false, "\"sourceReference\" must be an integer"},
    {"stackTrace", "startFrame", &integer_or_null, false, "\"startFrame\" must be an integer"},
    {"stackTrace", "levels", &integer_or_null, false, "\"levels\" must be an integer"},
    {"stepIn", "targetId", &integer_or_null, false, "\"targetId\" must be an integer"},
};

static const char *indigestible(const char *json, const struct envelope *request)
{
    struct span value;
    for (const struct guard *guard = guards; guard < guards + sizeof guards / sizeof *guards;
         guard++) {
        if (!text_equal(request->name, guard->command))
            continue;
        bool given =
            request->arguments.len && scan_find(json, request->arguments, guard->member, &value);
        if (given ? !shape_fits(guard->shape, json, value) : guard->required)
            return guard->refusal;
    }
    return NULL;
}

const char *request_guards_refusal(const struct stopped_threads *stopped, const char *json,
                                   const struct envelope *request)
{
    const char *why = NULL;
    if (dap_command_is(request->name, DAP_COMMAND_NEEDS_STOPPED))
        why = needs_stopped_thread(stopped, json, request);
    return why ? why : indigestible(json, request);
}
