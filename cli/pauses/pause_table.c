#include "cli/pauses/pause_table.h"

#include "base/text.h"
#include "cli/common/table.h"
#include "proto/job_id.h"
#include "relay/pause/pause_index.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the table --- */

void pause_age(int64_t since_ms, int64_t now_ms, char out[24])
{
    static const struct {
        int64_t seconds;
        char unit;
    } units[] = {{86400, 'd'}, {3600, 'h'}, {60, 'm'}, {1, 's'}};
    int64_t seconds = now_ms > since_ms ? (now_ms - since_ms) / 1000 : 0;
    size_t i = 0;
    if (since_ms <= 0) {
        text_copy(out, 24, "-");
        return;
    }
    while (units[i].seconds > 1 && seconds < 2 * units[i].seconds)
        i++;
    snprintf(out, 24, "%" PRId64 "%c", seconds / units[i].seconds, units[i].unit);
}

static const char *or_dash(const char *text)
{
    return text_empty(text) ? "-" : text;
}

/* The task's name, or the actor's; with the number of candidates if it is ambiguous. */
static void add_name(const struct pause *pause, struct buf *out)
{
    if (pause->task_name)
        buf_add_string(out, pause->task_name);
    else if (pause->actor_class)
        buf_printf(out, pause->ambiguous ? "%s.?" : "%s (no task)", pause->actor_class);
    else
        buf_add_string(out, "?");
    if (pause->actor_name)
        buf_printf(out, " (%s)", pause->actor_name);
    if (pause->ambiguous && pause->paused_threads > 0)
        buf_printf(out, " %" PRId64 " of %zu", pause->paused_threads, pause->candidate_count);
    else if (pause->ambiguous)
        buf_printf(out, " ? of %zu", pause->candidate_count);
}

static void add_location(const struct pause *pause, struct buf *out)
{
    if (!pause->file) {
        buf_add_string(out, "-");
        return;
    }
    buf_printf(out, "%s:%" PRId64, text_basename(pause->file), pause->line);
    if (pause->reason)
        buf_printf(out, "  %s", pause->reason);
}

static void add_state(const struct pause *pause, struct buf *out)
{
    if (pause->state == PAUSE_HELD && pause->clients > 0)
        buf_printf(out, "attached (%" PRId64 " client%s)", pause->clients,
                   pause->clients == 1 ? "" : "s");
    else
        buf_add_string(out, pause_state_name(pause->state));
}

/* `digits`: as many of the id's as tell it from the others. */
static void add_cells(struct table *table, const struct pause *pause, size_t digits,
                      const struct table_style *style)
{
    char id[ID_TEXT(ID_UNIQUE_BYTES)], job[ID_TEXT(ID_JOB_BYTES)], age[24], pid[24];
    struct buf name = {0}, location = {0}, state = {0};
    snprintf(id, sizeof id, "%.*s", (int)digits,
             *pause->task_id ? pause->task_id : pause->worker_id);
    job_id_brief(pause->job_id, job);
    pause_age(pause->since_ms, style->now_ms, age);
    snprintf(pid, sizeof pid, "%" PRId64, pause->pid);
    add_name(pause, &name);
    add_location(pause, &location);
    add_state(pause, &state);
    const char *cells[] = {or_dash(id),
                           name.data,
                           or_dash(job),
                           or_dash(pause->node_ip),
                           pause->pid > 0 ? pid : "-",
                           pause_debugger_name(pause->debugger),
                           state.data,
                           age,
                           location.data};
    for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
        table_cell(table, cells[i]);
    buf_free(&name);
    buf_free(&location);
    buf_free(&state);
}

void pauses_table(const struct pause_list *list, const struct pause_list *all,
                  const struct table_style *style, struct buf *out)
{
    static const struct table_column columns[] = {
        {"TASK", false, false},  {"NAME", false, true}, {"JOB", false, false},
        {"NODE", false, false},  {"PID", true, false},  {"DEBUGGER", false, false},
        {"STATE", false, false}, {"AGE", true, false},  {"LOCATION", false, true},
    };
    struct table *table = table_create(columns, sizeof columns / sizeof *columns);
    size_t *digits = pause_short_lengths(all);
    struct pause_index index;
    pause_index_make(&index, all);
    for (size_t i = 0; i < list->count; i++) {
        const struct pause *own = pause_index_find(&index, &list->items[i]);
        add_cells(table, &list->items[i], digits[own - all->items], style);
    }
    pause_index_clear(&index);
    free(digits);
    table_render(table, style->width, style->colour, style->utf8, out);
    table_free(&table);
}
