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

static void take_as_truth(struct view *view, const char *text, size_t len, const char *digits)
{
    buf_clear(&view->learned, SIZE_MAX);
    buf_add(&view->learned, text, len);
    view->expected = (struct canned_text){view->learned.data, len};
    stamps_find(&view->stamps, text, len, digits);
}

void view_expect(struct view *view, struct canned_text original)
{
    view->expected = original;
    stamps_find(&view->stamps, original.data, original.len, STAMP_NONE);
    if (view->stamps.count)
        take_as_truth(view, original.data, original.len, STAMP_NONE);
}

void view_free(struct view *view)
{
    buf_free(&view->learned);
    stamps_free(&view->stamps);
}

bool view_check(struct view *view, struct text body, const char *tag, char *why, size_t size)
{
    if (!check_front(body, tag, why, size))
        return false;
    const char *at = body.at + FRONT + CANNED_TAG;
    if (view->stamps.count)
        stamps_write(&view->stamps, view->learned.data, stamps_digits(tag));
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

/* The adapter's text for this tag; its stamps are counted. */
static struct buf original_of(struct canned_text original, const char *tag, size_t *stamps)
{
    struct buf out = {0};
    struct stamps found = {0};
    buf_add(&out, original.data, original.len);
    stamps_find(&found, original.data, original.len, STAMP_NONE);
    stamps_write(&found, out.data, stamps_digits(tag));
    *stamps = found.count;
    stamps_free(&found);
    return out;
}

static bool is_learned(struct view *view, const char *at, size_t len, const char *tag)
{
    if (!view->learned_at || view->learned.len != len)
        return false;
    stamps_write(&view->stamps, view->learned.data, stamps_digits(tag));
    return memcmp(view->learned.data, at, len) == 0;
}

/* False with `why` filled: it cannot be the truth. */
static bool learn(struct view *view, struct canned_text original, size_t stamps, const char *at,
                  size_t len, const char *tag, char *why, size_t size)
{
    if (!has_all(original, at, at + len)) {
        snprintf(why, size, "not all that the adapter said is in the body");
        return false;
    }
    take_as_truth(view, at, len, stamps_digits(tag));
    if (!stamps || view->stamps.count == stamps)
        return true;
    snprintf(why, size, "the body has what is new each time %zu times, not %zu", view->stamps.count,
             stamps);
    return false;
}

bool view_learn(struct view *view, struct canned_text original, struct text body, const char *tag,
                bool must_differ, uint64_t now, uint64_t settled, char *why, size_t size)
{
    size_t stamps;
    *why = '\0';
    if (!check_front(body, tag, why, size))
        return false;
    const char *at = body.at + FRONT + CANNED_TAG;
    size_t len = body.len - FRONT - CANNED_TAG;
    struct buf stamped = original_of(original, tag, &stamps);
    bool differs = len != stamped.len || memcmp(at, stamped.data, len) != 0;
    bool sound = true;
    if (!is_learned(view, at, len, tag)) {
        sound = learn(view, (struct canned_text){stamped.data, stamped.len}, stamps, at, len, tag,
                      why, size);
        if (sound)
            view->learned_at = now;
    }
    buf_free(&stamped);
    return sound && now - view->learned_at >= settled && (!must_differ || differs);
}
