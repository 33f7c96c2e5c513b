#include "dap/plain_integers.h"

#include "dap/scan.h"
#include "dap/splice.h"

#include <inttypes.h>

static bool is_plain(const char *json, struct span number)
{
    for (size_t i = 0; i < number.len; i++)
        if (json[number.at + i] != '-' && (json[number.at + i] < '0' || json[number.at + i] > '9'))
            return false;
    return true;
}

bool plain_integers_write(const char *json, size_t len, struct buf *out)
{
    struct splice splice = {json, out, 0};
    size_t at = 0;
    int64_t whole;
    while (at < len) {
        char c = json[at];
        if (c != '"' && c != '-' && (c < '0' || c > '9')) {
            at++;
            continue;
        }
        struct span value = {at, scan_skip(json, at, len) - at};
        at += value.len;
        if (c == '"' || is_plain(json, value) || !scan_integer(json, value, &whole))
            continue;
        splice_over(&splice, value);
        buf_printf(out, "%" PRId64, whole);
    }
    return splice_end(&splice, len);
}
