/* Finds out whether the worker still runs the task. debugpy does not report its end, because the
 * worker lives on. */
#ifndef RAYDBG_CLI_PAUSES_TASK_WATCH_H
#define RAYDBG_CLI_PAUSES_TASK_WATCH_H

#include "cli/pauses/pause_source.h"
#include "relay/pause/pause.h"

#include <stdbool.h>
#include <stdint.h>

/* All zero with no origin watches nothing, and neither does a pause without a task. */
struct watcher {
    struct pause_source *origin;
    const struct pause *pause;
    bool asking;
    bool finished;
    int idle; /* consecutive answers that the worker does not run the task */
    int64_t next_us;
    int64_t interval_ms;
};

/* Starts again, after the task was resumed. */
void watcher_start(struct watcher *watcher);
/* The worker itself does not confirm the end: asks on. */
void watcher_doubt(struct watcher *watcher);
/* Stops asking until the next watcher_start(). */
void watcher_rest(struct watcher *watcher);
/* Call it often: it asks now and then. True once the task is over. */
bool watcher_finished(struct watcher *watcher);

#endif
