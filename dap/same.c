#include "dap/same.h"

#include <stdlib.h>
#include <string.h>

/* Objects of more members are compared by their bytes alone, because the search for each member
 * goes over all. */
enum { MEMBERS = 64 };

static bool same_bytes(const char *a, struct span at_a, const char *b, struct span at_b)
{
    return at_a.len == at_b.len && memcmp(a + at_a.at, b + at_b.at, at_a.len) == 0;
}

/* True if the string has no \u escape: scan_string() makes lone surrogates and NUL U+FFFD. */
static bool is_plain(const char *text, struct span string)
{
    return !memmem(text + string.at, string.len, "\\u", 2);
}

static bool same_string(const char *a, struct span at_a, const char *b, struct span at_b)
{
    if (same_bytes(a, at_a, b, at_b))
        return true;
    if (!is_plain(a, at_a) || !is_plain(b, at_b))
        return false;
    char *text = scan_string(a, at_a);
    bool same = text && scan_string_is(b, at_b, text);
    free(text);
    return same;
}

static bool same_number(const char *a, struct span at_a, const char *b, struct span at_b)
{
    int64_t left, right;
    return same_bytes(a, at_a, b, at_b) ||
           (scan_integer(a, at_a, &left) && scan_integer(b, at_b, &right) && left == right);
}

static bool same_array(const char *a, struct span at_a, const char *b, struct span at_b)
{
    size_t cursor_a = 0, cursor_b = 0;
    struct span left, right;
    while (scan_element(a, at_a, &cursor_a, &left))
        if (!scan_element(b, at_b, &cursor_b, &right) || !same_value(a, left, b, right))
            return false;
    return !scan_element(b, at_b, &cursor_b, &right);
}

/* The value of the only member with this name; false if there is none, or more than one. */
static bool find_only(const char *text, struct span object, const char *other, struct span name,
                      struct span *value)
{
    size_t cursor = 0, found = 0;
    struct span key, at;
    while (scan_member(text, object, &cursor, &key, &at)) {
        if (!same_string(text, key, other, name))
            continue;
        *value = at;
        found++;
    }
    return found == 1;
}

static size_t count_members(const char *text, struct span object)
{
    size_t cursor = 0, count = 0;
    struct span key, value;
    while (count <= MEMBERS && scan_member(text, object, &cursor, &key, &value))
        count++;
    return count;
}

static bool same_object(const char *a, struct span at_a, const char *b, struct span at_b)
{
    size_t cursor = 0, count = count_members(a, at_a);
    struct span key, left, right;
    if (count > MEMBERS || count != count_members(b, at_b))
        return same_bytes(a, at_a, b, at_b);
    while (scan_member(a, at_a, &cursor, &key, &left))
        if (!find_only(a, at_a, a, key, &right) || !find_only(b, at_b, a, key, &right) ||
            !same_value(a, left, b, right))
            return false;
    return true;
}

bool same_value(const char *a, struct span at_a, const char *b, struct span at_b)
{
    if (!at_a.len || !at_b.len)
        return at_a.len == at_b.len;
    char kind = a[at_a.at];
    if (kind == '{' && b[at_b.at] == '{')
        return same_object(a, at_a, b, at_b);
    if (kind == '[' && b[at_b.at] == '[')
        return same_array(a, at_a, b, at_b);
    if (kind == '"' && b[at_b.at] == '"')
        return same_string(a, at_a, b, at_b);
    return same_number(a, at_a, b, at_b);
}
