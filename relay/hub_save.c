/* A hub in a keeper's hands: what the next relay is left, and what this one was. */
#include "relay/hub_state.h"

#include "base/mem.h"
#include "relay/intern.h"
#include "relay/metrics.h"
#include "relay/socket.h"

#include <stdlib.h>
#include <string.h>

enum { UNSENT_MS = 50, GENERATION_BITS = 24 };

static void look_unsent(void *arg)
{
    struct hub *hub = arg;
    hub->unsent = NULL;
    hub_save(hub);
}

static void write_snapshot(struct hub *hub)
{
    struct buf events = {0}, clearing = {0}, text = {0};
    bool torn = target_queued(hub->target) > 0;
    stops_save(&hub->stops, &events);
    breakpoints_clearing(hub->sets, &clearing);
    struct hub_snapshot snapshot = {
        .pause = hub->pause,
        .kept = hub->hold == HUB_ON_PAUSE,
        .capabilities = (char *)(uintptr_t)hub->capabilities,
        .events = events.data,
        .clearing = clearing.data,
        .generation = hub->generation,
        .held_since_ms = hub->held_since_ms,
        .torn = torn,
    };
    hub_snapshot_pack(&snapshot, &text);
    kept_snapshot(hub->kept, text.data, text.len);
    buf_free(&events);
    buf_free(&clearing);
    buf_free(&text);
    if (torn && !hub->unsent)
        hub->unsent = timer_start(hub->loop, UNSENT_MS, look_unsent, hub);
}

/* Puts the connection, and what is known, where a crash of this process does not reach. A debuggee
 * that still waits for configurationDone needs no keeping: it goes on waiting. */
void hub_save(struct hub *hub)
{
    if (!hub->keeper || hub->over || hub->releasing || !hub->ready || hub->hold == HUB_NEVER ||
        target_state(hub->target) != TARGET_RUNNING)
        return;
    if (!hub->kept && (hub->kept = keeper_put(hub->keeper, target_fd(hub->target)))) {
        metrics_add(METRIC_KEEPER_HELD, 1);
        target_guard(hub->target, false);
    }
    if (hub->kept)
        write_snapshot(hub);
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

/* Makes the stops known again. */
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
        stops_event(&hub->stops, json, element.len, &envelope);
        target_recall(hub->target, json, &envelope);
    }
}

/* Takes away the breakpoints of clients that are gone. */
static void clear_sets(struct hub *hub, const char *clearing)
{
    struct span all = {0, strlen(clearing)}, element, value;
    size_t cursor = 0;
    while (scan_element(clearing, all, &cursor, &element)) {
        if (!scan_find(clearing, element, "command", &value))
            continue;
        char *command = scan_string(clearing, value);
        if (command && scan_find(clearing, element, "arguments", &value)) {
            char *arguments = mem_string_n(clearing + value.at, value.len);
            hub_send_set(hub, command, arguments);
            free(arguments);
        }
        free(command);
    }
}

struct hub *hub_adopt(const struct hub_options *options, struct kept *kept, int fd,
                      struct hub_snapshot *snapshot, const struct hub_ops *ops, void *arg)
{
    struct hub *hub = hub_create(options, ops, arg);
    struct target_options target = options->target;
    hub->kept = kept;
    metrics_add(METRIC_KEEPER_HELD, 1);
    hub->pause = snapshot->pause;
    snapshot->pause = (struct pause){0};
    const char *capabilities = snapshot->capabilities ? snapshot->capabilities : "";
    hub->capabilities_len = strlen(capabilities);
    hub->capabilities = intern_get(capabilities, hub->capabilities_len);
    hub->generation = snapshot->generation + 1;
    hub->held_since_ms = snapshot->held_since_ms;
    if (snapshot->kept)
        hub->hold = HUB_ON_PAUSE;
    target.host = hub->pause.host;
    target.port = hub->pause.port;
    hub->ready = true;
    /* Each relay has numbers of its own: an answer to an earlier one's request fits none of ours.
     */
    hub->target =
        target_adopt(&target, fd, (hub->generation << GENERATION_BITS) + 1, &hub_target_ops, hub);
    socket_patience(fd);
    recall(hub, snapshot->events);
    clear_sets(hub, snapshot->clearing);
    hub_note_place(hub);
    hub_save(hub);
    return hub;
}
