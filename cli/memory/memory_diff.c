#include "cli/memory/memory_diff.h"

#include "base/mem.h"
#include "base/text.h"
#include "cli/common/call_site.h"
#include "cli/common/table.h"
#include "cli/memory/memory_export.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the difference --- */

static struct memory_counts counts_of(const struct object_group *group)
{
    return (struct memory_counts){group->bytes, group->objects, group->row_count};
}

struct keyed {
    const char *key;
    struct memory_counts counts;
};

static int compare_keys(const void *a, const void *b)
{
    const struct keyed *one = a, *two = b;
    return strcmp(one->key, two->key);
}

static struct keyed *by_key(const struct object_report *report)
{
    struct keyed *sorted = mem_array(report->group_count + 1, sizeof *sorted);
    for (size_t i = 0; i < report->group_count; i++)
        sorted[i] = (struct keyed){report->groups[i].key, counts_of(&report->groups[i])};
    if (report->group_count)
        qsort(sorted, report->group_count, sizeof *sorted, compare_keys);
    return sorted;
}

static bool same_counts(struct memory_counts a, struct memory_counts b)
{
    return a.bytes == b.bytes && a.objects == b.objects && a.refs == b.refs;
}

static void add_change(struct memory_diff *diff, struct memory_change change)
{
    if (same_counts(change.before, change.after))
        diff->same++;
    else
        diff->changes[diff->count++] = change;
}

static int64_t apart(size_t after, size_t before)
{
    return (int64_t)after - (int64_t)before;
}

static int most_growth_first(const void *a, const void *b)
{
    const struct memory_change *one = a, *two = b;
    const int64_t first[] = {one->after.bytes - one->before.bytes,
                             apart(one->after.objects, one->before.objects),
                             apart(one->after.refs, one->before.refs)};
    const int64_t second[] = {two->after.bytes - two->before.bytes,
                              apart(two->after.objects, two->before.objects),
                              apart(two->after.refs, two->before.refs)};
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        if (first[i] != second[i])
            return first[i] > second[i] ? -1 : 1;
    return strcmp(one->key, two->key);
}

/* Walks both in the order of their keys. */
static void join(struct memory_diff *diff)
{
    const struct object_report *before = diff->reports[0], *after = diff->reports[1];
    const struct memory_counts none = {0};
    struct keyed *old = by_key(before), *new = by_key(after);
    size_t i = 0, k = 0;
    diff->changes = mem_array(before->group_count + after->group_count + 1, sizeof *diff->changes);
    while (i < before->group_count || k < after->group_count) {
        int order = i == before->group_count  ? 1
                    : k == after->group_count ? -1
                                              : strcmp(old[i].key, new[k].key);
        add_change(diff, (struct memory_change){.key = order <= 0 ? old[i].key : new[k].key,
                                                .before = order <= 0 ? old[i].counts : none,
                                                .after = order >= 0 ? new[k].counts : none});
        i += order <= 0;
        k += order >= 0;
    }
    free(old);
    free(new);
    if (diff->count)
        qsort(diff->changes, diff->count, sizeof *diff->changes, most_growth_first);
}

void memory_diff_make(struct memory_diff *out, const struct sweep_query *query,
                      const struct object_sweep *before, const struct object_sweep *after)
{
    *out = (struct memory_diff){
        .from_ms = before->taken_ms,
        .to_ms = after->taken_ms,
        .group_by = query->group_by,
        .reports = {sweep_query_run(query, before), sweep_query_run(query, after)}};
    out->before = (struct memory_counts){out->reports[0]->bytes, out->reports[0]->objects,
                                         out->reports[0]->rows};
    out->after = (struct memory_counts){out->reports[1]->bytes, out->reports[1]->objects,
                                        out->reports[1]->rows};
    join(out);
}

void memory_diff_clear(struct memory_diff *diff)
{
    free(diff->changes);
    object_report_free(&diff->reports[0]);
    object_report_free(&diff->reports[1]);
    *diff = (struct memory_diff){0};
}

/* --- for people --- */

static double seconds(const struct memory_diff *diff)
{
    return diff->to_ms > diff->from_ms ? (double)(diff->to_ms - diff->from_ms) / 1000 : 0;
}

static void add_duration(double time, struct buf *out)
{
    if (time < 120)
        buf_printf(out, "%.1f s", time);
    else if (time < 7200)
        buf_printf(out, "%.0f min", time / 60);
    else
        buf_printf(out, "%.1f h", time / 3600);
}

static void put_apart(struct table *table, size_t after, size_t before)
{
    char text[24];
    int64_t more = apart(after, before);
    snprintf(text, sizeof text, more ? "%+" PRId64 : "%" PRId64, more);
    table_cell(table, text);
}

static void add_change_row(struct table *table, const struct memory_change *change,
                           const struct memory_diff *diff, const struct memory_style *style)
{
    char size[MEMORY_SIZE_TEXT];
    struct buf key = {0};
    int64_t growth = change->after.bytes - change->before.bytes;
    table_cell(table, byte_units_growth(growth, style->units, size));
    if (seconds(diff) > 0) {
        double rate = (double)growth / seconds(diff);
        table_cell(table, byte_units_growth((int64_t)rate, style->units, size));
    } else {
        table_cell(table, "-");
    }
    put_apart(table, change->after.objects, change->before.objects);
    put_apart(table, change->after.refs, change->before.refs);
    table_cell(table, byte_units_size(change->after.bytes, style->units, size));
    if (diff->group_by == OBJECT_BY_CALL_SITE)
        memory_site_name(change->key, &key);
    table_cell(table, key.len ? key.data : change->key);
    buf_free(&key);
}

static void add_summary(const struct memory_diff *diff, const struct memory_style *style,
                        struct buf *out)
{
    char growth[MEMORY_SIZE_TEXT], was[MEMORY_SIZE_TEXT], is[MEMORY_SIZE_TEXT];
    buf_printf(out, "%s in ",
               byte_units_growth(diff->after.bytes - diff->before.bytes, style->units, growth));
    add_duration(seconds(diff), out);
    buf_printf(out, ": from %s in %zu objects to %s in %zu",
               byte_units_size(diff->before.bytes, style->units, was), diff->before.objects,
               byte_units_size(diff->after.bytes, style->units, is), diff->after.objects);
    if (diff->same)
        buf_printf(out, "; %zu %s did not change", diff->same, object_group_name(diff->group_by));
    buf_add_string(out, "\n");
}

void memory_diff_print(const struct memory_diff *diff, const struct memory_style *style,
                       size_t limit, struct buf *out)
{
    struct table_column columns[] = {
        {"GROWTH", true, false}, {"PER SECOND", true, false}, {"OBJECTS", true, false},
        {"REFS", true, false},   {"NOW", true, false},        {"CALL SITE", false, true},
    };
    static const char *const titles[OBJECT_BY_COUNT] = {
        [OBJECT_BY_NOTHING] = "ALL", [OBJECT_BY_NODE] = "NODE", [OBJECT_BY_CALL_SITE] = "CALL SITE",
        [OBJECT_BY_OWNER] = "OWNER", [OBJECT_BY_TASK] = "TASK", [OBJECT_BY_ACTOR] = "ACTOR",
        [OBJECT_BY_JOB] = "JOB",
    };
    size_t shown = diff->count < limit ? diff->count : limit;
    columns[5].title = titles[diff->group_by];
    if (shown) {
        struct table *table = table_create(columns, sizeof columns / sizeof *columns);
        for (size_t i = 0; i < shown; i++)
            add_change_row(table, &diff->changes[i], diff, style);
        table_render(table, style->width, style->colour, style->utf8, out);
        table_free(&table);
    }
    if (shown < diff->count)
        buf_printf(out, "  %zu more: --num-entries %zu shows all\n", diff->count - shown,
                   diff->count);
    add_summary(diff, style, out);
}

/* --- for programs --- */

static void json_counts(const char *name, struct memory_counts counts, struct buf *out)
{
    buf_printf(out, "\"%s\": {\"bytes\": %" PRId64 ", \"objects\": %zu, \"references\": %zu}", name,
               counts.bytes, counts.objects, counts.refs);
}

static void json_change(struct memory_counts before, struct memory_counts after, struct buf *out)
{
    json_counts("before", before, out);
    buf_add_string(out, ", ");
    json_counts("after", after, out);
    buf_printf(out,
               ", \"growth\": {\"bytes\": %" PRId64 ", \"objects\": %" PRId64
               ", \"references\": %" PRId64 "}",
               after.bytes - before.bytes, apart(after.objects, before.objects),
               apart(after.refs, before.refs));
}

void memory_diff_json(const struct memory_diff *diff, struct buf *out)
{
    buf_printf(out,
               "{\"from\": %.3f, \"to\": %.3f, \"group_by\": \"%s\", "
               "\"unchanged\": %zu, \"total\": {",
               (double)diff->from_ms / 1000, (double)diff->to_ms / 1000,
               object_group_name(diff->group_by), diff->same);
    json_change(diff->before, diff->after, out);
    buf_add_string(out, "},\n\"changes\": [");
    for (size_t i = 0; i < diff->count; i++) {
        const struct memory_change *change = &diff->changes[i];
        buf_add_string(out, i ? ",\n{\"key\": " : "\n{\"key\": ");
        message_quote(out, change->key);
        buf_add_string(out, ", ");
        json_change(change->before, change->after, out);
        buf_add_string(out, "}");
    }
    buf_add_string(out, diff->count ? "\n]}\n" : "]}\n");
}

void memory_diff_csv(const struct memory_diff *diff, struct buf *out)
{
    buf_printf(out,
               "%s,bytes_growth,objects_growth,references_growth,bytes_before,bytes_after,"
               "objects_before,objects_after,references_before,references_after\n",
               object_group_name(diff->group_by));
    for (size_t i = 0; i < diff->count; i++) {
        const struct memory_change *change = &diff->changes[i];
        const struct memory_counts *before = &change->before, *after = &change->after;
        memory_csv_text(change->key, out);
        buf_printf(out,
                   ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%zu,%zu,%zu,%zu\n",
                   after->bytes - before->bytes, apart(after->objects, before->objects),
                   apart(after->refs, before->refs), before->bytes, after->bytes, before->objects,
                   after->objects, before->refs, after->refs);
    }
}
