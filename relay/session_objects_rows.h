/* The rows of DAP's `variables` that the relay makes itself: what is known of one reference, and
 * the scope Object store. They have references of their own, above any of debugpy's, which counts
 * from 1. */
#ifndef RAYDBG_RELAY_SESSION_OBJECTS_ROWS_H
#define RAYDBG_RELAY_SESSION_OBJECTS_ROWS_H

#include "base/buf.h"
#include "dap/envelope.h"
#include "relay/objects.h"
#include "relay/session_objects_known.h"

/* A stop, and in it the scope (number 0) or an object (known_number()) as a variablesReference from
 * 0x40000000 on and below 2^31. */
int64_t own_reference(int64_t generation, size_t number);
bool own_is(int64_t reference);
/* False: of another stop. The scope is the same in each. */
bool own_read(int64_t reference, int64_t generation, size_t *number);

/* What of a list is asked for: DAP's `filter`, `start`, `count`. */
struct row_page {
    enum row_filter { ROWS_ALL, ROWS_NAMED, ROWS_INDEXED } filter;
    int64_t start;
    int64_t count; /* 0: all */
};
struct row_page row_page_read(const char *json, struct span arguments);

struct row_source {
    struct objects *objects;
    struct known *known;
    const struct annotate_options *options;
};

/* The reference of an object's row; 0 if there are too many. */
int64_t row_reference(const struct row_source *source, const struct object_id *id);
/* One row that cannot be edited; appends. A comma goes in front of all but the array's first. */
void row_add(struct buf *out, const char *name, const char *value, const char *type,
             int64_t reference);
/* The nine below a reference; appends. `told` is for object_hash(). */
void rows_describe(const struct row_source *source, const struct object_id *id, struct buf *out);

/* The named rows of the scope: what its node's store holds. */
enum { SCOPE_NAMED = 4 };
/* The scope itself, as in a response to `scopes`. */
void rows_scope(const struct row_source *source, struct buf *out);
/* What is below it: rows, or one that says why there are none. Each reference that is listed is
 * given to `shown`. */
void rows_of_scope(const struct row_source *source, const struct row_page *page,
                   void (*shown)(void *arg, const struct object_id *id), void *arg,
                   struct buf *out);
/* One object as the scope and the variables show it; appends. */
void row_object_text(const struct row_source *source, const struct object_id *id, struct buf *out);
/* The named rows of the scope, for comparing; appends. */
void rows_store(const struct row_source *source, struct buf *out);
/* All bytes of the references; those of unknown size are counted in *unknown. */
int64_t objects_bytes(const struct objects *objects, size_t *unknown);

#endif
