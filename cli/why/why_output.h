/* Shows what relay/why has found out. Appends to `out`; pure. */
#ifndef RAYDBG_CLI_WHY_WHY_OUTPUT_H
#define RAYDBG_CLI_WHY_WHY_OUTPUT_H

#include "base/buf.h"
#include "relay/why/why_overview.h"

#include <stdbool.h>

struct why_style {
    bool colour, utf8;
    int width; /* of a table, in columns */
};

void why_output_report(const struct why_report *report, const struct why_style *style,
                       struct buf *out);
/* `cluster` is its address. */
void why_output_overview(const struct why_records *records, const struct why_overview *overview,
                         const char *cluster, const struct why_style *style, struct buf *out);
/* A line for each part of the cluster that did not answer, and one if Ray has forgotten tasks. */
void why_output_gaps(const struct why_records *records, const struct why_style *style,
                     struct buf *out);

#endif
