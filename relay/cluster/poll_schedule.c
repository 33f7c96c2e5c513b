#include "relay/cluster/poll_schedule.h"

#include "base/hash.h"

#include <stdlib.h>

static const int64_t second_us = 1000000;
enum { REST_TIMES = 4, REST_MOST_US = 2000000 };
enum { PATIENCE_US = 200000, PATIENCE_DOUBLINGS = 7 };

bool poll_schedule_takes_all(int64_t taken_us, size_t count, int64_t now_us)
{
    return taken_us == 0 || now_us - taken_us >= (int64_t)count * second_us / POLL_SCHEDULE_ROWS;
}

int64_t poll_schedule_rest_us(int64_t took_us, size_t waiting)
{
    int64_t fetched = (int64_t)waiting * second_us / POLL_SCHEDULE_WAITING_ROWS;
    int64_t slow = REST_TIMES * took_us;
    if (slow > REST_MOST_US)
        slow = REST_MOST_US;
    return fetched > slow ? fetched : slow;
}

/* The number of workers with an open debugger, by state. */
struct debugger_count {
    size_t waiting, attached;
};

static struct debugger_count count_debuggers(const struct cluster_view *view)
{
    struct debugger_count count = {0};
    for (size_t i = 0; i < view->worker_count; i++) {
        bool waits = view->workers[i].paused_threads > 0;
        count.waiting += cluster_view_has_debugger(&view->workers[i]) && waits;
        count.attached += cluster_view_has_debugger(&view->workers[i]) && !waits;
    }
    return count;
}

/* How long until a worker is asked again if its record does not change. */
static int64_t period_us(const struct debugger_count *count, bool waits)
{
    if (count->waiting + count->attached <= POLL_SCHEDULE_ALL)
        return 0;
    return waits ? (int64_t)count->waiting * second_us / POLL_SCHEDULE_WAITING_RATE
                 : (int64_t)count->attached * second_us / POLL_SCHEDULE_ATTACHED_RATE;
}

static void choose(const struct ray_worker *worker, struct cluster_view_running *running,
                   int64_t period, int64_t now_us)
{
    bool changed = running->debugger_port != worker->debugger_port ||
                   running->paused_threads != worker->paused_threads;
    bool first = !running->asked || changed;
    /* `again_us` may come from a longer period. A worker that answered is due at once if it would
     * have to wait longer than the current period. */
    bool due =
        now_us >= running->again_us || (!running->failures && running->again_us > now_us + period);
    running->wanted = first || due;
    if (!running->wanted)
        return;
    /* Spread by a hash, so that workers which were first asked together drift apart. */
    int64_t spread =
        first ? period / 1024 * (int64_t)(hash_text(worker->worker_id, 0) % 1024) : period;
    running->asked = true;
    running->moved = running->moved || changed;
    running->debugger_port = worker->debugger_port;
    running->paused_threads = worker->paused_threads;
    running->again_us = now_us + spread;
}

void poll_schedule_choose(struct cluster_view *view, int64_t now_us)
{
    struct debugger_count count = count_debuggers(view);
    for (size_t i = 0; i < view->worker_count; i++) {
        const struct ray_worker *worker = &view->workers[i];
        view->running[i].wanted = false;
        if (cluster_view_has_debugger(worker) && !view->running[i].dead)
            choose(worker, &view->running[i], period_us(&count, worker->paused_threads > 0),
                   now_us);
    }
}

void poll_schedule_answered(struct cluster_view_running *running, struct ray_worker_stats *stats,
                            int64_t now_us)
{
    if (stats || running->moved) {
        ray_worker_stats_clear(&running->stats);
        running->stats = stats ? *stats : (struct ray_worker_stats){0};
        running->known = stats != NULL;
    }
    if (stats) {
        running->moved = false;
        running->failures = 0;
        return;
    }
    if (running->failures < PATIENCE_DOUBLINGS)
        running->failures++;
    int64_t again = now_us + ((int64_t)PATIENCE_US << running->failures);
    if (running->again_us < again)
        running->again_us = again;
}
