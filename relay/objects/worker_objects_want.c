/* Decides which objects are asked for, and how soon. */
#include "relay/objects/worker_objects_state.h"

/* Age of the worker's answer from which on a pending object is asked for again, if it is wanted. */
enum { PENDING_MS = 1000 };

/* True if the requests can wait: there is a note to show, which is hardly ever wrong. */
static bool has_leisure(const struct worker_objects *objects, const struct object_id *id)
{
    return !objects->eager && worker_objects_can_tell(objects, id) &&
           worker_objects_is_proved(objects);
}

/* Asks again for a pending object: others may have made it, though this worker is stopped. */
static void refresh(struct worker_objects *objects, const struct object_id *id)
{
    struct object_note note;
    if (objects->calling || loop_now_us() - objects->answered_us < (int64_t)PENDING_MS * 1000 ||
        !worker_objects_note(objects, id, &note) || note.state != OBJECT_STATE_PENDING)
        return;
    objects->refresh = true;
    owners_renew(objects->owners, id);
    worker_objects_hurry(objects);
}

void worker_objects_want(struct worker_objects *objects, const struct object_id *id)
{
    if (objects->state == WORKER_OBJECTS_NONE)
        return;
    if (!owners_want(objects->owners, id)) {
        refresh(objects, id);
        return;
    }
    /* It is newer than the worker's answer: an expression has made it. */
    if (objects->known && !worker_objects_ref(objects, id))
        objects->again = true;
    if (objects->state == WORKER_OBJECTS_FAILED) {
        owners_give_up(objects->owners, objects->problem);
        worker_objects_look_soon(objects, true);
    } else if (!has_leisure(objects, id)) {
        worker_objects_hurry(objects);
    } else {
        worker_objects_take_leisure(objects);
    }
}

struct object_lookup worker_objects_lookup(struct worker_objects *objects,
                                           const struct object_probe *probe, bool want,
                                           struct object_note *out)
{
    struct known_object it = known_object_find(objects, probe);
    bool asks = want && !it.finding;
    bool known = !asks && known_object_note(objects, &it, out);
    /* Wanting an object again is of use only while it is pending. */
    asks = asks || (want && known && out->state == OBJECT_STATE_PENDING);
    if (asks) {
        worker_objects_want(objects, &probe->id);
        it = known_object_find(objects, probe);
        known = known_object_note(objects, &it, out);
    }
    return (struct object_lookup){known_object_can_tell(objects, &it), known};
}
