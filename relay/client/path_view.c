#include "relay/client/path_view.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/location_members.h"
#include "dap/message.h"
#include "dap/splice.h"

#include <stdlib.h>
#include <string.h>

static struct path_map *read(const char *arguments, bool *relative)
{
    return path_map_read(arguments ? arguments : "",
                         (struct span){0, arguments ? strlen(arguments) : 0}, relative);
}

bool path_view_set(struct path_view *view, const char *own, const char *debugger)
{
    bool own_relative, other_relative;
    path_view_clear(view);
    view->own = read(own, &own_relative);
    view->debugger = read(debugger, &other_relative);
    bool same = path_map_equal(view->own, view->debugger) && own_relative == other_relative;
    if (same)
        path_view_clear(view);
    return same || !own_relative;
}

void path_view_clear(struct path_view *view)
{
    path_map_destroy(&view->own);
    path_map_destroy(&view->debugger);
}

bool path_view_is_plain(const struct path_view *view)
{
    return !view->own && !view->debugger;
}

/* `path`, or its translation, which replaces it. */
static char *translate(char *(*map_path)(const struct path_map *map, const char *path),
                       const struct path_map *map, char *path, bool *mapped)
{
    char *other = map_path(map, path);
    *mapped = other != NULL;
    if (other)
        free(path);
    return other ? other : path;
}

/* pydevd gives a path that it has not mapped a sourceReference, and no other one while it has
 * mappings: `referred` says so. */
static char *to_client(const struct path_view *view, char *path, bool referred, bool *mapped)
{
    bool unused;
    if (!referred)
        path = translate(path_map_to_worker, view->debugger, path, &unused);
    return translate(path_map_to_client, view->own, path, mapped);
}

static char *to_debugger(const struct path_view *view, char *path)
{
    bool unused;
    path = translate(path_map_to_worker, view->own, path, &unused);
    return translate(path_map_to_client, view->debugger, path, &unused);
}

static void drop_reference(struct splice *splice, struct span reference)
{
    splice_over(splice, reference);
    buf_add_string(splice->out, "0");
}

/* A source that the client has itself needs no sourceReference, which would make it ask the
 * debugger for the text. */
static void write_path(const struct path_view *view, struct splice *splice, bool to_worker,
                       const struct location_member *member)
{
    int64_t number = 0;
    bool mapped = false;
    char *path = scan_string(splice->text, member->at), *before = mem_string(path);
    if (!path)
        return;
    bool referred = member->reference.len &&
                    scan_integer(splice->text, member->reference, &number) && number > 0;
    path = to_worker ? to_debugger(view, path) : to_client(view, path, referred, &mapped);
    bool drops = mapped && referred;
    if (drops && member->reference.at < member->at.at)
        drop_reference(splice, member->reference);
    if (!text_equal(path, before)) {
        splice_over(splice, member->at);
        message_quote(splice->out, path);
    }
    if (drops && member->reference.at > member->at.at)
        drop_reference(splice, member->reference);
    free(path);
    free(before);
}

bool path_view_write(const struct path_view *view, const char *json, size_t len,
                     const struct envelope *envelope, struct buf *out)
{
    struct location_members members = {0};
    struct splice splice = {json, out, 0};
    if (!path_view_is_plain(view))
        location_members_find(json, envelope, &members);
    for (size_t i = 0; i < members.count; i++)
        if (members.items[i].kind == LOCATION_MEMBER_PATH)
            write_path(view, &splice, envelope->kind == DAP_REQUEST, &members.items[i]);
    location_members_clear(&members);
    return splice_end(&splice, len);
}
