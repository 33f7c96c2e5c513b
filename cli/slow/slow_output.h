/* Shows what relay/slow has found. Appends to `out`; pure. */
#ifndef RAYDBG_CLI_SLOW_SLOW_OUTPUT_H
#define RAYDBG_CLI_SLOW_SLOW_OUTPUT_H

#include "base/buf.h"
#include "relay/slow/slow.h"

struct slow_style {
    bool colour, utf8;
};

void slow_output_text(const struct slow_report *report, const struct slow_style *style,
                      struct buf *out);
void slow_output_json(const struct slow_report *report, struct buf *out);

#endif
