/* A live memory view without a terminal: its looks, its keys, and what it draws. */
#ifndef RAYDBG_TESTS_TOP_FIXTURE_H
#define RAYDBG_TESTS_TOP_FIXTURE_H

#include "object_sample.h"

#include "cli/top/top_draw.h"

#include <locale.h>
#include <stdlib.h>

enum { MIB = 1000000 };

static const char *const site_a = "(put object) | /app/train.py:load:12 | /app/train.py:main:40";
static const char *const site_b = "(task call) | /app/serve.py:answer:7";

/* Two nodes. The driver (pid 100, node-1) owns A and B of site_a; worker 200 on node-2 borrows A
 * and owns C of site_b; worker 300 on node-2 owns `small` more objects of 1000 bytes. */
struct sample {
    struct object_sweep *sweep;
    struct object_id a, b, c;
};

static inline struct sample sample(int64_t size_b, size_t small)
{
    struct sample it = {.sweep = sample_sweep(2)};
    it.a = sample_id("d", 1);
    it.b = sample_id("d", 2);
    it.c = sample_id("c1", 1);
    for (size_t i = 0; i < 2; i++) {
        it.sweep->nodes[i].store.used = 50 * MIB;
        it.sweep->nodes[i].store.available = 200 * MIB;
    }
    struct ray_worker_objects *driver = sample_process(it.sweep, 0, 100, RAY_DRIVER);
    sample_ref(driver, it.a, 8 * MIB, RAY_TASK_FINISHED)->call_site = site_a;
    sample_ref(driver, it.b, size_b, RAY_TASK_FINISHED)->call_site = site_a;
    struct ray_worker_objects *worker = sample_process(it.sweep, 1, 200, RAY_WORKER);
    struct ray_object_ref *borrowed = sample_ref(worker, it.a, 8 * MIB, RAY_TASK_NIL);
    borrowed->pinned = true;
    borrowed->call_site = site_b;
    sample_ref(worker, it.c, 5 * MIB, RAY_TASK_FINISHED)->call_site = site_b;
    struct ray_worker_objects *other = sample_process(it.sweep, 1, 300, RAY_WORKER);
    for (size_t i = 0; i < small; i++)
        sample_ref(other, sample_id("e1", (unsigned)i), 1000, RAY_TASK_FINISHED);
    object_sweep_join(it.sweep);
    return it;
}

/* A model with its looks, as the program has it. */
struct live {
    struct top_model model;
    struct sample first, now;
    struct top_view *view, *first_view;
    struct top_page page;
    int64_t clock;
};

static inline void make_views(struct live *live)
{
    struct top_wanted wanted;
    struct top_view *view, *first = NULL;
    top_model_wanted(&live->model, &wanted);
    view = top_view_build(&wanted, live->now.sweep);
    if (live->now.sweep != live->first.sweep)
        first = top_view_build(&wanted, live->first.sweep);
    top_wanted_clear(&wanted);
    top_model_set_view(&live->model, view, first);
    top_view_free(&live->view);
    top_view_free(&live->first_view);
    live->view = view;
    live->first_view = first;
}

static inline void look(struct live *live, struct sample now)
{
    struct object_sweep *old = live->now.sweep;
    if (!live->first.sweep)
        live->first = now;
    live->now = now;
    live->model.origin = live->first.sweep;
    top_model_set_sweep(&live->model, now.sweep);
    make_views(live);
    if (old && old != live->first.sweep)
        object_sweep_free(&old);
}

static inline struct live start(struct sample first)
{
    struct live live = {0};
    struct sweep_query query = {.group_by = OBJECT_BY_NODE};
    top_model_init(&live.model, &query);
    top_model_resize(&live.model, 120, 30);
    live.model.utf8 = true;
    live.model.source = "127.0.0.1:6379";
    look(&live, first);
    return live;
}

static inline void end(struct live *live)
{
    top_page_clear(&live->page);
    top_view_free(&live->view);
    top_view_free(&live->first_view);
    top_model_clear(&live->model);
    if (live->first.sweep != live->now.sweep)
        object_sweep_free(&live->first.sweep);
    object_sweep_free(&live->now.sweep);
}

static inline unsigned press(struct live *live, int key)
{
    unsigned action = top_model_key(&live->model, key);
    if (action & TOP_DO_VIEW)
        make_views(live);
    return action;
}

static inline void type(struct live *live, const char *keys)
{
    for (; *keys; keys++)
        press(live, *keys);
}

static inline void draw(struct live *live)
{
    if (live->page.lines)
        top_page_clear(&live->page);
    top_draw(&live->model, &live->page, live->clock);
}

/* The number of the first line that has this text; -1: none. */
static inline int line_with(struct live *live, const char *text)
{
    int found = -1;
    draw(live);
    for (int i = 0; i < live->page.height && found < 0; i++) {
        char *line = top_page_text(&live->page, i);
        if (strstr(line, text))
            found = i;
        free(line);
    }
    return found;
}

static inline void shows(struct live *live, const char *text)
{
    if (line_with(live, text) >= 0)
        return;
    for (int i = 0; i < live->page.height; i++) {
        char *line = top_page_text(&live->page, i);
        print_message("%s\n", line);
        free(line);
    }
    fail_msg("nothing shows \"%s\"", text);
}

static inline void shows_not(struct live *live, const char *text)
{
    int line = line_with(live, text);
    if (line >= 0)
        fail_msg("line %d shows \"%s\"", line, text);
}

/* The line that Enter would act on. */
static inline void chosen_is(struct live *live, const char *text)
{
    draw(live);
    for (int i = 0; i < live->page.height; i++) {
        const struct top_line *line = &live->page.lines[i];
        if (line->count == 0 || line->cells[0].attr != TOP_SELECTED)
            continue;
        char *said = top_page_text(&live->page, i);
        if (!strstr(said, text))
            fail_msg("chosen is \"%s\", not \"%s\"", said, text);
        free(said);
        return;
    }
    fail_msg("nothing is chosen");
}

#endif
