/* Requests and responses on their way through session_objects. */
#include "relay/session_objects_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/splice.h"
#include "relay/session_state.h"

#include <stdlib.h>
#include <string.h>

enum {
    WANTED_LIMIT = 256,     /* of one message's references: owner, copies and creator */
    COLLECTED = 2 << 20,    /* a larger response passes in parts, unannotated */
    COLLECTED_LAG = 1 << 20 /* for an observer, which is dropped if it lags by more */
};

struct objects *session_objects_of(const struct session *session)
{
    return session->place.hub ? hub_objects(session->place.hub) : NULL;
}

static struct session_objects *get(struct session *session)
{
    if (!session->objects) {
        session->objects = mem_alloc(sizeof *session->objects);
        session->objects->session = session;
    }
    return session->objects;
}

/* What was learned at an earlier stop is not true any more. */
static void renew(struct session_objects *it, struct objects *objects)
{
    int64_t generation = objects_generation(objects);
    session_objects_listen(it, objects);
    if (it->generation == generation)
        return;
    it->generation = generation;
    session_objects_drop_kept(it);
    known_clear(&it->known);
    id_map_clear(&it->told);
    it->view_late = it->knows_actors = it->tired = false;
}

void session_objects_go_on(struct session *session)
{
    struct objects *objects = session_objects_of(session);
    session_objects_flush(session);
    if (session->objects && objects)
        renew(session->objects, objects);
}

/* Asks, if it is not asked: the worker stopped before this relay was there, or is one of many. */
static void look(struct session *session, struct objects *objects)
{
    if (objects_state(objects) == OBJECTS_NONE && hub_has_stopped(&session->place))
        objects_ask(objects);
    hub_look(&session->place);
}

/* --- one message --- */

struct render session_objects_render(struct session_objects *it, struct objects *objects,
                                     int64_t frame)
{
    return (struct render){
        .it = it,
        .objects = objects,
        .rows = {objects, &it->known, &it->session->attach.objects},
        .frame = frame,
    };
}

static bool look_at(struct render *render, const struct object_id *id, struct object_note *out)
{
    struct object_look look =
        objects_look(render->objects, id, render->wanted++ < WANTED_LIMIT, out);
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
    bool known = look_at(render, id, out);
    render->pending = render->pending || (known && out->state == OBJECT_STATE_PENDING);
    return known;
}

static bool source_actor(void *arg, const char *actor_id, struct actor_note *out)
{
    struct render *render = arg;
    if (objects_actor(render->objects, actor_id, out))
        return true;
    render->wants |= WANTS_ACTORS;
    render_shows(render, TOLD_ACTOR, NULL, actor_id);
    return false;
}

static void source_seen(void *arg, const struct annotate_seen *seen)
{
    struct render *render = arg;
    known_note(&render->it->known, seen, render->frame);
}

/* The rows in front of debuggee's own. */
static void add_children(struct render *render, const struct held *held, struct buf *rows)
{
    const struct known_row *row = known_find(&render->it->known, held->asked.reference);
    if (!row || !text_equal(held->command, "variables"))
        return;
    if (row->is_ref) {
        struct object_id id = row->id;
        render_object(render, &id);
        render->missing++; /* all that is known of it, and as of now */
        render_shows(render, TOLD_ALL_OF_OBJECT, &id, NULL);
        rows_describe(&render->rows, &id, rows);
    } else if (row->view == VIEW_OF) {
        struct object_id id = row->view_of;
        struct buf text = {0};
        render_object(render, &id);
        row_object_text(&render->rows, &id, &text);
        row_add(rows, "view of", text.data, "ObjectRef", row_reference(&render->rows, &id));
        buf_free(&text);
    }
}

/* What a row's value begins with if it is known to be a view; NULL: it is none. */
static char *view_mark(const struct render *render, const char *json, struct span variable)
{
    struct span at;
    int64_t reference;
    const struct known_row *row = NULL;
    char hex[ID_TEXT(ID_OBJECT_BYTES)];
    if (scan_find(json, variable, "variablesReference", &at) && scan_integer(json, at, &reference))
        row = known_find(&render->it->known, reference);
    if (row && row->is_array && row->view != VIEW_OF)
        row = known_view(&render->it->known, row->frame, row->evaluate_name);
    if (!row || row->view != VIEW_OF)
        return NULL;
    object_id_hex(&row->view_of, hex);
    return mem_format("view of ObjectRef(%s) · ", hex);
}

/* Puts rows in front of body.variables, and marks into the values there. False: no such array, or
 * nothing to do. */
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

/* Appends the response with all that is known. False: there is nothing to change. */
static bool edit_response(struct render *render, const struct held *held,
                          const struct envelope *envelope, struct buf *out)
{
    const struct annotate_source source = {source_object, source_actor, source_seen, render};
    struct buf annotated = {0}, rows = {0};
    const char *json = held->json;
    size_t len = held->len;
    if (held->applies)
        annotated = session_objects_take_spare(render->it);
    if (held->applies && annotate_response(held->command, json, len, envelope, render->rows.options,
                                           &source, &annotated)) {
        json = annotated.data;
        len = annotated.len;
    }
    add_children(render, held, &rows);
    bool changed = add_rows(render, json, len, &rows, out);
    if (!changed && annotated.len) {
        *out = annotated;
        annotated = (struct buf){0};
        changed = true;
    }
    session_objects_save_spare(render->it, &annotated);
    buf_free(&rows);
    return changed;
}

/* Its body was edited, which `envelope` is not of any more. */
static void pass_edited(struct session_objects *it, const struct held *held,
                        const struct envelope *envelope, const struct buf *edited)
{
    struct envelope own;
    envelope_moved(envelope, held->len, edited->data, edited->len, &own);
    client_pass(&it->session->client, edited->data, edited->len, &own, held->asked.seq);
}

void session_objects_pass(struct session_objects *it, const struct held *held)
{
    struct objects *objects = session_objects_of(it->session);
    struct buf edited = {0};
    struct envelope envelope;
    const char *problem;
    bool changed = false;
    if (envelope_read(&envelope, held->json, held->len, &problem) != 0) {
        client_refuse(&it->session->client, held->asked.seq, held->command, problem, false);
        return;
    }
    if (objects) {
        struct render render = session_objects_render(it, objects, held->asked.frame);
        changed = edit_response(&render, held, &envelope, &edited);
        render_end(&render, true);
    }
    if (changed)
        pass_edited(it, held, &envelope, &edited);
    else
        client_pass(&it->session->client, held->json, held->len, &envelope, held->asked.seq);
    buf_free(&edited);
}

/* --- responses --- */

static bool take_asked(struct session_objects *it, int64_t seq, struct asked *out)
{
    for (struct asked **at = &it->asked; *at; at = &(*at)->next) {
        struct asked *asked = *at;
        if (asked->seq != seq)
            continue;
        *out = *asked;
        *at = asked->next;
        free(asked);
        return true;
    }
    return false;
}

/* The scopes belong to the frame that was asked about, and get one more. */
static bool on_scopes(struct render *render, const char *json, size_t len,
                      const struct envelope *envelope, int64_t seq)
{
    struct session *session = render->it->session;
    struct span list, scope;
    struct buf edited = {0}, added = {0};
    size_t cursor = 0;
    known_inherit(&render->it->known, json, len, render->frame);
    if (session->attach.no_object_scope || !envelope->body.len ||
        !scan_find(json, envelope->body, "scopes", &list) || json[list.at] != '[')
        return false;
    if (scan_element(json, list, &cursor, &scope))
        buf_add_string(&added, ",");
    rows_scope(&render->rows, &added);
    render_shows(render, TOLD_COUNT, NULL, NULL);
    render_end(render, true);
    struct edit edit = {{list.at + list.len - 1, 0}, added.data, added.len};
    splice_apply(json, len, &edit, 1, &edited);
    client_pass_edited(&session->client, &edited, seq);
    buf_free(&edited);
    buf_free(&added);
    return true;
}

static bool on_values(struct render *render, struct held *held, const struct envelope *envelope)
{
    struct session_objects *it = render->it;
    struct buf edited = {0};
    const bool *destroyed = it->destroyed; /* NULL: nobody would notice */
    bool changed = edit_response(render, held, envelope, &edited);
    held->wants = it->knows_actors ? 0 : render->wants;
    bool waits = (render->missing && facts_pending(render->objects) && !it->tired) || held->wants ||
                 session_objects_view_pending(it, held->asked.reference);
    render_end(render, !waits);
    if (waits)
        session_objects_hold(it, held);
    else
        session_objects_keep(it, render, held, envelope, &edited);
    if (changed && !waits)
        pass_edited(it, held, envelope, &edited);
    if (destroyed && !*destroyed)
        session_objects_save_spare(it, &edited);
    buf_free(&edited);
    return changed || waits;
}

bool session_objects_response(struct session *session, const struct pending *pending,
                              const char *json, size_t len, const struct envelope *envelope)
{
    struct session_objects *it = session->objects;
    struct objects *objects = session_objects_of(session);
    struct held held = {.kind = HELD_RESPONSE, .json = (char *)(uintptr_t)json, .len = len};
    if (!it || !take_asked(it, pending->client.value, &held.asked) || !objects ||
        !envelope->success)
        return false;
    renew(it, objects);
    struct render render = session_objects_render(it, objects, held.asked.frame);
    if (text_equal(pending->command, "scopes"))
        return on_scopes(&render, json, len, envelope, held.asked.seq);
    if (session->attach.objects.off || held.asked.clipboard)
        return false;
    text_copy(held.command, sizeof held.command, pending->command);
    bool as_it_is;
    if (session_objects_send_again(it, &held, envelope, &as_it_is))
        return !as_it_is;
    held.applies = session_objects_applies(it, &held);
    /* To evaluate an expression is no look by itself, but to see that it gives a reference is one.
     */
    if (held.applies && objects_state(objects) == OBJECTS_NONE)
        look(session, objects);
    session_objects_inherit(it, &held);
    return on_values(&render, &held, envelope);
}

/* Commands whose responses are looked at. */
static bool is_ours(const char *command)
{
    static const char *const commands[] = {"variables", "scopes", "evaluate", "setVariable",
                                           "setExpression"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (text_equal(command, commands[i]))
            return true;
    return false;
}

bool session_objects_collects(const struct session *session, const struct pending *pending,
                              size_t total)
{
    size_t limit = session_drives(session) ? COLLECTED : COLLECTED_LAG;
    if (!session->objects || !is_ours(pending->command) || total > limit)
        return false;
    for (const struct asked *at = session->objects->asked; at; at = at->next)
        if (at->seq == pending->client.value)
            return !at->clipboard &&
                   (!session->attach.objects.off || text_equal(pending->command, "scopes"));
    return false;
}

/* --- requests --- */

static int64_t argument_integer(const char *json, const struct envelope *envelope, const char *name)
{
    struct span at;
    int64_t value;
    return envelope->arguments.len && scan_find(json, envelope->arguments, name, &at) &&
                   scan_integer(json, at, &value)
               ? value
               : 0;
}

static bool argument_is(const char *json, const struct envelope *envelope, const char *name,
                        const char *expected)
{
    struct span at;
    return envelope->arguments.len && scan_find(json, envelope->arguments, name, &at) &&
           scan_string_is(json, at, expected);
}

static void note_asked(struct session_objects *it, const char *json,
                       const struct envelope *envelope)
{
    struct asked *asked = mem_alloc(sizeof *asked);
    *asked = (struct asked){
        .next = it->asked,
        .seq = envelope->seq,
        .reference = argument_integer(json, envelope, "variablesReference"),
        .frame = argument_integer(json, envelope, "frameId"),
        .clipboard = argument_is(json, envelope, "context", "clipboard"),
    };
    if (!asked->frame)
        asked->frame = known_frame(&it->known, asked->reference);
    it->asked = asked;
}

/* A variable may have another value after it. */
static bool may_set(const char *json, const struct envelope *envelope)
{
    return text_starts(envelope->name, "set") || (text_equal(envelope->name, "evaluate") &&
                                                  argument_is(json, envelope, "context", "repl"));
}

/* An edit box, and a watch made of it, start from the annotated text. */
static bool forward(struct session *session, const char *json, size_t len,
                    const struct envelope *envelope)
{
    struct buf stripped = {0};
    struct envelope again;
    const char *problem, *why = NULL;
    struct client_seq seq = {envelope->seq};
    if (session->attach.objects.off || !annotate_strip(json, len, envelope, &stripped) ||
        envelope_read(&again, stripped.data, stripped.len, &problem) != 0)
        hub_forward(&session->place, seq, json, len, envelope);
    else if ((why = hub_refusal(&session->place, stripped.data, &again)))
        client_refuse(&session->client, seq.value, envelope->name, why, false);
    else
        hub_forward(&session->place, seq, stripped.data, stripped.len, &again);
    buf_free(&stripped);
    return !why;
}

static bool answer_own(struct session *session, struct objects *objects, const char *json,
                       size_t len, const struct envelope *envelope)
{
    struct held held = {.json = (char *)(uintptr_t)json, .len = len};
    held.asked.seq = envelope->seq;
    held.asked.reference = argument_integer(json, envelope, "variablesReference");
    if (!own_is(held.asked.reference))
        return false;
    text_copy(held.command, sizeof held.command, envelope->name);
    held.kind = HELD_VARIABLES;
    if (objects && text_equal(envelope->name, "variables"))
        session_objects_answer(get(session), &held);
    else
        client_refuse(&session->client, envelope->seq, envelope->name,
                      "this row is the relay's own: it cannot be changed", false);
    return true;
}

bool session_objects_request(struct session *session, const char *json, size_t len,
                             const struct envelope *envelope)
{
    struct objects *objects = session_objects_of(session);
    if (!is_ours(envelope->name))
        return false;
    if (objects) {
        if (text_equal(envelope->name, "scopes") || text_equal(envelope->name, "variables") ||
            !session->options.one_of_many)
            look(session, objects);
        renew(get(session), objects);
    }
    if (answer_own(session, objects, json, len, envelope))
        return true;
    if (!objects)
        return false;
    struct session_objects *it = session->objects;
    if (may_set(json, envelope))
        known_changed(&it->known);
    note_asked(it, json, envelope);
    int64_t reference = it->asked->reference;
    struct asked unused;
    if (!forward(session, json, len, envelope))
        take_asked(it, envelope->seq, &unused);
    else if (text_equal(envelope->name, "variables") && !session->attach.objects.off)
        session_objects_ask_view(it, objects, reference);
    return true;
}

void session_objects_on_list(struct session *session, const char *json,
                             const struct envelope *envelope)
{
    struct objects *objects = session_objects_of(session);
    struct held held = {
        .kind = HELD_LIST,
        .json = (char *)(uintptr_t)json,
        .len = envelope->whole.at + envelope->whole.len,
        .asked = {.seq = envelope->seq},
    };
    text_copy(held.command, sizeof held.command, envelope->name);
    if (!objects) {
        client_refuse(&session->client, envelope->seq, envelope->name,
                      "this session has no cluster: it knows the debugger's address only", false);
        return;
    }
    look(session, objects);
    renew(get(session), objects);
    session_objects_answer(session->objects, &held);
}
