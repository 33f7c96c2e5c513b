/* What a hub has to say of Ray's objects: asked for while a thread is stopped and somebody looks.
 */
#include "relay/hub_state.h"

struct objects *hub_objects(struct hub *hub)
{
    if (!hub->objects && hub->cluster && *hub->pause.worker_id && !hub->over)
        hub->objects = objects_create(hub->loop, hub->cluster, hub->pause.worker_id);
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
    if (stops_any(&hub->stops) && somebody_looks(hub) && hub_objects(hub))
        objects_ask(hub->objects);
}

void hub_look(struct member *member)
{
    member->looked = true;
    hub_ask_objects(member->hub);
}

void hub_renew_objects(struct hub *hub)
{
    if (hub->objects)
        objects_forget(hub->objects);
    hub_ask_objects(hub);
    for (struct member *at = hub->members; at && stops_any(&hub->stops); at = at->next)
        at->looked = false;
}
