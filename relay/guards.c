#include "relay/guards.h"

#include "base/text.h"

/* A running thread: `exceptionInfo` is never answered, a step that nobody waits for stops later, a
 * `stackTrace` takes 600 ms in which nothing else is answered. */
static const char *needs_stopped_thread(const struct thread_set *stopped, const char *json,
                                        const struct envelope *request)
{
    struct span at;
    int64_t thread;
    bool known = request->arguments.len && scan_find(json, request->arguments, "threadId", &at) &&
                 scan_integer(json, at, &thread) && thread_set_has(stopped, thread);
    return known ? NULL : "this thread is not stopped";
}

/* Whatever of these is missing or of another type ends pydevd's reader, and the adapter with it. */
static const char *needs_whole_breakpoints(const struct thread_set *stopped, const char *json,
                                           const struct envelope *request)
{
    struct span path, list, breakpoint, at;
    size_t cursor = 0;
    int64_t line;
    (void)stopped;
    if (!request->arguments.len || !scan_path(json, request->arguments, "source/path", &path) ||
        json[path.at] != '"' || path.len <= 2)
        return "debugpy can only set breakpoints in a source that has a path";
    if (!scan_find(json, request->arguments, "breakpoints", &list))
        return NULL;
    if (json[list.at] != '[')
        return "\"breakpoints\" must be an array";
    while (scan_element(json, list, &cursor, &breakpoint))
        if (json[breakpoint.at] != '{' || !scan_find(json, breakpoint, "line", &at) ||
            !scan_integer(json, at, &line))
            return "each breakpoint needs a \"line\" that is an integer";
    return NULL;
}

static const struct {
    const char *command;
    const char *(*check)(const struct thread_set *stopped, const char *json,
                         const struct envelope *request);
} guards[] = {
    {"next", needs_stopped_thread},
    {"stepIn", needs_stopped_thread},
    {"stepOut", needs_stopped_thread},
    {"stackTrace", needs_stopped_thread},
    {"exceptionInfo", needs_stopped_thread},
    {"setBreakpoints", needs_whole_breakpoints},
    {"raydbg/stepIntoRemote", needs_stopped_thread},
    {"raydbg/stepOutToGet", needs_stopped_thread},
};

const char *guards_refusal(const struct thread_set *stopped, const char *json,
                           const struct envelope *request)
{
    for (size_t i = 0; i < sizeof guards / sizeof *guards; i++)
        if (text_equal(request->name, guards[i].command))
            return guards[i].check(stopped, json, request);
    return NULL;
}
