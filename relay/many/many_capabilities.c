/* The capabilities of every session over many tasks, and those that one of its debuggees lacks. */
#include "relay/many/many_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/capabilities.h"

#include <stdlib.h>
#include <string.h>

/* The capabilities that a session over many tasks has of itself. */
static const char own[] = "\"supportsSingleThreadExecutionRequests\":true";
static const char filters_name[] = "exceptionBreakpointFilters";

static struct span whole(const char *json)
{
    return (struct span){0, json ? strlen(json) : 0};
}

/* True if its capabilities count: a debuggee that has sent none can do what debugpy can. */
static bool counts(const struct many_task *task)
{
    return task->capabilities && task->state != MANY_LEAVING && task->state != MANY_GONE;
}

/* The capabilities that count, equal ones once: a thousand debuggees have one or two. Interned. */
struct given {
    const char **items;
    size_t count;
};

static bool has_given(const struct given *given, const char *capabilities)
{
    for (size_t i = 0; i < given->count; i++)
        if (given->items[i] == capabilities)
            return true;
    return false;
}

static struct given find_given(const struct many *many)
{
    struct given given = {0};
    for (const struct many_task *task = many->targets; task; task = task->next) {
        if (!counts(task) || has_given(&given, task->capabilities))
            continue;
        given.items = mem_resize(given.items, given.count + 1, sizeof *given.items);
        given.items[given.count++] = task->capabilities;
    }
    return given;
}

static bool all_can(const struct given *given, const char *name)
{
    struct span at;
    for (size_t i = 0; i < given->count; i++) {
        const char *json = given->items[i];
        bool has = false;
        if (!(scan_find(json, whole(json), name, &at) && scan_boolean(json, at, &has) && has))
            return false;
    }
    return true;
}

static bool has_filter(const char *capabilities, const char *filter)
{
    struct span list, item, at;
    size_t cursor = 0;
    if (!scan_find(capabilities, whole(capabilities), filters_name, &list) ||
        capabilities[list.at] != '[')
        return false;
    while (scan_element(capabilities, list, &cursor, &item))
        if (scan_find(capabilities, item, "filter", &at) &&
            scan_string_is(capabilities, at, filter))
            return true;
    return false;
}

static bool all_have_filter(const struct given *given, const char *filter)
{
    for (size_t i = 0; i < given->count; i++)
        if (!has_filter(given->items[i], filter))
            return false;
    return true;
}

/* Appends the filters that all debuggees have, and in a run the one that needs none; true if
 * debuggees lack one. */
static bool add_filters(const struct many *many, const struct given *given, struct span list,
                        struct buf *out)
{
    const char *json = capabilities_default();
    struct span item;
    size_t cursor = 0;
    bool any = false, lacks = false;
    while (scan_element(json, list, &cursor, &item)) {
        char *filter = scan_string_at(json, item, "filter");
        if (all_have_filter(given, filter)) {
            buf_add_string(out, any ? "," : "");
            buf_add(out, json + item.at, item.len);
            any = true;
        } else {
            lacks = true;
        }
        free(filter);
    }
    if (many->attach->run)
        buf_printf(out, "%s%s", any ? "," : "", capabilities_launch_filter());
    return lacks;
}

/* True if the client was told that this is off: it is told again when no debuggee lacks it. */
static bool was_told(const struct many *many, const char *name)
{
    struct span at;
    char *path = mem_format("capabilities/%s", name);
    bool told = many->limits && scan_path(many->limits, whole(many->limits), path, &at);
    free(path);
    return told;
}

static void add_limit(const struct many *many, const struct given *given, const char *name,
                      struct span value, struct buf *out)
{
    bool on = false;
    struct buf filters = {0};
    if (text_equal(name, filters_name)) {
        if (add_filters(many, given, value, &filters) || was_told(many, name))
            buf_printf(out, ",\"%s\":[%s]", name, filters.data ? filters.data : "");
    } else if (scan_boolean(capabilities_default(), value, &on) && on) {
        bool can = all_can(given, name);
        if (!can || was_told(many, name))
            buf_printf(out, ",\"%s\":%s", name, can ? "true" : "false");
    }
    buf_free(&filters);
}

void many_capabilities_tell(struct many *many)
{
    const char *json = capabilities_default();
    struct buf limits = {0};
    struct span key, value;
    size_t cursor = 0;
    if (!many->initialized || many->leaving || many->over)
        return;
    struct given given = find_given(many);
    buf_printf(&limits, "{\"capabilities\":{%s", own);
    while (scan_member(json, whole(json), &cursor, &key, &value)) {
        char *name = scan_string(json, key);
        if (name && !strstr(own, name))
            add_limit(many, &given, name, value, &limits);
        free(name);
    }
    buf_add_string(&limits, "}}");
    free(given.items);
    if (!text_equal(limits.data, many->limits)) {
        free(many->limits);
        many->limits = mem_string(limits.data);
        client_event(many->client, "capabilities", limits.data);
    }
    buf_free(&limits);
}

void many_capabilities_joined(const struct many_task *task)
{
    for (const struct many_task *at = task->many->targets; at; at = at->next)
        if (at != task && (at->state == MANY_READY || at->state == MANY_RUNNING) &&
            at->capabilities == task->capabilities)
            return; /* equal capabilities were told when the other task joined */
    many_capabilities_tell(task->many);
}
