/* What the files of annotate share. */
#ifndef RAYDBG_RELAY_ANNOTATE_PARTS_H
#define RAYDBG_RELAY_ANNOTATE_PARTS_H

#include "relay/annotate.h"

/* Between the parts of an annotation and behind its last: a space, U+00B7, a space. */
#define ANNOTATE_SEPARATOR " \xC2\xB7 "
#define ANNOTATE_SEPARATOR_LEN 4

/* `ObjectRef(<56 hex digits>)` */
#define ANNOTATE_REF_LEN 67

/* The references that stand in the repr of a container. */
struct annotate_refs {
    size_t total;          /* references, also several to one object */
    struct object_id *ids; /* of the objects, each once, in the order of the text */
    size_t count, cap;
    bool cut;        /* some of the container is not in the text */
    uint32_t *slots; /* a hash table: index into `ids` + 1, or 0 */
    size_t slot_count;
};

/* Reads a reference as Ray prints it (lower case) at the start of `text`; false if there is none.
 */
bool annotate_ref_read(const char *text, size_t len, struct object_id *out);

/* What a type's name says of its values; false: nothing of interest. `*plain` as below. */
bool annotate_type_kind(const char *type, size_t len, enum annotate_kind *kind, bool *plain);

/* ANNOTATE_ARRAY. */
bool annotate_type_is_array(const char *type, size_t len);

/* True if values of this type are containers of Python's own. `*plain`: pydevd shows their repr as
 * Python gives it; else it walks them itself. */
bool annotate_refs_type(const char *type, size_t len, bool *plain);
/* Reads the unescaped value of a container. False if it is not the repr of one, or if that cannot
 * be told for sure. `refs` may be used again for the next one; all zero is empty. */
bool annotate_refs_read(const char *text, size_t len, bool plain, struct annotate_refs *refs);
void annotate_refs_free(struct annotate_refs *refs);

/* Append what stands in front of a value, with the separator behind it; nothing if there is nothing
 * to say. The text has no control characters and is valid UTF-8. */
void annotate_object_prefix(const struct object_note *note, const struct annotate_options *options,
                            struct buf *out);
void annotate_actor_prefix(const struct actor_note *note, const struct annotate_options *options,
                           struct buf *out);
/* `bytes` is the sum of those objects whose size is known, `unknown` how many are not. */
void annotate_refs_prefix(const struct annotate_refs *refs, int64_t bytes, size_t unknown,
                          const struct annotate_options *options, struct buf *out);

#endif
