#include "cli/profile/profile_text.h"

#include "cli/common/table.h"
#include "dap/json_record.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static void add_percent(struct table *table, uint64_t part, uint64_t whole)
{
    char text[32];
    snprintf(text, sizeof text, "%.1f %%", 100.0 * (double)part / (double)whole);
    table_cell(table, text);
}

static void add_row(struct table *table, const struct cpu_profile *profile,
                    const struct cpu_function *function)
{
    const struct cpu_frame *frame = &profile->frames[function->frame];
    struct buf location = {0};
    char processes[64];
    size_t all = profile->nodes[0].processes;
    add_percent(table, function->self, profile->samples);
    add_percent(table, function->total, profile->samples);
    table_cell(table, frame->function);
    buf_add_string(&location, *frame->file ? frame->file : "-");
    if (frame->line)
        buf_printf(&location, ":%" PRId64, frame->line);
    table_cell(table, location.data);
    buf_free(&location);
    if (function->processes == all)
        snprintf(processes, sizeof processes, "%zu", all);
    else
        snprintf(processes, sizeof processes, "%zu of %zu", function->processes, all);
    table_cell(table, processes);
}

void profile_text_table(const struct cpu_profile *profile, const struct profile_text_style *style,
                        struct buf *out)
{
    static const struct table_column columns[] = {
        {.title = "SELF", .right = true}, {.title = "TOTAL", .right = true},
        {"FUNCTION", .shrinks = true},    {"LOCATION", .shrinks = true},
        {.title = "PROCESSES"},
    };
    const struct cpu_function **hottest = cpu_profile_hottest(profile);
    struct table *table = table_create(columns, sizeof columns / sizeof *columns);
    size_t count = profile->function_count;
    for (size_t i = 0; i < count && i < PROFILE_TEXT_ROWS; i++)
        add_row(table, profile, hottest[i]);
    table_render(table, style->columns, style->colour, style->utf8, out);
    if (count > PROFILE_TEXT_ROWS)
        buf_printf(out, "  and %zu more functions (--format json has all)\n",
                   count - PROFILE_TEXT_ROWS);
    table_free(&table);
    free(hottest);
    process_list_text(&profile->processes, out);
}

void profile_text_json(const struct cpu_profile *profile, uint32_t seconds, struct buf *out)
{
    const struct cpu_function **hottest = cpu_profile_hottest(profile);
    buf_printf(out, "{\"seconds\":%u,\"samples\":%" PRIu64 ",\"left_out\":%" PRIu64, seconds,
               profile->samples, profile->left_out);
    buf_add_string(out, ",\"processes\":[");
    for (size_t i = 0; i < profile->processes.count; i++) {
        buf_add_string(out, i ? ",{" : "{");
        process_list_json(&profile->processes, &profile->processes.items[i], out);
        buf_printf(out, ",\"samples\":%" PRIu64 "}", profile->process_samples[i]);
    }
    buf_add_string(out, "],\"functions\":[");
    for (size_t i = 0; i < profile->function_count; i++) {
        const struct cpu_frame *frame = &profile->frames[hottest[i]->frame];
        buf_add_string(out, i ? ",{\"name\":" : "{\"name\":");
        message_quote(out, frame->function);
        json_member_text(out, "file", frame->file);
        buf_printf(out,
                   ",\"line\":%" PRId64 ",\"self\":%" PRIu64 ",\"total\":%" PRIu64
                   ",\"processes\":%zu}",
                   frame->line, hottest[i]->self, hottest[i]->total, hottest[i]->processes);
    }
    buf_add_string(out, "]}\n");
    free(hottest);
}
