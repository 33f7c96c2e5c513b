/* Rows of cells as a text table. Columns are as wide as their widest cell. If the table is wider
 * than allowed, columns with `shrinks` get narrower, and long cells end in an ellipsis. */
#ifndef RAYDBG_CLI_COMMON_TABLE_H
#define RAYDBG_CLI_COMMON_TABLE_H

#include "base/buf.h"

#include <stdbool.h>
#include <stddef.h>

struct table_column {
    const char *title;
    bool right;   /* numbers */
    bool shrinks; /* text that may be cut */
};

struct table;

struct table *table_create(const struct table_column *columns, size_t count);
void table_free(struct table **table);
/* Adds one cell, from left to right; a row has `count` cells. The text is copied and made
 * printable. */
void table_cell(struct table *table, const char *text);
/* Appends a title line and one line for each row, at most `width` columns wide. */
void table_render(const struct table *table, int width, bool colour, bool utf8, struct buf *out);

#endif
