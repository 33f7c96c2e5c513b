/* What a client has been shown of one stop: what stands behind each variablesReference, in which
 * frame, and which variables hold an object. Bounded; pure. */
#ifndef RAYDBG_RELAY_SESSION_OBJECTS_KNOWN_H
#define RAYDBG_RELAY_SESSION_OBJECTS_KNOWN_H

#include "base/buf.h"
#include "relay/annotate.h"
#include "relay/object_table.h"

/* References, one after the other, that responses about a frame have handed out. */
struct known_run {
    int64_t first, last, frame;
};

/* What a reference of interest is. */
struct known_row {
    int64_t reference;
    int64_t frame; /* DAP's frameId; 0: not known */
    bool is_ref, is_array;
    struct object_id id; /* is_ref */
    char *evaluate_name; /* is_array; "" if it has none */
    /* is_array: the object whose memory it shows, once that is known. */
    enum known_view { VIEW_NOT_ASKED, VIEW_ASKED, VIEW_OF, VIEW_OF_NOTHING } view;
    struct object_id view_of;
};

/* All zero is empty. */
struct known {
    struct known_row *rows;
    size_t count;
    int64_t highest; /* of their references */
    uint32_t *slots; /* where in `rows` a reference is, from 1 on; 0: free */
    size_t slot_count;
    size_t views;           /* rows with VIEW_OF */
    size_t changes;         /* while it is the same, what was noted is known, all of it */
    struct known_run *runs; /* the last that has a reference counts */
    size_t run_count;
    struct object_table by_object; /* to texts: the names */
    struct id_map numbers;         /* of objects that have a row of the relay's own: 1, 2, … */
    struct object_id *numbered;
};

void known_clear(struct known *known);

/* A row of a response about this frame. */
void known_note(struct known *known, const struct annotate_seen *seen, int64_t frame);
/* Every reference that a response hands out belongs to its frame. */
void known_inherit(struct known *known, const char *json, size_t len, int64_t frame);
/* The same for those from `first` to `last`, which were found in it. */
void known_inherit_run(struct known *known, int64_t first, int64_t last, int64_t frame);
/* That it belongs to; 0: not known. */
int64_t known_frame(const struct known *known, int64_t reference);
/* NULL if nothing is known of it; valid until something is noted. */
struct known_row *known_find(const struct known *known, int64_t reference);
/* The array is a view of this object (NULL: of none). */
void known_set_view(struct known *known, int64_t reference, const struct object_id *id);
/* Nothing came of asking. */
void known_forget_view(struct known *known, int64_t reference);
/* An array of this name in this frame that was looked at before, under whatever reference. */
const struct known_row *known_view(const struct known *known, int64_t frame,
                                   const char *evaluate_name);

/* The number of an object, a new one if need be; 0 if there are too many. */
enum { KNOWN_NUMBERS = 0xffff };
size_t known_number(struct known *known, const struct object_id *id);
/* NULL: no object has it. */
const struct object_id *known_numbered(const struct known *known, size_t number);

/* "big, refs[3]"; NULL if no variable is known to hold it. */
const char *known_names(const struct known *known, const struct object_id *id);
/* Some variable may have another value now. */
void known_changed(struct known *known);

#endif
