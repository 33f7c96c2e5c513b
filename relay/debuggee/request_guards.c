#include "relay/debuggee/request_guards.h"

#include "base/text.h"
#include "dap/dap_command.h"

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

/* If any of these is missing or of another type, pydevd's reader ends, and the adapter with it. */
static const char *needs_whole_breakpoints(const char *json, const struct envelope *request)
{
    struct span path, list, breakpoint;
    size_t cursor = 0;
    int64_t line;
    if (!request->arguments.len || !scan_path(json, request->arguments, "source/path", &path) ||
        json[path.at] != '"' || path.len <= 2)
        return "debugpy can only set breakpoints in a source that has a path";
    if (!scan_find(json, request->arguments, "breakpoints", &list))
        return NULL;
    if (json[list.at] != '[')
        return "\"breakpoints\" must be an array";
    while (scan_element(json, list, &cursor, &breakpoint))
        if (json[breakpoint.at] != '{' || !scan_integer_at(json, breakpoint, "line", &line))
            return "each breakpoint needs a \"line\" that is an integer";
    return NULL;
}

const char *request_guards_refusal(const struct stopped_threads *stopped, const char *json,
                                   const struct envelope *request)
{
    if (dap_command_is(request->name, DAP_COMMAND_NEEDS_STOPPED))
        return needs_stopped_thread(stopped, json, request);
    if (text_equal(request->name, "setBreakpoints"))
        return needs_whole_breakpoints(json, request);
    return NULL;
}
