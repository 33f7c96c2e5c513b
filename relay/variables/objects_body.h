/* The body of `raydbg/objects`: one worker's references with all that is known of each.
 * docs/objects.md describes it. */
#ifndef RAYDBG_RELAY_VARIABLES_OBJECTS_BODY_H
#define RAYDBG_RELAY_VARIABLES_OBJECTS_BODY_H

#include "relay/variables/variables_rows.h"

/* The request's arguments. */
struct object_list {
    int64_t start;
    int64_t count; /* 1 to OBJECT_LIST_LIMIT */
    enum object_list_sort { LIST_BY_SIZE, LIST_BY_CALL_SITE, LIST_BY_ID } sort;
};
enum { OBJECT_LIST_COUNT = 1000, OBJECT_LIST_LIMIT = 10000 };

/* Members that are missing or invalid get their defaults. */
struct object_list object_list_read(const char *json, struct span arguments);
/* Appends one JSON object. `shown` as in rows_of_scope(). */
void object_list_write(const struct object_list *list, const struct row_source *source,
                       void (*shown)(void *arg, const struct object_id *id), void *arg,
                       struct buf *out);

#endif
