#include "cli/dap/dap_arguments.h"

#include "base/text.h"
#include "cli/dap/dap_bridge.h"
#include "dap/message.h"
#include "dap/splice.h"

void dap_arguments_member(const char *json, const struct envelope *request, const char *name,
                          const char *value, struct buf *members)
{
    struct span at;
    if (value && !(request->arguments.len && scan_find(json, request->arguments, name, &at)))
        buf_printf(members, "\"%s\":%s,", name, value);
}

bool dap_arguments_request(const char *json, size_t len, const struct envelope *request,
                           const struct buf *members, struct buf *out)
{
    struct buf whole = {0};
    size_t cursor = 0;
    struct span key, value;
    struct edit edit = {{request->arguments.at + 1, 0}, members->data, members->len};
    if (!members->len || (request->arguments.len && json[request->arguments.at] != '{'))
        return false;
    if (!request->arguments.len) {
        buf_printf(&whole, ",\"arguments\":{%.*s}", (int)(members->len - 1), members->data);
        edit =
            (struct edit){{request->whole.at + request->whole.len - 1, 0}, whole.data, whole.len};
    } else if (!scan_member(json, request->arguments, &cursor, &key, &value)) {
        edit.len--; /* no other members: no comma */
    }
    splice_apply(json, len, &edit, 1, out);
    buf_free(&whole);
    return true;
}

/* Appends the members that the command line and this program add, each with a comma after it. */
static void missing_members(const struct dap_bridge_options *options, const char *json,
                            const struct envelope *request, struct buf *out)
{
    struct buf task = {0};
    if (text_equal(request->name, "initialize")) {
        dap_arguments_member(json, request, "supportsRaydbgAhead",
                             options->prefetch ? "true" : NULL, out);
        dap_arguments_member(json, request, "supportsRaydbgRole", "true", out);
        dap_arguments_member(json, request, "supportsRaydbgLaunch", options->launch ? "true" : NULL,
                             out);
    } else if (text_equal(request->name, "attach")) {
        if (options->task)
            message_quote(&task, options->task);
        dap_arguments_member(json, request, "task", task.data, out);
        dap_arguments_member(json, request, "kill", options->kill ? "true" : NULL, out);
        dap_arguments_member(json, request, "noTune", options->tune ? NULL : "true", out);
    }
    buf_free(&task);
}

bool dap_arguments_by_options(const struct dap_bridge_options *options, const char *json,
                              size_t len, const struct envelope *request, struct buf *out)
{
    struct buf members = {0};
    missing_members(options, json, request, &members);
    bool changed = dap_arguments_request(json, len, request, &members, out);
    buf_free(&members);
    return changed;
}
