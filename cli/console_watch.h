/* Whether the worker still runs the task: debugpy does not say, for the worker outlives it. */
#ifndef RAYDBG_CLI_CONSOLE_WATCH_H
#define RAYDBG_CLI_CONSOLE_WATCH_H

#include "cli/origin.h"
#include "relay/pause.h"

#include <stdbool.h>
#include <stdint.h>

/* All zero with no origin watches nothing. */
struct watcher {
    struct origin *origin;
    const struct pause *pause;
    bool asking;
    bool finished;
    int idle; /* answers in a row that the worker does not run it */
    int64_t next_us;
    int64_t interval_ms;
};

/* The task was let run: begins anew. */
void watcher_start(struct watcher *watcher);
/* Asks no more until it is started again. */
void watcher_rest(struct watcher *watcher);
/* To be called often; asks now and then. True once the task is over. */
bool watcher_finished(struct watcher *watcher);

/* Pure: whether `list` shows that the worker of `pause` runs it no more. */
bool watcher_is_over(const struct pause *pause, const struct pause_list *list);

#endif
