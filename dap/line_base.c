#include "dap/line_base.h"

#include "dap/location_members.h"
#include "dap/splice.h"

#include <inttypes.h>

static bool starts_at_0(const char *initialize, struct span arguments, const char *name)
{
    bool from_1 = true;
    scan_boolean_at(initialize, arguments, name, &from_1);
    return !from_1;
}

struct line_base line_base_read(const char *initialize, struct span arguments)
{
    return (struct line_base){starts_at_0(initialize, arguments, "linesStartAt1"),
                              starts_at_0(initialize, arguments, "columnsStartAt1")};
}

static bool is_counted(const struct line_base *base, enum location_member_kind kind)
{
    return (kind == LOCATION_MEMBER_LINE && base->lines_from_0) ||
           (kind == LOCATION_MEMBER_COLUMN && base->columns_from_0);
}

/* False if the number stays. */
static bool convert(enum dap_kind kind, int64_t *number)
{
    if (kind == DAP_REQUEST ? *number == INT64_MAX : *number <= 0)
        return false;
    *number += kind == DAP_REQUEST ? 1 : -1;
    return true;
}

bool line_base_write(const struct line_base *base, const char *json, size_t len,
                     const struct envelope *envelope, struct buf *out)
{
    struct location_members members = {0};
    struct splice splice = {json, out, 0};
    int64_t number;
    if (line_base_differs(base))
        location_members_find(json, envelope, &members);
    for (size_t i = 0; i < members.count; i++) {
        struct span at = members.items[i].at;
        if (!is_counted(base, members.items[i].kind) || !scan_integer(json, at, &number) ||
            !convert(envelope->kind, &number))
            continue;
        splice_over(&splice, at);
        buf_printf(out, "%" PRId64, number);
    }
    location_members_clear(&members);
    return splice_end(&splice, len);
}
