#include "cli/pauses/task_watch.h"

#include "base/text.h"
#include "relay/io/loop.h"

#include <string.h>

/* The first question comes late: a program that reaches its next stop at once costs the cluster
 * nothing. */
enum { FIRST_MS = 300, LONGEST_MS = 2000, ANSWERS = 2 };

void watcher_start(struct watcher *watcher)
{
    watcher->finished = false;
    watcher->idle = 0;
    watcher->interval_ms = FIRST_MS;
    watcher->next_us = loop_now_us() + watcher->interval_ms * 1000;
}

void watcher_doubt(struct watcher *watcher)
{
    watcher->finished = false;
    watcher->idle = 0;
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
    if (err || !pause_is_over(watcher->pause, pause_source_pauses(watcher->origin)))
        watcher->idle = 0;
    else if (++watcher->idle >= ANSWERS)
        watcher->finished = true;
}

bool watcher_finished(struct watcher *watcher)
{
    if (!watcher->origin || !watcher->pause || !watcher->pause->worker_id[0] ||
        !watcher->pause->task_id[0])
        return false;
    if (!watcher->asking && !watcher->finished && loop_now_us() >= watcher->next_us) {
        watcher->asking = true;
        pause_source_refresh(watcher->origin, on_refreshed, watcher);
    }
    return watcher->finished;
}
