#include "relay/breakpoints/breakpoint_store.h"

#include "base/file.h"
#include "base/invariant.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MOST = 32 * 1024 * 1024 };

struct breakpoint_store {
    char *path; /* NULL: in memory only */
    struct file_breakpoint *items;
    size_t count;
    int64_t last_id;
};

/* --- the file --- */

static bool read_file(const char *path, struct buf *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    ssize_t len = 0;
    while (fd >= 0 && out->len < FILE_MOST && (len = read(fd, buf_reserve(out, 65536), 65536)) > 0)
        out->len += (size_t)len;
    if (fd >= 0)
        close(fd);
    return fd >= 0 && len == 0;
}

static void append(struct breakpoint_store *store, const struct file_breakpoint *breakpoint)
{
    store->items = mem_resize(store->items, store->count + 1, sizeof *store->items);
    store->items[store->count++] = *breakpoint;
    if (breakpoint->id > store->last_id)
        store->last_id = breakpoint->id;
}

static bool load(struct breakpoint_store *store, const struct buf *text)
{
    struct scan scan;
    struct span all, element;
    size_t cursor = 0;
    struct err err;
    struct file_breakpoint one;
    const char *json = text->data ? text->data : "";
    scan_init(&scan, json, text->len);
    if (!scan_value(&scan, &all) || !scan_end(&scan) || json[all.at] != '[')
        return false;
    while (scan_element(json, all, &cursor, &element)) {
        if (file_breakpoint_read(&one, json, element, &err) != 0)
            return false;
        if (one.id <= 0) {
            file_breakpoint_clear(&one);
            return false;
        }
        append(store, &one);
    }
    return true;
}

static void render(const struct breakpoint_store *store, struct buf *out)
{
    buf_add_string(out, "[");
    for (size_t i = 0; i < store->count; i++) {
        buf_add_string(out, i ? ",\n" : "");
        file_breakpoint_json(&store->items[i], out);
        buf_add_string(out, "}");
    }
    buf_add_string(out, "]\n");
}

static void save(const struct breakpoint_store *store)
{
    struct buf text = {0};
    render(store, &text);
    if (store->path && file_replace(store->path, &text) != 0)
        log_warn("%s: %s: the next relay will not know these breakpoints", store->path,
                 strerror(errno));
    buf_free(&text);
}

/* --- */

struct breakpoint_store *breakpoint_store_create(const char *path)
{
    struct breakpoint_store *store = mem_alloc(sizeof *store);
    struct buf text = {0};
    store->path = mem_string(path);
    if (path && read_file(path, &text) && !load(store, &text))
        log_warn("%s is not a list of breakpoints: not all of it was read", path);
    buf_free(&text);
    return store;
}

void breakpoint_store_destroy(struct breakpoint_store **store)
{
    struct breakpoint_store *it = *store;
    if (!it)
        return;
    *store = NULL;
    for (size_t i = 0; i < it->count; i++)
        file_breakpoint_clear(&it->items[i]);
    free(it->items);
    free(it->path);
    free(it);
}

static void drop(struct breakpoint_store *store, size_t i)
{
    file_breakpoint_clear(&store->items[i]);
    memmove(store->items + i, store->items + i + 1, (store->count - i - 1) * sizeof *store->items);
    invariant(store->count > 0);
    store->count--;
}

static bool is_at(const struct file_breakpoint *breakpoint, const char *file, int64_t line)
{
    return breakpoint->line == line && text_equal(breakpoint->file, file);
}

int breakpoint_store_add(struct breakpoint_store *store, struct file_breakpoint *breakpoint,
                         struct err *err)
{
    for (size_t i = 0; i < store->count; i++)
        if (is_at(&store->items[i], breakpoint->file, breakpoint->line) &&
            text_equal(store->items[i].run, breakpoint->run))
            drop(store, i);
    if (store->count >= BREAKPOINT_STORE_MOST) {
        err_set(err, ERR_FAILED, "the relay has %d breakpoints, and takes no more",
                BREAKPOINT_STORE_MOST);
        return err_hint(err, "raydbg break --clear removes them");
    }
    breakpoint->id = ++store->last_id;
    append(store, breakpoint);
    save(store);
    return 0;
}

static struct file_breakpoint *find(const struct breakpoint_store *store, int64_t id)
{
    for (size_t i = 0; i < store->count; i++)
        if (store->items[i].id == id)
            return &store->items[i];
    return NULL;
}

bool breakpoint_store_remove(struct breakpoint_store *store, int64_t id)
{
    const struct file_breakpoint *breakpoint = find(store, id);
    if (!breakpoint)
        return false;
    drop(store, (size_t)(breakpoint - store->items));
    save(store);
    return true;
}

void breakpoint_store_note_problem(struct breakpoint_store *store, int64_t id, const char *problem)
{
    struct file_breakpoint *breakpoint = find(store, id);
    if (!breakpoint)
        return;
    free(breakpoint->problem);
    breakpoint->problem = mem_string(problem);
}

const struct file_breakpoint *breakpoint_store_count(struct breakpoint_store *store, int64_t id,
                                                     bool *spent)
{
    struct file_breakpoint *breakpoint = find(store, id);
    bool stops = breakpoint && file_breakpoint_count(breakpoint);
    *spent = stops && file_breakpoint_is_spent(breakpoint);
    if (*spent)
        save(store);
    return stops ? breakpoint : NULL;
}

const struct file_breakpoint *breakpoint_store_at(const struct breakpoint_store *store, size_t i)
{
    return i < store->count ? &store->items[i] : NULL;
}

const struct file_breakpoint *breakpoint_store_find(const struct breakpoint_store *store,
                                                    int64_t id)
{
    return find(store, id);
}

/* True if a process of this run there is to have it. */
static bool is_for(const struct file_breakpoint *breakpoint, const struct breakpoint_node *node,
                   const char *run)
{
    bool anothers = breakpoint->run && *run && !text_equal(breakpoint->run, run);
    return !anothers && file_breakpoint_reaches(breakpoint, node);
}

bool breakpoint_store_reaches(const struct breakpoint_store *store,
                              const struct breakpoint_node *node, const char *run)
{
    for (size_t i = 0; i < store->count; i++)
        if (is_for(&store->items[i], node, run))
            return true;
    return false;
}

static bool has_from(const struct breakpoint_store *store, size_t first, const char *file,
                     int64_t line, const struct breakpoint_node *node, const char *run)
{
    for (size_t i = first; i < store->count; i++)
        if (is_at(&store->items[i], file, line) && is_for(&store->items[i], node, run))
            return true;
    return false;
}

bool breakpoint_store_has(const struct breakpoint_store *store, const char *file, int64_t line,
                          const struct breakpoint_node *node, const char *run)
{
    return has_from(store, 0, file, line, node, run);
}

void breakpoint_store_dap(const struct breakpoint_store *store, const char *file,
                          const struct breakpoint_node *node, const char *run, struct buf *out)
{
    const char *between = "";
    for (size_t i = 0; i < store->count; i++) {
        const struct file_breakpoint *it = &store->items[i];
        if (!text_equal(it->file, file) || !is_for(it, node, run) ||
            has_from(store, i + 1, file, it->line, node, run))
            continue;
        buf_add_string(out, between);
        file_breakpoint_dap(it, out);
        between = ",";
    }
}

void breakpoint_store_each_file(const struct breakpoint_store *store,
                                void (*fn)(void *arg, const char *file), void *arg)
{
    for (size_t i = 0; i < store->count; i++) {
        bool seen = false;
        for (size_t before = 0; before < i; before++)
            seen = seen || text_equal(store->items[before].file, store->items[i].file);
        if (!seen)
            fn(arg, store->items[i].file);
    }
}
