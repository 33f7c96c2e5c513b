#include "relay/hub/roles.h"

#include "base/text.h"
#include "dap/dap_command.h"
#include "relay/stack/rank.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

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
    char *expression = scan_string_at(json, request->arguments, "expression");
    bool looking =
        expression && (roles_only_looks(expression) || text_equal(expression, rank_expression));
    free(expression);
    return looking ? NULL
                   : "an observer may evaluate names, attributes and subscripts only: another "
                     "client drives (take over to do more)";
}

const char *roles_observer_refusal(const char *json, const struct envelope *request)
{
    if (text_equal(request->name, "evaluate"))
        return evaluate_refusal(json, request);
    if (dap_command_is(request->name, DAP_COMMAND_OBSERVES))
        return NULL;
    return "this session observes: another client drives (take over to change anything)";
}
