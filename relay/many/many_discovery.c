/* Looks for the pauses that a session over many tasks is about, until it ends. */
#include "relay/many/many_state.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/pause/pause_reach.h"

#include <stdlib.h>

/* Looks are LOOK_MS apart, plus, for each task, 1 ms after one has joined, growing to REST_MS while
 * none does: each look asks the worker of every task (some 70 us of CPU). A slow cluster is left
 * alone for LOOK_SHARE times as long as a look took, SLOW_MS at most. */
enum { LOOK_MS = 150, REST_MS = 7, LOOK_SHARE = 3, SLOW_MS = 5000, UNREACHABLE_MS = 30000 };

/* A pause that must not join for a while. */
struct shunned {
    struct shunned *next;
    struct pause pause;
    int64_t until_us;
};

struct many_discovery {
    uint32_t magic;
    struct many *many;
    many_discovery_over_fn on_over;
    struct cluster *cluster;
    struct shunned *shunned;
    struct timer *timer;
    bool looking;
    bool looked;
    bool joined; /* a task has joined in this look */
    int64_t look_us;
    int64_t spacing_ms; /* the last time between looks */
    int64_t names_us;   /* until when a name may still appear that makes a pause match */
};
INVARIANT_MAGIC(many_discovery, 0x8c773fe6)
#define many_discovery_checked(object) many_discovery_checked_at(INVARIANT_HERE, object)

static void look(void *arg);

static void look_in(struct many_discovery *find, int64_t ms)
{
    if (!find->looking && !find->timer)
        find->timer = timer_start(find->many->loop, ms, look, find);
}

static struct many_task *target_of(const struct many *many, const struct pause *pause)
{
    for (struct many_task *at = many->targets; at; at = at->next)
        if (at->state != MANY_GONE && pause_same(&at->pause, pause))
            return at;
    return NULL;
}

/* The attach cannot succeed. */
static void fail(struct many *many, const struct err *err)
{
    many->over = true;
    session_fail_attach(many->session, err);
}

/* --- shunned pauses --- */

void many_discovery_shun(struct many_discovery *find, const struct pause *pause, int64_t ms)
{
    struct shunned *it = mem_alloc(sizeof *it);
    pause_copy(&it->pause, pause);
    it->until_us = loop_now_us() + ms * 1000;
    it->next = find->shunned;
    find->shunned = it;
}

static bool is_shunned(struct many_discovery *find, const struct pause *pause)
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

/* True if the worker runs a task now that is not the one known. Of several tasks any may be the one
 * that is paused. */
static bool runs_another(const struct many_task *task, const struct pause *pause)
{
    return *pause->task_id && !pause->ambiguous && !text_equal(pause->task_id, task->pause.task_id);
}

/* Takes in facts that came late: a name; another task, or none, in the worker. */
static void update(struct many_task *task, const struct pause *pause)
{
    bool named = pause->task_name && !text_equal(pause->task_name, task->pause.task_name);
    bool another = runs_another(task, pause);
    bool first = !*task->pause.task_id;
    if (named) {
        free(task->pause.task_name);
        task->pause.task_name = mem_string(pause->task_name);
    }
    if (named || another) {
        text_copy(task->pause.task_id, sizeof task->pause.task_id, pause->task_id);
        text_copy(task->pause.job_id, sizeof task->pause.job_id, pause->job_id);
    }
    if (pause->actor_name && !task->pause.actor_name) {
        task->pause.actor_name = mem_string(pause->actor_name);
        named = true;
    }
    if (named)
        many_names_renew(task);
    if (another && !first)
        many_rank_renew(task);
    many_jobs_note(task->many->jobs, pause->job_id);
    if (pause->state == PAUSE_IDLE)
        many_threads_idle(task);
}

static bool is_wanted(const struct many *many, const struct pause *pause)
{
    const struct session_runs *runs = many->options->runs;
    const char *run = many->attach->run;
    return (pause->state == PAUSE_WAITING || pause->state == PAUSE_HELD) &&
           pause_filter_matches(&many->attach->many, pause) &&
           (!run || runs->has(runs->arg, run, pause));
}

static void take(struct many_discovery *find, const struct pause *pause)
{
    struct many *many = find->many;
    struct many_task *task = target_of(many, pause);
    char title[256], line[1600];
    struct err err;
    if (task) {
        update(task, pause);
    } else if (!is_wanted(many, pause) || is_shunned(find, pause)) {
        return;
    } else if (pause_reach_check(pause, &err) != 0) {
        if (pause_reach_is_early(pause))
            return;
        pause_title(pause, title, sizeof title);
        err_line(&err, line, sizeof line);
        many_say(many, "console", "raydbg: %s: %s\n", title, line);
        many_discovery_shun(find, pause, UNREACHABLE_MS);
    } else {
        find->joined = true;
        many_join(many, pause, !find->looked);
    }
}

/* True if the attach is about names only and none of them is there: it has then failed, or another
 * look follows, because a name may still appear. */
static bool is_mistaken(struct many_discovery *find, const struct pause_list *list)
{
    struct many *many = find->many;
    const struct pause_filter *filter = &many->attach->many;
    const struct pause *pause;
    struct err err;
    if (find->looked || many->attach->run || many->targets || pause_filter_is_open(filter) ||
        pause_finder_choose(list, filter->tasks[0], cluster_address(find->cluster), &pause, &err) ==
            0)
        return false;
    if (cluster_names_pending(find->cluster) && loop_now_us() < find->names_us) {
        look_in(find, LOOK_MS);
        return true;
    }
    fail(many, &err);
    return true;
}

static int64_t next_spacing(struct many_discovery *find, int64_t took_ms)
{
    int64_t count = (int64_t)find->many->target_count;
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
    struct many_discovery *find = many_discovery_checked(arg);
    struct many *many = find->many;
    int64_t took_ms = (loop_now_us() - find->look_us) / 1000;
    struct pause_list list = {0};
    static const struct pause_list none;
    find->looking = find->joined = false;
    if (err && !find->looked && !many->attach->run) {
        fail(many, err);
        return;
    }
    const struct pause_list *pauses = err || !find->cluster ? &none : cluster_pauses(find->cluster);
    if (many->options->hubs) {
        hub_table_list(many->options->hubs, pauses, &list);
        pauses = &list;
    }
    for (size_t i = 0; i < pauses->count; i++)
        take(find, &pauses->items[i]);
    bool mistaken = is_mistaken(find, pauses);
    pause_list_clear(&list);
    if (mistaken)
        return;
    find->looked = true;
    many_join_proceed(many);
    many_breakpoints_look(many->sets);
    /* A run's client knows when the run is over. */
    if (!many->attach->run && many->configured && !many->target_count &&
        many_jobs_are_over(many->jobs, find->cluster)) {
        find->on_over(many);
        return;
    }
    look_in(find, next_spacing(find, took_ms));
}

static struct cluster *use_cluster(const struct many *many, struct err *err)
{
    return pause_finder_use_cluster(session_finder(many->session), many->attach, err);
}

/* The cluster of a run may become known only when its first worker dials. */
static void look(void *arg)
{
    struct many_discovery *find = many_discovery_checked(arg);
    struct err err;
    find->timer = NULL;
    find->looking = true;
    find->look_us = loop_now_us();
    if (!find->cluster)
        find->cluster = use_cluster(find->many, &err);
    if (find->cluster)
        cluster_refresh(find->cluster, on_looked, find);
    else
        on_looked(find, NULL);
}

struct many_discovery *many_discovery_start(struct many *many, many_discovery_over_fn on_over)
{
    struct err err;
    struct many_discovery *find = mem_alloc(sizeof *find);
    many_discovery_set_magic(find);
    find->many = many;
    find->on_over = on_over;
    find->names_us = loop_now_us() + (int64_t)CLUSTER_NAMES_BUSY_MS * 1000;
    find->cluster = use_cluster(many, &err);
    if (many->attach->run && !many->options->runs)
        err_set(&err, ERR_USAGE, "attach: \"run\" is for a relay, and there is none");
    else if (find->cluster || many->attach->run) {
        look_in(find, 0);
        return find;
    }
    fail(many, &err);
    return find;
}

void many_discovery_stop(struct many_discovery **find)
{
    struct many_discovery *it = *find;
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
    many_discovery_clear_magic(it);
    free(it);
}
