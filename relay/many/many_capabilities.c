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

static bool all_can(const struct many *many, const char *name)
{
    struct span at;
    for (const struct many_task *task = many->targets; task; task = task->next) {
        bool has = false;
        if (counts(task) && !(scan_find(task->capabilities, whole(task->capabilities), name, &at) &&
                              scan_boolean(task->capabilities, at, &has) && has))
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

static bool all_have_filter(const struct many *many, const char *filter)
{
    for (const struct many_task *task = many->targets; task; task = task->next)
        if (counts(task) && !has_filter(task->capabilities, filter))
            return false;
    return true;
}

/* Appends the filters that all debuggees have, and in a run the one that needs none; true if
 * debuggees lack one. */
static bool add_filters(const struct many *many, struct span list, struct buf *out)
{
    const char *json = capabilities_default();
    struct span item;
    size_t cursor = 0;
    bool any = false, lacks = false;
    while (scan_element(json, list, &cursor, &item)) {
        char *filter = scan_string_at(json, item, "filter");
        if (all_have_filter(many, filter)) {
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

static void add_limit(const struct many *many, const char *name, struct span value, struct buf *out)
{
    bool on = false;
    struct buf filters = {0};
    if (text_equal(name, filters_name)) {
        if (add_filters(many, value, &filters) || was_told(many, name))
            buf_printf(out, ",\"%s\":[%s]", name, filters.data ? filters.data : "");
    } else if (scan_boolean(capabilities_default(), value, &on) && on) {
        bool can = all_can(many, name);
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
    buf_printf(&limits, "{\"capabilities\":{%s", own);
    while (scan_member(json, whole(json), &cursor, &key, &value)) {
        char *name = scan_string(json, key);
        if (name && !strstr(own, name))
            add_limit(many, name, value, &limits);
        free(name);
    }
    buf_add_string(&limits, "}}");
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
            text_equal(at->capabilities, task->capabilities))
            return; /* equal capabilities were told when the other task joined */
    many_capabilities_tell(task->many);
}
