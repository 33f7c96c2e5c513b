#include "relay/object_notes.h"

#include "base/mem.h"

#include <stdlib.h>

enum { NOTES_MAX = 4096 };

void object_notes_keep(struct object_notes *notes, const struct object_id *id,
                       const struct object_note *note)
{
    struct object_note *kept = object_table_get(&notes->table, id);
    if (note->state != OBJECT_STATE_READY)
        return;
    if (!kept) {
        if (notes->table.map.count >= NOTES_MAX)
            object_notes_clear(notes);
        kept = mem_alloc(sizeof *kept);
        object_table_set(&notes->table, id, kept);
    }
    *kept = *note;
}

const struct object_note *object_notes_find(const struct object_notes *notes,
                                            const struct object_probe *probe)
{
    return object_table_find(&notes->table, probe);
}

void object_notes_clear(struct object_notes *notes)
{
    size_t cursor = 0;
    for (void *note; (note = object_table_next(&notes->table, &cursor));)
        free(note);
    object_table_clear(&notes->table);
}
