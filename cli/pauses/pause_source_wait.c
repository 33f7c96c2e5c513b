#include "cli/pauses/pause_source_wait.h"

#include "cli/common/terminal.h"

#include <stdio.h>

enum { AGAIN_MS = 100 };

struct refresh {
    struct err err;
    bool done;
};

static void on_refreshed(void *arg, const struct err *err)
{
    struct refresh *refresh = arg;
    if (err)
        refresh->err = *err;
    refresh->done = true;
}

int pause_source_wait_once(struct loop *loop, struct pause_source *origin, struct err *err)
{
    struct refresh refresh = {0};
    pause_source_refresh(origin, on_refreshed, &refresh);
    loop_run_until(loop, &refresh.done, -1);
    if (refresh.err.code)
        *err = refresh.err;
    return refresh.err.code ? -1 : 0;
}

int pause_source_wait(struct loop *loop, struct pause_source *origin,
                      bool (*enough)(void *arg, const struct pause_list *list), void *arg,
                      struct err *err)
{
    const bool never = false;
    char text[600];
    snprintf(text, sizeof text, "asking %s what is paused ...", pause_source_name(origin));
    struct progress *progress = progress_start(text);
    int64_t patience_ms = enough ? CLUSTER_NAMES_BUSY_MS : CLUSTER_NAMES_MS;
    int64_t until = loop_now_us() + patience_ms * 1000;
    int result = pause_source_wait_once(loop, origin, err);
    while (result == 0 && pause_source_names_pending(origin) && loop_now_us() < until &&
           !(enough && enough(arg, pause_source_pauses(origin)))) {
        loop_run_until(loop, &never, AGAIN_MS);
        result = pause_source_wait_once(loop, origin, err);
    }
    progress_stop(&progress);
    return result;
}
