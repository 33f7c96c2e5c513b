/* Keys of `raydbg memory --top`. */
#include "cli/top/top_model.h"

#include "base/text.h"

#include <stdlib.h>

/* --- moving --- */

static size_t moved(size_t at, int64_t by)
{
    return by < 0 && (size_t)-by > at ? 0 : (size_t)((int64_t)at + by);
}

/* Scrolls text that may be longer than the screen. */
static void scroll(const struct top_model *model, size_t *first, int64_t by)
{
    size_t lines = (size_t)top_model_layout(model).list_lines;
    size_t last = model->text_lines > lines ? model->text_lines - lines : 0;
    *first = moved(*first, by);
    *first = *first < last ? *first : last;
}

static void move(struct top_model *model, int64_t by)
{
    struct top_frame *frame = &model->frames[model->depth];
    if (frame->kind != TOP_LIST) {
        scroll(model, &frame->scroll, by);
        return;
    }
    frame->cursor = moved(frame->cursor, by);
    top_model_choose(model, frame);
    top_model_keep_in_sight(model, frame);
}

static int64_t page(const struct top_model *model)
{
    int lines = top_model_layout(model).list_lines;
    return lines > 1 ? lines - 1 : 1;
}

static unsigned move_up(struct top_model *model)
{
    move(model, -1);
    return TOP_DO_NOTHING;
}

static unsigned move_down(struct top_model *model)
{
    move(model, 1);
    return TOP_DO_NOTHING;
}

static unsigned page_up(struct top_model *model)
{
    move(model, -page(model));
    return TOP_DO_NOTHING;
}

static unsigned page_down(struct top_model *model)
{
    move(model, page(model));
    return TOP_DO_NOTHING;
}

static unsigned move_first(struct top_model *model)
{
    move(model, -INT32_MAX);
    return TOP_DO_NOTHING;
}

static unsigned move_last(struct top_model *model)
{
    move(model, INT32_MAX);
    return TOP_DO_NOTHING;
}

static struct top_frame *push(struct top_model *model, enum top_frame_kind kind)
{
    struct top_frame *frame = &model->frames[++model->depth];
    free(frame->key);
    *frame = (struct top_frame){.kind = kind};
    return frame;
}

static bool is_used(const struct top_model *model, enum object_group_by by)
{
    for (size_t i = 0; i < model->depth; i++)
        if (model->frames[i].kind == TOP_LIST && model->frames[i].by == by)
            return true;
    return false;
}

/* From a group to its call sites, to a call site's references, to a reference's facts. */
static unsigned go_in(struct top_model *model)
{
    const struct top_frame *from = top_model_frame(model);
    if (from->kind != TOP_LIST || !from->chosen || model->stale ||
        top_view_count(model->view, from->by) == 0)
        return TOP_DO_NOTHING;
    if (from->by == OBJECT_BY_NOTHING) {
        struct top_frame *frame = push(model, TOP_OBJECT);
        frame->object = from->object;
        text_copy(frame->worker_id, sizeof frame->worker_id, from->worker_id);
        model->detail_asked = false;
        return TOP_DO_DETAIL;
    }
    struct top_frame *frame = push(model, TOP_LIST);
    frame->by = is_used(model, OBJECT_BY_CALL_SITE) ? OBJECT_BY_NOTHING : OBJECT_BY_CALL_SITE;
    model->stale = true;
    return TOP_DO_VIEW;
}

static unsigned go_back(struct top_model *model)
{
    if (model->depth == 0)
        return TOP_DO_NOTHING;
    bool was_list = top_model_frame(model)->kind == TOP_LIST;
    struct top_frame *frame = &model->frames[--model->depth];
    model->stale = model->stale || was_list;
    if (!model->stale && frame->kind == TOP_LIST) { /* other sweeps may have come meanwhile */
        top_model_find_chosen(model, frame);
        top_model_keep_in_sight(model, frame);
    }
    return was_list ? TOP_DO_VIEW : TOP_DO_NOTHING;
}

static unsigned show_owner(struct top_model *model)
{
    const struct top_frame *from = top_model_frame(model);
    int32_t owner = top_model_owner(model);
    if (from->kind != TOP_OBJECT)
        return TOP_DO_NOTHING;
    struct top_frame *frame = push(model, TOP_OWNER);
    frame->object = from->object;
    text_copy(frame->worker_id, sizeof frame->worker_id,
              owner < 0 ? "" : model->sweep->processes[owner].worker->worker_id);
    return TOP_DO_DETAIL;
}

/* --- settings --- */

static unsigned next_group(struct top_model *model)
{
    struct top_frame *frame = &model->frames[model->depth];
    if (frame->kind != TOP_LIST)
        return TOP_DO_NOTHING;
    do
        frame->by = (enum object_group_by)((frame->by + 1) % OBJECT_BY_COUNT);
    while (is_used(model, frame->by));
    free(frame->key);
    frame->key = NULL;
    frame->chosen = false;
    frame->cursor = frame->scroll = 0;
    model->stale = true;
    return TOP_DO_VIEW | (frame->by == OBJECT_BY_TASK ? (unsigned)TOP_DO_ASK : 0);
}

static unsigned next_units(struct top_model *model)
{
    model->units = (enum byte_units)((model->units + 1) % (MEMORY_GB + 1));
    return TOP_DO_NOTHING;
}

static unsigned toggle_pause(struct top_model *model)
{
    model->paused = !model->paused;
    return TOP_DO_TIMER;
}

static unsigned slower(struct top_model *model)
{
    model->interval += model->interval + 1 < TOP_INTERVALS;
    return TOP_DO_TIMER;
}

static unsigned faster(struct top_model *model)
{
    model->interval -= model->interval > 0;
    return TOP_DO_TIMER;
}

static unsigned look_again(struct top_model *model)
{
    (void)model;
    return TOP_DO_ASK;
}

static unsigned quit(struct top_model *model)
{
    (void)model;
    return TOP_DO_QUIT;
}

static unsigned open_filter(struct top_model *model)
{
    if (top_model_frame(model)->kind == TOP_LIST)
        model->mode = TOP_FILTER;
    return TOP_DO_NOTHING;
}

static unsigned open_sort_menu(struct top_model *model)
{
    if (top_model_frame(model)->kind != TOP_LIST)
        return TOP_DO_NOTHING;
    model->mode = TOP_SORT_MENU;
    model->menu_line = (size_t)model->sort_by;
    return TOP_DO_NOTHING;
}

static unsigned open_help(struct top_model *model)
{
    model->mode = TOP_HELP;
    model->help_scroll = 0;
    return TOP_DO_NOTHING;
}

static const struct {
    int key;
    unsigned (*act)(struct top_model *model);
} browse_keys[] = {
    {TOP_KEY_UP, move_up},
    {'k', move_up},
    {TOP_KEY_DOWN, move_down},
    {'j', move_down},
    {TOP_KEY_PAGE_UP, page_up},
    {TOP_KEY_PAGE_DOWN, page_down},
    {TOP_KEY_HOME, move_first},
    {TOP_KEY_END, move_last},
    {TOP_KEY_ENTER, go_in},
    {TOP_KEY_RIGHT, go_in},
    {TOP_KEY_BACK, go_back},
    {TOP_KEY_LEFT, go_back},
    {TOP_KEY_ESCAPE, go_back},
    {'s', show_owner},
    {TOP_KEY_F3, open_filter},
    {'/', open_filter},
    {TOP_KEY_F6, open_sort_menu},
    {'>', open_sort_menu},
    {'g', next_group},
    {'u', next_units},
    {' ', toggle_pause},
    {'+', slower},
    {'-', faster},
    {'r', look_again},
    {'h', open_help},
    {'?', open_help},
    {TOP_KEY_F1, open_help},
    {'q', quit},
    {TOP_KEY_F10, quit},
};

static unsigned key_in_browse(struct top_model *model, int key)
{
    for (size_t i = 0; i < sizeof browse_keys / sizeof *browse_keys; i++)
        if (browse_keys[i].key == key)
            return browse_keys[i].act(model);
    return TOP_DO_NOTHING;
}

/* --- the other modes --- */

static void drop_letter(struct buf *text)
{
    while (text->len && (text->data[text->len - 1] & 0xC0) == 0x80)
        text->len--;
    text->len -= text->len > 0;
    text->data[text->len] = '\0';
}

static void add_letter(struct buf *text, int key)
{
    char letter[4];
    size_t len = 0;
    if (key < 0x80) {
        letter[len++] = (char)key;
    } else {
        int more = key < 0x800 ? 1 : key < 0x10000 ? 2 : 3;
        static const int heads[] = {0, 0xC0, 0xE0, 0xF0};
        letter[len++] = (char)(heads[more] | (key >> (6 * more)));
        while (more--)
            letter[len++] = (char)(0x80 | ((key >> (6 * more)) & 0x3F));
    }
    buf_add(text, letter, len);
}

static unsigned key_in_filter(struct top_model *model, int key)
{
    enum { LONGEST = 200, ERASE_LINE = 'U' & 0x1F };
    size_t len = model->filter.len;
    if (key == TOP_KEY_ENTER || key == TOP_KEY_ESCAPE)
        model->mode = TOP_BROWSE;
    if (key == TOP_KEY_ESCAPE || key == ERASE_LINE)
        buf_consume(&model->filter, len);
    else if (key == TOP_KEY_BACK && len)
        drop_letter(&model->filter);
    else if (key >= ' ' && key < TOP_KEY_NONE && key != 0x7F && len < LONGEST)
        add_letter(&model->filter, key);
    /* The list stays until the filtered one is made. */
    return model->filter.len != len ? TOP_DO_VIEW : TOP_DO_NOTHING;
}

static unsigned set_sort(struct top_model *model, enum object_sort_by sort_by)
{
    model->mode = TOP_BROWSE;
    if (model->sort_by == sort_by)
        return TOP_DO_NOTHING;
    model->sort_by = sort_by;
    return TOP_DO_VIEW | (sort_by == OBJECT_SORT_AGE ? (unsigned)TOP_DO_ASK : 0);
}

static unsigned key_in_sort_menu(struct top_model *model, int key)
{
    for (size_t i = 0; i < OBJECT_SORT_COUNT; i++)
        if (key == sweep_query_sort_name((enum object_sort_by)i)[0])
            return set_sort(model, (enum object_sort_by)i);
    if ((key == TOP_KEY_UP || key == 'k') && model->menu_line > 0)
        model->menu_line--;
    else if ((key == TOP_KEY_DOWN || key == 'j') && model->menu_line + 1 < OBJECT_SORT_COUNT)
        model->menu_line++;
    else if (key == TOP_KEY_ENTER)
        return set_sort(model, (enum object_sort_by)model->menu_line);
    else if (key == TOP_KEY_ESCAPE || key == TOP_KEY_BACK || key == TOP_KEY_LEFT ||
             key == TOP_KEY_F6 || key == '>')
        model->mode = TOP_BROWSE;
    else if (key == 'q' || key == TOP_KEY_F10)
        return TOP_DO_QUIT;
    return TOP_DO_NOTHING;
}

static unsigned key_in_help(struct top_model *model, int key)
{
    if (key == TOP_KEY_F10)
        return TOP_DO_QUIT;
    if (key == TOP_KEY_DOWN || key == 'j')
        scroll(model, &model->help_scroll, 1);
    else if (key == TOP_KEY_UP || key == 'k')
        scroll(model, &model->help_scroll, -1);
    else if (key == TOP_KEY_PAGE_DOWN)
        scroll(model, &model->help_scroll, page(model));
    else if (key == TOP_KEY_PAGE_UP)
        scroll(model, &model->help_scroll, -page(model));
    else if (key != TOP_KEY_NONE)
        model->mode = TOP_BROWSE;
    return TOP_DO_NOTHING;
}

unsigned top_model_key(struct top_model *model, int key)
{
    enum { INTERRUPT = 'C' & 0x1F };
    static unsigned (*const readers[])(struct top_model *, int) = {
        [TOP_BROWSE] = key_in_browse,
        [TOP_FILTER] = key_in_filter,
        [TOP_SORT_MENU] = key_in_sort_menu,
        [TOP_HELP] = key_in_help,
    };
    return key == INTERRUPT ? TOP_DO_QUIT : readers[model->mode](model, key);
}
