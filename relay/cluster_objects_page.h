/* What `raydbg/clusterObjects` asks for, and its answer. Pure. */
#ifndef RAYDBG_RELAY_CLUSTER_OBJECTS_PAGE_H
#define RAYDBG_RELAY_CLUSTER_OBJECTS_PAGE_H

#include "base/buf.h"
#include "base/err.h"
#include "dap/scan.h"
#include "relay/object_query.h"

struct objects_page {
    enum object_group_by group_by;
    enum object_sort_by sort_by;
    char *filter, *task, *group; /* or NULL */
    size_t start, count;
    int64_t taken_ms; /* of the sweep to page through; 0: a new one */
};

/* `arguments` may have no length. Fills the defaults; the page is the caller's to clear, good or
 * not. */
int objects_page_read(struct objects_page *page, const char *json, struct span arguments,
                      struct err *err);
void objects_page_clear(struct objects_page *page);
/* Whether tasks have to be known before the rows can be chosen and put in order. */
bool objects_page_needs_tasks(const struct objects_page *page);
/* The rows that will be shown, `*count` of them; none where groups are paged. */
const struct object_row *const *objects_page_rows(const struct objects_page *page,
                                                  const struct object_report *report,
                                                  size_t *count);
/* Appends the response's body. */
void objects_page_write(const struct objects_page *page, const struct object_sweep *sweep,
                        const struct object_report *report, struct buf *out);

#endif
