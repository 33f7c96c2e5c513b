#include "relay/hub/hub_table.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/wall_clock.h"
#include "relay/hub/hub_table_state.h"
#include "relay/pause/pause_index.h"
#include "relay/pause/pause_reach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Attaches under way at a time that the relay began itself: each debuggee must get its answers
 * within seconds, and one relay serves them all. */
enum { ATTACHING_MOST = 256 };
enum { TICK_MS = 1000, WARN_MS = 60000, RETRY_MS = 10000, WANTED_MS = 600000, NAMED_MS = 5000 };
/* With HUB_ON_LOSS: how long a task may run without a client, because a step may be under way; and
 * before its first stop. */
enum { RUNNING_MS = 10000, STARTING_MS = 30000 };

const char hub_table_initialize_arguments[] =
    "{\"clientID\":\"raydbg\",\"clientName\":\"raydbg relay\",\"adapterID\":\"debugpy\","
    "\"linesStartAt1\":true,\"columnsStartAt1\":true,\"pathFormat\":\"path\","
    "\"supportsVariableType\":true}";
/* With the settings that raydbg's console and extension ask for: a client that joins later has to
 * take what is there. */
static const char attach_arguments[] = HUB_TABLE_ATTACH_ARGUMENTS(",\"redirectOutput\":true");

void hub_table_set_cluster(struct hub_table *hubs, struct cluster *cluster)
{
    hubs->options.cluster = cluster;
}

struct cluster *hub_table_cluster(const struct hub_table *hubs)
{
    return hubs->options.cluster;
}

const struct pause_history *hub_table_history(const struct hub_table *hubs)
{
    return &hubs->history;
}

const char *hub_table_name(const struct hub_table *hubs)
{
    return hubs->options.name;
}

enum hub_hold hub_table_hold(const struct hub_table *hubs)
{
    return hubs->options.hold;
}

/* --- life of a hub --- */

const char *hub_table_failure(const struct hub_table *hubs, const struct pause *pause)
{
    return failures_problem(&hubs->failures, pause);
}

bool hub_table_wants_any(const struct hub_table *hubs)
{
    return failures_any_lost(&hubs->failures);
}

static void note_lost(struct hub_table *hubs, struct entry *entry)
{
    if (entry->noted || !hub_was_cut(entry->hub))
        return;
    entry->noted = true;
    failures_add(&hubs->failures, hub_pause(entry->hub), WANTED_MS, NULL);
}

/* Notes when the debuggee's pause begins, what is known of it, and when it ends. The entry may not
 * have its hub yet, which is being taken over. */
static void note_pause(struct entry *entry, const struct hub *hub, bool is_paused)
{
    struct pause_history *history = &entry->hubs->history;
    struct pause pause;
    if (!is_paused) {
        pause_history_end(history, entry->paused, wall_clock_ms());
        entry->paused = 0;
        return;
    }
    pause_copy(&pause, hub_pause(hub));
    hub_describe(hub, &pause);
    if (entry->paused)
        pause_history_renew(history, entry->paused, &pause);
    else
        entry->paused = pause_history_begin(history, &pause, wall_clock_ms());
}

static void sweep(void *arg)
{
    struct hub_table *hubs = hub_table_checked(arg);
    hubs->sweep = NULL;
    for (struct entry **at = &hubs->first; *at;) {
        struct entry *entry = *at;
        if (!hub_is_over(entry->hub) || hub_members(entry->hub) || !hub_is_finished(entry->hub)) {
            at = &entry->next;
            continue;
        }
        const struct err *problem = hub_problem(entry->hub);
        if (problem && entry->by_itself) {
            log_warn("%s", problem->what);
            failures_add(&hubs->failures, hub_pause(entry->hub), RETRY_MS, problem->what);
        }
        note_lost(hubs, entry);
        if (hub_table_is_accepted(entry->hub) && hubs->ops->on_end)
            hubs->ops->on_end(hubs->arg, entry->hub);
        *at = entry->next;
        hash_index_remove(&hubs->endpoint_index, entry->endpoint_hash, (uintptr_t)entry);
        hub_destroy(&entry->hub);
        free(entry);
    }
    hubs->ops->on_change(hubs->arg);
}

static void on_over(void *arg, struct hub *hub)
{
    struct entry *entry = arg;
    note_pause(entry, hub, false);
    if (!entry->hubs->sweep)
        entry->hubs->sweep = timer_start(entry->hubs->options.loop, 0, sweep, entry->hubs);
}

static void on_change(void *arg, struct hub *hub)
{
    struct entry *entry = arg;
    entry->stood = entry->stood || hub_stands(hub);
    note_pause(entry, hub, *hub_reason(hub) && !hub_is_over(hub));
    entry->hubs->ops->on_change(entry->hubs->arg);
    if (hub_table_is_accepted(hub) && entry->hubs->ops->on_hub_change)
        entry->hubs->ops->on_hub_change(entry->hubs->arg, hub);
}

static void on_ready(void *arg, struct hub *hub)
{
    const struct entry *entry = arg;
    if (hub_table_is_accepted(hub) && entry->hubs->ops->on_ready)
        entry->hubs->ops->on_ready(entry->hubs->arg, hub);
}

static void on_own_set(void *arg, struct hub *hub, const char *json,
                       const struct envelope *response)
{
    const struct entry *entry = arg;
    if (entry->hubs->ops->on_own_set)
        entry->hubs->ops->on_own_set(entry->hubs->arg, hub, json, response);
}

static void on_released(void *arg, struct hub *hub, const char *problem)
{
    const struct entry *entry = arg;
    if (entry->hubs->ops->on_released)
        entry->hubs->ops->on_released(entry->hubs->arg, hub, problem);
}

const struct hub_ops hub_table_hub_ops = {
    .on_ready = on_ready,
    .on_own_set = on_own_set,
    .on_released = on_released,
    .on_change = on_change,
    .on_over = on_over,
};

struct entry *hub_table_add_entry(struct hub_table *hubs)
{
    struct entry *entry = mem_alloc(sizeof *entry);
    entry->hubs = hubs;
    entry->next = hubs->first;
    hubs->first = entry;
    return entry;
}

void hub_table_set_endpoint(struct entry *entry)
{
    const struct pause *pause = hub_pause(entry->hub);
    entry->endpoint_hash = pause_endpoint_hash(pause->host, pause->port);
    hash_index_add(&entry->hubs->endpoint_index, entry->endpoint_hash, (uintptr_t)entry);
}

struct hub_options hub_table_options_for(const struct hub_table *hubs)
{
    return (struct hub_options){.hold = hubs->options.hold,
                                .shared = true,
                                .keeper = hubs->options.keeper,
                                .cluster = hubs->options.cluster};
}

struct entry *hub_table_open_hub(struct hub_table *hubs, const struct pause *pause,
                                 const struct target_options *target, const char *by)
{
    struct hub_options options = hub_table_options_for(hubs);
    options.target = *target;
    options.target.loop = hubs->options.loop;
    options.target.host = pause->host;
    options.target.port = pause->port;
    options.pause = pause;
    options.by = by;
    options.stays = target->reverse;
    if (target->reverse && options.hold == HUB_NEVER) /* a breakpoint of the relay's own holds */
        options.hold = HUB_ON_ATTACH;
    struct entry *entry = hub_table_add_entry(hubs);
    entry->hub = hub_open(&options, &hub_table_hub_ops, entry);
    hub_table_set_endpoint(entry);
    return entry;
}

/* Ray's pdb gives each node's host as "localhost": the worker ids tell them apart. */
static bool is_same_node(const struct pause *a, const struct pause *b)
{
    return a->debugger == PAUSE_DEBUGPY || text_equal(a->worker_id, b->worker_id);
}

static bool is_live(const struct hub *hub)
{
    return !hub_is_over(hub);
}

static struct entry *find_entry(const struct hub_table *hubs, const struct pause *pause,
                                bool (*is_meant)(const struct hub *hub))
{
    size_t cursor = 0;
    uintptr_t item;
    while (hash_index_next(&hubs->endpoint_index, pause_endpoint_hash(pause->host, pause->port),
                           &cursor, &item)) {
        struct entry *entry = (struct entry *)item;
        const struct pause *held = hub_pause(entry->hub);
        if (is_meant(entry->hub) && held->port == pause->port &&
            text_equal(held->host, pause->host) && held->debugger == pause->debugger &&
            is_same_node(held, pause))
            return entry;
    }
    return NULL;
}

struct entry *hub_table_entry(const struct hub_table *hubs, const struct pause *pause)
{
    return find_entry(hubs, pause, is_live);
}

struct hub *hub_table_find(const struct hub_table *hubs, const struct pause *pause)
{
    struct entry *entry = hub_table_entry(hubs, pause);
    return entry ? entry->hub : NULL;
}

struct hub *hub_table_find_releasing(const struct hub_table *hubs, const struct pause *pause)
{
    struct entry *entry = find_entry(hubs, pause, hub_is_releasing);
    return entry ? entry->hub : NULL;
}

struct hub *hub_table_get(struct hub_table *hubs, const struct pause *pause,
                          const struct target_options *target, const char *by)
{
    struct entry *entry = hub_table_entry(hubs, pause);
    struct target_options gone = {.reverse = true, .fd = -1, .initialize = "{}", .attach = "{}"};
    if (!entry && pause->debugger == PAUSE_PYDEVD)
        target = &gone;
    return (entry ? entry : hub_table_open_hub(hubs, pause, target, by))->hub;
}

/* `kept`: held whatever its clients do, and not only as the policy says. */
static struct hub *hold_pause(struct hub_table *hubs, const struct pause *pause, bool kept)
{
    struct entry *entry = hub_table_entry(hubs, pause);
    struct target_options target = {
        .initialize = hub_table_initialize_arguments,
        .attach = attach_arguments,
        .pdb = pause->debugger == PAUSE_PDB,
        .tune = hubs->options.tune,
    };
    if (!entry) {
        entry = hub_table_open_hub(hubs, pause, &target, NULL);
        entry->by_itself = true;
    }
    if (kept)
        hub_keep(entry->hub);
    else
        hub_attach_alone(entry->hub);
    return entry->hub;
}

struct hub *hub_table_hold_pause(struct hub_table *hubs, const struct pause *pause)
{
    return hold_pause(hubs, pause, true);
}

/* Steps through the live hubs: start with NULL. */
struct hub *hub_table_next(const struct hub_table *hubs, const struct hub *after)
{
    const struct entry *entry = after ? ((const struct entry *)hub_arg(after))->next : hubs->first;
    while (entry && hub_is_over(entry->hub))
        entry = entry->next;
    return entry ? entry->hub : NULL;
}

size_t hub_table_count(const struct hub_table *hubs)
{
    size_t count = 0;
    for (struct hub *hub = hub_table_next(hubs, NULL); hub; hub = hub_table_next(hubs, hub))
        count++;
    return count;
}

void hub_table_tell(const struct hub_table *hubs, const char *category, const char *text)
{
    for (struct hub *hub = hub_table_next(hubs, NULL); hub; hub = hub_table_next(hubs, hub))
        hub_tell(hub, category, text);
}

/* --- --max-hold --- */

static void let_go(struct hub_table *hubs, struct entry *entry)
{
    char text[96];
    int64_t left_ms = hubs->options.max_hold_ms - hub_idle_ms(entry->hub);
    if (left_ms <= 0) {
        hubs->ops->on_act(hubs->arg, "release", hub_pause(entry->hub), "max-hold");
        hub_release(entry->hub, "--max-hold");
    } else if (left_ms <= WARN_MS && !entry->warned) {
        entry->warned = true;
        snprintf(text, sizeof text,
                 "raydbg: nobody has asked anything: the task goes on in %lld s (--max-hold)\n",
                 (long long)(left_ms + 999) / 1000);
        hub_tell(entry->hub, "important", text);
    } else if (left_ms > WARN_MS) {
        entry->warned = false;
    }
}

/* With HUB_ON_LOSS: the last client was lost, and the task has run for too long. A task that has
 * just been attached to may take its time to stop. */
static bool is_left_running(struct entry *entry, int64_t now_us)
{
    bool stands = hub_stands(entry->hub);
    entry->stood = entry->stood || stands;
    if (stands || hub_members(entry->hub) || !hub_is_held(entry->hub)) {
        entry->running_us = 0;
        return false;
    }
    if (!entry->running_us)
        entry->running_us = now_us;
    return now_us - entry->running_us >= (entry->stood ? RUNNING_MS : STARTING_MS) * 1000L;
}

static void tick(void *arg)
{
    struct hub_table *hubs = hub_table_checked(arg);
    hubs->tick = timer_start(hubs->options.loop, TICK_MS, tick, hubs);
    failures_expire(&hubs->failures);
    int64_t now_us = loop_now_us();
    for (struct entry *entry = hubs->first, *next; entry; entry = next) {
        next = entry->next;
        if (entry->look_us <= now_us) {
            entry->look_us = now_us + hub_look_network(entry->hub) * 1000;
            note_lost(hubs, entry);
        }
        if (hubs->options.max_hold_ms && hub_is_held(entry->hub) && !hub_is_hidden(entry->hub))
            let_go(hubs, entry);
        if (hubs->options.hold == HUB_ON_LOSS && !hub_table_is_accepted(entry->hub) &&
            !hub_is_kept(entry->hub) && is_left_running(entry, now_us))
            hub_release(entry->hub, "the relay");
    }
}

struct hub_table *hub_table_create(const struct hub_table_options *options,
                                   const struct hub_table_ops *ops, void *arg)
{
    struct hub_table *hubs = mem_alloc(sizeof *hubs);
    hub_table_set_magic(hubs);
    hubs->options = *options;
    hubs->ops = ops;
    hubs->arg = arg;
    hubs->tick = timer_start(options->loop, TICK_MS, tick, hubs);
    if (options->keeper)
        hubs->keeper_watch =
            keeper_watch_start(options->loop, options->keeper, &hub_table_keeper_ops, hubs);
    return hubs;
}

void hub_table_destroy(struct hub_table **hubs)
{
    struct hub_table *it = *hubs;
    if (!it)
        return;
    *hubs = NULL;
    keeper_watch_stop(&it->keeper_watch);
    timer_cancel(&it->tick);
    timer_cancel(&it->sweep);
    while (it->first) {
        struct entry *next = it->first->next;
        hub_destroy(&it->first->hub);
        free(it->first);
        it->first = next;
    }
    failures_clear(&it->failures);
    pause_history_clear(&it->history);
    hash_index_clear(&it->endpoint_index);
    hub_table_clear_magic(it);
    free(it);
}

/* --- with the cluster --- */

void hub_table_list(const struct hub_table *hubs, const struct pause_list *cluster,
                    struct pause_list *out)
{
    size_t room = cluster->count + hub_table_count(hubs);
    struct pause_index listed;
    *out = (struct pause_list){.items = mem_array(room ? room : 1, sizeof *out->items)};
    for (size_t i = 0; i < cluster->count; i++) {
        struct pause *pause = &out->items[out->count++];
        pause_copy(pause, &cluster->items[i]);
        struct hub *hub = hub_table_find(hubs, pause);
        if (hub && hub_is_held(hub))
            hub_describe(hub, pause);
    }
    pause_index_make(&listed, cluster);
    for (struct hub *hub = hub_table_next(hubs, NULL); hub; hub = hub_table_next(hubs, hub)) {
        if (!hub_is_held(hub) || hub_is_hidden(hub) || pause_index_find(&listed, hub_pause(hub)))
            continue;
        struct pause *pause = &out->items[out->count++];
        pause_copy(pause, hub_pause(hub));
        hub_describe(hub, pause);
    }
    pause_index_clear(&listed);
}

/* True while the name may still come. An attached pdb is not listed, so what is unknown at the
 * attach stays unknown. */
static bool is_to_be_named(const struct pause *pause)
{
    int64_t age_ms = wall_clock_ms() - pause->since_ms;
    return pause->debugger == PAUSE_PDB && pause->name_pending && age_ms >= 0 && age_ms < NAMED_MS;
}

/* Hubs that the relay opened itself and that are not attached yet. */
static size_t count_attaching(const struct hub_table *hubs)
{
    size_t count = 0;
    for (const struct entry *entry = hubs->first; entry; entry = entry->next)
        count += entry->by_itself && !hub_is_over(entry->hub) && !hub_is_held(entry->hub);
    return count;
}

static bool is_to_be_held(struct hub_table *hubs, const struct pause *pause)
{
    struct err err;
    return pause->state == PAUSE_WAITING && !is_to_be_named(pause) &&
           pause_reach_check(pause, &err) == 0 && !hub_table_failure(hubs, pause) &&
           (failures_take_lost(&hubs->failures, pause) || hubs->options.hold == HUB_ON_PAUSE);
}

void hub_table_update(struct hub_table *hubs, const struct pause_list *cluster)
{
    size_t attaching = count_attaching(hubs);
    for (size_t i = 0; i < cluster->count; i++) {
        const struct pause *pause = &cluster->items[i];
        struct hub *hub = hub_table_find(hubs, pause);
        if (hub) {
            hub_update_pause(hub, pause);
        } else if (attaching < ATTACHING_MOST && is_to_be_held(hubs, pause)) {
            hold_pause(hubs, pause, hubs->options.hold != HUB_ON_LOSS);
            attaching++;
        }
    }
}
