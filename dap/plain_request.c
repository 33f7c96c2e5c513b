#include "dap/plain_request.h"

#include "dap/plain_integers.h"
#include "dap/splice.h"

static bool write_no_arguments(const char *json, size_t len, const struct envelope *request,
                               struct buf *out)
{
    const struct edit edit = {request->arguments, "{}", 2};
    if (!request->arguments.len || json[request->arguments.at] != 'n')
        return false;
    splice_apply(json, len, &edit, 1, out);
    return true;
}

bool plain_request_write(const char *json, size_t len, const struct envelope *request,
                         struct buf *out)
{
    return write_no_arguments(json, len, request, out) || plain_integers_write(json, len, out);
}
