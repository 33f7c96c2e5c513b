#include "relay/objects/object_last_stop.h"

#include "base/mem.h"

#include <stdlib.h>

enum { NOTES_MAX = 4096 };

void object_last_stop_keep(struct object_last_stop *notes, const struct object_id *id,
                           const struct object_note *note)
{
    struct object_note *kept = object_id_map_get(&notes->table, id);
    if (!note || note->state != OBJECT_STATE_READY) {
        if (kept)
            kept->state = OBJECT_STATE_UNKNOWN;
        return;
    }
    if (!kept) {
        if (notes->table.map.count >= NOTES_MAX)
            object_last_stop_clear(notes);
        kept = mem_alloc(sizeof *kept);
        object_id_map_set(&notes->table, id, kept);
    }
    *kept = *note;
}

const struct object_note *object_last_stop_find(const struct object_last_stop *notes,
                                                const struct object_probe *probe)
{
    const struct object_note *note = object_id_map_find(&notes->table, probe);
    return note && note->state == OBJECT_STATE_READY ? note : NULL;
}

void object_last_stop_clear(struct object_last_stop *notes)
{
    size_t cursor = 0;
    for (void *note; (note = object_id_map_next(&notes->table, &cursor));)
        free(note);
    object_id_map_clear(&notes->table);
}
