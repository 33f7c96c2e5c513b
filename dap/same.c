#include "dap/same.h"

#include <stdlib.h>
#include <string.h>

/* Objects of more members are compared by their bytes alone, because the search for each member
 * goes over all. */
enum { MEMBERS = 64 };

/* The bytes that one comparison may read: each level of nested objects is read again for each
 * member of the level above it. Arguments of a few KiB take less than a hundredth of it. */
enum { BUDGET = 4 << 20 };

struct comparison {
    const char *a, *b;
    size_t budget; /* bytes left */
};

static bool same(struct comparison *it, struct span at_a, struct span at_b);

/* False if the budget is used up; it then stays so, and every answer is false. */
static bool spend(struct comparison *it, struct span at_a, struct span at_b)
{
    size_t bytes = at_a.len + at_b.len;
    bool enough = bytes <= it->budget;
    it->budget = enough ? it->budget - bytes : 0;
    return enough;
}

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

static bool same_array(struct comparison *it, struct span at_a, struct span at_b)
{
    size_t cursor_a = 0, cursor_b = 0;
    struct span left, right;
    while (scan_element(it->a, at_a, &cursor_a, &left))
        if (!scan_element(it->b, at_b, &cursor_b, &right) || !same(it, left, right))
            return false;
    return !scan_element(it->b, at_b, &cursor_b, &right);
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

static bool same_object(struct comparison *it, struct span at_a, struct span at_b)
{
    const char *a = it->a, *b = it->b;
    size_t cursor = 0, count = count_members(a, at_a);
    struct span key, left, right;
    if (count > MEMBERS || count != count_members(b, at_b))
        return false;
    while (scan_member(a, at_a, &cursor, &key, &left))
        if (!spend(it, at_a, at_b) || !find_only(a, at_a, a, key, &right) ||
            !find_only(b, at_b, a, key, &right) || !same(it, left, right))
            return false;
    return true;
}

static bool same(struct comparison *it, struct span at_a, struct span at_b)
{
    char kind_a = it->a[at_a.at], kind_b = it->b[at_b.at];
    if (!spend(it, at_a, at_b))
        return false;
    if (same_bytes(it->a, at_a, it->b, at_b))
        return true;
    if (kind_a == '{' && kind_b == '{')
        return same_object(it, at_a, at_b);
    if (kind_a == '[' && kind_b == '[')
        return same_array(it, at_a, at_b);
    if (kind_a == '"' && kind_b == '"')
        return same_string(it->a, at_a, it->b, at_b);
    return same_number(it->a, at_a, it->b, at_b);
}

bool same_value(const char *a, struct span at_a, const char *b, struct span at_b)
{
    struct comparison it = {a, b, BUDGET};
    if (!at_a.len || !at_b.len)
        return at_a.len == at_b.len;
    return same_bytes(a, at_a, b, at_b) || same(&it, at_a, at_b);
}
