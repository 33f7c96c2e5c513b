/* Edits one response: annotates its values, and adds the session's own rows and marks. */
#include "relay/variables/variables_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/splice.h"

#include <stdlib.h>
#include <string.h>

/* References of one message whose owner, copies and creator are asked for. */
enum { WANTED_LIMIT = 256 };

struct render variables_render(struct variables *it, struct worker_objects *objects, int64_t frame)
{
    struct render render = {
        .it = it,
        .objects = objects,
        .rows = {objects, &it->known, it->context->options},
        .frame = frame,
    };
    object_probe(&render.probe, &(struct object_id){{0}});
    return render;
}

/* Hashes the id, unless it was the last one, too. */
static const struct object_probe *probe(struct render *render, const struct object_id *id)
{
    if (!object_id_equal(&render->probe.id, id))
        object_probe(&render->probe, id);
    return &render->probe;
}

static bool look_at(struct render *render, const struct object_id *id, struct object_note *out)
{
    struct object_lookup look = worker_objects_lookup(render->objects, probe(render, id),
                                                      render->wanted++ < WANTED_LIMIT, out);
    render->missing += !look.can_tell;
    render_shows(render, TOLD_OBJECT, id, NULL);
    return look.known;
}

void render_object(struct render *render, const struct object_id *id)
{
    struct object_note note;
    look_at(render, id, &note);
}

static bool source_object(void *arg, const struct object_id *id, struct object_note *out)
{
    struct render *render = arg;
    return look_at(render, id, out);
}

static bool ray_source_actor(void *arg, const char *actor_id, struct actor_note *out)
{
    struct render *render = arg;
    if (worker_objects_actor(render->objects, actor_id, out))
        return true;
    render->wants |= WANTS_ACTORS;
    render_shows(render, TOLD_ACTOR, NULL, actor_id);
    return false;
}

static void source_seen(void *arg, const struct annotate_seen *seen)
{
    struct render *render = arg;
    bool is_ref = seen->kind == ANNOTATE_REF;
    known_note(&render->it->known, seen, is_ref ? probe(render, &seen->id) : NULL, render->frame);
}

static void source_children(void *arg, int64_t first, int64_t last)
{
    struct render *render = arg;
    if (render->frame)
        known_inherit_run(&render->it->known, first, last, render->frame);
}

/* Adds the rows in front of the debuggee's own. */
static void add_children(struct render *render, const struct held *held, struct buf *rows)
{
    const struct known_row *row = known_find(&render->it->known, held->awaited.reference);
    if (!row || !text_equal(held->command, "variables"))
        return;
    if (row->is_ref) {
        struct object_id id = row->id;
        render_object(render, &id);
        render->missing++; /* these rows wait for all facts, at this stop */
        render_shows(render, TOLD_ALL_OF_OBJECT, &id, NULL);
        rows_describe(&render->rows, &id, rows);
    } else if (row->view == VIEW_OF) {
        struct object_id id = row->id;
        struct buf text = {0};
        render_object(render, &id);
        row_object_text(&render->rows, &id, &text);
        row_add(rows, "view of", text.data, "ObjectRef", row_reference(&render->rows, &id));
        buf_free(&text);
    }
}

/* The text in front of a row's value if the row is a known view, else NULL. The caller frees. */
static char *view_mark(const struct render *render, const char *json, struct span variable)
{
    int64_t reference;
    const struct known_row *row = NULL;
    char hex[ID_TEXT(ID_OBJECT_BYTES)];
    if (scan_integer_at(json, variable, "variablesReference", &reference))
        row = known_find(&render->it->known, reference);
    if (row && row->is_array && row->view != VIEW_OF)
        row = known_view(&render->it->known, row->frame, row->evaluate_name);
    if (!row || row->view != VIEW_OF)
        return NULL;
    object_id_hex(&row->id, hex);
    return mem_format("view of ObjectRef(%s) · ", hex);
}

/* Puts rows at the start of body.variables, and marks in front of values there. False: no such
 * array, or nothing to do. */
static bool add_rows(const struct render *render, const char *json, size_t len,
                     const struct buf *rows, struct buf *out)
{
    enum { MARKS = 64 };
    struct envelope envelope;
    struct edit edits[MARKS + 2];
    struct span list, variable, value;
    const char *problem;
    size_t cursor = 0, count = 0, first = 0;
    if ((!rows->len && !render->it->known.views) ||
        envelope_read(&envelope, json, len, &problem) != 0 || !envelope.body.len ||
        !scan_find(json, envelope.body, "variables", &list) || json[list.at] != '[')
        return false;
    bool empty = !scan_element(json, list, &cursor, &variable);
    if (rows->len) {
        edits[count++] = (struct edit){{list.at + 1, 0}, rows->data, rows->len};
        if (!empty)
            edits[count++] = (struct edit){{list.at + 1, 0}, ",", 1};
    }
    first = count;
    cursor = 0;
    while (render->it->known.views && count < MARKS &&
           scan_element(json, list, &cursor, &variable)) {
        char *mark = view_mark(render, json, variable);
        if (mark && scan_find(json, variable, "value", &value) && json[value.at] == '"')
            edits[count++] = (struct edit){{value.at + 1, 0}, mark, strlen(mark)};
        else
            free(mark);
    }
    if (count)
        splice_apply(json, len, edits, count, out);
    for (size_t i = first; i < count; i++)
        free((char *)(uintptr_t)edits[i].with);
    return count > 0;
}

/* annotate_response(). If only the head was read, checks the rest, too, and reads `envelope` again
 * if it has to; if the response is malformed, sets *problem. */
static bool annotate_held(const struct render *render, const struct held *held,
                          struct envelope *envelope, struct buf *out, const char **problem)
{
    const struct annotate_source source = {source_object, ray_source_actor, source_seen,
                                           source_children, (void *)(uintptr_t)render};
    const struct annotate_options *options = render->rows.options;
    if (variables_unchecked(render->it, held)) {
        bool checked;
        bool any = annotate_unchecked(held->command, held->json, held->len, envelope, options,
                                      &source, out, &checked);
        if (checked || envelope_read(envelope, held->json, held->len, problem) != 0)
            return any;
    }
    return annotate_response(held->command, held->json, held->len, envelope, options, &source, out);
}

bool variables_edit(struct render *render, const struct held *held, struct envelope *envelope,
                    struct buf *out, const char **problem)
{
    struct buf annotated = {0}, rows = {0};
    const char *json = held->json;
    size_t len = held->len;
    *problem = NULL;
    if (held->applies)
        annotated = variables_take_spare(&render->it->spare_edited);
    if (held->applies && annotate_held(render, held, envelope, &annotated, problem)) {
        json = annotated.data;
        len = annotated.len;
    }
    if (!*problem && envelope->success)
        add_children(render, held, &rows);
    bool changed = !*problem && envelope->success && add_rows(render, json, len, &rows, out);
    if (!changed && annotated.len) {
        *out = annotated;
        annotated = (struct buf){0};
        changed = true;
    }
    variables_save_spare(render->it, &annotated, &render->it->spare_edited);
    buf_free(&rows);
    return changed;
}
