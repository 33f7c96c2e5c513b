#include "relay/stack/stopped_threads.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>

bool stopped_threads_empty(const struct stopped_threads *set)
{
    return set->count == 0 && !set->all;
}

static bool is_listed(const struct stopped_threads *set, int64_t id)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->ids[i] == id)
            return true;
    return false;
}

bool stopped_threads_has(const struct stopped_threads *set, int64_t id)
{
    return set->all || is_listed(set, id);
}

void stopped_threads_add(struct stopped_threads *set, int64_t id)
{
    if (is_listed(set, id))
        return;
    set->ids = mem_grow(set->ids, set->count, &set->room, sizeof *set->ids);
    set->ids[set->count++] = id;
}

void stopped_threads_remove(struct stopped_threads *set, int64_t id)
{
    set->all = false;
    for (size_t i = 0; i < set->count; i++)
        if (set->ids[i] == id)
            set->ids[i--] = set->ids[--set->count];
}

void stopped_threads_resume_all(struct stopped_threads *set)
{
    set->count = 0;
    set->all = false;
}

void stopped_threads_clear(struct stopped_threads *set)
{
    free(set->ids);
    *set = (struct stopped_threads){0};
}

static void on_stopped(struct stopped_threads *set, const char *json, const struct envelope *event,
                       bool has_id, int64_t id)
{
    scan_boolean_at(json, event->body, "allThreadsStopped", &set->all);
    if (has_id)
        stopped_threads_add(set, id);
}

static void on_continued(struct stopped_threads *set, const char *json,
                         const struct envelope *event, bool has_id, int64_t id)
{
    bool all = true; /* DAP: a missing allThreadsContinued means true */
    scan_boolean_at(json, event->body, "allThreadsContinued", &all);
    if (all)
        stopped_threads_resume_all(set);
    else if (has_id)
        stopped_threads_remove(set, id);
}

static void on_thread(struct stopped_threads *set, const char *json, const struct envelope *event,
                      bool has_id, int64_t id)
{
    struct span reason;
    if (has_id && scan_find(json, event->body, "reason", &reason) &&
        scan_string_is(json, reason, "exited"))
        stopped_threads_remove(set, id);
}

static void on_terminated(struct stopped_threads *set, const char *json,
                          const struct envelope *event, bool has_id, int64_t id)
{
    (void)json, (void)event, (void)has_id, (void)id;
    stopped_threads_resume_all(set);
}

static const struct {
    const char *event;
    void (*apply)(struct stopped_threads *set, const char *json, const struct envelope *event,
                  bool has_id, int64_t id);
} events[] = {
    {"stopped", on_stopped},
    {"continued", on_continued},
    {"thread", on_thread},
    {"terminated", on_terminated},
};

void stopped_threads_event(struct stopped_threads *set, const char *json,
                           const struct envelope *event)
{
    int64_t id = 0;
    bool has_id = scan_integer_at(json, event->body, "threadId", &id);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++)
        if (text_equal(event->name, events[i].event))
            events[i].apply(set, json, event, has_id, id);
}
