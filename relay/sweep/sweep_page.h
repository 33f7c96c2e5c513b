/* The arguments of `raydbg/clusterObjects`, and its answer. Pure. */
#ifndef RAYDBG_RELAY_SWEEP_SWEEP_PAGE_H
#define RAYDBG_RELAY_SWEEP_SWEEP_PAGE_H

#include "base/buf.h"
#include "base/err.h"
#include "dap/scan.h"
#include "relay/sweep/sweep_query.h"

struct objects_page {
    enum object_group_by group_by;
    enum object_sort_by sort_by;
    char *filter, *task, *group; /* or NULL */
    size_t start, count;
    int64_t taken_ms; /* of the sweep to page through; 0: a new one */
};

/* `arguments` may have length 0. Fills in the defaults; the page is the caller's to clear, also
 * after an error. */
int objects_page_read(struct objects_page *page, const char *json, struct span arguments,
                      struct err *err);
void objects_page_clear(struct objects_page *page);
/* True if tasks have to be known before the rows can be chosen and sorted. */
bool objects_page_needs_tasks(const struct objects_page *page);
/* The rows on the page, `*count` of them; none where groups are paged. */
const struct object_row *const *objects_page_rows(const struct objects_page *page,
                                                  const struct object_report *report,
                                                  size_t *count);
/* Appends the response's body. */
void objects_page_write(const struct objects_page *page, const struct object_sweep *sweep,
                        const struct object_report *report, struct buf *out);

#endif
