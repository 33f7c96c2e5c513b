/* Declarations that annotate's files share. */
#ifndef RAYDBG_RELAY_ANNOTATE_ANNOTATE_STATE_H
#define RAYDBG_RELAY_ANNOTATE_ANNOTATE_STATE_H

#include "base/hash_index.h"
#include "relay/annotate/annotate.h"

/* Follows each part of an annotation: a space, U+00B7, a space. */
#define ANNOTATE_SEPARATOR " \xC2\xB7 "
#define ANNOTATE_SEPARATOR_LEN 4

/* `ObjectRef(<56 hex digits>)` */
#define ANNOTATE_REF_LEN 67

/* The references in the repr of a container. */
struct annotate_refs {
    size_t total;          /* all references, also several to one object */
    struct object_id *ids; /* the objects, each once, in the order of the text */
    size_t count, cap;
    bool cut;                /* the text shows only a part of the container */
    struct hash_index index; /* of `ids` */
};

/* Reads a reference as Ray prints it (lower case) at the start of `text`; false if there is none.
 */
bool annotate_ref_read(const char *text, size_t len, struct object_id *out);

/* The kind of a type's values, by its name; false if they are of no kind. `*plain`: see below. */
bool annotate_type_kind(const char *type, size_t len, enum annotate_kind *kind, bool *plain);

/* True if values of this type are an ANNOTATE_ARRAY. */
bool annotate_type_is_array(const char *type, size_t len);

/* True if values of this type are Python's own containers. `*plain`: true if pydevd shows Python's
 * repr of them, false if pydevd walks them itself. */
bool annotate_refs_type(const char *type, size_t len, bool *plain);
/* Reads the unescaped value of a container. False if it is not, or not certainly, the repr of one.
 * `refs` may be reused for the next value; all zero is empty. */
bool annotate_refs_read(const char *text, size_t len, bool plain, struct annotate_refs *refs);
void annotate_refs_free(struct annotate_refs *refs);

/* These append the annotation of a value, with its last separator, or nothing if there is nothing
 * to show. The text has no control characters and is valid UTF-8. */
void annotate_object_prefix(const struct object_note *note, const struct annotate_options *options,
                            struct buf *out);
void annotate_actor_prefix(const struct actor_note *note, const struct annotate_options *options,
                           struct buf *out);
/* `bytes` is the sum of the known sizes, `unknown` the number of objects with an unknown size. */
void annotate_refs_prefix(const struct annotate_refs *refs, int64_t bytes, size_t unknown,
                          const struct annotate_options *options, struct buf *out);

#endif
