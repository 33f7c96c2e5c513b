/* The output of memory_why_full.h. */
#include "base/text.h"
#include "cli/memory/memory_export.h"
#include "cli/memory/memory_why_full.h"
#include "dap/json_record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char *s(size_t count)
{
    return count == 1 ? "" : "s";
}

/* Appends names from the cluster, made printable. Frees `text`. */
static void add_clean(struct buf *out, struct buf *text)
{
    text_add_printable(out, text->data, text->len, "");
    buf_free(text);
}

/* --- for people --- */

static const char *state_of(const struct memory_why_full *full, size_t index)
{
    const struct object_node *node = &full->sweep->nodes[index];
    struct object_node without = *node;
    if (!memory_is_full(node))
        return "is not full";
    without.store.used -= memory_evictable(full, index);
    return memory_is_full(&without) ? "is full" : "is full, for the most part of what can go";
}

static void print_node(const struct memory_why_full *full, size_t index,
                       const struct memory_style *style, struct buf *out)
{
    const struct object_node *node = &full->sweep->nodes[index];
    const struct ray_store_stats *store = &node->store;
    char size[MEMORY_SIZE_TEXT];
    struct buf name = {0};
    memory_node_name(node, &name);
    buf_add_string(out, "  ");
    add_clean(out, &name);
    if (!node->asked) {
        buf_add_string(out, ": did not answer\n");
        return;
    }
    buf_printf(out, " %s: %s primary copies, which stay until nobody refers to them",
               state_of(full, index),
               byte_units_size(store->primary_copies_bytes, style->units, size));
    if (full->viewed[index])
        buf_printf(out, "; %s other copies that values in use are views of",
                   byte_units_size(full->viewed[index], style->units, size));
    buf_printf(out, "; %s only cached, which go when memory is needed",
               byte_units_size(memory_evictable(full, index), style->units, size));
    if (store->spilled_bytes > 0)
        buf_printf(out, "; %s spilled so far in %" PRId64 " objects",
                   byte_units_size(store->spilled_bytes, style->units, size),
                   store->spilled_objects);
    if (store->fallback > 0)
        buf_printf(out, "; %s did not fit and are in mapped files",
                   byte_units_size(store->fallback, style->units, size));
    buf_add_string(out, store->pulls_queued ? "; fetches wait for memory\n" : "\n");
}

/* "on node-1 2.0 GB, node-2 400 MB, spilled 100 MB" */
static void add_locations(const struct memory_locations *locations,
                          const struct object_sweep *sweep, const struct memory_style *style,
                          struct buf *out)
{
    char size[MEMORY_SIZE_TEXT];
    const char *between = " \u00b7 ";
    if (!style->utf8)
        between = " - ";
    for (size_t i = 0; i < sweep->node_count; i++) {
        if (!locations->nodes[i])
            continue;
        const char *name = sweep->nodes[i].name ? sweep->nodes[i].name : sweep->nodes[i].ip;
        buf_printf(out, "%s%s on %s", between,
                   byte_units_size(locations->nodes[i], style->units, size), name ? name : "?");
        between = ", ";
    }
    if (locations->spilled)
        buf_printf(out, "%s%s spilled", between,
                   byte_units_size(locations->spilled, style->units, size));
    else if (locations->unlocated && locations->unlocated < locations->stored)
        buf_printf(out, "%s%s somewhere", between,
                   byte_units_size(locations->unlocated, style->units, size));
}

static void print_holders(const struct memory_why_full *full, const struct memory_line *line,
                          struct buf *out)
{
    enum { SHOWN = 4 };
    for (size_t i = 0; i < line->holder_count && i < SHOWN; i++) {
        const struct memory_holder *holder = &line->holders[i];
        struct buf text = {0};
        buf_printf(&text, "      %zu %s: ", holder->refs, object_reference_name(holder->reference));
        memory_release(full, line, holder, &text);
        add_clean(out, &text);
        buf_add_string(out, "\n");
    }
    if (line->holder_count > SHOWN)
        buf_printf(out, "      and %zu more\n", line->holder_count - SHOWN);
}

static void print_line(const struct memory_why_full *full, const struct memory_locations *locations,
                       const struct memory_style *style, struct buf *out)
{
    const struct memory_line *line = locations->line;
    struct buf text = {0};
    char size[MEMORY_SIZE_TEXT];
    buf_printf(&text, "%8s in %zu object%s  ", byte_units_size(line->bytes, style->units, size),
               line->objects, s(line->objects));
    size_t before = text.len;
    memory_site_name(line->call_site, &text);
    if (text.len == before)
        buf_printf(&text, *line->task_name ? "made by %s" : "call site not recorded%s",
                   line->task_name);
    buf_add_string(&text, ", owner ");
    memory_process_name(full->sweep, line->owner, &text);
    add_locations(locations, full->sweep, style, &text);
    buf_add_string(out, style->colour ? "\033[1m" : "");
    add_clean(out, &text);
    buf_add_string(out, style->colour ? "\033[0m\n" : "\n");
    print_holders(full, line, out);
    for (size_t i = 0; i < MEMORY_HOLDS; i++) {
        const char *note = memory_hold_note((enum memory_hold)i);
        if (line->holds[i] && *note && i != MEMORY_BY_ACTOR) /* its release tells that */
            buf_printf(out, "      %zu object%s: %s\n", line->holds[i], s(line->holds[i]), note);
    }
}

static void print_processes(const struct memory_why_full *full, const struct memory_style *style,
                            struct buf *out)
{
    enum { SHOWN = 5 };
    struct buf text = {0};
    for (size_t i = 0; i < full->process_count && i < SHOWN; i++) {
        char size[MEMORY_SIZE_TEXT];
        buf_add_string(&text, i ? ", " : "Most is referred to by ");
        memory_process_name(full->sweep, (int32_t)full->processes[i].process, &text);
        buf_printf(&text, " (%s)", byte_units_size(full->processes[i].bytes, style->units, size));
    }
    if (text.len)
        buf_add_string(&text, ".");
    add_clean(out, &text);
    buf_add_string(out, full->process_count ? "\n" : "");
}

static size_t fullest(const struct object_sweep *sweep)
{
    size_t best = 0;
    double most = -1;
    for (size_t i = 0; i < sweep->node_count; i++) {
        const struct ray_store_stats *store = &sweep->nodes[i].store;
        double part = store->available > 0 ? (double)store->used / (double)store->available : 0;
        if (sweep->nodes[i].asked && part > most) {
            most = part;
            best = i;
        }
    }
    return best;
}

static void print_verdict(const struct memory_why_full *full, struct buf *out)
{
    const struct object_sweep *sweep = full->sweep;
    if (full->full) {
        buf_printf(out, "%zu of %zu object stores %s full.\n", full->full, sweep->node_count,
                   full->full == 1 ? "is" : "are");
        return;
    }
    buf_add_string(out, "No object store is full");
    if (sweep->node_count) {
        const struct object_node *node = &sweep->nodes[fullest(sweep)];
        struct buf name = {0};
        buf_add_string(out, "; ");
        memory_node_name(node, &name);
        add_clean(out, &name);
        buf_printf(out, " has most in it, %.0f %%",
                   node->store.available > 0
                       ? 100.0 * (double)node->store.used / (double)node->store.available
                       : 0.0);
    }
    buf_add_string(out, ".\n");
}

/* Counts the lines with bytes in a store. The others are small results, results to come, and
 * actors' handles. */
static size_t stored_lines(const struct memory_why_full *full)
{
    size_t count = 0;
    for (size_t i = 0; i < full->lines.count; i++)
        count += full->locations[i].stored > 0 || full->locations[i].spilled > 0;
    return count;
}

void memory_why_full_print(const struct memory_why_full *full, const struct memory_style *style,
                           size_t limit, struct buf *out)
{
    const struct object_sweep *sweep = full->sweep;
    size_t all = stored_lines(full), shown = all < limit ? all : limit;
    memory_print_stores(sweep, style, out);
    print_verdict(full, out);
    for (size_t i = 0; i < sweep->node_count; i++)
        print_node(full, i, style, out);
    if (shown)
        buf_add_string(out, full->full ? "What fills them, and when it goes:\n"
                                       : "What is in them, and when it goes:\n");
    for (size_t i = 0; i < shown; i++)
        print_line(full, &full->locations[i], style, out);
    if (shown < all)
        buf_printf(out, "  %zu more: --num-entries %zu shows all\n", all - shown, all);
    print_processes(full, style, out);
}

/* --- for programs --- */

static void json_text(const char *name, const char *text, struct buf *out)
{
    buf_printf(out, "\"%s\": ", name);
    json_put_text(out, text);
    buf_add_string(out, ", ");
}

static void json_process(const struct object_sweep *sweep, int32_t process, struct buf *out)
{
    struct buf name = {0};
    if (process < 0) {
        buf_add_string(out, "null");
        return;
    }
    memory_process_name(sweep, process, &name);
    const struct object_process *it = &sweep->processes[process];
    buf_add_string(out, "{");
    json_text("name", name.data, out);
    json_text("worker_id", it->worker->worker_id, out);
    json_text("node_id", sweep->nodes[it->node].node_id, out);
    json_text("actor_id", it->worker->actor_id, out);
    buf_printf(out, "\"pid\": %" PRId64 "}", it->worker->pid);
    buf_free(&name);
}

static void json_node(const struct memory_why_full *full, size_t index, struct buf *out)
{
    const struct object_node *node = &full->sweep->nodes[index];
    const struct ray_store_stats *store = &node->store;
    buf_add_string(out, "{");
    json_text("node_id", node->node_id, out);
    json_text("ip", node->ip, out);
    json_text("name", node->name, out);
    json_text("problem", node->problem, out);
    buf_printf(out,
               "\"full\": %s, \"used\": %" PRId64 ", \"capacity\": %" PRId64
               ", \"primary_copies_bytes\": %" PRId64 ", \"viewed_bytes\": %" PRId64
               ", \"cached_bytes\": %" PRId64 ", \"fallback\": %" PRId64
               ", \"spilled_bytes\": %" PRId64 ", \"restored_bytes\": %" PRId64
               ", \"pulls_queued\": %s}",
               memory_is_full(node) ? "true" : "false", store->used, store->available,
               store->primary_copies_bytes, full->viewed[index], memory_evictable(full, index),
               store->fallback, store->spilled_bytes, store->restored_bytes,
               store->pulls_queued ? "true" : "false");
}

static void json_holders(const struct memory_why_full *full, const struct memory_line *line,
                         struct buf *out)
{
    buf_add_string(out, "\"held_by\": [");
    for (size_t i = 0; i < line->holder_count; i++) {
        const struct memory_holder *holder = &line->holders[i];
        struct buf released = {0};
        memory_release(full, line, holder, &released);
        buf_add_string(out, i ? ", {" : "{");
        json_text("reference_type", object_reference_name(holder->reference), out);
        json_text("released", released.data, out);
        buf_printf(out, "\"references\": %zu, \"bytes\": %" PRId64 ", \"process\": ", holder->refs,
                   holder->bytes);
        json_process(full->sweep, (int32_t)holder->process, out);
        buf_add_string(out, "}");
        buf_free(&released);
    }
    buf_add_string(out, "]");
}

static void json_line(const struct memory_why_full *full, const struct memory_locations *locations,
                      struct buf *out)
{
    const struct memory_line *line = locations->line;
    const char *between = "";
    buf_add_string(out, "{");
    json_text("call_site", line->call_site, out);
    json_text("task_name", line->task_name, out);
    buf_printf(out,
               "\"bytes\": %" PRId64 ", \"objects\": %zu, \"references\": %zu, "
               "\"unknown_size\": %zu, \"stored_bytes\": %" PRId64 ", \"spilled_bytes\": %" PRId64
               ", \"unlocated_bytes\": %" PRId64 ", \"no_variable\": %zu, \"nodes\": {",
               line->bytes, line->objects, line->refs, line->unknown, locations->stored,
               locations->spilled, locations->unlocated,
               line->holds[MEMORY_BY_OBJECT] + line->holds[MEMORY_BY_VALUE]);
    for (size_t i = 0; i < full->sweep->node_count; i++) {
        if (!locations->nodes[i])
            continue;
        buf_printf(out, "%s\"%s\": %" PRId64, between, full->sweep->nodes[i].node_id,
                   locations->nodes[i]);
        between = ", ";
    }
    buf_add_string(out, "}, \"owner\": ");
    json_process(full->sweep, line->owner, out);
    buf_add_string(out, ", ");
    json_holders(full, line, out);
    buf_add_string(out, "}");
}

void memory_why_full_json(const struct memory_why_full *full, struct buf *out)
{
    const struct object_sweep *sweep = full->sweep;
    buf_printf(out, "{\"taken\": %.3f, \"full\": %s, \"nodes\": [", (double)sweep->taken_ms / 1000,
               full->full ? "true" : "false");
    for (size_t i = 0; i < sweep->node_count; i++) {
        buf_add_string(out, i ? ",\n" : "\n");
        json_node(full, i, out);
    }
    buf_add_string(out, "\n],\n\"lines\": [");
    for (size_t i = 0; i < full->lines.count; i++) {
        buf_add_string(out, i ? ",\n" : "\n");
        json_line(full, &full->locations[i], out);
    }
    buf_add_string(out, "\n],\n\"processes\": [");
    for (size_t i = 0; i < full->process_count; i++) {
        buf_printf(out, "%s{\"bytes\": %" PRId64 ", \"references\": %zu, \"process\": ",
                   i ? ",\n" : "\n", full->processes[i].bytes, full->processes[i].refs);
        json_process(sweep, (int32_t)full->processes[i].process, out);
        buf_add_string(out, "}");
    }
    buf_add_string(out, "\n]}\n");
}

void memory_why_full_csv(const struct memory_why_full *full, struct buf *out)
{
    buf_add_string(out, "call_site,task_name,owner,stored_bytes,spilled_bytes,holder,"
                        "reference_type,references,bytes,released\n");
    for (size_t i = 0; i < full->lines.count; i++) {
        const struct memory_locations *locations = &full->locations[i];
        const struct memory_line *line = locations->line;
        for (size_t k = 0; k < line->holder_count; k++) {
            const struct memory_holder *holder = &line->holders[k];
            struct buf owner = {0}, who = {0}, released = {0};
            memory_process_name(full->sweep, line->owner, &owner);
            memory_process_name(full->sweep, (int32_t)holder->process, &who);
            memory_release(full, line, holder, &released);
            memory_csv_text(line->call_site, out);
            buf_add_string(out, ",");
            memory_csv_text(line->task_name, out);
            buf_add_string(out, ",");
            memory_csv_text(owner.data, out);
            buf_printf(out, ",%" PRId64 ",%" PRId64 ",", locations->stored, locations->spilled);
            memory_csv_text(who.data, out);
            buf_printf(out, ",%s,%zu,%" PRId64 ",", object_reference_name(holder->reference),
                       holder->refs, holder->bytes);
            memory_csv_text(released.data, out);
            buf_add_string(out, "\n");
            buf_free(&owner);
            buf_free(&who);
            buf_free(&released);
        }
    }
}
