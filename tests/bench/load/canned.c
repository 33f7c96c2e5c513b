#include "load/canned.h"

#include "base/buf.h"
#include "base/text.h"
#include "load/stamps.h"

/* The task of tests/support/fake_ray.py: its objects are the references. */
#define TASK "c8ef45ccd0112571ffffffffffffffffffffffff01000000"
#define OPEN "\", \"variables\": ["

static const struct {
    const char *name;
    size_t size;
    bool refs, is_new;
} kinds[CANNED_KINDS] = {
    [CANNED_200] = {"200", 200, false, false},
    [CANNED_10K] = {"10K", 10 << 10, false, false},
    [CANNED_1M] = {"1M", 1 << 20, false, false},
    [CANNED_20M] = {"20M", 20 << 20, false, false},
    [CANNED_REFS_10K] = {"refs10K", 10 << 10, true, false},
    [CANNED_REFS_1M] = {"refs1M", 1 << 20, true, false},
    [CANNED_NEW_10K] = {"new10K", 10 << 10, false, true},
    [CANNED_NEW_1M] = {"new1M", 1 << 20, false, true},
    [CANNED_NEW_REFS_10K] = {"newrefs10K", 10 << 10, true, true},
    [CANNED_NEW_REFS_1M] = {"newrefs1M", 1 << 20, true, true},
};

const char *canned_name(enum canned kind)
{
    return kinds[kind].name;
}

bool canned_find(const char *name, enum canned *out)
{
    for (unsigned kind = 0; kind < CANNED_KINDS; kind++)
        if (text_equal(kinds[kind].name, name)) {
            *out = (enum canned)kind;
            return true;
        }
    return false;
}

static void add_row(struct buf *out, unsigned index, bool refs, bool is_new)
{
    if (refs)
        buf_printf(out,
                   "{\"name\": \"%04u%s\", \"value\": \"ObjectRef(" TASK "%02x%02x0000)\", "
                   "\"type\": \"ObjectRef\", \"evaluateName\": \"refs[%u]\", "
                   "\"variablesReference\": %u}, ",
                   index, is_new ? " " STAMP_FRONT STAMP_NONE : "", (index + 1) & 0xFF,
                   (index + 1) >> 8, index, index + 5000);
    else
        buf_printf(out,
                   "{\"name\": \"layer_%u\", \"value\": \"{'loss': %s, 'path': "
                   "'C:\\\\\\\\data\\\\n', 'caf\\u00e9': %u}\", \"type\": \"dict\", "
                   "\"evaluateName\": \"state[\\\"layer_%u\\\"]\", \"variablesReference\": %u}, ",
                   index, is_new ? STAMP_FRONT STAMP_NONE : "0.6931", index * 7919, index,
                   index + 5000);
}

/* The last row fills up to the size; a row's own text takes less than these. */
enum { ROW_MOST = 240, LAST_LEAST = 80 };

static struct buf make(size_t size, bool refs, bool is_new)
{
    struct buf out = {0};
    size_t front = sizeof CANNED_FRONT - 1 + CANNED_TAG;
    buf_add_string(&out, OPEN);
    for (unsigned index = 0; front + out.len + ROW_MOST + LAST_LEAST < size; index++)
        add_row(&out, index, refs, is_new);
    buf_add_string(&out, "{\"name\": \"last\", \"value\": \"'");
    static const char end[] = "'\", \"type\": \"str\", \"variablesReference\": 0}]}";
    while (front + out.len + sizeof end - 1 < size)
        buf_add(&out, "x", 1);
    buf_add_string(&out, end);
    return out;
}

struct canned_text canned_text(enum canned kind)
{
    static struct buf made[CANNED_KINDS];
    struct buf *text = &made[kind];
    if (!text->data)
        *text = make(kinds[kind].size, kinds[kind].refs, kinds[kind].is_new);
    return (struct canned_text){text->data, text->len};
}
