/* A timeline as a picture of one screen: a row for each process, a column for each part of the
 * time. Appends to `out`; pure. */
#ifndef RAYDBG_CLI_TIMELINE_TIMELINE_PICTURE_H
#define RAYDBG_CLI_TIMELINE_TIMELINE_PICTURE_H

#include "base/buf.h"
#include "relay/timeline/timeline.h"

#include <stdbool.h>

struct timeline_style {
    bool colour, utf8;
    int columns, rows; /* of the screen */
};

/* "474 tasks, 12 attempts failed, 3 running, 2 paused · 2 nodes, 9 processes · 3 min 12 s" */
void timeline_summary(const struct timeline *timeline, bool utf8, struct buf *out);
/* The summary, and the rows: the busiest processes, as many as the screen has room for. */
void timeline_picture(const struct timeline *timeline, const struct timeline_style *style,
                      struct buf *out);

#endif
