/* Rows of cells as a table for people. Columns are as wide as their widest cell; where the whole is
 * wider than allowed, the columns that may shrink do, and long cells end in an ellipsis. */
#ifndef RAYDBG_CLI_TABLE_H
#define RAYDBG_CLI_TABLE_H

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
/* One cell, from left to right; a row is full after `count` of them. Copied, and made printable. */
void table_cell(struct table *table, const char *text);
/* Appends the table, a title line and a line a row, at most `width` columns wide. */
void table_render(const struct table *table, int width, bool colour, bool utf8, struct buf *out);

#endif
