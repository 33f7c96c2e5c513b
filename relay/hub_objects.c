/* What a hub has to say of Ray's objects: asked for while a thread is stopped and somebody looks.
 */
#include "relay/hub_state.h"

struct objects *hub_objects(struct hub *hub)
{
    if (!hub->objects && hub->cluster && *hub->pause.worker_id && !hub->over)
        hub->objects = objects_create(hub->loop, hub->cluster, hub->pause.worker_id);
    return hub->objects;
}

void hub_ask_objects(struct hub *hub)
{
    if (hub->members && stops_any(&hub->stops) && hub_objects(hub))
        objects_ask(hub->objects);
}

void hub_renew_objects(struct hub *hub)
{
    if (hub->objects)
        objects_forget(hub->objects);
    hub_ask_objects(hub);
}
