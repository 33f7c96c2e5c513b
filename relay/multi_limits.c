/* What every session over many can do, whatever its debuggees are; and what one of them lacks. */
#include "relay/multi_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/capabilities.h"

#include <stdlib.h>
#include <string.h>

/* What a multi says of itself. */
static const char own[] = "\"supportsDelayedStackTraceLoading\":false,"
                          "\"supportsSingleThreadExecutionRequests\":true";
static const char filters_name[] = "exceptionBreakpointFilters";

static struct span whole(const char *json)
{
    return (struct span){0, json ? strlen(json) : 0};
}

/* Whether what it can do counts: a debuggee without a word on it can do what debugpy can. */
static bool counts(const struct multi_target *target)
{
    return target->capabilities && target->state != MULTI_LEAVING && target->state != MULTI_GONE;
}

static bool all_can(const struct multi *multi, const char *name)
{
    struct span at;
    for (const struct multi_target *target = multi->targets; target; target = target->next) {
        bool has = false;
        if (counts(target) &&
            !(scan_find(target->capabilities, whole(target->capabilities), name, &at) &&
              scan_boolean(target->capabilities, at, &has) && has))
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

static bool all_have_filter(const struct multi *multi, const char *filter)
{
    for (const struct multi_target *target = multi->targets; target; target = target->next)
        if (counts(target) && !has_filter(target->capabilities, filter))
            return false;
    return true;
}

/* Appends the filters that all have; false if that is all of them. */
static bool add_filters(const struct multi *multi, struct span list, struct buf *out)
{
    const char *json = capabilities_default();
    struct span item, at;
    size_t cursor = 0;
    bool any = false, lacks = false;
    while (scan_element(json, list, &cursor, &item)) {
        char *filter = scan_find(json, item, "filter", &at) ? scan_string(json, at) : NULL;
        if (all_have_filter(multi, filter)) {
            buf_add_string(out, any ? "," : "");
            buf_add(out, json + item.at, item.len);
            any = true;
        } else {
            lacks = true;
        }
        free(filter);
    }
    return lacks;
}

/* What the client was told to be off is told to be on again when nobody lacks it any more. */
static bool was_told(const struct multi *multi, const char *name)
{
    struct span at;
    char *path = mem_format("capabilities/%s", name);
    bool told = multi->limits && scan_path(multi->limits, whole(multi->limits), path, &at);
    free(path);
    return told;
}

static void add_limit(const struct multi *multi, const char *name, struct span value,
                      struct buf *out)
{
    bool on = false;
    struct buf filters = {0};
    if (text_equal(name, filters_name)) {
        if (add_filters(multi, value, &filters) || was_told(multi, name))
            buf_printf(out, ",\"%s\":[%s]", name, filters.data ? filters.data : "");
    } else if (scan_boolean(capabilities_default(), value, &on) && on) {
        bool can = all_can(multi, name);
        if (!can || was_told(multi, name))
            buf_printf(out, ",\"%s\":%s", name, can ? "true" : "false");
    }
    buf_free(&filters);
}

void multi_limits_tell(struct multi *multi)
{
    const char *json = capabilities_default();
    struct buf limits = {0};
    struct span key, value;
    size_t cursor = 0;
    if (!multi->initialized || multi->leaving || multi->over)
        return;
    buf_printf(&limits, "{\"capabilities\":{%s", own);
    while (scan_member(json, whole(json), &cursor, &key, &value)) {
        char *name = scan_string(json, key);
        if (name && !strstr(own, name))
            add_limit(multi, name, value, &limits);
        free(name);
    }
    buf_add_string(&limits, "}}");
    if (!text_equal(limits.data, multi->limits)) {
        free(multi->limits);
        multi->limits = mem_string(limits.data);
        client_event(&multi->session->client, "capabilities", limits.data);
    }
    buf_free(&limits);
}

void multi_limits_joined(const struct multi_target *target)
{
    for (const struct multi_target *at = target->multi->targets; at; at = at->next)
        if (at != target && (at->state == MULTI_READY || at->state == MULTI_RUNNING) &&
            text_equal(at->capabilities, target->capabilities))
            return; /* what both can do was told when the other one joined */
    multi_limits_tell(target->multi);
}
