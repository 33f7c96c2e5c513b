/* Pauses as a table, JSON or YAML. Pure. */
#ifndef RAYDBG_CLI_PAUSE_OUTPUT_H
#define RAYDBG_CLI_PAUSE_OUTPUT_H

#include "base/buf.h"
#include "relay/cluster.h"
#include "relay/pause.h"

#include <stdbool.h>
#include <stdint.h>

/* One JSON object, without a line end. Every field is always there; null is unknown. */
void pause_json(const struct pause *pause, struct buf *out);
/* A JSON array, an object a line; ends with a line end. */
void pauses_json(const struct pause_list *list, struct buf *out);
/* The same as YAML: a sequence of mappings. */
void pauses_yaml(const struct pause_list *list, struct buf *out);

struct table_style {
    int width;
    bool colour, utf8;
    int64_t now_ms; /* for AGE */
};

/* The table, without the lines below it. Ids are as short as `all`, the whole cluster's, allows. */
void pauses_table(const struct pause_list *list, const struct pause_list *all,
                  const struct table_style *style, struct buf *out);

/* "12s", "4m", "3h", "2d"; "-" for an unknown time. */
void pause_age(int64_t since_ms, int64_t now_ms, char out[24]);

#endif
