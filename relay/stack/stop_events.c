#include "relay/stack/stop_events.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void run(struct stop *stop)
{
    free(stop->json);
    stop->json = NULL;
    stop->len = 0;
}

void stop_events_clear(struct stop_events *stops)
{
    for (size_t i = 0; i < stops->count; i++)
        run(&stops->items[i]);
    free(stops->items);
    *stops = (struct stop_events){0};
}

static void remove_thread(struct stop_events *stops, int64_t thread)
{
    size_t kept = 0;
    for (size_t i = 0; i < stops->count; i++) {
        if (stops->items[i].thread == thread)
            run(&stops->items[i]);
        else
            stops->items[kept++] = stops->items[i];
    }
    stops->count = kept;
}

static bool knows(const struct stop_events *stops, int64_t thread)
{
    for (size_t i = 0; i < stops->count; i++)
        if (stops->items[i].thread == thread)
            return true;
    return false;
}

static void add(struct stop_events *stops, int64_t thread, const char *json, size_t len)
{
    stops->items = mem_resize(stops->items, stops->count + 1, sizeof *stops->items);
    stops->items[stops->count++] =
        (struct stop){thread, json ? mem_string_n(json, len) : NULL, len};
}

void stop_events_resume(struct stop_events *stops, int64_t thread, bool all)
{
    for (size_t i = 0; i < stops->count; i++)
        if (all || stops->items[i].thread == thread)
            run(&stops->items[i]);
}

void stop_events_take(struct stop_events *stops, int64_t thread, bool all,
                      struct stop_events *taken)
{
    for (size_t i = 0; i < stops->count; i++) {
        const struct stop *stop = &stops->items[i];
        if (stop->json && (all || stop->thread == thread))
            add(taken, stop->thread, stop->json, stop->len);
    }
    stop_events_resume(stops, thread, all);
}

static void on_continued(struct stop_events *stops, const char *json, const struct envelope *event,
                         int64_t thread)
{
    bool all = true; /* DAP: a missing allThreadsContinued means true */
    scan_boolean_at(json, event->body, "allThreadsContinued", &all);
    stop_events_resume(stops, thread, all);
}

static void on_thread(struct stop_events *stops, const char *json, const struct envelope *event,
                      int64_t thread)
{
    struct span reason;
    if (scan_find(json, event->body, "reason", &reason) && scan_string_is(json, reason, "exited"))
        remove_thread(stops, thread);
    else if (!knows(stops, thread))
        add(stops, thread, NULL, 0);
}

void stop_events_event(struct stop_events *stops, const char *json, size_t len,
                       const struct envelope *event)
{
    int64_t thread = -1;
    if (text_equal(event->name, "terminated")) {
        stop_events_clear(stops);
        return;
    }
    if (!scan_integer_at(json, event->body, "threadId", &thread))
        return;
    if (text_equal(event->name, "stopped")) {
        remove_thread(stops, thread);
        add(stops, thread, json, len);
    } else if (text_equal(event->name, "continued")) {
        on_continued(stops, json, event, thread);
    } else if (text_equal(event->name, "thread")) {
        on_thread(stops, json, event, thread);
    }
}

bool stop_events_runs(const struct stop_events *stops, int64_t thread)
{
    for (size_t i = 0; i < stops->count; i++)
        if (stops->items[i].thread == thread)
            return !stops->items[i].json;
    return false;
}

bool stop_events_any(const struct stop_events *stops)
{
    return stop_events_last(stops) != NULL;
}

const struct stop *stop_events_last(const struct stop_events *stops)
{
    for (size_t i = stops->count; i > 0; i--)
        if (stops->items[i - 1].json)
            return &stops->items[i - 1];
    return NULL;
}

void stop_events_save(const struct stop_events *stops, struct buf *out)
{
    buf_add_string(out, "[");
    for (size_t i = 0; i < stops->count; i++)
        buf_printf(out,
                   "%s{\"seq\":0,\"type\":\"event\",\"event\":\"thread\",\"body\":{\"reason\":"
                   "\"started\",\"threadId\":%" PRId64 "}}",
                   i ? "," : "", stops->items[i].thread);
    for (size_t i = 0; i < stops->count; i++) {
        if (!stops->items[i].json)
            continue;
        buf_add_string(out, ",");
        buf_add(out, stops->items[i].json, stops->items[i].len);
    }
    buf_add_string(out, "]");
}
