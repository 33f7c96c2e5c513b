/* Saves a hub in the keeper for the next relay, and adopts one that an earlier relay has left. */
#include "relay/hub/hub_state.h"

#include "base/intern.h"
#include "base/mem.h"
#include "relay/io/metrics.h"
#include "relay/io/socket.h"

#include <stdlib.h>
#include <string.h>

enum { UNSENT_MS = 50, GENERATION_BITS = 24 };
/* SMALL: if more bytes than this change, the snapshot gets room for additions. LARGE: if the
 * records of sent requests are longer than this, they are removed. */
enum { SMALL = 1024, LARGE = 64 * 1024 };

static void look_unsent(void *arg)
{
    struct hub *hub = hub_checked(arg);
    hub->unsent = NULL;
    hub_save(hub);
}

/* The snapshot without `clearing`. It borrows from the hub and from `events`. */
static struct hub_snapshot describe(struct hub *hub, struct buf *events)
{
    struct target_facts facts = target_facts(hub->target);
    stop_events_save(&hub->stops, events);
    return (struct hub_snapshot){
        .pause = hub->pause,
        .kept = hub->hold == HUB_ON_PAUSE,
        .capabilities = (char *)(uintptr_t)hub->capabilities,
        .attach = (char *)(uintptr_t)hub->attach,
        .attached_by = hub->attached_by,
        .events = events->data,
        .generation = hub->generation,
        .held_since_ms = hub->held_since_ms,
        .torn = target_queued(hub->target) > 0 && !hub->requests.len,
        .cut_s = facts.cut_s,
        .adapter_pid = facts.adapter,
    };
}

/* Appends the whole log. Returns how many bytes of room it needs for additions. */
static size_t compose(struct hub *hub, struct buf *out)
{
    struct buf events = {0}, clearing = {0};
    struct hub_snapshot snapshot = describe(hub, &events);
    size_t unread_len;
    const char *unread = target_unread(hub->target, &unread_len);
    breakpoint_union_clearing(hub->sets, &clearing);
    snapshot.clearing = clearing.data;
    hub_log_whole(&snapshot, out);
    /* Room in proportion: each byte is rewritten only a few times, however many are added. Unread
     * bytes are written once. */
    size_t changing = clearing.len + hub->requests.len;
    hub->roomy = changing > SMALL;
    hub->rewrite = false;
    buf_add(out, hub->requests.data, hub->requests.len);
    if (unread_len)
        hub_log_unread(unread, unread_len, out);
    buf_free(&events);
    buf_free(&clearing);
    return hub->roomy ? 2 * changing : 0;
}

static void write_whole(struct hub *hub)
{
    struct buf text = {0};
    size_t spare = compose(hub, &text);
    kept_snapshot(hub->kept, text.data, text.len, spare);
    buf_free(&text);
}

static void write_news(struct hub *hub)
{
    struct buf events = {0}, text = {0};
    struct hub_snapshot snapshot = describe(hub, &events);
    hub_log_news(&snapshot, &text);
    if (!kept_add(hub->kept, text.data, text.len))
        write_whole(hub);
    buf_free(&events);
    buf_free(&text);
}

/* Forgets the requests that were sent. */
static void forget_requests(struct hub *hub)
{
    if (!hub->requests.len || target_queued(hub->target))
        return;
    hub->rewrite |= hub->requests.len > LARGE;
    buf_free(&hub->requests);
}

static void write_snapshot(struct hub *hub)
{
    if (hub->rewrite || !hub->roomy)
        write_whole(hub);
    else
        write_news(hub);
}

static void put(struct hub *hub)
{
    struct buf text = {0};
    size_t spare = compose(hub, &text);
    hub->kept = keeper_put(hub->keeper, target_fd(hub->target), text.data, text.len, spare);
    buf_free(&text);
    if (!hub->kept)
        return;
    metrics_add(METRIC_KEEPER_HELD, 1);
    target_guard(hub->target, false);
}

void hub_save(struct hub *hub)
{
    /* A breakpoint of the relay's own would stop the process without a client, once the relay is
     * dead. */
    if (hub->stays && !stop_events_any(&hub->stops)) {
        hub_stop_saving(hub);
        return;
    }
    if (!hub->keeper || hub->state != HUB_READY || hub->hold == HUB_NEVER ||
        target_state(hub->target) != TARGET_RUNNING)
        return;
    if (hub->kept && kept_is_refused(hub->kept))
        hub_stop_saving(hub);
    forget_requests(hub);
    if (hub->kept)
        write_snapshot(hub);
    else
        put(hub);
    if (hub->kept && target_queued(hub->target) && !hub->requests.len && !hub->unsent)
        hub->unsent = timer_start(hub->loop, UNSENT_MS, look_unsent, hub);
}

void hub_save_sets(struct hub *hub)
{
    struct buf clearing = {0}, record = {0};
    if (!hub->kept || hub->rewrite) {
        hub_save(hub);
        return;
    }
    breakpoint_union_newly_clearing(hub->sets, &clearing);
    if (clearing.len) {
        hub_log_sets(clearing.data, clearing.len, &record);
        if (!kept_add(hub->kept, record.data, record.len))
            write_whole(hub);
    }
    buf_free(&clearing);
    buf_free(&record);
}

void hub_save_request(void *arg, int64_t at, const char *head, size_t head_len, const char *json,
                      size_t len)
{
    struct hub *hub = hub_checked(arg);
    struct buf record = {0};
    if (!hub->kept)
        return;
    if (!target_queued(hub->target))
        buf_free(&hub->requests);
    hub_log_request(at, head, head_len, json, len, &record);
    buf_add(&hub->requests, record.data, record.len);
    if (!kept_add(hub->kept, record.data, record.len))
        write_whole(hub);
    buf_free(&record);
}

void hub_save_unread(void *arg)
{
    struct hub *hub = hub_checked(arg);
    struct buf record = {0};
    size_t len;
    const char *bytes = target_unread(hub->target, &len);
    if (!hub->kept)
        return;
    hub_log_unread(bytes, len, &record);
    if (kept_add(hub->kept, record.data, record.len))
        hub->rewrite |= !len;
    else
        write_whole(hub);
    buf_free(&record);
}

void hub_stop_saving(struct hub *hub)
{
    timer_cancel(&hub->unsent);
    if (!hub->kept)
        return;
    metrics_add(METRIC_KEEPER_HELD, -1);
    target_guard(hub->target, true);
    kept_drop(&hub->kept);
}

void hub_keeper_lost(struct hub *hub)
{
    hub_stop_saving(hub);
}

void hub_keeper_renewed(struct hub *hub)
{
    hub_save(hub);
}

/* Restores the stops from the saved events. */
static void recall(struct hub *hub, const char *events)
{
    struct span all = {0, strlen(events)}, element;
    struct envelope envelope;
    const char *problem;
    size_t cursor = 0;
    while (scan_element(events, all, &cursor, &element)) {
        const char *json = events + element.at;
        if (envelope_read(&envelope, json, element.len, &problem) != 0)
            continue;
        stop_events_event(&hub->stops, json, element.len, &envelope);
        target_recall(hub->target, json, &envelope);
    }
}

/* Clears the breakpoints of clients that are gone. */
static void clear_sets(struct hub *hub, const char *clearing)
{
    struct span all = {0, strlen(clearing)}, element, value;
    size_t cursor = 0;
    while (scan_element(clearing, all, &cursor, &element)) {
        char *command = scan_string_at(clearing, element, "command");
        if (command && scan_find(clearing, element, "arguments", &value)) {
            char *arguments = mem_string_n(clearing + value.at, value.len);
            hub_send_set(hub, command, arguments);
            free(arguments);
        }
        free(command);
    }
}

/* Takes what the hub itself keeps of the snapshot. */
static void restore(struct hub *hub, struct hub_snapshot *snapshot)
{
    hub->pause = snapshot->pause;
    snapshot->pause = (struct pause){0};
    const char *capabilities = snapshot->capabilities ? snapshot->capabilities : "";
    hub->capabilities_len = strlen(capabilities);
    hub->capabilities = intern_get(capabilities, hub->capabilities_len);
    const char *attach = snapshot->attach ? snapshot->attach : "";
    hub->attach = intern_get(attach, strlen(attach));
    hub->attached_by = mem_string(snapshot->attached_by);
    hub->generation = snapshot->generation + 1;
    hub->held_since_ms = snapshot->held_since_ms;
    if (snapshot->kept)
        hub->hold = HUB_ON_PAUSE;
    hub->stays = hub->pause.debugger == PAUSE_PYDEVD;
    if (hub->stays)
        breakpoint_union_no_filters(hub->sets);
}

struct hub *hub_adopt(const struct hub_options *options, struct kept *kept, int fd,
                      struct hub_log *log, const struct hub_ops *ops, void *arg)
{
    struct hub_snapshot *snapshot = &log->snapshot;
    struct hub *hub = hub_create(options, ops, arg);
    struct target_options target = options->target;
    hub->kept = kept;
    metrics_add(METRIC_KEEPER_HELD, 1);
    restore(hub, snapshot);
    target.host = hub->pause.host;
    target.port = hub->pause.port;
    target.pdb = hub->pause.debugger == PAUSE_PDB;
    target.reverse = hub->stays;
    hub_move(hub, HUB_READY);
    /* Each relay has its own range of seqs: an answer to an earlier relay's request matches no
     * request of this one. */
    const char *requests = log->requests.data ? log->requests.data : "";
    buf_add(&hub->requests, requests + log->records.at, log->records.len);
    hub->target = target_adopt(&target, fd, (hub->generation << GENERATION_BITS) + 1,
                               log->rest.data, log->rest.len, &hub_target_ops, hub);
    socket_patience(fd);
    target_recall_facts(hub->target,
                        (struct target_facts){(int)snapshot->cut_s, (int)snapshot->adapter_pid});
    recall(hub, snapshot->events);
    target_put_back(hub->target, log->unread.data, log->unread.len);
    /* The debugger may still evaluate an expression for a client of the earlier relay, which is
     * gone. The answer to this request comes after that expression's, and target_leave() waits for
     * it: a `disconnect` before would end debugpy's adapter. */
    target_give_up(hub->target);
    clear_sets(hub, snapshot->clearing);
    hub_note_location(hub);
    if (hub->ops->on_ready)
        hub->ops->on_ready(hub->arg, hub);
    hub_save(hub);
    return hub;
}
