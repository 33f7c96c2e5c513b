#include "relay/hubs.h"

#include "base/hash.h"
#include "base/hash_index.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/pause_index.h"
#include "relay/reach.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* So many are attached to at a time of the relay's own accord: each has to answer within seconds,
 * and all of them have one relay to be answered by. */
enum { ATTACHING_MOST = 256 };
enum { TICK_MS = 1000, WARN_MS = 60000, RETRY_MS = 10000, WANTED_MS = 600000, NAMED_MS = 5000 };

/* What is remembered of a debuggee for a while: that attaching to it of the relay's own accord
 * failed (not at once again), or that it was lost to a cut network (again, when it waits). */
struct failure {
    struct failure *next, **link;
    char *host;
    uint16_t port;
    int64_t until_us;
    char *problem; /* NULL: lost */
};

struct entry {
    struct entry *next;
    struct hubs *hubs;
    struct hub *hub;
    uint64_t place;  /* the hash of its endpoint */
    int64_t look_us; /* its network cannot have gone silent before */
    bool warned;     /* --max-hold is near */
    bool noted;      /* it was lost to a cut network, and that is remembered */
    bool by_itself;  /* opened with no client */
};

struct hubs {
    struct hubs_options options;
    const struct hubs_ops *ops;
    void *arg;
    struct entry *first;
    struct hash_index places; /* of the entries */
    struct failure *failures;
    struct hash_index failed; /* the failures, by their places */
    struct timer *tick;
    struct timer *sweep;
    bool keeper_lost;
};

static const char initialize_arguments_own[] =
    "{\"clientID\":\"raydbg\",\"clientName\":\"raydbg relay\",\"adapterID\":\"debugpy\","
    "\"linesStartAt1\":true,\"columnsStartAt1\":true,\"pathFormat\":\"path\","
    "\"supportsVariableType\":true}";
static const char attach_arguments_own[] =
    "{\"justMyCode\":false,\"steppingResumesAllThreads\":false,\"stopAllThreadsOnSuspend\":false}";

const char *hubs_name(const struct hubs *hubs)
{
    return hubs->options.name;
}

enum hub_hold hubs_hold(const struct hubs *hubs)
{
    return hubs->options.hold;
}

static uint64_t place_of(const char *host, uint16_t port)
{
    return hash_text(host ? host : "", port);
}

/* --- life of a hub --- */

static void remember(struct hubs *hubs, const struct pause *pause, int64_t ms, const char *problem)
{
    struct failure *failure = mem_alloc(sizeof *failure);
    *failure = (struct failure){.next = hubs->failures,
                                .link = &hubs->failures,
                                .host = mem_string(pause->host),
                                .port = pause->port,
                                .until_us = loop_now_us() + ms * 1000,
                                .problem = mem_string(problem)};
    if (failure->next)
        failure->next->link = &failure->next;
    hubs->failures = failure;
    hash_index_add(&hubs->failed, place_of(failure->host, failure->port), (uintptr_t)failure);
}

static void forget(struct hubs *hubs, struct failure *failure)
{
    hash_index_remove(&hubs->failed, place_of(failure->host, failure->port), (uintptr_t)failure);
    *failure->link = failure->next;
    if (failure->next)
        failure->next->link = failure->link;
    free(failure->host);
    free(failure->problem);
    free(failure);
}

static void forget_failures(struct hubs *hubs)
{
    for (struct failure *at = hubs->failures, *next; at; at = next) {
        next = at->next;
        if (at->until_us <= loop_now_us())
            forget(hubs, at);
    }
}

/* The note of this pause that has a problem, or the one that has none. */
static struct failure *find_failure(const struct hubs *hubs, const struct pause *pause,
                                    bool has_problem)
{
    size_t cursor = 0;
    uintptr_t item;
    while (hash_index_next(&hubs->failed, place_of(pause->host, pause->port), &cursor, &item)) {
        struct failure *failure = (struct failure *)item;
        if (!failure->problem != has_problem && failure->port == pause->port &&
            text_equal(failure->host, pause->host))
            return failure;
    }
    return NULL;
}

const char *hubs_failure(const struct hubs *hubs, const struct pause *pause)
{
    const struct failure *failure = find_failure(hubs, pause, true);
    return failure ? failure->problem : NULL;
}

bool hubs_wants_any(const struct hubs *hubs)
{
    for (const struct failure *at = hubs->failures; at; at = at->next)
        if (!at->problem)
            return true;
    return false;
}

/* Takes the note that this one was lost, if there is one. */
static bool take_wanted(struct hubs *hubs, const struct pause *pause)
{
    struct failure *lost = find_failure(hubs, pause, false);
    if (lost)
        forget(hubs, lost);
    return lost != NULL;
}

static void note_lost(struct hubs *hubs, struct entry *entry)
{
    if (entry->noted || !hub_was_cut(entry->hub))
        return;
    entry->noted = true;
    remember(hubs, hub_pause(entry->hub), WANTED_MS, NULL);
}

static void sweep(void *arg)
{
    struct hubs *hubs = arg;
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
            remember(hubs, hub_pause(entry->hub), RETRY_MS, problem->what);
        }
        note_lost(hubs, entry);
        *at = entry->next;
        hash_index_remove(&hubs->places, entry->place, (uintptr_t)entry);
        hub_destroy(&entry->hub);
        free(entry);
    }
    hubs->ops->on_change(hubs->arg);
}

static void on_over(void *arg, struct hub *hub)
{
    struct entry *entry = arg;
    (void)hub;
    if (!entry->hubs->sweep)
        entry->hubs->sweep = timer_start(entry->hubs->options.loop, 0, sweep, entry->hubs);
}

static void on_change(void *arg, struct hub *hub)
{
    struct entry *entry = arg;
    (void)hub;
    entry->hubs->ops->on_change(entry->hubs->arg);
}

static const struct hub_ops hub_ops = {.on_change = on_change, .on_over = on_over};

static struct entry *add_entry(struct hubs *hubs)
{
    struct entry *entry = mem_alloc(sizeof *entry);
    entry->hubs = hubs;
    entry->next = hubs->first;
    hubs->first = entry;
    return entry;
}

static void set_place(struct entry *entry)
{
    const struct pause *pause = hub_pause(entry->hub);
    entry->place = place_of(pause->host, pause->port);
    hash_index_add(&entry->hubs->places, entry->place, (uintptr_t)entry);
}

static struct hub_options options_for(const struct hubs *hubs)
{
    return (struct hub_options){.hold = hubs->options.hold,
                                .shared = true,
                                .keeper = hubs->options.keeper,
                                .cluster = hubs->options.cluster};
}

static struct entry *open_hub(struct hubs *hubs, const struct pause *pause,
                              const struct target_options *target)
{
    struct hub_options options = options_for(hubs);
    options.target = *target;
    options.target.loop = hubs->options.loop;
    options.target.host = pause->host;
    options.target.port = pause->port;
    options.pause = pause;
    struct entry *entry = add_entry(hubs);
    entry->hub = hub_open(&options, &hub_ops, entry);
    set_place(entry);
    return entry;
}

/* State that cannot be restored is said, not invented. */
static bool is_usable(struct hub_snapshot *snapshot, const char *text, size_t len)
{
    char title[256];
    if (!hub_snapshot_unpack(snapshot, text, len)) {
        log_warn("a pause of the relay before could not be taken over: its notes are of another "
                 "version, or incomplete; its task goes on");
        return false;
    }
    if (!snapshot->torn)
        return true;
    pause_title(&snapshot->pause, title, sizeof title);
    log_warn("%s could not be taken over: the relay before died in the middle of a request; the "
             "task goes on",
             title);
    hub_snapshot_clear(snapshot);
    return false;
}

static void adopt(void *arg, struct kept *kept, int fd, const char *text, size_t len)
{
    struct hubs *hubs = arg;
    struct hub_snapshot snapshot;
    struct hub_options options = options_for(hubs);
    if (!is_usable(&snapshot, text, len)) {
        kept_drop(&kept);
        close(fd);
        return;
    }
    options.target.loop = hubs->options.loop;
    options.target.tune = hubs->options.tune;
    struct entry *entry = add_entry(hubs);
    entry->hub = hub_adopt(&options, kept, fd, &snapshot, &hub_ops, entry);
    set_place(entry);
    hub_snapshot_clear(&snapshot);
}

size_t hubs_take_over(struct hubs *hubs)
{
    if (hubs->options.keeper)
        keeper_take_over(hubs->options.keeper, adopt, hubs);
    return hubs_count(hubs);
}

/* Ray's pdb calls every node "localhost". */
static bool is_same_node(const struct pause *a, const struct pause *b)
{
    return a->debugger == PAUSE_DEBUGPY || text_equal(a->worker_id, b->worker_id);
}

static struct entry *find(const struct hubs *hubs, const struct pause *pause)
{
    size_t cursor = 0;
    uintptr_t item;
    while (hash_index_next(&hubs->places, place_of(pause->host, pause->port), &cursor, &item)) {
        struct entry *entry = (struct entry *)item;
        const struct pause *held = hub_pause(entry->hub);
        if (!hub_is_over(entry->hub) && held->port == pause->port &&
            text_equal(held->host, pause->host) && held->debugger == pause->debugger &&
            is_same_node(held, pause))
            return entry;
    }
    return NULL;
}

struct hub *hubs_find(const struct hubs *hubs, const struct pause *pause)
{
    struct entry *entry = find(hubs, pause);
    return entry ? entry->hub : NULL;
}

struct hub *hubs_get(struct hubs *hubs, const struct pause *pause,
                     const struct target_options *target)
{
    struct entry *entry = find(hubs, pause);
    return (entry ? entry : open_hub(hubs, pause, target))->hub;
}

struct hub *hubs_hold_pause(struct hubs *hubs, const struct pause *pause)
{
    struct entry *entry = find(hubs, pause);
    struct target_options target = {
        .initialize = initialize_arguments_own,
        .attach = attach_arguments_own,
        .pdb = pause->debugger == PAUSE_PDB,
        .tune = hubs->options.tune,
    };
    if (!entry) {
        entry = open_hub(hubs, pause, &target);
        entry->by_itself = true;
    }
    hub_keep(entry->hub);
    return entry->hub;
}

/* Steps through the live ones: start with NULL. */
static struct hub *next_hub(const struct hubs *hubs, const struct hub *after)
{
    const struct entry *entry = after ? ((const struct entry *)hub_arg(after))->next : hubs->first;
    while (entry && hub_is_over(entry->hub))
        entry = entry->next;
    return entry ? entry->hub : NULL;
}

size_t hubs_count(const struct hubs *hubs)
{
    size_t count = 0;
    for (struct hub *hub = next_hub(hubs, NULL); hub; hub = next_hub(hubs, hub))
        count++;
    return count;
}

/* --- --max-hold --- */

static void let_go(struct hubs *hubs, struct entry *entry)
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

/* Once: nothing can be done about it, and nothing is lost as long as the relay lives. */
static void look_at_keeper(struct hubs *hubs)
{
    if (!hubs->options.keeper || hubs->keeper_lost || keeper_lives(hubs->options.keeper))
        return;
    hubs->keeper_lost = true;
    log_warn(
        "the keeper died: what is held now ends with this relay; raydbg relay --upgrade starts "
        "a new one");
}

static void tick(void *arg)
{
    struct hubs *hubs = arg;
    look_at_keeper(hubs);
    hubs->tick = timer_start(hubs->options.loop, TICK_MS, tick, hubs);
    forget_failures(hubs);
    int64_t now_us = loop_now_us();
    for (struct entry *entry = hubs->first, *next; entry; entry = next) {
        next = entry->next;
        if (entry->look_us <= now_us) {
            entry->look_us = now_us + hub_look_network(entry->hub) * 1000;
            note_lost(hubs, entry);
        }
        if (hubs->options.max_hold_ms && hub_is_held(entry->hub))
            let_go(hubs, entry);
    }
}

struct hubs *hubs_create(const struct hubs_options *options, const struct hubs_ops *ops, void *arg)
{
    struct hubs *hubs = mem_alloc(sizeof *hubs);
    hubs->options = *options;
    hubs->ops = ops;
    hubs->arg = arg;
    hubs->tick = timer_start(options->loop, TICK_MS, tick, hubs);
    return hubs;
}

void hubs_destroy(struct hubs **hubs)
{
    struct hubs *it = *hubs;
    if (!it)
        return;
    *hubs = NULL;
    timer_cancel(&it->tick);
    timer_cancel(&it->sweep);
    while (it->first) {
        struct entry *next = it->first->next;
        hub_destroy(&it->first->hub);
        free(it->first);
        it->first = next;
    }
    while (it->failures)
        forget(it, it->failures);
    hash_index_clear(&it->failed);
    hash_index_clear(&it->places);
    free(it);
}

/* --- with the cluster --- */

static void add_held(struct hub *hub, struct pause *pause)
{
    const struct pause *held = hub_pause(hub);
    /* A worker whose task is over runs nothing, though its debugger is held: clients see the end of
     * the task by that. */
    if (pause->state != PAUSE_IDLE || *hub_reason(hub))
        pause->state = PAUSE_HELD;
    pause->clients = (int64_t)hub_members(hub);
    pause->held_ms = hub_held_since_ms(hub);
    free(pause->file);
    free(pause->reason);
    free(pause->driver);
    pause->file = mem_string(held->file);
    pause->line = held->line;
    pause->reason = *hub_reason(hub) ? mem_string(hub_reason(hub)) : NULL;
    pause->driver = *hub_driver(hub) ? mem_string(hub_driver(hub)) : NULL;
}

void hubs_list(const struct hubs *hubs, const struct pause_list *cluster, struct pause_list *out)
{
    size_t room = cluster->count + hubs_count(hubs);
    struct pause_index listed;
    *out = (struct pause_list){.items = mem_array(room ? room : 1, sizeof *out->items)};
    for (size_t i = 0; i < cluster->count; i++) {
        struct pause *pause = &out->items[out->count++];
        pause_copy(pause, &cluster->items[i]);
        struct hub *hub = hubs_find(hubs, pause);
        if (hub && hub_is_held(hub))
            add_held(hub, pause);
    }
    pause_index_make(&listed, cluster);
    for (struct hub *hub = next_hub(hubs, NULL); hub; hub = next_hub(hubs, hub)) {
        if (!hub_is_held(hub) || pause_index_find(&listed, hub_pause(hub)))
            continue;
        struct pause *pause = &out->items[out->count++];
        pause_copy(pause, hub_pause(hub));
        add_held(hub, pause);
    }
    pause_index_clear(&listed);
}

/* A pdb is listed no more once it is attached to: what is not known of it by then stays so. */
static bool is_to_be_named(const struct pause *pause)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    int64_t age_ms = (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000 - pause->since_ms;
    return pause->debugger == PAUSE_PDB && pause->name_pending && age_ms >= 0 && age_ms < NAMED_MS;
}

/* Hubs of the relay's own accord that are not attached yet. */
static size_t count_attaching(const struct hubs *hubs)
{
    size_t count = 0;
    for (const struct entry *entry = hubs->first; entry; entry = entry->next)
        count += entry->by_itself && !hub_is_over(entry->hub) && !hub_is_held(entry->hub);
    return count;
}

static bool is_to_be_held(struct hubs *hubs, const struct pause *pause)
{
    struct err err;
    return pause->state == PAUSE_WAITING && !is_to_be_named(pause) &&
           reach_check(pause, &err) == 0 && !hubs_failure(hubs, pause) &&
           (take_wanted(hubs, pause) || hubs->options.hold == HUB_ON_PAUSE);
}

void hubs_update(struct hubs *hubs, const struct pause_list *cluster)
{
    size_t attaching = count_attaching(hubs);
    for (size_t i = 0; i < cluster->count; i++) {
        const struct pause *pause = &cluster->items[i];
        struct hub *hub = hubs_find(hubs, pause);
        if (hub) {
            hub_update_pause(hub, pause);
        } else if (attaching < ATTACHING_MOST && is_to_be_held(hubs, pause)) {
            hubs_hold_pause(hubs, pause);
            attaching++;
        }
    }
}
