/* Draws a top_model on a page. Pure, except for the local time zone. */
#ifndef RAYDBG_CLI_TOP_TOP_DRAW_H
#define RAYDBG_CLI_TOP_TOP_DRAW_H

#include "cli/top/top_model.h"
#include "cli/top/top_page.h"

/* Fills a page of the model's size; `now_ms` is epoch. Sets model->text_lines. */
void top_draw(struct top_model *model, struct top_page *page, int64_t now_ms);

#endif
