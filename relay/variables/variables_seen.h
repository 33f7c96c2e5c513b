/* Remembers what a client was shown of one stop: the row and the frame of each variablesReference,
 * and which variables hold an object. Bounded; pure. */
#ifndef RAYDBG_RELAY_VARIABLES_VARIABLES_SEEN_H
#define RAYDBG_RELAY_VARIABLES_VARIABLES_SEEN_H

#include "base/buf.h"
#include "relay/annotate/annotate.h"
#include "relay/cluster/object_id_map.h"

/* Consecutive references in responses about one frame. */
struct known_run {
    int64_t first, last, frame;
};

/* A row with a reference that is an ObjectRef or an array. */
struct known_row {
    int64_t reference;
    int64_t frame;       /* DAP's frameId; 0: not known */
    char *evaluate_name; /* is_array; "" if it has none */
    /* The object: of a reference itself, or the one whose memory an array shows (VIEW_OF). */
    struct object_id id;
    bool is_ref, is_array;
    /* is_array: if it shows an object's memory. */
    enum known_view { VIEW_NOT_ASKED, VIEW_ASKED, VIEW_OF, VIEW_OF_NOTHING } view;
};

/* All zero is empty. */
struct known {
    struct known_row *rows;
    size_t count, room;
    size_t next;     /* the row behind the one that was noted last */
    int64_t highest; /* the highest of the rows' references */
    struct hash_index by_reference;
    size_t views;           /* rows with VIEW_OF */
    struct known_run *runs; /* the last one with a reference counts */
    size_t run_count;
    struct object_id_map by_object; /* to texts: the names */
    struct fixed_map numbers;       /* of objects that have a row of the relay's own: 1, 2, … */
    struct object_id *numbered;
};

void known_clear(struct known *known);

/* Notes a row of a response about this frame. `probe`: of the object, if it is an ANNOTATE_REF. */
void known_note(struct known *known, const struct annotate_seen *seen,
                const struct object_probe *probe, int64_t frame);
/* Notes that every reference in a response belongs to its frame. */
void known_inherit(struct known *known, const char *json, size_t len, int64_t frame);
/* The same for the references from `first` to `last`, which were found in a response. */
void known_inherit_run(struct known *known, int64_t first, int64_t last, int64_t frame);
/* The frame that a reference belongs to; 0: unknown. */
int64_t known_frame(const struct known *known, int64_t reference);
/* NULL if nothing is known of it; valid until something is noted. */
struct known_row *known_find(const struct known *known, int64_t reference);
/* Notes that the array is a view of this object (NULL: of none). */
void known_set_view(struct known *known, int64_t reference, const struct object_id *id);
/* The request for the view has failed: it may be sent again. */
void known_forget_view(struct known *known, int64_t reference);
/* A known view with this name in this frame, under any reference; NULL if there is none. */
const struct known_row *known_view(const struct known *known, int64_t frame,
                                   const char *evaluate_name);

/* The number of an object, a new one if need be; 0 if there are too many. */
enum { KNOWN_NUMBERS = 0xffff };
size_t known_number(struct known *known, const struct object_id *id);
/* NULL: no object has it. */
const struct object_id *known_numbered(const struct known *known, size_t number);

/* "big, refs[3]"; NULL if no variable is known to hold it. */
const char *known_names(const struct known *known, const struct object_id *id);
/* A variable may have another value: drops the names and the views. */
void known_changed(struct known *known);

#endif
