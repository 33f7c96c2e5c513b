/* The hubs of processes that have dialled the relay. */
#include "relay/hub/hub_table_state.h"

/* A process that has ended closes its other connection within this time. */
enum { ENDED_MS = 2000 };

bool hub_table_is_accepted(const struct hub *hub)
{
    return hub_pause(hub)->debugger == PAUSE_PYDEVD;
}

/* Without redirectOutput: the process already writes its output to the terminal or log of its
 * start. */
static const char attach_arguments[] = HUB_TABLE_ATTACH_ARGUMENTS("");

struct hub *hub_table_accept(struct hub_table *hubs, const struct pause *pause, int fd)
{
    struct target_options target = {
        .initialize = hub_table_initialize_arguments,
        .attach = attach_arguments,
        .tune = hubs->options.tune,
        .reverse = true,
        .fd = fd,
    };
    return hub_table_open_hub(hubs, pause, &target, NULL)->hub;
}

void hub_table_note_cut(struct hub_table *hubs, struct hub *hub, bool cut)
{
    for (struct entry *entry = hubs->first; entry; entry = entry->next)
        if (entry->hub == hub)
            entry->look_us = loop_now_us() + (cut ? ENDED_MS * 1000L : 0);
    hub_note_cut(hub, cut);
}

void hub_table_each_accepted(const struct hub_table *hubs, void (*fn)(void *arg, struct hub *hub),
                             void *arg)
{
    for (struct hub *hub = hub_table_next(hubs, NULL), *next; hub; hub = next) {
        next = hub_table_next(hubs, hub);
        if (hub_table_is_accepted(hub))
            fn(arg, hub);
    }
}
