/* Pauses as a table. Pure. */
#ifndef RAYDBG_CLI_PAUSES_PAUSE_TABLE_H
#define RAYDBG_CLI_PAUSES_PAUSE_TABLE_H

#include "base/buf.h"
#include "relay/cluster/cluster.h"
#include "relay/pause/pause.h"
#include "relay/pause/pause_json.h"

#include <stdbool.h>
#include <stdint.h>

struct table_style {
    int width;
    bool colour, utf8;
    int64_t now_ms; /* for AGE */
};

/* The table, without the lines below it. Ids are as short as `all` the cluster's pauses allow. */
void pauses_table(const struct pause_list *list, const struct pause_list *all,
                  const struct table_style *style, struct buf *out);

/* "12s", "4m", "3h", "2d"; "-" for an unknown time. */
void pause_age(int64_t since_ms, int64_t now_ms, char out[24]);

#endif
