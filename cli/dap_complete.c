#include "cli/dap_complete.h"

#include "dap/splice.h"

void complete_member(const char *json, const struct envelope *request, const char *name,
                     const char *value, struct buf *members)
{
    struct span at;
    if (value && !(request->arguments.len && scan_find(json, request->arguments, name, &at)))
        buf_printf(members, "\"%s\":%s,", name, value);
}

bool complete_request(const char *json, size_t len, const struct envelope *request,
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
        edit.len--; /* the only ones: no comma after the last */
    }
    splice_apply(json, len, &edit, 1, out);
    buf_free(&whole);
    return true;
}
