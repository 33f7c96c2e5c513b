#include "cli/console_watch.h"

#include "base/text.h"
#include "relay/loop.h"

#include <string.h>

/* The first question comes late enough that a program that goes on to the next stop at once costs
 * the cluster nothing. */
enum { FIRST_MS = 300, LONGEST_MS = 2000, ANSWERS = 2 };

static bool runs(const struct pause *worker, const char *task_id)
{
    if (worker->state == PAUSE_IDLE)
        return false;
    if (!*task_id || !*worker->task_id || worker->ambiguous)
        return true;
    if (text_equal(worker->task_id, task_id))
        return true;
    for (size_t i = 0; i < worker->candidate_count; i++)
        if (text_equal(worker->candidates[i], task_id))
            return true;
    return false;
}

/* An actor's next call is another task, but the same debugging. */
bool watcher_is_over(const struct pause *pause, const struct pause_list *list)
{
    for (size_t i = 0; i < list->count; i++)
        if (text_equal(list->items[i].worker_id, pause->worker_id))
            return !runs(&list->items[i],
                         pause->ambiguous || *pause->actor_id ? "" : pause->task_id);
    return false; /* gone or not told: the debugger's connection says which */
}

void watcher_start(struct watcher *watcher)
{
    watcher->finished = false;
    watcher->idle = 0;
    watcher->interval_ms = FIRST_MS;
    watcher->next_us = loop_now_us() + watcher->interval_ms * 1000;
}

void watcher_rest(struct watcher *watcher)
{
    watcher->finished = false;
    watcher->next_us = INT64_MAX;
}

static void on_refreshed(void *arg, const struct err *err)
{
    struct watcher *watcher = arg;
    watcher->asking = false;
    watcher->next_us = loop_now_us() + watcher->interval_ms * 1000;
    if (watcher->interval_ms < LONGEST_MS)
        watcher->interval_ms += watcher->interval_ms / 4;
    if (err || !watcher_is_over(watcher->pause, origin_pauses(watcher->origin)))
        watcher->idle = 0;
    else if (++watcher->idle >= ANSWERS)
        watcher->finished = true;
}

bool watcher_finished(struct watcher *watcher)
{
    if (!watcher->origin || !watcher->pause || !watcher->pause->worker_id[0])
        return false;
    if (!watcher->asking && !watcher->finished && loop_now_us() >= watcher->next_us) {
        watcher->asking = true;
        origin_refresh(watcher->origin, on_refreshed, watcher);
    }
    return watcher->finished;
}
