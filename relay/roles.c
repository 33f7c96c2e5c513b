#include "relay/roles.h"

#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Whatever else there is changes the debuggee, or may. */
static const char *const looks[] = {
    "cancel",        "completions", "configurationDone", "debugpySystemInfo", "disconnect",
    "exceptionInfo", "gotoTargets", "modules",           "pydevdSystemInfo",  "raydbg/objects",
    "scopes",        "source",      "stackTrace",        "stepInTargets",     "threads",
    "variables",
};

static const char *skip_subscript(const char *at)
{
    at++;
    if (*at == '\'' || *at == '"') {
        char quote = *at++;
        while (*at && *at != quote && *at != '\\')
            at++;
        if (*at++ != quote)
            return NULL;
    } else {
        if (*at == '-')
            at++;
        if (!isdigit((unsigned char)*at))
            return NULL;
        while (isdigit((unsigned char)*at))
            at++;
    }
    return *at == ']' ? at + 1 : NULL;
}

static const char *skip_name(const char *at)
{
    if (!isalpha((unsigned char)*at) && *at != '_')
        return NULL;
    while (isalnum((unsigned char)*at) || *at == '_')
        at++;
    return at;
}

/* name, name.attribute, name[0]['key'].attribute … */
bool roles_only_looks(const char *expression)
{
    const char *at = skip_name(expression);
    while (at && *at) {
        if (*at == '.')
            at = skip_name(at + 1);
        else if (*at == '[')
            at = skip_subscript(at);
        else
            return false;
    }
    return at != NULL;
}

static const char *evaluate_refusal(const char *json, const struct envelope *request)
{
    struct span value;
    char *expression = NULL;
    if (request->arguments.len && scan_find(json, request->arguments, "expression", &value))
        expression = scan_string(json, value);
    bool looking = expression && roles_only_looks(expression);
    free(expression);
    return looking ? NULL
                   : "an observer may evaluate names, attributes and subscripts only: another "
                     "client drives (take over to do more)";
}

const char *roles_observer_refusal(const char *json, const struct envelope *request)
{
    if (text_equal(request->name, "evaluate"))
        return evaluate_refusal(json, request);
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
        if (text_equal(request->name, looks[i]))
            return NULL;
    return "this session observes: another client drives (take over to change anything)";
}
