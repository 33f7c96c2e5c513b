#include "cli/memory/memory_output.h"

#include "base/text.h"
#include "cli/common/call_site.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { BAR = 20, WARM_PERCENT = 75, HOT_PERCENT = 90 };

/* --- names --- */

static const char *or_else(const char *text, const char *otherwise)
{
    return text_empty(text) ? otherwise : text;
}

void memory_process_name(const struct object_sweep *sweep, int32_t process, struct buf *out)
{
    if (process < 0) {
        buf_add_string(out, "unknown");
        return;
    }
    const struct object_process *it = &sweep->processes[process];
    if (it->worker->type == RAY_DRIVER)
        buf_add_string(out, "driver ");
    else if (it->worker->actor_id[0])
        buf_printf(out, "%s ", or_else(it->actor_class, "actor"));
    if (!text_empty(it->actor_name))
        buf_printf(out, "(%s) ", it->actor_name);
    buf_printf(out, "pid %" PRId64, it->worker->pid);
    if (sweep->node_count > 1)
        buf_printf(out, "@%s", or_else(sweep->nodes[it->node].name, "?"));
}

void memory_node_name(const struct object_node *node, struct buf *out)
{
    buf_add_string(out, or_else(node->name, or_else(node->ip, node->node_id)));
    if (!text_empty(node->name) && !text_empty(node->ip) && !text_equal(node->name, node->ip))
        buf_printf(out, " (%s)", node->ip);
}

void memory_object_name(const struct object_id *id, const struct memory_style *style,
                        struct buf *out)
{
    char hex[ID_TEXT(ID_OBJECT_BYTES)];
    object_id_hex(id, hex);
    if (style->whole)
        buf_add_string(out, hex);
    else
        buf_printf(out, "%.6s%s%s", hex, style->utf8 ? "\u2026" : "..", hex + sizeof hex - 9);
}

void memory_site_name(const char *call_site, struct buf *out)
{
    if (!call_site_known(call_site))
        return;
    call_site_text(call_site, out);
}

const char *memory_type_name(const struct object_sweep *sweep, const struct object_row *row)
{
    return sweep->processes[row->process].worker->type == RAY_DRIVER ? "Driver" : "Worker";
}

static const char *node_of(const struct object_sweep *sweep, const char *node_id)
{
    for (size_t i = 0; i < sweep->node_count; i++)
        if (text_equal(sweep->nodes[i].node_id, node_id))
            return or_else(sweep->nodes[i].name, or_else(sweep->nodes[i].ip, node_id));
    return "a node that is gone";
}

void memory_where(const struct object_sweep *sweep, const struct object_row *row, struct buf *out)
{
    const struct ray_object_location *at = object_sweep_location(sweep, &row->ref->id);
    if (!at || !at->known)
        return;
    for (size_t i = 0; i < at->node_count; i++)
        buf_printf(out, "%s%s", i ? ", " : "", node_of(sweep, at->node_ids[i]));
    if (!text_empty(at->spilled_url))
        buf_printf(out, "%sspilled on %s", at->node_count ? "; " : "",
                   at->spilled_node_id[0] ? node_of(sweep, at->spilled_node_id) : "disk");
    else if (at->pending)
        buf_printf(out, "%snot made yet", at->node_count ? "; " : "");
    else if (!at->node_count)
        buf_add_string(out, memory_may_be_inlined(row) ? "in its owner" : "lost");
}

/* --- the stores --- */

static int percent(int64_t part, int64_t of)
{
    return of > 0 && part > 0 ? (int)(100.0 * (double)part / (double)of + 0.5) : 0;
}

static void add_bar(const struct ray_store_stats *store, const struct memory_style *style,
                    struct buf *out)
{
    int full = percent(store->used, store->available), filled = (full * BAR + 50) / 100;
    filled = filled > BAR ? BAR : filled == 0 && store->used > 0 ? 1 : filled;
    if (style->colour)
        buf_add_string(out, full >= HOT_PERCENT    ? "\033[31m"
                            : full >= WARM_PERCENT ? "\033[33m"
                                                   : "\033[32m");
    for (int i = 0; i < BAR; i++)
        buf_add_string(out, i < filled ? (style->utf8 ? "\u2588" : "#")
                                       : (style->utf8 ? "\u2591" : "."));
    if (style->colour)
        buf_add_string(out, "\033[0m");
}

static void add_printable(struct buf *out, const char *text)
{
    text_add_printable(out, text, strlen(text), "");
}

static size_t name_width(const struct object_sweep *sweep)
{
    size_t width = 0;
    for (size_t i = 0; i < sweep->node_count; i++) {
        struct buf name = {0};
        memory_node_name(&sweep->nodes[i], &name);
        width = name.len > width ? name.len : width;
        buf_free(&name);
    }
    return width;
}

static void add_store(const struct object_node *node, size_t width,
                      const struct memory_style *style, struct buf *out)
{
    const struct ray_store_stats *store = &node->store;
    char used[MEMORY_SIZE_TEXT], all[MEMORY_SIZE_TEXT];
    struct buf name = {0};
    memory_node_name(node, &name);
    char *clean = text_printable(name.data, name.len, "");
    buf_printf(out, "%-*s  ", (int)width, clean);
    free(clean);
    buf_free(&name);
    if (!node->asked) {
        buf_add_string(out, "did not answer: ");
        add_printable(out, or_else(node->problem, "no reason given"));
        buf_add_string(out, "\n");
        return;
    }
    buf_add_string(out, "object store  ");
    add_bar(store, style, out);
    buf_printf(out, "  %s of %s", byte_units_size(store->used, style->units, used),
               byte_units_size(store->available, style->units, all));
    if (store->spilled_bytes > 0)
        buf_printf(out, "   spilled %s", byte_units_size(store->spilled_bytes, style->units, all));
    if (store->fallback > 0)
        buf_printf(out, "   on disk %s", byte_units_size(store->fallback, style->units, all));
    buf_add_string(out, store->pulls_queued ? "   fetches wait for memory\n" : "\n");
}

void memory_print_stores(const struct object_sweep *sweep, const struct memory_style *style,
                         struct buf *out)
{
    size_t width = name_width(sweep);
    for (size_t i = 0; i < sweep->node_count; i++)
        add_store(&sweep->nodes[i], width, style, out);
}

/* --- counters --- */

/* "Spilled 512 MB, 20 objects, 1.2 GB/s" */
static void add_traffic(const char *what, int64_t bytes, int64_t objects, double seconds,
                        const struct memory_style *style, struct buf *out)
{
    char size[MEMORY_SIZE_TEXT];
    buf_printf(out, "  %s %s, %" PRId64 " object%s", what,
               byte_units_size(bytes, style->units, size), objects, objects == 1 ? "" : "s");
    if (seconds > 0)
        buf_printf(out, ", %s/s",
                   byte_units_size((int64_t)((double)bytes / seconds), style->units, size));
    buf_add_string(out, "\n");
}

static void add_counters(const struct ray_store_stats *store, const struct memory_style *style,
                         struct buf *out)
{
    char used[MEMORY_SIZE_TEXT], all[MEMORY_SIZE_TEXT];
    buf_printf(out, "  used %s of %s (%d %%), %" PRId64 " objects\n",
               byte_units_size(store->used, style->units, used),
               byte_units_size(store->available, style->units, all),
               percent(store->used, store->available), store->objects);
    buf_printf(out, "  primary copies %s (%d %%), %" PRId64 " objects\n",
               byte_units_size(store->primary_copies_bytes, style->units, used),
               percent(store->primary_copies_bytes, store->available), store->primary_copies);
    if (store->fallback > 0)
        buf_printf(out, "  mapped files on disk %s\n",
                   byte_units_size(store->fallback, style->units, used));
    add_traffic("spilled", store->spilled_bytes, store->spilled_objects, store->spill_seconds,
                style, out);
    add_traffic("restored", store->restored_bytes, store->restored_objects, store->restore_seconds,
                style, out);
    add_traffic("created since it started", store->created_bytes, store->created_objects, 0, style,
                out);
    if (store->pulls_queued)
        buf_add_string(out, "  fetches wait for memory\n");
}

static void add_up(struct ray_store_stats *sum, const struct ray_store_stats *store)
{
    sum->used += store->used;
    sum->available += store->available;
    sum->primary_copies_bytes += store->primary_copies_bytes;
    sum->fallback += store->fallback;
    sum->objects += store->objects;
    sum->primary_copies += store->primary_copies;
    sum->spilled_bytes += store->spilled_bytes;
    sum->spilled_objects += store->spilled_objects;
    sum->restored_bytes += store->restored_bytes;
    sum->restored_objects += store->restored_objects;
    sum->spill_seconds += store->spill_seconds;
    sum->restore_seconds += store->restore_seconds;
    sum->created_objects += store->created_objects;
    sum->created_bytes += store->created_bytes;
    sum->pulls_queued |= store->pulls_queued;
}

static struct ray_store_stats sum_stores(const struct object_sweep *sweep)
{
    struct ray_store_stats sum = {0};
    for (size_t i = 0; i < sweep->node_count; i++)
        if (sweep->nodes[i].asked)
            add_up(&sum, &sweep->nodes[i].store);
    return sum;
}

void memory_print_stats(const struct object_sweep *sweep, const struct memory_style *style,
                        struct buf *out)
{
    size_t width = name_width(sweep), answered = sweep->node_count - sweep->unanswered;
    for (size_t i = 0; i < sweep->node_count; i++) {
        add_store(&sweep->nodes[i], width, style, out);
        if (sweep->nodes[i].asked)
            add_counters(&sweep->nodes[i].store, style, out);
    }
    if (answered > 1) {
        struct ray_store_stats sum = sum_stores(sweep);
        buf_printf(out, "all %zu nodes%s\n", answered, sweep->unanswered ? " that answered" : "");
        add_counters(&sum, style, out);
    }
}

/* --- totals --- */

static const char *s(size_t count)
{
    return count == 1 ? "" : "s";
}

/* Reasons why the totals of references and stores differ. */
struct reasons {
    size_t unknown, inlined, handles;
    int64_t inlined_bytes;
};

static struct reasons find_reasons(const struct object_sweep *sweep)
{
    struct reasons reasons = {0};
    for (size_t i = 0; i < sweep->row_count; i++) {
        const struct object_row *row = &sweep->rows[i];
        if (i && object_id_equal(&row->ref->id, &row[-1].ref->id))
            continue;
        if (row->reference == OBJECT_ACTOR_HANDLE) {
            reasons.handles++;
        } else if (row->size < 0) {
            reasons.unknown++;
        } else if (memory_may_be_inlined(row)) {
            reasons.inlined++;
            reasons.inlined_bytes += row->size;
        }
    }
    return reasons;
}

static void add_more_in_stores(const struct object_sweep *sweep, const struct ray_store_stats *sum,
                               const struct reasons *reasons, int64_t more,
                               const struct memory_style *style, struct buf *out)
{
    char size[MEMORY_SIZE_TEXT];
    buf_printf(out, "The stores hold %s more than the references name: ",
               byte_units_size(more, style->units, size));
    if (sum->used > sum->primary_copies_bytes)
        buf_printf(out, "%s are copies on other nodes or wait for their eviction",
                   byte_units_size(sum->used - sum->primary_copies_bytes, style->units, size));
    else
        buf_add_string(out, "objects that nobody refers to any more and that are not evicted yet");
    if (reasons->unknown)
        buf_printf(out, "; %zu object%s of unknown size", reasons->unknown, s(reasons->unknown));
    if (sweep->unanswered)
        buf_printf(out, "; the references of %zu node%s are not known", sweep->unanswered,
                   s(sweep->unanswered));
    buf_add_string(out, ".\n");
}

static void add_less_in_stores(const struct object_sweep *sweep, const struct ray_store_stats *sum,
                               const struct reasons *reasons, int64_t less,
                               const struct memory_style *style, struct buf *out)
{
    char size[MEMORY_SIZE_TEXT];
    const char *between = "";
    buf_printf(out, "The references name %s more than the stores hold: ",
               byte_units_size(less, style->units, size));
    if (reasons->inlined) {
        buf_printf(out, "%zu small object%s (%s) may live in their owners' memory",
                   reasons->inlined, s(reasons->inlined),
                   byte_units_size(reasons->inlined_bytes, style->units, size));
        between = "; ";
    }
    if (sum->spilled_bytes > 0) {
        buf_printf(out, "%s%s were spilled to disk so far", between,
                   byte_units_size(sum->spilled_bytes, style->units, size));
        between = "; ";
    }
    if (sweep->unanswered) {
        buf_printf(out, "%s%zu node%s did not answer", between, sweep->unanswered,
                   s(sweep->unanswered));
        between = "; ";
    }
    if (reasons->inlined_bytes + sum->spilled_bytes < less)
        buf_printf(out, "%s%s", between,
                   *between ? "others were lost" : "objects were lost, or released a moment ago");
    buf_add_string(out, ".\n");
}

/* Object headers, and changes between two answers, do not count as a difference. */
static bool about_same(int64_t a, int64_t b)
{
    int64_t most = a > b ? a : b, apart = a > b ? a - b : b - a;
    return apart <= 65536 || (double)apart <= 0.005 * (double)most;
}

void memory_print_totals(const struct object_report *report, const struct object_sweep *sweep,
                         const struct memory_style *style, bool whole, struct buf *out)
{
    struct ray_store_stats sum = sum_stores(sweep);
    struct reasons reasons = find_reasons(sweep);
    char bytes[MEMORY_SIZE_TEXT], used[MEMORY_SIZE_TEXT];
    buf_printf(out, "%s in %zu object%s, %zu reference%s",
               byte_units_size(report->bytes, style->units, bytes), report->objects,
               s(report->objects), report->rows, s(report->rows));
    if (!whole) {
        buf_add_string(out, "\n");
        return;
    }
    if (reasons.handles)
        buf_printf(out, ", %zu of them actor handle%s", reasons.handles, s(reasons.handles));
    buf_printf(out, "; the stores hold %s in %" PRId64 " object%s\n",
               byte_units_size(sum.used, style->units, used), sum.objects,
               sum.objects == 1 ? "" : "s");
    if (about_same(report->bytes, sum.used))
        return;
    if (sum.used > report->bytes)
        add_more_in_stores(sweep, &sum, &reasons, sum.used - report->bytes, style, out);
    else
        add_less_in_stores(sweep, &sum, &reasons, report->bytes - sum.used, style, out);
}
