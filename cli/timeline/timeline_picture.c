#include "cli/timeline/timeline_picture.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/why_records/why_report.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { LABEL = 26, NARROWEST = 20, OTHER_ROWS = 6 };

/* The row of a process, or of what waits. */
struct row {
    const struct timeline_lane *lane; /* its first */
    double *busy; /* of each column: the time in it that a task was there, in columns */
    bool *failed, *paused;
    double total;
    bool is_cut; /* there is no room for it */
};

struct picture {
    const struct timeline *timeline;
    const struct timeline_style *style;
    int columns;
    double us_per_column;
    struct row *rows;
    size_t count;
};

/* --- filling --- */

static bool same_row(const struct timeline_lane *a, const struct timeline_lane *b)
{
    return a->node == b->node && strcmp(a->worker_id, b->worker_id) == 0;
}

static size_t column_of(const struct picture *picture, int64_t us)
{
    double at = (double)(us - picture->timeline->start_us) / picture->us_per_column;
    return at >= picture->columns ? (size_t)picture->columns - 1 : (size_t)at;
}

static void fill(const struct picture *picture, struct row *row, const struct timeline_span *span)
{
    size_t first = column_of(picture, span->start_us), last = column_of(picture, span->end_us);
    double begin = (double)(span->start_us - picture->timeline->start_us) / picture->us_per_column;
    double end = (double)(span->end_us - picture->timeline->start_us) / picture->us_per_column;
    for (size_t i = first; i <= last; i++) {
        double from = begin > (double)i ? begin : (double)i;
        double to = end < (double)(i + 1) ? end : (double)(i + 1);
        row->busy[i] += to > from ? to - from : 0;
    }
    row->total += end - begin;
    row->failed[last] = row->failed[last] || span->end == TIMELINE_FAILED;
    row->paused[last] = row->paused[last] || span->is_paused;
}

/* The run that the pause is in has filled the row. */
static void fill_pause(const struct picture *picture, struct row *row,
                       const struct timeline_span *span)
{
    size_t last = column_of(picture, span->end_us);
    for (size_t i = column_of(picture, span->start_us); i <= last; i++)
        row->paused[i] = true;
}

static bool is_drawn(const struct timeline_span *span)
{
    bool runs = span->kind == TIMELINE_RUN || span->kind == TIMELINE_PAUSE;
    return (runs && span->attempt->type != RAY_DRIVER_TASK) || span->kind == TIMELINE_WAIT;
}

static struct row *row_of(struct picture *picture, const struct timeline_lane *lane)
{
    if (!picture->count || !same_row(picture->rows[picture->count - 1].lane, lane)) {
        picture->rows = mem_resize(picture->rows, picture->count + 1, sizeof *picture->rows);
        picture->rows[picture->count++] =
            (struct row){.lane = lane,
                         .busy = mem_array((size_t)picture->columns, sizeof(double)),
                         .failed = mem_array((size_t)picture->columns, sizeof(bool)),
                         .paused = mem_array((size_t)picture->columns, sizeof(bool))};
    }
    return &picture->rows[picture->count - 1];
}

static void fill_rows(struct picture *picture)
{
    const struct timeline *timeline = picture->timeline;
    for (size_t i = 0; i < timeline->count; i++) {
        const struct timeline_span *span = &timeline->spans[i];
        if (is_drawn(span))
            (span->pause ? fill_pause : fill)(picture,
                                              row_of(picture, &timeline->lanes[span->lane]), span);
    }
}

/* Cuts the least busy processes. Returns how many. */
static size_t cut_rows(struct picture *picture, size_t room)
{
    size_t shown = picture->count, cut = 0;
    for (; shown > room && shown > 1; shown--, cut++) {
        struct row *least = NULL;
        for (size_t i = 0; i < picture->count; i++) {
            struct row *row = &picture->rows[i];
            if (!row->is_cut && row->lane->node != TIMELINE_NO_NODE &&
                (!least || row->total < least->total))
                least = row;
        }
        if (!least)
            break;
        least->is_cut = true;
    }
    return cut;
}

/* --- drawing --- */

static double highest(const struct row *row, int columns)
{
    double most = 0;
    for (int i = 0; i < columns; i++)
        most = row->busy[i] > most ? row->busy[i] : most;
    return most;
}

static const char *cell(const struct picture *picture, const struct row *row, int i, double most)
{
    static const char *const shades[] = {"░", "▒", "▓", "█"}, *const marks[] = {".", ":", "+", "#"};
    static const char *const heights[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    bool waits = row->lane->node == TIMELINE_NO_NODE;
    double share = most > 0 ? row->busy[i] / most : 0;
    if (row->failed[i] && !waits)
        return "x";
    if (row->paused[i])
        return "P";
    if (row->busy[i] <= 0)
        return " ";
    if (waits && picture->style->utf8)
        return heights[share >= 1 ? 7 : (int)(share * 8)];
    return (picture->style->utf8 ? shades : marks)[share >= 1 ? 3 : (int)(share * 4)];
}

static void label(const struct picture *picture, const struct row *row, char out[64])
{
    const struct timeline_lane *lane = row->lane;
    if (lane->node == TIMELINE_NO_NODE) {
        snprintf(out, 64, "waiting, at most %.0f", highest(row, picture->columns));
        return;
    }
    const struct ray_node *node = picture->timeline->nodes[lane->node].node;
    snprintf(out, 64, "pid %" PRId64 "@%.40s", lane->pid, node && node->ip ? node->ip : "?");
}

static void draw_row(const struct picture *picture, const struct row *row, struct buf *out)
{
    bool waits = row->lane->node == TIMELINE_NO_NODE;
    char name[64];
    double most = waits ? highest(row, picture->columns) : 1;
    label(picture, row, name);
    char *printable = text_printable(name, strlen(name), "");
    buf_printf(out, "%-*.*s ", LABEL, LABEL, printable);
    free(printable);
    for (int i = 0; i < picture->columns; i++) {
        const char *text = cell(picture, row, i, most);
        const char *colour = *text == 'x' ? "\033[31m" : *text == 'P' ? "\033[33m" : NULL;
        if (colour && picture->style->colour)
            buf_printf(out, "%s%s\033[0m", colour, text);
        else
            buf_add_string(out, text);
    }
    buf_add_string(out, "\n");
}

static void clock_text(int64_t us, char out[16])
{
    time_t seconds = (time_t)(us / 1000000);
    struct tm parts;
    if (!localtime_r(&seconds, &parts) || strftime(out, 16, "%H:%M:%S", &parts) == 0)
        text_copy(out, 16, "?");
}

static void draw_times(const struct picture *picture, struct buf *out)
{
    char from[16], to[16];
    clock_text(picture->timeline->start_us, from);
    clock_text(picture->timeline->end_us, to);
    int between = picture->columns - (int)strlen(from) - (int)strlen(to);
    buf_printf(out, "%*s %s%*s%s\n", LABEL, "", from, between > 1 ? between : 1, "", to);
}

static void draw(struct picture *picture, struct buf *out)
{
    int room = picture->style->rows - OTHER_ROWS;
    size_t cut = cut_rows(picture, room > 1 ? (size_t)room : 1);
    draw_times(picture, out);
    for (size_t i = 0; i < picture->count; i++)
        if (!picture->rows[i].is_cut)
            draw_row(picture, &picture->rows[i], out);
    if (cut)
        buf_printf(out, "%zu less busy processes are not shown\n", cut);
    buf_add_string(out, picture->style->utf8 ? "█ busy  x failed  P paused\n"
                                             : "# busy  x failed  P paused\n");
}

/* --- the summary --- */

static void add_count(struct buf *out, const char *lead, size_t count, const char *word)
{
    if (count)
        buf_printf(out, "%s%zu %s", lead, count, word);
}

void timeline_summary(const struct timeline *timeline, bool utf8, struct buf *out)
{
    const char *dot = utf8 ? " · " : " - ";
    char span[WHY_SPAN_TEXT];
    buf_printf(out, "%zu attempt%s", timeline->attempts, timeline->attempts == 1 ? "" : "s");
    add_count(out, ", ", timeline->failed, "failed");
    add_count(out, ", ", timeline->running, "running");
    add_count(out, ", ", timeline->paused, "of them paused");
    add_count(out, ", ", timeline->waiting, "waiting");
    buf_printf(out, "%s%zu process%s on %zu node%s%s%s\n", dot, timeline->processes,
               timeline->processes == 1 ? "" : "es", timeline->node_count,
               timeline->node_count == 1 ? "" : "s", dot,
               why_span((timeline->end_us - timeline->start_us) / 1000, span));
}

void timeline_picture(const struct timeline *timeline, const struct timeline_style *style,
                      struct buf *out)
{
    struct picture picture = {.timeline = timeline, .style = style};
    timeline_summary(timeline, style->utf8, out);
    if (!timeline->count)
        return;
    picture.columns = style->columns - LABEL - 1;
    if (picture.columns < NARROWEST)
        picture.columns = NARROWEST;
    int64_t length = timeline->end_us - timeline->start_us;
    picture.us_per_column = (double)(length > 0 ? length : 1) / picture.columns;
    fill_rows(&picture);
    draw(&picture, out);
    for (size_t i = 0; i < picture.count; i++) {
        free(picture.rows[i].busy);
        free(picture.rows[i].failed);
        free(picture.rows[i].paused);
    }
    free(picture.rows);
}
