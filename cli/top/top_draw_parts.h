/* The parts of a page that top_draw.c puts together; top_list.c and top_facts.c have them. */
#ifndef RAYDBG_CLI_TOP_TOP_DRAW_PARTS_H
#define RAYDBG_CLI_TOP_TOP_DRAW_PARTS_H

#include "cli/top/top_model.h"
#include "cli/top/top_page.h"

/* The nodes' bars. */
void top_draw_nodes(const struct top_model *model, struct top_page *page, size_t count);
/* The title and the lines of a list. */
void top_draw_list(const struct top_model *model, struct top_page *page, int lines);
/* One object's facts, its owner's, and help, from line `scroll` on; each returns the number of
 * lines. */
size_t top_draw_object(const struct top_model *model, struct top_page *page, int lines);
size_t top_draw_owner(const struct top_model *model, struct top_page *page, int lines);
size_t top_draw_help(const struct top_model *model, struct top_page *page, int lines);

#endif
