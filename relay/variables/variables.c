/* Handles the requests and responses that have values. */
#include "relay/variables/variables_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/dap_command.h"
#include "dap/splice.h"

#include <stdlib.h>
#include <string.h>

enum {
    COLLECTED = 2 << 20,    /* a larger response passes in parts, unannotated */
    COLLECTED_LAG = 1 << 20 /* for an observer, which is dropped if it lags too far */
};

struct worker_objects *variables_of(const struct variables_context *context)
{
    return context->member->hub ? hub_objects(context->member->hub) : NULL;
}

static struct variables *get(struct variables_context *context)
{
    if (!context->objects) {
        context->objects = mem_alloc(sizeof *context->objects);
        variables_set_magic(context->objects);
        context->objects->context = context;
    }
    return context->objects;
}

/* Drops what was learned at an earlier stop. */
static void renew(struct variables *it, struct worker_objects *objects)
{
    int64_t generation = worker_objects_generation(objects);
    variables_listen(it, objects);
    if (it->generation == generation)
        return;
    it->generation = generation;
    variables_drop_spares(it);
    known_clear(&it->known);
    fixed_map_clear(&it->told);
    it->view_late = it->knows_actors = it->tired = false;
}

void variables_go_on(struct variables_context *context)
{
    struct worker_objects *objects = variables_of(context);
    variables_flush(context);
    if (context->objects && objects)
        renew(context->objects, objects);
}

/* Asks the worker if it was not asked: it stopped before this relay was there, or it runs a task of
 * a session over many tasks. */
static void look(struct variables_context *context, struct worker_objects *objects)
{
    if (worker_objects_state(objects) == WORKER_OBJECTS_NONE && hub_has_stopped(context->member))
        worker_objects_ask(objects);
    hub_look(context->member);
}

/* --- one message --- */

/* Passes an edited response; `envelope` is that of the original. */
static void pass_edited(struct variables *it, const struct held *held,
                        const struct envelope *envelope, const struct buf *edited)
{
    struct envelope own;
    envelope_moved(envelope, held->len, edited->data, edited->len, &own);
    client_pass(it->context->client, edited->data, edited->len, &own, held->awaited.seq);
}

void variables_pass(struct variables *it, const struct held *held)
{
    struct worker_objects *objects = variables_of(it->context);
    struct buf edited = {0};
    struct envelope envelope;
    const char *problem;
    bool changed = false;
    if (envelope_read(&envelope, held->json, held->len, &problem) != 0) {
        client_refuse(it->context->client, held->awaited.seq, held->command, problem, false);
        return;
    }
    if (objects) {
        struct render render = variables_render(it, objects, held->awaited.frame);
        changed = variables_edit(&render, held, &envelope, &edited, &problem);
        render_end(&render, true);
    }
    if (changed)
        pass_edited(it, held, &envelope, &edited);
    else
        client_pass(it->context->client, held->json, held->len, &envelope, held->awaited.seq);
    buf_free(&edited);
}

/* --- responses --- */

static bool take_awaited(struct variables *it, int64_t seq, struct awaited *out)
{
    for (struct awaited **at = &it->awaited; *at; at = &(*at)->next) {
        struct awaited *awaited = *at;
        if (awaited->seq != seq)
            continue;
        *out = *awaited;
        *at = awaited->next;
        free(awaited);
        return true;
    }
    return false;
}

/* Notes that the scopes belong to the requested frame, and adds one more. */
static bool on_scopes(struct render *render, const char *json, size_t len,
                      const struct envelope *envelope, int64_t seq)
{
    struct variables_context *context = render->it->context;
    struct span list, scope;
    struct buf edited = {0}, added = {0};
    size_t cursor = 0;
    known_inherit(&render->it->known, json, len, render->frame);
    if (!context->object_scope || !envelope->body.len ||
        !scan_find(json, envelope->body, "scopes", &list) || json[list.at] != '[')
        return false;
    if (scan_element(json, list, &cursor, &scope))
        buf_add_string(&added, ",");
    rows_scope(&render->rows, &added);
    render_shows(render, TOLD_COUNT, NULL, NULL);
    render_end(render, true);
    struct edit edit = {{list.at + list.len - 1, 0}, added.data, added.len};
    splice_apply(json, len, &edit, 1, &edited);
    client_pass_edited(context->client, &edited, seq);
    buf_free(&edited);
    buf_free(&added);
    return true;
}

static bool on_values(struct render *render, struct held *held, struct envelope envelope)
{
    struct variables *it = render->it;
    struct buf edited = {0};
    const char *problem;
    const bool *destroyed = it->destroyed;    /* NULL unless the response was gathered */
    bool own = variables_unchecked(it, held); /* the caller's envelope may be wrong */
    bool changed = variables_edit(render, held, &envelope, &edited, &problem);
    if (problem) {
        render_end(render, false);
        client_refuse(it->context->client, held->awaited.seq, held->command, problem, false);
        return true;
    }
    held->wants = it->knows_actors ? 0 : render->wants;
    bool waits = (render->missing && variables_pending(render->objects) && !it->tired) ||
                 held->wants || array_views_pending(it, held->awaited.reference);
    render_end(render, !waits);
    if (waits)
        variables_hold(it, held);
    else if (changed)
        pass_edited(it, held, &envelope, &edited);
    else if (own)
        client_pass(it->context->client, held->json, held->len, &envelope, held->awaited.seq);
    if (destroyed && !*destroyed)
        variables_save_spare(it, &edited, &it->spare_edited);
    buf_free(&edited);
    return changed || waits || own;
}

bool variables_response(struct variables_context *context, const struct pending *pending,
                        const char *json, size_t len, const struct envelope *envelope)
{
    struct variables *it = context->objects;
    struct worker_objects *objects = variables_of(context);
    struct held held = {.kind = HELD_RESPONSE, .json = (char *)(uintptr_t)json, .len = len};
    if (!it || !take_awaited(it, pending->client.value, &held.awaited) || !objects ||
        !envelope->success)
        return false;
    renew(it, objects);
    struct render render = variables_render(it, objects, held.awaited.frame);
    if (text_equal(pending->command, "scopes"))
        return on_scopes(&render, json, len, envelope, held.awaited.seq);
    if (context->options->off || held.awaited.clipboard)
        return false;
    text_copy(held.command, sizeof held.command, pending->command);
    held.applies = variables_applies(it, &held);
    /* An expression alone is no reason to ask the worker, but a reference in its result is. */
    if (held.applies && worker_objects_state(objects) == WORKER_OBJECTS_NONE)
        look(context, objects);
    /* Annotating a `variables` response passes its references, too: see source_child(). */
    if (!held.applies || !text_equal(held.command, "variables"))
        variables_inherit(it, &held);
    return on_values(&render, &held, *envelope);
}

bool variables_collects(const struct variables_context *context, const struct pending *pending,
                        size_t total)
{
    size_t limit = hub_drives(context->member) ? COLLECTED : COLLECTED_LAG;
    if (!context->objects || !dap_command_is(pending->command, DAP_COMMAND_HAS_VALUES) ||
        total > limit)
        return false;
    for (const struct awaited *at = context->objects->awaited; at; at = at->next)
        if (at->seq == pending->client.value)
            return !at->clipboard &&
                   (!context->options->off || text_equal(pending->command, "scopes"));
    return false;
}

void variables_forget(struct variables_context *context, const struct pending *pending)
{
    struct awaited unused;
    if (context->objects)
        take_awaited(context->objects, pending->client.value, &unused);
}

/* --- requests --- */

static int64_t argument_integer(const char *json, const struct envelope *envelope, const char *name)
{
    int64_t value;
    return scan_integer_at(json, envelope->arguments, name, &value) ? value : 0;
}

static bool argument_is(const char *json, const struct envelope *envelope, const char *name,
                        const char *expected)
{
    struct span at;
    return envelope->arguments.len && scan_find(json, envelope->arguments, name, &at) &&
           scan_string_is(json, at, expected);
}

static void note_awaited(struct variables *it, const char *json, const struct envelope *envelope)
{
    struct awaited *awaited = mem_alloc(sizeof *awaited);
    *awaited = (struct awaited){
        .next = it->awaited,
        .seq = envelope->seq,
        .reference = argument_integer(json, envelope, "variablesReference"),
        .frame = argument_integer(json, envelope, "frameId"),
        .clipboard = argument_is(json, envelope, "context", "clipboard"),
    };
    if (!awaited->frame)
        awaited->frame = known_frame(&it->known, awaited->reference);
    it->awaited = awaited;
}

/* True if a variable may have another value after the request. */
static bool may_set(const char *json, const struct envelope *envelope)
{
    return text_starts(envelope->name, "set") || (text_equal(envelope->name, "evaluate") &&
                                                  argument_is(json, envelope, "context", "repl"));
}

/* Forwards the request without annotations: an edit box, and a watch made of it, start from the
 * annotated text. False if the request was refused. */
static bool forward(struct variables_context *context, const char *json, size_t len,
                    const struct envelope *envelope)
{
    struct buf stripped = {0};
    struct envelope again;
    const char *problem, *why = NULL;
    struct client_seq seq = {envelope->seq};
    if (context->options->off || !annotate_strip(json, len, envelope, &stripped) ||
        envelope_read(&again, stripped.data, stripped.len, &problem) != 0)
        hub_forward(context->member, seq, json, len, envelope);
    else if ((why = hub_refusal(context->member, stripped.data, &again)))
        client_refuse(context->client, seq.value, envelope->name, why, false);
    else
        hub_forward(context->member, seq, stripped.data, stripped.len, &again);
    buf_free(&stripped);
    return !why;
}

static bool answer_own(struct variables_context *context, struct worker_objects *objects,
                       const char *json, size_t len, const struct envelope *envelope)
{
    struct held held = {.json = (char *)(uintptr_t)json, .len = len};
    held.awaited.seq = envelope->seq;
    held.awaited.reference = argument_integer(json, envelope, "variablesReference");
    if (!rows_is_own(held.awaited.reference))
        return false;
    text_copy(held.command, sizeof held.command, envelope->name);
    held.kind = HELD_VARIABLES;
    if (objects && text_equal(envelope->name, "variables"))
        variables_answer(get(context), &held);
    else
        client_refuse(context->client, envelope->seq, envelope->name,
                      "this row is the relay's own: it cannot be changed", false);
    return true;
}

bool variables_request(struct variables_context *context, const char *json, size_t len,
                       const struct envelope *envelope)
{
    struct worker_objects *objects = variables_of(context);
    if (!dap_command_is(envelope->name, DAP_COMMAND_HAS_VALUES))
        return false;
    if (objects) {
        if (text_equal(envelope->name, "scopes") || text_equal(envelope->name, "variables") ||
            !context->one_of_many)
            look(context, objects);
        renew(get(context), objects);
    }
    if (answer_own(context, objects, json, len, envelope))
        return true;
    if (!objects)
        return false;
    struct variables *it = context->objects;
    if (may_set(json, envelope))
        known_changed(&it->known);
    note_awaited(it, json, envelope);
    int64_t reference = it->awaited->reference;
    struct awaited unused;
    if (!forward(context, json, len, envelope))
        take_awaited(it, envelope->seq, &unused);
    else if (text_equal(envelope->name, "variables") && !context->options->off)
        variables_ask_view(it, objects, reference);
    return true;
}

void variables_on_list(struct variables_context *context, const char *json,
                       const struct envelope *envelope)
{
    struct worker_objects *objects = variables_of(context);
    struct held held = {
        .kind = HELD_LIST,
        .json = (char *)(uintptr_t)json,
        .len = envelope->whole.at + envelope->whole.len,
        .awaited = {.seq = envelope->seq},
    };
    text_copy(held.command, sizeof held.command, envelope->name);
    if (!objects) {
        client_refuse(context->client, envelope->seq, envelope->name,
                      "this session has no cluster: it knows the debugger's address only", false);
        return;
    }
    look(context, objects);
    renew(get(context), objects);
    variables_answer(context->objects, &held);
}
