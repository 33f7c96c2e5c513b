/* The rows of DAP's `variables` that the relay makes itself: the facts about one reference, and the
 * scope Object store. Their variablesReferences are above debugpy's, which counts from 1. */
#ifndef RAYDBG_RELAY_VARIABLES_VARIABLES_ROWS_H
#define RAYDBG_RELAY_VARIABLES_VARIABLES_ROWS_H

#include "base/buf.h"
#include "dap/envelope.h"
#include "relay/objects/worker_objects.h"
#include "relay/variables/variables_seen.h"

/* Encodes a stop, and in it the scope (number 0) or an object (known_number()), as a
 * variablesReference from 0x40000000 on and below 2^31. */
int64_t rows_own_reference(int64_t generation, size_t number);
bool rows_is_own(int64_t reference);
/* False: it is of another stop. The scope is the same at each stop. */
bool rows_read_own(int64_t reference, int64_t generation, size_t *number);

/* The requested part of a list: DAP's `filter`, `start`, `count`. */
struct row_page {
    enum row_filter { ROWS_ALL, ROWS_NAMED, ROWS_INDEXED } filter;
    int64_t start;
    int64_t count; /* 0: all */
};
struct row_page row_page_read(const char *json, struct span arguments);

struct row_source {
    struct worker_objects *objects;
    struct known *known;
    const struct annotate_options *options;
};

/* The variablesReference of an object's row; 0 if there are too many. */
int64_t row_reference(const struct row_source *source, const struct object_id *id);
/* Appends one row that cannot be edited, after a comma unless it is the array's first. */
void row_add(struct buf *out, const char *name, const char *value, const char *type,
             int64_t reference);
/* Appends the nine rows below a reference. */
void rows_describe(const struct row_source *source, const struct object_id *id, struct buf *out);

/* The named rows of the scope: three counters of the node's store, and the references' sum. */
enum { SCOPE_NAMED = 4 };
/* Appends the scope itself, as in a response to `scopes`. */
void rows_scope(const struct row_source *source, struct buf *out);
/* Appends the rows of the scope, or one that says why there are none. `shown` gets each listed
 * reference. */
void rows_of_scope(const struct row_source *source, const struct row_page *page,
                   void (*shown)(void *arg, const struct object_id *id), void *arg,
                   struct buf *out);
/* Appends one object as the scope and the variables show it. */
void row_object_text(const struct row_source *source, const struct object_id *id, struct buf *out);
/* Appends the named rows of the scope, for comparing. */
void rows_store(const struct row_source *source, struct buf *out);
/* The sum of the references' bytes; those of unknown size are counted in *unknown. */
int64_t rows_bytes(const struct worker_objects *objects, size_t *unknown);

#endif
