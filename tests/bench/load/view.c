#include "load/view.h"

#include <stdio.h>
#include <string.h>

enum { FRONT = sizeof CANNED_FRONT - 1 };

size_t view_body_size(const struct view *view)
{
    return FRONT + CANNED_TAG + view->expected.len;
}

static bool check_front(struct text body, const char *tag, char *why, size_t size)
{
    if (body.len < FRONT + CANNED_TAG || memcmp(body.at, CANNED_FRONT, FRONT) != 0) {
        snprintf(why, size, "a body that does not begin as the adapter's: %.*s",
                 (int)(body.len < 60 ? body.len : 60), body.at);
        return false;
    }
    if (memcmp(body.at + FRONT, tag, CANNED_TAG) != 0) {
        snprintf(why, size, "the body of another request: tag %.*s, not %s", CANNED_TAG,
                 body.at + FRONT, tag);
        return false;
    }
    return true;
}

bool view_check(const struct view *view, struct text body, const char *tag, char *why, size_t size)
{
    if (!check_front(body, tag, why, size))
        return false;
    const char *at = body.at + FRONT + CANNED_TAG;
    if (body.len == view_body_size(view) &&
        memcmp(at, view->expected.data, view->expected.len) == 0)
        return true;
    size_t same = 0, left = body.len - FRONT - CANNED_TAG;
    while (same < left && same < view->expected.len && at[same] == view->expected.data[same])
        same++;
    snprintf(why, size, "a body of %zu bytes, not %zu, that differs from byte %zu on", body.len,
             view_body_size(view), FRONT + CANNED_TAG + same);
    return false;
}

/* The length of a member that holds an id, number included, at the beginning of `at`; or 0. */
static size_t id_member(const char *at)
{
    static const char name[] = "\"variablesReference\": ";
    if (strncmp(at, name, sizeof name - 1) != 0)
        return 0;
    return sizeof name - 1 + strspn(at + sizeof name - 1, "0123456789");
}

static bool has_all(struct canned_text original, const char *at, const char *end)
{
    for (size_t i = 0; i < original.len;) {
        size_t id = original.data[i] == '"' ? id_member(original.data + i) : 0;
        if (id) {
            at = memmem(at, (size_t)(end - at), "\"variablesReference\": ", 22);
            if (!at)
                return false;
            at += id_member(at);
            i += id;
            continue;
        }
        at = memchr(at, original.data[i++], (size_t)(end - at));
        if (!at)
            return false;
        at++;
    }
    return true;
}

bool view_learn(struct view *view, struct canned_text original, struct text body, const char *tag,
                bool must_differ, uint64_t now, uint64_t settled, char *why, size_t size)
{
    *why = '\0';
    if (!check_front(body, tag, why, size))
        return false;
    const char *at = body.at + FRONT + CANNED_TAG;
    size_t len = body.len - FRONT - CANNED_TAG;
    if (!view->learned_at || view->learned.len != len || memcmp(view->learned.data, at, len) != 0) {
        if (!has_all(original, at, at + len)) {
            snprintf(why, size, "not all that the adapter said is in the body");
            return false;
        }
        buf_clear(&view->learned, SIZE_MAX);
        buf_add(&view->learned, at, len);
        view->learned_at = now;
        view->expected = (struct canned_text){view->learned.data, len};
    }
    return now - view->learned_at >= settled &&
           (!must_differ || len != original.len || memcmp(at, original.data, len) != 0);
}
