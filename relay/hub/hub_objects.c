/* A hub's objects: asked for while a thread is stopped and a client looks. */
#include "relay/hub/hub_state.h"

struct worker_objects *hub_objects(struct hub *hub)
{
    if (!hub->objects && hub->cluster && *hub->pause.worker_id && !hub_has_ended(hub))
        hub->objects = worker_objects_create(hub->loop, hub->cluster, hub->pause.worker_id);
    return hub->objects;
}

static bool somebody_looks(const struct hub *hub)
{
    for (const struct member *at = hub->members; at; at = at->next)
        if (!at->sparing || at->looked)
            return true;
    return false;
}

void hub_ask_objects(struct hub *hub)
{
    if (stop_events_any(&hub->stops) && somebody_looks(hub) && hub_objects(hub))
        worker_objects_ask(hub->objects);
}

void hub_look(struct member *member)
{
    member->looked = true;
    hub_ask_objects(member->hub);
}

void hub_renew_objects(struct hub *hub)
{
    if (hub->objects)
        worker_objects_forget(hub->objects);
    hub_ask_objects(hub);
    for (struct member *at = hub->members; at && stop_events_any(&hub->stops); at = at->next)
        at->looked = false;
}
