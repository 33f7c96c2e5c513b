#include "relay/stack/exception_text.h"

#include "dap/splice.h"

#include <string.h>

/* pydevd_comm.py writes "(note: full exception trace …)" after seven spaces. */
static const char note[] = "       (note: ";

/* pydevd_comm.py writes this where str() of the exception is empty, as for a bare `assert`. */
static const char no_text[] = "exception: no description";

static bool find_note(const char *json, struct span string, struct span *at);
static bool find_no_text(const char *json, struct span string, struct span *at);

/* The members of a body that can contain what is removed. */
static const struct member {
    const char *path;
    bool (*find)(const char *json, struct span string, struct span *at);
} members[] = {
    {"text", find_note},
    {"exceptionId", find_note},
    {"details/typeName", find_note},
    {"description", find_no_text},
    {"details/message", find_no_text},
};
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

static bool find_no_text(const char *json, struct span string, struct span *at)
{
    *at = (struct span){string.at + 1, sizeof no_text - 1};
    return scan_string_is(json, string, no_text) && string.len == at->len + 2;
}

bool exception_text_clean(const char *json, size_t len, const struct envelope *envelope,
                          struct buf *out)
{
    struct edit edits[MEMBERS];
    struct span value;
    size_t count = 0;
    for (size_t i = 0; envelope->body.len && i < MEMBERS; i++) {
        struct edit edit = {.with = ""};
        if (!scan_path(json, envelope->body, members[i].path, &value) ||
            !members[i].find(json, value, &edit.at))
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
