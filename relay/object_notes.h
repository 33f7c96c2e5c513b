/* What was said of objects at the stop before: a step hardly ever changes it, and nobody has to
 * wait for it. Pure. */
#ifndef RAYDBG_RELAY_OBJECT_NOTES_H
#define RAYDBG_RELAY_OBJECT_NOTES_H

#include "relay/annotate.h"
#include "relay/object_table.h"

/* All zero is empty. */
struct object_notes {
    struct object_table table;
};

/* Keeps a copy. Only of what is ready: the rest changes while the worker runs. When there are too
 * many, the earlier ones go. */
void object_notes_keep(struct object_notes *notes, const struct object_id *id,
                       const struct object_note *note);
const struct object_note *object_notes_find(const struct object_notes *notes,
                                            const struct object_probe *probe); /* or NULL */
void object_notes_clear(struct object_notes *notes);

#endif
