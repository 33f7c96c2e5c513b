#include "relay/pause/pause_change.h"

#include "base/text.h"
#include "relay/pause/pause_index.h"

const char *pause_change_name(enum pause_change change)
{
    static const char *const names[] = {
        [PAUSE_REMOVED] = "removed", [PAUSE_ADDED] = "added", [PAUSE_CHANGED] = "changed"};
    return names[change];
}

static bool looks_same(const struct pause *a, const struct pause *b,
                       void (*json)(const struct pause *pause, struct buf *out))
{
    struct buf one = {0}, two = {0};
    if (pause_equal(a, b))
        return true;
    json(a, &one);
    json(b, &two);
    bool same = text_equal(one.data, two.data);
    buf_free(&one);
    buf_free(&two);
    return same;
}

void pause_change_each(const struct pause_list *before, const struct pause_list *after,
                       void (*json)(const struct pause *pause, struct buf *out), pause_change_fn fn,
                       void *arg)
{
    struct pause_index old, fresh;
    pause_index_make(&old, before);
    pause_index_make(&fresh, after);
    for (size_t i = 0; i < before->count; i++)
        if (!pause_index_find(&fresh, &before->items[i]))
            fn(arg, PAUSE_REMOVED, &before->items[i]);
    for (size_t i = 0; i < after->count; i++) {
        const struct pause *known = pause_index_find(&old, &after->items[i]);
        if (!known)
            fn(arg, PAUSE_ADDED, &after->items[i]);
        else if (!looks_same(known, &after->items[i], json))
            fn(arg, PAUSE_CHANGED, &after->items[i]);
    }
    pause_index_clear(&old);
    pause_index_clear(&fresh);
}
