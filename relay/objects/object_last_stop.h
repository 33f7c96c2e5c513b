/* The notes of the previous stop, to be shown at once: a step hardly ever changes them. Pure. */
#ifndef RAYDBG_RELAY_OBJECTS_OBJECT_LAST_STOP_H
#define RAYDBG_RELAY_OBJECTS_OBJECT_LAST_STOP_H

#include "relay/annotate/annotate.h"
#include "relay/cluster/object_id_map.h"

/* All zero is empty. */
struct object_last_stop {
    struct object_id_map table;
};

/* Keeps a copy of the note of a ready object: other states change while the worker runs. Any other
 * note, or NULL for none, drops the one that was kept for the object. At 4,096 notes the earlier
 * ones are dropped. */
void object_last_stop_keep(struct object_last_stop *notes, const struct object_id *id,
                           const struct object_note *note);
const struct object_note *object_last_stop_find(const struct object_last_stop *notes,
                                                const struct object_probe *probe); /* or NULL */
void object_last_stop_clear(struct object_last_stop *notes);

#endif
