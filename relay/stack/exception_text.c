#include "relay/stack/exception_text.h"

#include "dap/splice.h"

#include <string.h>

/* pydevd_comm.py writes "(note: full exception trace …)" after seven spaces. */
static const char note[] = "       (note: ";

/* The members of a body that can contain the note. */
static const char *const members[] = {"text", "exceptionId", "details/typeName"};
enum { MEMBERS = sizeof members / sizeof *members };

/* The span from the note to the string's closing quote. */
static bool find_note(const char *json, struct span string, struct span *at)
{
    if (string.len < 2 || json[string.at] != '"')
        return false;
    const char *found = memmem(json + string.at, string.len, note, sizeof note - 1);
    if (!found)
        return false;
    at->at = (size_t)(found - json);
    at->len = string.at + string.len - 1 - at->at;
    return true;
}

bool exception_text_clean(const char *json, size_t len, const struct envelope *envelope,
                          struct buf *out)
{
    struct edit edits[MEMBERS];
    struct span value;
    size_t count = 0;
    for (size_t i = 0; envelope->body.len && i < MEMBERS; i++) {
        struct edit edit = {.with = ""};
        if (!scan_path(json, envelope->body, members[i], &value) ||
            !find_note(json, value, &edit.at))
            continue;
        size_t to = count++;
        for (; to > 0 && edits[to - 1].at.at > edit.at.at; to--)
            edits[to] = edits[to - 1];
        edits[to] = edit;
    }
    if (count)
        splice_apply(json, len, edits, count, out);
    return count > 0;
}
