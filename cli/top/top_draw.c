#include "cli/top/top_draw.h"

#include "base/text.h"
#include "cli/common/call_site.h"
#include "cli/top/top_draw_parts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void clock_text(int64_t ms, char out[16])
{
    time_t seconds = (time_t)(ms / 1000);
    struct tm parts;
    if (!localtime_r(&seconds, &parts) || strftime(out, 16, "%H:%M:%S", &parts) == 0)
        text_copy(out, 16, "?");
}

static const char *dot(const struct top_page *page)
{
    return page->utf8 ? " \u00b7 " : ", ";
}

static void draw_summary(const struct top_model *model, struct top_page *page)
{
    char size[MEMORY_SIZE_TEXT];
    const struct object_sweep *sweep = model->sweep;
    top_page_add(page, TOP_BOLD, "raydbg memory");
    top_page_add(page, TOP_PLAIN, "%s%s", dot(page), model->source);
    if (!sweep)
        return;
    top_page_add(page, TOP_PLAIN, "%s%zu node%s%s%zu process%s%s%zu ref%s to %zu object%s%s%s",
                 dot(page), sweep->node_count, sweep->node_count == 1 ? "" : "s", dot(page),
                 sweep->process_count, sweep->process_count == 1 ? "" : "es", dot(page),
                 sweep->row_count, sweep->row_count == 1 ? "" : "s", model->objects,
                 model->objects == 1 ? "" : "s", dot(page),
                 byte_units_size(model->bytes, model->units, size));
}

static void draw_key(struct top_page *page, const struct top_frame *frame)
{
    struct buf site = {0};
    const char *key = frame->key ? frame->key : "";
    if (frame->by == OBJECT_BY_CALL_SITE)
        call_site_text(key, &site);
    top_page_add(page, TOP_BOLD, "%s", site.len ? site.data : key);
    buf_free(&site);
}

/* The path to the list: the user's choices on the way. */
static void draw_path(const struct top_model *model, struct top_page *page)
{
    const char *into = page->utf8 ? " \u203a " : " > ";
    const struct top_frame *last = top_model_list(model);
    for (const struct top_frame *frame = model->frames; frame != last; frame++) {
        top_page_add(page, TOP_DIM, "%s ", top_model_by_name(frame->by));
        draw_key(page, frame);
        top_page_add(page, TOP_DIM, "%s", into);
    }
    if (top_model_frame(model)->kind == TOP_LIST) {
        top_page_add(page, TOP_PLAIN, "%s", last->by == OBJECT_BY_NOTHING ? "references" : "by ");
        if (last->by != OBJECT_BY_NOTHING)
            top_page_add(page, TOP_BOLD, "%s", top_model_by_name(last->by));
    } else {
        top_page_add(page, TOP_PLAIN, "references%sobject", into);
        top_page_add(page, TOP_PLAIN, "%s%s", top_model_frame(model)->kind == TOP_OWNER ? into : "",
                     top_model_frame(model)->kind == TOP_OWNER ? "owner" : "");
    }
    if (model->filter.len)
        top_page_add(page, TOP_WARNING, "   filter: %s", model->filter.data);
}

static void draw_sort_menu(const struct top_model *model, struct top_page *page)
{
    top_page_add(page, TOP_PLAIN, " Sort by");
    top_page_fill(page, TOP_TITLE, true);
    top_page_end_line(page);
    for (size_t i = 0; i < OBJECT_SORT_COUNT; i++) {
        const char *name = sweep_query_sort_name((enum object_sort_by)i);
        top_page_add(page, TOP_PLAIN, " %c  %s", name[0], name);
        if (i == model->menu_line)
            top_page_fill(page, TOP_SELECTED, true);
        top_page_end_line(page);
    }
}

static void draw_body(struct top_model *model, struct top_page *page,
                      const struct top_layout *layout)
{
    int lines = layout->list_lines;
    enum top_frame_kind kind = top_model_frame(model)->kind;
    top_page_go(page, layout->title);
    if (model->mode == TOP_SORT_MENU)
        draw_sort_menu(model, page);
    else if (model->mode == TOP_HELP)
        model->text_lines = top_draw_help(model, page, lines);
    else if (kind == TOP_OBJECT)
        model->text_lines = top_draw_object(model, page, lines);
    else if (kind == TOP_OWNER)
        model->text_lines = top_draw_owner(model, page, lines);
    else
        top_draw_list(model, page, lines);
}

/* The order of the rows that are shown: the view in another order is still being made when its key
 * has been pressed, and a key that moves the choice moves it among the old rows. */
static const char *order_name(const struct top_model *model)
{
    return sweep_query_sort_name(model->view ? model->view->sort_by : model->sort_by);
}

/* A problem, if there is one; else the time of the last sweep, the settings, and a slow request. */
static void draw_status(const struct top_model *model, struct top_page *page, int64_t now_ms)
{
    enum { SLOW_MS = 1000 };
    char when[16] = "";
    const struct object_sweep *sweep = model->sweep;
    if (sweep)
        clock_text(sweep->taken_ms, when);
    if (model->problem[0]) {
        top_page_add(page, TOP_WARNING, "%s", model->problem);
        if (sweep)
            top_page_add(page, TOP_WARNING, " (this is of %s)", when);
        return;
    }
    if (!sweep)
        top_page_add(page, TOP_PLAIN, "asking %s", model->source);
    else
        top_page_add(page, TOP_PLAIN, "%s%s", when, dot(page));
    if (sweep && model->paused)
        top_page_add(page, TOP_WARNING, "paused: the space bar goes on");
    else if (sweep)
        top_page_add(page, TOP_PLAIN, "every %g s", (double)top_model_interval_ms(model) / 1000);
    if (sweep)
        top_page_add(page, TOP_PLAIN, "%ssorted by %s", dot(page), order_name(model));
    if (sweep && sweep->unanswered)
        top_page_add(page, TOP_WARNING, "%s%zu of %zu nodes did not answer", dot(page),
                     sweep->unanswered, sweep->node_count);
    if (model->asked_ms && now_ms - model->asked_ms >= SLOW_MS)
        top_page_add(page, TOP_WARNING, "%sasking for %lld s", sweep ? dot(page) : " ",
                     (long long)(now_ms - model->asked_ms) / 1000);
}

struct hint {
    const char *key, *does;
};

static const struct hint list_hints[] = {
    {"F1", "Help"},    {"F3", "Filter"}, {"F6", "Sort"},     {"Enter", "In"}, {"Left", "Back"},
    {"g", "Group by"}, {"u", "Units"},   {"Space", "Pause"}, {"F10", "Quit"}, {NULL, NULL},
};
static const struct hint object_hints[] = {
    {"F1", "Help"},     {"s", "Owner's stack"}, {"Left", "Back"}, {"u", "Units"},
    {"Space", "Pause"}, {"F10", "Quit"},        {NULL, NULL},
};
static const struct hint owner_hints[] = {
    {"F1", "Help"}, {"Left", "Back"}, {"F10", "Quit"}, {NULL, NULL}};
static const struct hint menu_hints[] = {{"Enter", "Sort"}, {"Esc", "Back"}, {NULL, NULL}};
static const struct hint help_hints[] = {{"any key", "Back"}, {"F10", "Quit"}, {NULL, NULL}};
static const struct hint filter_hints[] = {{"Enter", "Done"}, {"Esc", "Clear"}, {NULL, NULL}};

static const struct hint *hints(const struct top_model *model)
{
    static const struct hint *const by_mode[] = {
        [TOP_FILTER] = filter_hints, [TOP_SORT_MENU] = menu_hints, [TOP_HELP] = help_hints};
    static const struct hint *const by_kind[] = {
        [TOP_LIST] = list_hints, [TOP_OBJECT] = object_hints, [TOP_OWNER] = owner_hints};
    return model->mode == TOP_BROWSE ? by_kind[top_model_frame(model)->kind] : by_mode[model->mode];
}

static void draw_keys(const struct top_model *model, struct top_page *page)
{
    for (const struct hint *hint = hints(model); hint->key; hint++) {
        top_page_add(page, TOP_PLAIN, "%s", hint->key);
        top_page_add(page, TOP_KEY, "%s ", hint->does);
    }
    if (model->mode == TOP_FILTER) {
        top_page_add(page, TOP_PLAIN, " Filter: ");
        top_page_add(page, TOP_BOLD, "%s", model->filter.len ? model->filter.data : "");
        page->cursor = page->lines[page->next].width;
        page->cursor -= page->cursor == page->columns;
    }
}

void top_draw(struct top_model *model, struct top_page *page, int64_t now_ms)
{
    struct top_layout layout = top_model_layout(model);
    top_page_init(page, model->columns, model->height, model->utf8);
    draw_summary(model, page);
    top_page_end_line(page);
    top_draw_nodes(model, page, layout.nodes);
    if (layout.more)
        top_page_add(page, TOP_DIM, "and %zu more nodes", model->sweep->node_count - layout.nodes);
    top_page_go(page, layout.path);
    draw_path(model, page);
    draw_body(model, page, &layout);
    top_page_go(page, layout.status);
    draw_status(model, page, now_ms);
    top_page_go(page, layout.keys);
    draw_keys(model, page);
}
