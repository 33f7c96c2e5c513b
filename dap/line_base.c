#include "dap/line_base.h"

#include "dap/places.h"
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

static bool is_counted(const struct line_base *base, enum place_kind kind)
{
    return (kind == PLACE_LINE && base->lines_from_0) ||
           (kind == PLACE_COLUMN && base->columns_from_0);
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
    struct places places = {0};
    struct splice splice = {json, out, 0};
    int64_t number;
    if (line_base_differs(base))
        places_find(json, envelope, &places);
    for (size_t i = 0; i < places.count; i++) {
        struct span at = places.items[i].at;
        if (!is_counted(base, places.items[i].kind) || !scan_integer(json, at, &number) ||
            !convert(envelope->kind, &number))
            continue;
        splice_over(&splice, at);
        buf_printf(out, "%" PRId64, number);
    }
    places_clear(&places);
    return splice_end(&splice, len);
}
