#include "relay/objects/object_last_stop.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>

enum { NOTES_MAX = 4096 };

/* A note with its text: the records may be renewed meanwhile. */
struct kept {
    struct object_note note;
    char node[96];
};

static void keep(struct kept *kept, const struct object_note *note)
{
    kept->note = *note;
    kept->note.status = NULL;                                /* a ready object has none */
    if (!note->owner_node || note->owner_node == kept->node) /* it may be this note */
        return;
    text_copy(kept->node, sizeof kept->node, note->owner_node);
    kept->note.owner_node = kept->node;
}

void object_last_stop_keep(struct object_last_stop *notes, const struct object_id *id,
                           const struct object_note *note)
{
    struct kept *kept = object_id_map_get(&notes->table, id);
    if (!note || note->state != OBJECT_STATE_READY) {
        if (kept)
            kept->note.state = OBJECT_STATE_UNKNOWN;
        return;
    }
    if (!kept) {
        if (notes->table.map.count >= NOTES_MAX)
            object_last_stop_clear(notes);
        kept = mem_alloc(sizeof *kept);
        object_id_map_set(&notes->table, id, kept);
    }
    keep(kept, note);
}

const struct object_note *object_last_stop_find(const struct object_last_stop *notes,
                                                const struct object_probe *probe)
{
    const struct kept *kept = object_id_map_find(&notes->table, probe);
    return kept && kept->note.state == OBJECT_STATE_READY ? &kept->note : NULL;
}

void object_last_stop_clear(struct object_last_stop *notes)
{
    size_t cursor = 0;
    for (void *note; (note = object_id_map_next(&notes->table, &cursor));)
        free(note);
    object_id_map_clear(&notes->table);
}
