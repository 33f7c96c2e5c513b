#include "relay/debuggee/exception_filters.h"

#include "dap/splice.h"

#include <string.h>

static bool has_uncaught(const char *json, struct span filters, bool *empty)
{
    struct span filter;
    size_t cursor = 0;
    bool found = false;
    *empty = true;
    while (scan_element(json, filters, &cursor, &filter)) {
        *empty = false;
        found = found || scan_string_is(json, filter, "uncaught");
    }
    return found;
}

static bool has_members(const char *json, struct span object)
{
    struct span key, value;
    size_t cursor = 0;
    return scan_member(json, object, &cursor, &key, &value);
}

const char *exception_filters_add_uncaught(const char *json, size_t len,
                                           const struct envelope *request, struct buf *out)
{
    struct span arguments = request->arguments, filters;
    struct edit edit = {.with = ""};
    bool empty;
    if (!arguments.len || json[arguments.at] != '{')
        return "\"arguments\" must be an object";
    if (!scan_find(json, arguments, "filters", &filters)) {
        edit.at.at = arguments.at + 1;
        edit.with = has_members(json, arguments) ? "\"filters\":[\"uncaught\"],"
                                                 : "\"filters\":[\"uncaught\"]";
    } else if (json[filters.at] != '[') {
        return "\"filters\" must be an array";
    } else if (!has_uncaught(json, filters, &empty)) {
        edit.at.at = filters.at + 1;
        edit.with = empty ? "\"uncaught\"" : "\"uncaught\",";
    }
    edit.len = strlen(edit.with);
    splice_apply(json, len, &edit, edit.len ? 1 : 0, out);
    return NULL;
}
