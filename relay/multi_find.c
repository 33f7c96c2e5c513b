/* Looks for pauses that a multi is about, until it ends. */
#include "relay/multi_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/reach.h"

#include <stdlib.h>

/* Between looks LOOK_MS, and for each target, whose worker is asked each time (some 70 us of CPU),
 * 1 ms after a task has joined, and up to REST_MS once none does; and at most a part in LOOK_SHARE
 * + 1 of the time is spent looking at a slow cluster. */
enum { LOOK_MS = 150, REST_MS = 7, LOOK_SHARE = 3, SLOW_MS = 5000, UNREACHABLE_MS = 30000 };

/* A pause that is let alone for a while. */
struct shunned {
    struct shunned *next;
    struct pause pause;
    int64_t until_us;
};

struct multi_find {
    struct multi *multi;
    struct cluster *cluster;
    struct shunned *shunned;
    struct timer *timer;
    bool looking;
    bool looked;
    bool joined; /* by this look */
    int64_t look_us;
    int64_t spacing_ms; /* the last pause between looks */
    int64_t names_us;   /* how long a name may still turn up that makes a pause match */
};

static void look(void *arg);

static void look_in(struct multi_find *find, int64_t ms)
{
    if (!find->looking && !find->timer)
        find->timer = timer_start(find->multi->loop, ms, look, find);
}

bool multi_find_looked(const struct multi_find *find)
{
    return find->looked;
}

static struct multi_target *target_of(const struct multi *multi, const struct pause *pause)
{
    for (struct multi_target *at = multi->targets; at; at = at->next)
        if (at->state != MULTI_GONE && pause_same(&at->pause, pause))
            return at;
    return NULL;
}

/* --- those that are let alone --- */

void multi_find_shun(struct multi_find *find, const struct pause *pause, int64_t ms)
{
    struct shunned *it = mem_alloc(sizeof *it);
    pause_copy(&it->pause, pause);
    it->until_us = loop_now_us() + ms * 1000;
    it->next = find->shunned;
    find->shunned = it;
}

static bool is_shunned(struct multi_find *find, const struct pause *pause)
{
    for (struct shunned **at = &find->shunned; *at;) {
        struct shunned *it = *at;
        if (it->until_us > loop_now_us()) {
            if (pause_same(&it->pause, pause))
                return true;
            at = &it->next;
            continue;
        }
        *at = it->next;
        pause_clear(&it->pause);
        free(it);
    }
    return false;
}

/* --- a look --- */

/* Facts that came late: the task's name; another task runs in the worker. */
static void update(struct multi_target *target, const struct pause *pause)
{
    bool named = pause->task_name && !text_equal(pause->task_name, target->pause.task_name);
    if (named) {
        free(target->pause.task_name);
        target->pause.task_name = mem_string(pause->task_name);
        text_copy(target->pause.task_id, sizeof target->pause.task_id, pause->task_id);
        text_copy(target->pause.job_id, sizeof target->pause.job_id, pause->job_id);
    }
    if (pause->actor_name && !target->pause.actor_name) {
        target->pause.actor_name = mem_string(pause->actor_name);
        named = true;
    }
    if (named)
        multi_threads_rename(target);
    multi_jobs_note(target->multi->jobs, pause->job_id);
    if (pause->state == PAUSE_IDLE && target->state == MULTI_RUNNING)
        multi_threads_leave(target, false);
}

static bool is_wanted(const struct multi *multi, const struct pause *pause)
{
    return (pause->state == PAUSE_WAITING || pause->state == PAUSE_HELD) &&
           pause_filter_matches(&multi->session->attach.many, pause);
}

static void take(struct multi_find *find, const struct pause *pause)
{
    struct multi *multi = find->multi;
    struct multi_target *target = target_of(multi, pause);
    char title[256], line[1600];
    struct err err;
    if (target) {
        update(target, pause);
    } else if (!is_wanted(multi, pause) || is_shunned(find, pause)) {
        return;
    } else if (reach_check(pause, &err) != 0) {
        pause_title(pause, title, sizeof title);
        err_line(&err, line, sizeof line);
        multi_say(multi, "console", "raydbg: %s: %s\n", title, line);
        multi_find_shun(find, pause, UNREACHABLE_MS);
    } else {
        find->joined = true;
        multi_add(multi, pause);
    }
}

/* With names only, and none of them there: the user has mistaken one. True if the attach failed. */
static bool is_mistaken(struct multi_find *find, const struct pause_list *list)
{
    struct multi *multi = find->multi;
    const struct pause_filter *many = &multi->session->attach.many;
    const struct pause *pause;
    struct err err;
    if (find->looked || multi->targets || pause_filter_is_open(many) ||
        finder_choose(list, many->tasks[0], cluster_address(find->cluster), &pause, &err) == 0)
        return false;
    if (cluster_names_pending(find->cluster) && loop_now_us() < find->names_us) {
        look_in(find, LOOK_MS);
        return true;
    }
    multi_fail(multi, &err);
    return true;
}

static int64_t next_spacing(struct multi_find *find, int64_t took_ms)
{
    int64_t count = (int64_t)find->multi->target_count;
    int64_t least = LOOK_MS + count, most = LOOK_MS + REST_MS * count;
    int64_t ms = find->joined ? least : find->spacing_ms + find->spacing_ms / 4;
    ms = ms < least ? least : ms;
    ms = ms > most ? most : ms;
    ms = ms < took_ms * LOOK_SHARE ? took_ms * LOOK_SHARE : ms;
    find->spacing_ms = ms < SLOW_MS ? ms : SLOW_MS;
    return find->spacing_ms;
}

static void on_looked(void *arg, const struct err *err)
{
    struct multi_find *find = arg;
    struct multi *multi = find->multi;
    int64_t took_ms = (loop_now_us() - find->look_us) / 1000;
    struct pause_list list = {0};
    static const struct pause_list none;
    find->looking = find->joined = false;
    if (err && !find->looked) {
        multi_fail(multi, err);
        return;
    }
    const struct pause_list *pauses = err ? &none : cluster_pauses(find->cluster);
    if (multi->session->options.hubs) {
        hubs_list(multi->session->options.hubs, pauses, &list);
        pauses = &list;
    }
    for (size_t i = 0; i < pauses->count; i++)
        take(find, &pauses->items[i]);
    bool mistaken = is_mistaken(find, pauses);
    pause_list_clear(&list);
    if (mistaken)
        return;
    find->looked = true;
    multi_proceed(multi);
    if (multi->configured && !multi->target_count &&
        multi_jobs_are_over(multi->jobs, find->cluster)) {
        multi_end(multi, "nothing more can pause: what this session was about is over");
        return;
    }
    look_in(find, next_spacing(find, took_ms));
}

static void look(void *arg)
{
    struct multi_find *find = arg;
    find->timer = NULL;
    find->looking = true;
    find->look_us = loop_now_us();
    cluster_refresh(find->cluster, on_looked, find);
}

struct multi_find *multi_find_start(struct multi *multi)
{
    struct err err;
    struct multi_find *find = mem_alloc(sizeof *find);
    find->multi = multi;
    find->names_us = loop_now_us() + (int64_t)CLUSTER_NAMES_BUSY_MS * 1000;
    find->cluster = finder_use_cluster(multi->session->finder, &multi->session->attach, &err);
    if (find->cluster)
        look_in(find, 0);
    else
        multi_fail(multi, &err);
    return find;
}

void multi_find_stop(struct multi_find **find)
{
    struct multi_find *it = *find;
    if (!it)
        return;
    *find = NULL;
    timer_cancel(&it->timer);
    if (it->cluster)
        cluster_refresh_cancel(it->cluster, it);
    while (it->shunned) {
        struct shunned *next = it->shunned->next;
        pause_clear(&it->shunned->pause);
        free(it->shunned);
        it->shunned = next;
    }
    free(it);
}
