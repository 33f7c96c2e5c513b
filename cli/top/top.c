#include "cli/top/top.h"

#include "base/mem.h"
#include "base/text.h"
#include "base/wall_clock.h"
#include "cli/common/command_usage.h"
#include "cli/common/terminal.h"
#include "cli/top/top_draw.h"
#include "cli/top/top_screen.h"
#include "cli/top/top_thread.h"

#include <stdio.h>
#include <stdlib.h>

/* BACKOFF: the pause after a sweep is at least this many times as long as the sweep took. TICK_MS:
 * how often the status line shows the age of a pending request. Tasks are requested by id: only
 * those of the TASKS_ASKED largest objects. */
enum { BACKOFF = 4, TICK_MS = 1000, TASKS_ASKED = 1000 };

enum asking { ASKING_NOTHING, ASKING_SWEEP, ASKING_NAMES, ASKING_DETAIL, ASKING_PAUSES };

/* The references of one object, as a sweep of their own, because a job may be reading the whole
 * one. It owns its locations and tasks; all else belongs to `look`. */
struct detail {
    struct object_sweep sweep;
    struct top_sweep *look;
    const struct object_row *row;
};

struct top {
    struct loop *loop; /* the screen's */
    struct top_thread *back;
    struct top_screen *screen;
    struct top_model model;
    enum asking asking;
    int64_t asked_us, took_ms;
    bool again;         /* a sweep was wanted while another request was pending */
    bool detail_wanted; /* the same for a detail */
    struct timer *timer, *ticker;
    const struct object_row **rows; /* the rows whose tasks are requested */
    /* The last sweep, the first one, that of the view; the views. */
    struct top_sweep *now, *first, *viewed;
    struct top_view *view, *first_view;
    struct top_wanted first_wanted; /* of first_view */
    bool making;                    /* a view is being made */
    bool view_wanted;               /* another view is wanted after it */
    struct pause_list pauses;
    struct detail *detail, *asked_detail; /* the shown one, and the pending one */
    struct err err;                       /* of the first sweep */
};

static void show(struct top *top)
{
    struct top_page page;
    top_draw(&top->model, &page, wall_clock_ms());
    top_screen_show(top->screen, &page);
    top_page_clear(&page);
}

/* --- views --- */

static void start_job(struct top *top)
{
    if (!top->now)
        return;
    top->view_wanted = top->making;
    if (top->view_wanted)
        return;
    struct top_job *job = mem_alloc(sizeof *job);
    top_model_wanted(&top->model, &job->wanted);
    job->look = top_sweep_use(top->now);
    if (top->now != top->first &&
        (!top->first_view || !top_wanted_equal(&job->wanted, &top->first_wanted)))
        job->first = top_sweep_use(top->first);
    top->making = true;
    top_thread_make_view(top->back, job);
}

static void take_views(struct top *top, struct top_job *job)
{
    struct top_view *old = top->view;
    struct top_sweep *old_look = top->viewed;
    top->view = job->view;
    top->viewed = job->look;
    job->view = NULL;
    job->look = NULL;
    if (job->first_view) {
        top_view_free(&top->first_view);
        top_wanted_clear(&top->first_wanted);
        top->first_view = job->first_view;
        top->first_wanted = job->wanted;
        job->first_view = NULL;
        job->wanted = (struct top_wanted){0};
    }
    top_model_set_view(&top->model, top->view, top->first_view);
    top_view_free(&old);
    top_sweep_drop(&old_look);
}

static void on_view(void *arg, struct top_job *job)
{
    struct top *top = arg;
    top->making = false;
    struct top_wanted wanted;
    top_model_wanted(&top->model, &wanted);
    bool fits = top_wanted_equal(&wanted, &job->wanted);
    top_wanted_clear(&wanted);
    if (fits)
        take_views(top, job);
    top_job_free(&job);
    if (top->view_wanted || !fits)
        start_job(top);
    show(top);
}

/* --- requests --- */

static void ask_sweep(struct top *top);
static void ask_detail(struct top *top);

static void on_timer(void *arg)
{
    struct top *top = arg;
    top->timer = NULL;
    ask_sweep(top);
}

static void plan(struct top *top)
{
    int64_t wait = top_model_interval_ms(&top->model), least = BACKOFF * top->took_ms;
    timer_cancel(&top->timer);
    if (!top->model.paused && top->now)
        top->timer = timer_start(top->loop, wait > least ? wait : least, on_timer, top);
}

static void on_tick(void *arg)
{
    struct top *top = arg;
    top->ticker = timer_start(top->loop, TICK_MS, on_tick, top);
    if (top->asking != ASKING_NOTHING)
        show(top);
}

static void begin(struct top *top, enum asking asking)
{
    top->asking = asking;
    if (top->model.asked_ms == 0)
        top->model.asked_ms = wall_clock_ms();
}

static void end_asking(struct top *top)
{
    top->asking = ASKING_NOTHING;
    top->model.asked_ms = 0;
    if (top->again)
        ask_sweep(top);
    else if (top->detail_wanted)
        ask_detail(top);
    if (top->asking == ASKING_NOTHING && !top->timer)
        plan(top);
}

static void on_pauses(void *arg, const struct err *err, struct pause_list *pauses)
{
    struct top *top = arg;
    pause_list_clear(&top->pauses);
    top->pauses = *pauses;
    top->model.pauses = &top->pauses;
    if (err)
        err_line(err, top->model.problem, sizeof top->model.problem);
    end_asking(top);
    show(top);
}

static void detail_free(struct detail **detail)
{
    struct detail *it = *detail;
    if (!it)
        return;
    *detail = NULL;
    ray_object_locations_free(it->sweep.locations, it->sweep.location_count);
    ray_tasks_free(it->sweep.tasks, it->sweep.task_count);
    top_sweep_drop(&it->look);
    free(it);
}

static void on_detail(void *arg)
{
    struct top *top = arg;
    const struct top_frame *frame = top_model_frame(&top->model);
    detail_free(&top->detail);
    top->detail = top->asked_detail;
    top->asked_detail = NULL;
    top->model.detail = &top->detail->sweep;
    if (frame->kind != TOP_LIST && object_id_equal(&frame->object, &top->detail->row->ref->id))
        top->model.detail_asked = true;
    end_asking(top);
    show(top);
}

static struct detail *detail_create(struct top_sweep *look, size_t first, size_t count)
{
    struct detail *detail = mem_alloc(sizeof *detail);
    struct object_sweep *sweep = &detail->sweep;
    *sweep = *look->sweep;
    sweep->rows += first;
    sweep->row_count = count;
    sweep->locations = NULL;
    sweep->tasks = NULL;
    sweep->location_count = sweep->task_count = 0;
    detail->look = top_sweep_use(look);
    detail->row = sweep->rows;
    return detail;
}

/* Asks for the shown object's locations and tasks; for a shown owner, whether it is stopped. */
static void ask_detail(struct top *top)
{
    const struct top_frame *frame = top_model_frame(&top->model);
    size_t count = 0;
    top->detail_wanted = top->asking != ASKING_NOTHING;
    if (top->detail_wanted || !top->now || frame->kind == TOP_LIST)
        return;
    if (frame->kind == TOP_OWNER) {
        begin(top, ASKING_PAUSES);
        top_thread_ask_pauses(top->back);
        return;
    }
    size_t first = object_sweep_rows_of(top->now->sweep, &frame->object, &count);
    if (count == 0)
        return;
    begin(top, ASKING_DETAIL);
    struct detail *detail = top->asked_detail = detail_create(top->now, first, count);
    top_thread_ask_detail(top->back, &detail->sweep, &detail->row);
}

static void end_look(struct top *top)
{
    top->took_ms = (loop_now_us() - top->asked_us) / 1000;
    plan(top);
    end_asking(top);
    show(top);
}

static void take_sweep(struct top *top, struct object_sweep *sweep)
{
    top_sweep_drop(&top->now);
    top->now = top_sweep_create(sweep);
    if (!top->first)
        top->model.origin = (top->first = top_sweep_use(top->now))->sweep;
    top->model.problem[0] = '\0';
    top_model_set_sweep(&top->model, sweep);
    start_job(top);
    top->detail_wanted = top_model_frame(&top->model)->kind != TOP_LIST;
    end_look(top);
}

static void on_names(void *arg, struct object_sweep *sweep)
{
    take_sweep(arg, sweep);
}

static int by_size(const void *a, const void *b)
{
    const struct object_row *one = *(const struct object_row *const *)a;
    const struct object_row *two = *(const struct object_row *const *)b;
    return (one->ref->size < two->ref->size) - (one->ref->size > two->ref->size);
}

static void ask_names(struct top *top, struct object_sweep *sweep)
{
    size_t count = 0;
    top->rows = mem_resize(top->rows, sweep->row_count + 1, sizeof(void *));
    for (size_t i = 0; i < sweep->row_count; i++)
        if (i == 0 || !object_id_equal(&sweep->rows[i].ref->id, &sweep->rows[i - 1].ref->id))
            top->rows[count++] = &sweep->rows[i];
    qsort(top->rows, count, sizeof(void *), by_size);
    begin(top, ASKING_NAMES);
    top_thread_ask_names(top->back, sweep, top->rows, count < TASKS_ASKED ? count : TASKS_ASKED);
}

static void on_sweep(void *arg, const struct err *err, struct object_sweep *sweep)
{
    struct top *top = arg;
    if (!err && top_model_names_wanted(&top->model)) {
        ask_names(top, sweep);
        return;
    }
    if (!err) {
        take_sweep(top, sweep);
        return;
    }
    err_line(err, top->model.problem, sizeof top->model.problem);
    if (!top->now) {
        top->err = *err;
        loop_stop(top->loop);
        return;
    }
    end_look(top);
}

static void ask_sweep(struct top *top)
{
    timer_cancel(&top->timer);
    top->again = top->asking != ASKING_NOTHING;
    if (top->again)
        return;
    top->asked_us = loop_now_us();
    begin(top, ASKING_SWEEP);
    top_thread_ask_sweep(top->back);
}

/* --- the user --- */

static void on_key(void *arg, int key)
{
    struct top *top = arg;
    unsigned action = top_model_key(&top->model, key);
    if (action & TOP_DO_QUIT) {
        loop_stop(top->loop);
        return;
    }
    if (action & TOP_DO_VIEW)
        start_job(top);
    if (action & TOP_DO_DETAIL)
        ask_detail(top);
    if (action & TOP_DO_TIMER && top->asking == ASKING_NOTHING)
        plan(top);
    if (action & TOP_DO_ASK)
        ask_sweep(top);
    show(top);
}

static void on_resize(void *arg)
{
    struct top *top = arg;
    int columns, lines;
    top_screen_size(top->screen, &columns, &lines);
    top_model_resize(&top->model, columns, lines);
    show(top);
}

static void on_end(void *arg)
{
    loop_stop(((struct top *)arg)->loop);
}

static void clear(struct top *top)
{
    detail_free(&top->detail);
    detail_free(&top->asked_detail);
    top_view_free(&top->view);
    top_view_free(&top->first_view);
    top_wanted_clear(&top->first_wanted);
    top_sweep_drop(&top->now);
    top_sweep_drop(&top->first);
    top_sweep_drop(&top->viewed);
    pause_list_clear(&top->pauses);
    top_model_clear(&top->model);
    free(top->rows);
}

static void start(struct top *top, struct memory_source *source, const struct sweep_query *first,
                  enum byte_units units)
{
    top_model_init(&top->model, first);
    top->model.units = units;
    top->model.utf8 = terminal_utf8();
    top->model.source = memory_source_name(source);
    on_resize(top);
    on_tick(top);
    ask_sweep(top);
}

/* Runs with a screen, which keeps stderr back until it is closed. */
static int run(struct top *top, struct loop *loop, struct memory_source *source,
               const struct sweep_query *first, enum byte_units units)
{
    static const struct top_thread_ops ops = {on_sweep, on_names, on_detail, on_pauses, on_view};
    top->back = top_thread_start(top->loop, loop, source, &ops, top, &top->err);
    if (top->back) {
        start(top, source, first, units);
        loop_run(top->loop);
        top_thread_stop(top->back);
    }
    timer_cancel(&top->timer);
    timer_cancel(&top->ticker);
    top_screen_close(&top->screen);
    return top->err.code ? command_fail(&top->err) : ERR_NONE;
}

int top_run(struct loop *loop, struct memory_source *source, const struct sweep_query *first,
            enum byte_units units)
{
    static const struct top_screen_ops ops = {on_key, on_resize, on_end};
    struct top top = {0};
    struct err err;
    int code;
    top.loop = loop_create(false, &err);
    if (!top.loop)
        return command_fail(&err);
    top.screen = top_screen_open(top.loop, &ops, &top, &err);
    code = top.screen ? run(&top, loop, source, first, units) : command_fail(&err);
    loop_destroy(&top.loop); /* runs the callbacks that were posted to it */
    top_thread_free(&top.back);
    clear(&top);
    return code;
}
