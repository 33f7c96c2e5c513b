#include "relay/variables/variables_rows.h"

#include "base/text.h"
#include "dap/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- the relay's own variablesReferences --- */

enum { OWN_BASE = 0x40000000, OWN_NUMBER_BITS = 16, OWN_STOPS = 1 << 14 };

int64_t rows_own_reference(int64_t generation, size_t number)
{
    return OWN_BASE + ((generation & (OWN_STOPS - 1)) << OWN_NUMBER_BITS) + (int64_t)number;
}

bool rows_is_own(int64_t reference)
{
    return reference >= OWN_BASE;
}

bool rows_read_own(int64_t reference, int64_t generation, size_t *number)
{
    *number = (size_t)(reference & KNOWN_NUMBERS);
    return *number == 0 || rows_own_reference(generation, *number) == reference;
}

int64_t row_reference(const struct row_source *source, const struct object_id *id)
{
    size_t number = known_number(source->known, id);
    return number ? rows_own_reference(worker_objects_generation(source->objects), number) : 0;
}

/* --- rows --- */

struct row_page row_page_read(const char *json, struct span arguments)
{
    struct row_page page = {.filter = ROWS_ALL};
    struct span at;
    if (!arguments.len)
        return page;
    if (scan_find(json, arguments, "filter", &at))
        page.filter = scan_string_is(json, at, "named")     ? ROWS_NAMED
                      : scan_string_is(json, at, "indexed") ? ROWS_INDEXED
                                                            : ROWS_ALL;
    page.start = scan_count_at(json, arguments, "start");
    page.count = scan_count_at(json, arguments, "count");
    return page;
}

void row_add(struct buf *out, const char *name, const char *value, const char *type,
             int64_t reference)
{
    if (out->len && out->data[out->len - 1] != '[')
        buf_add_string(out, ",");
    buf_add_string(out, "{\"name\":");
    message_quote(out, name);
    buf_add_string(out, ",\"value\":");
    message_quote(out, value);
    buf_add_string(out, ",\"type\":");
    message_quote(out, type);
    buf_printf(out,
               ",\"variablesReference\":%" PRId64 ",\"presentationHint\":"
               "{\"kind\":\"virtual\",\"attributes\":[\"readOnly\"]}}",
               reference);
}

void rows_describe(const struct row_source *source, const struct object_id *id, struct buf *out)
{
    struct object_property properties[OBJECT_DETAILS];
    worker_objects_describe(source->objects, id, source->options, properties);
    for (size_t i = 0; i < OBJECT_DETAILS; i++)
        row_add(out, properties[i].name, properties[i].value, "", 0);
    object_details_clear(properties);
}

void row_object_text(const struct row_source *source, const struct object_id *id, struct buf *out)
{
    struct object_note note;
    char hex[ID_TEXT(ID_OBJECT_BYTES)];
    if (worker_objects_note(source->objects, id, &note)) {
        annotate_object(id, &note, source->options, out);
    } else {
        object_id_hex(id, hex);
        buf_printf(out, "ObjectRef(%s)", hex);
    }
}

/* --- the scope --- */

int64_t rows_bytes(const struct worker_objects *objects, size_t *unknown)
{
    const struct ray_worker_objects *worker = worker_objects_worker(objects);
    int64_t bytes = 0;
    *unknown = 0;
    for (size_t i = 0; worker && i < worker->ref_count; i++) {
        bytes += worker->refs[i].size > 0 ? worker->refs[i].size : 0;
        *unknown += worker->refs[i].size < 0;
    }
    return bytes;
}

static void add_store_row(const struct row_source *source, const char *name, int64_t bytes,
                          const char *more, struct buf *out)
{
    struct buf value = {0};
    if (bytes < 0) {
        buf_add_string(&value, "unknown: the node did not say");
    } else {
        annotate_size(bytes, source->options->unit, &value);
        buf_add_string(&value, more);
    }
    row_add(out, name, value.data, "", 0);
    buf_free(&value);
}

static void add_total(const struct row_source *source, struct buf *out)
{
    const struct ray_worker_objects *worker = worker_objects_worker(source->objects);
    struct buf value = {0};
    size_t unknown, count = worker ? worker->ref_count : 0;
    int64_t bytes = rows_bytes(source->objects, &unknown);
    buf_printf(&value, "%zu ref%s, ", count, count == 1 ? "" : "s");
    annotate_size(bytes, source->options->unit, &value);
    if (unknown)
        buf_printf(&value, " and %zu of unknown size", unknown);
    if (worker && worker->objects_total > (int64_t)count)
        buf_printf(&value, "; the worker has %" PRId64, worker->objects_total);
    row_add(out, "references", value.data, "", 0);
    buf_free(&value);
}

/* The bytes that a named row shows; -1: unknown. */
static int64_t store_bytes(const struct ray_store_stats *store, size_t row)
{
    if (!store)
        return -1;
    return row == 0 ? store->used : row == 1 ? store->available : store->spilled_bytes;
}

static void add_named(const struct row_source *source, size_t row, struct buf *out)
{
    static const char *const names[] = {"store used", "store capacity", "store spilled"};
    const struct ray_store_stats *store = worker_objects_store(source->objects);
    char more[64] = "";
    if (row >= sizeof names / sizeof *names) {
        add_total(source, out);
        return;
    }
    if (store && row == 0)
        snprintf(more, sizeof more, " in %" PRId64 " objects", store->objects);
    if (store && row == 2)
        snprintf(more, sizeof more, " in %" PRId64 " objects so far", store->spilled_objects);
    add_store_row(source, names[row], store_bytes(store, row), more, out);
}

void rows_store(const struct row_source *source, struct buf *out)
{
    for (size_t row = 0; row < SCOPE_NAMED; row++)
        add_named(source, row, out);
}

/* Names a reference by the variables that hold it, or that hold a container with it, or else by its
 * id: both ends, because objects of one task differ only in the last digits, those of different
 * tasks in the first. */
static void add_name(const struct row_source *source, const struct object_id *id, struct buf *out)
{
    char hex[ID_TEXT(ID_OBJECT_BYTES)];
    const char *names = known_names(source->known, id), *tail = hex + sizeof hex - 9;
    object_id_hex(id, hex);
    if (!names)
        buf_printf(out, "%.8s…%s", hex, tail);
    else if (text_starts(names, "in "))
        buf_printf(out, "%s …%s", names, tail);
    else
        buf_add_string(out, names);
}

static void add_reference(const struct row_source *source, const struct ray_object_ref *ref,
                          struct buf *out)
{
    struct buf name = {0}, value = {0};
    add_name(source, &ref->id, &name);
    row_object_text(source, &ref->id, &value);
    row_add(out, name.data, value.data, "ObjectRef", row_reference(source, &ref->id));
    buf_free(&name);
    buf_free(&value);
}

void rows_scope(const struct row_source *source, struct buf *out)
{
    size_t count;
    buf_printf(out,
               "{\"name\":\"Object store\",\"variablesReference\":%" PRId64 ",\"expensive\":true",
               rows_own_reference(worker_objects_generation(source->objects), 0));
    if (worker_objects_count(source->objects, &count))
        buf_printf(out, ",\"namedVariables\":%d,\"indexedVariables\":%zu", (int)SCOPE_NAMED, count);
    buf_add_string(out, "}");
}

static const char *why_nothing(const struct worker_objects *objects)
{
    switch (worker_objects_state(objects)) {
    case WORKER_OBJECTS_ASKING:
        return "asking the worker for its references…";
    case WORKER_OBJECTS_FAILED:
        return worker_objects_problem(objects);
    case WORKER_OBJECTS_NONE:
    case WORKER_OBJECTS_KNOWN:
        break;
    }
    return "not asked: the worker is not stopped";
}

/* The range of the `total` rows that a page shows; `before` other rows come in front of them. */
static void cut(const struct row_page *page, size_t before, size_t total, size_t *from, size_t *to)
{
    size_t start = (size_t)page->start, end = page->count ? start + (size_t)page->count : SIZE_MAX;
    *from = start > before ? start - before : 0;
    *to = end > before ? end - before : 0;
    *to = *to < total ? *to : total;
}

void rows_of_scope(const struct row_source *source, const struct row_page *page,
                   void (*shown)(void *arg, const struct object_id *id), void *arg, struct buf *out)
{
    size_t count, from, to;
    if (!worker_objects_worker(source->objects)) {
        if (page->filter != ROWS_INDEXED && page->start == 0)
            row_add(out, "references", why_nothing(source->objects), "", 0);
        return;
    }
    if (page->filter != ROWS_INDEXED) {
        cut(page, 0, SCOPE_NAMED, &from, &to);
        for (size_t row = from; row < to; row++)
            add_named(source, row, out);
    }
    if (page->filter == ROWS_NAMED)
        return;
    const struct ray_object_ref *const *refs = objects_sorted(source->objects, &count);
    cut(page, page->filter == ROWS_ALL ? SCOPE_NAMED : 0, count, &from, &to);
    for (size_t i = from; i < to; i++) {
        shown(arg, &refs[i]->id);
        add_reference(source, refs[i], out);
    }
}
