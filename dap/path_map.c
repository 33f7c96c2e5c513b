#include "dap/path_map.h"

#include "base/mem.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct mapping {
    char *local, *remote; /* without separators at the end */
};

struct path_map {
    struct mapping *items;
    size_t count, room;
    bool windows; /* the client's paths have backslashes, and case does not count in them */
};

static char *take_root(const char *json, struct span mapping, const char *name)
{
    char *root = scan_string_at(json, mapping, name);
    for (size_t len = root ? strlen(root) : 0; len > 1 && strchr("/\\", root[len - 1]);)
        root[--len] = '\0';
    return root;
}

static void add(struct path_map *map, const char *json, struct span mapping, bool *relative)
{
    struct mapping own = {take_root(json, mapping, "localRoot"),
                          take_root(json, mapping, "remoteRoot")};
    bool here = text_equal(own.remote, ".");
    *relative = *relative || here;
    if (here || text_empty(own.local) || text_empty(own.remote)) {
        free(own.local);
        free(own.remote);
        return;
    }
    if (map->count == map->room)
        map->items = mem_grow(map->items, map->count, &map->room, sizeof *map->items);
    map->items[map->count++] = own;
}

struct path_map *path_map_read(const char *json, struct span attach_arguments, bool *relative)
{
    struct path_map *map = mem_alloc(sizeof *map);
    struct span list, system, mapping;
    size_t cursor = 0;
    *relative = false;
    if (attach_arguments.len && scan_find(json, attach_arguments, "pathMappings", &list))
        while (json[list.at] == '[' && scan_element(json, list, &cursor, &mapping))
            add(map, json, mapping, relative);
    map->windows = attach_arguments.len && scan_find(json, attach_arguments, "clientOS", &system) &&
                   (scan_string_is(json, system, "windows") || scan_string_is(json, system, "win"));
    if (!map->count)
        path_map_destroy(&map);
    return map;
}

void path_map_destroy(struct path_map **map)
{
    struct path_map *it = *map;
    *map = NULL;
    for (size_t i = 0; it && i < it->count; i++) {
        free(it->items[i].local);
        free(it->items[i].remote);
    }
    if (it)
        free(it->items);
    free(it);
}

bool path_map_equal(const struct path_map *a, const struct path_map *b)
{
    if (!a || !b)
        return a == b;
    bool equal = a->count == b->count && a->windows == b->windows;
    for (size_t i = 0; equal && i < a->count; i++)
        equal = text_equal(a->items[i].local, b->items[i].local) &&
                text_equal(a->items[i].remote, b->items[i].remote);
    return equal;
}

/* A character of a path, in the form in which paths are compared. */
static char plain(char c, bool windows)
{
    if (!windows)
        return c;
    if (c == '\\')
        return '/';
    return (char)tolower((unsigned char)c);
}

/* The rest of `path` below `root`: "" for the root itself. NULL if it is not below. */
static const char *below(const char *path, const char *root, bool windows)
{
    size_t len = strlen(root);
    if (len == 1 && plain(*root, windows) == '/') {
        bool is_top = plain(*path, windows) == '/';
        return !is_top ? NULL : path[1] ? path : path + 1;
    }
    for (size_t i = 0; i < len; i++)
        if (plain(path[i], windows) != plain(root[i], windows))
            return NULL;
    return !path[len] || plain(path[len], windows) == '/' ? path + len : NULL;
}

static char *join(const char *root, const char *rest, char from, char to)
{
    bool is_top = text_equal(root, "/") || text_equal(root, "\\");
    char *path = mem_format("%s%s", is_top && *rest ? "" : root, rest);
    for (char *at = path + strlen(path) - strlen(rest); *at; at++)
        if (*at == from)
            *at = to;
    return path;
}

char *path_map_to_worker(const struct path_map *map, const char *path)
{
    for (size_t i = 0; map && i < map->count; i++) {
        const char *rest = below(path, map->items[i].local, map->windows);
        if (rest)
            return join(map->items[i].remote, rest, map->windows ? '\\' : '/', '/');
    }
    return NULL;
}

char *path_map_to_client(const struct path_map *map, const char *path)
{
    for (size_t i = 0; map && i < map->count; i++) {
        const char *rest = below(path, map->items[i].remote, false);
        if (rest)
            return join(map->items[i].local, rest, '/', map->windows ? '\\' : '/');
    }
    return NULL;
}
