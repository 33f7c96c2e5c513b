/* Messages that wait for facts, and what is told when facts come late. */
#include "relay/session_objects_state.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/session_state.h"

#include <stdlib.h>
#include <string.h>

enum {
    QUIET_MS = 100,       /* facts that come within it are announced once */
    HELD_LIMIT = 8 << 20, /* bytes that wait; more than that goes at once */
    TOLD_LIMIT = 8192,
};

bool facts_pending(const struct objects *objects)
{
    return objects_state(objects) == OBJECTS_ASKING ||
           (objects_state(objects) == OBJECTS_KNOWN && !objects_settled(objects));
}

bool facts_may_come(const struct objects *objects)
{
    return facts_pending(objects) || objects_state(objects) == OBJECTS_FAILED ||
           objects_expects_more(objects);
}

/* --- waiting --- */

static void held_free(struct held *held)
{
    free(held->json);
    free(held);
}

static void send_held(struct session_objects *it, struct held *held)
{
    it->held_bytes -= held->len;
    if (held->kind == HELD_RESPONSE)
        session_objects_pass(it, held);
    else
        session_objects_answer(it, held);
    held_free(held);
}

/* Actors are asked for once in a stop: what waits for them has waited enough. */
static void note_actors(struct session_objects *it)
{
    for (const struct held *at = it->held; at; at = at->next)
        it->knows_actors = it->knows_actors || at->wants & WANTS_ACTORS;
}

void session_objects_flush(struct session *session)
{
    struct session_objects *it = session->objects;
    if (!it)
        return;
    timer_cancel(&it->patience);
    note_actors(it);
    struct held *held = it->held;
    it->held = NULL;
    it->flushing = true;
    for (struct held *next; held; held = next) {
        next = held->next;
        send_held(it, held);
    }
    it->flushing = false;
}

static void on_patience(void *arg)
{
    struct session_objects *it = arg;
    it->patience = NULL;
    it->tired = true;
    session_objects_flush(it->session);
}

void session_objects_hold(struct session_objects *it, const struct held *held)
{
    struct held *copy = mem_alloc(sizeof *copy);
    struct held **last = &it->held;
    *copy = *held;
    copy->next = NULL;
    copy->json = mem_string_n(held->json, held->len);
    while (*last)
        last = &(*last)->next;
    *last = copy;
    it->held_bytes += copy->len;
    if (session_objects_of(it->session))
        objects_hurry(session_objects_of(it->session));
    if (it->held_bytes > HELD_LIMIT)
        session_objects_flush(it->session);
    else if (!it->patience)
        it->patience =
            timer_start(it->session->options.loop, SESSION_OBJECTS_PATIENCE_MS, on_patience, it);
}

static bool is_ready(const struct session_objects *it, const struct objects *objects,
                     const struct held *held)
{
    return !objects ||
           (!facts_pending(objects) && !session_objects_view_pending(it, held->asked.reference) &&
            !(held->wants & WANTS_ACTORS && !it->knows_actors) &&
            !(held->wants & WANTS_STORE && !objects_store(objects)));
}

void session_objects_release(struct session_objects *it)
{
    struct objects *objects = session_objects_of(it->session);
    struct held *ready = NULL, **last = &ready;
    for (struct held **at = &it->held; *at;) {
        struct held *held = *at;
        if (!is_ready(it, objects, held)) {
            at = &held->next;
            continue;
        }
        *at = held->next;
        *last = held;
        held->next = NULL;
        last = &held->next;
    }
    if (!it->held)
        timer_cancel(&it->patience);
    else if (objects)
        objects_hurry(objects); /* what it waits for may have become another thing */
    it->flushing = true;
    for (struct held *next; ready; ready = next) {
        next = ready->next;
        send_held(it, ready);
    }
    it->flushing = false;
}

/* --- what was told --- */

/* What the client sees of a thing. */
static void see_actor(const struct render *render, const uint8_t id[ID_ACTOR_BYTES],
                      struct buf *out)
{
    char hex[ID_TEXT(ID_ACTOR_BYTES)];
    struct actor_note note = {0};
    text_hex(id, ID_ACTOR_BYTES, hex);
    if (objects_actor(render->objects, hex, &note))
        buf_printf(out, "%s %s %s %lld %s", note.class_name, note.name, note.node,
                   (long long)note.pid, note.state);
}

static uint64_t see(const struct render *render, const struct id_key *key)
{
    struct object_id id;
    struct buf text = {0};
    size_t count;
    memcpy(id.bytes, key->bytes, sizeof id.bytes);
    switch ((enum told_kind)key->bytes[ID_MAP_KEY - 1]) {
    case TOLD_OBJECT:
        row_object_text(&render->rows, &id, &text);
        break;
    case TOLD_ACTOR:
        see_actor(render, key->bytes, &text);
        break;
    case TOLD_ALL_OF_OBJECT:
        rows_describe(&render->rows, &id, &text);
        break;
    case TOLD_COUNT:
        if (objects_count(render->objects, &count))
            buf_printf(&text, "%zu", count);
        break;
    case TOLD_STORE:
        if (objects_state(render->objects) != OBJECTS_ASKING)
            rows_store(&render->rows, &text);
        break;
    }
    uint64_t hash = hash_bytes(text.data, text.len, 0);
    buf_free(&text);
    return hash;
}

void render_shows(struct render *render, enum told_kind kind, const struct object_id *id,
                  const char *actor_id)
{
    struct id_key key = {{0}};
    if (id)
        memcpy(key.bytes, id->bytes, sizeof id->bytes);
    else if (actor_id && !text_unhex(actor_id, key.bytes, ID_ACTOR_BYTES))
        return;
    key.bytes[ID_MAP_KEY - 1] = (uint8_t)kind;
    if (render->shown_count == render->shown_room) {
        render->shown_room = render->shown_room ? 2 * render->shown_room : 64;
        render->shown = mem_resize(render->shown, render->shown_room, sizeof *render->shown);
    }
    render->shown[render->shown_count++] = key;
}

/* Whether a thing that was sent may be known better later; `facts`: facts_may_come(). */
static bool may_change(const struct render *render, const struct id_key *key, bool facts)
{
    size_t count;
    switch ((enum told_kind)key->bytes[ID_MAP_KEY - 1]) {
    case TOLD_ACTOR:
        return true;
    case TOLD_STORE:
        return render->wants || facts;
    case TOLD_COUNT:
        return !objects_worker(render->objects) && objects_count(render->objects, &count);
    case TOLD_OBJECT:
    case TOLD_ALL_OF_OBJECT:
        break;
    }
    return facts;
}

void render_end(struct render *render, bool sent)
{
    bool facts = sent && facts_may_come(render->objects);
    for (size_t i = 0; sent && i < render->shown_count; i++) {
        const struct id_key *key = &render->shown[i];
        if (may_change(render, key, facts))
            id_map_set(&render->it->told, key, see(render, key), TOLD_LIMIT);
    }
    free(render->shown);
    render->shown = NULL;
    render->shown_count = render->shown_room = 0;
}

static bool differs(const struct render *render)
{
    const struct id_entry *entry;
    size_t cursor = 0;
    if (render->it->view_late)
        return true;
    while ((entry = id_map_next(&render->it->told, &cursor)))
        if (see(render, &entry->key) != entry->value)
            return true;
    return false;
}

/* --- what comes late --- */

static void announce(struct session_objects *it, struct objects *objects)
{
    struct session *session = it->session;
    struct render render = session_objects_render(it, objects, 0);
    timer_cancel(&it->quiet);
    if (objects_generation(objects) != it->generation)
        return;
    bool late = differs(&render);
    if (late) /* the client asks for all that it shows */
        id_map_clear(&it->told);
    it->view_late = false;
    if (late && session->takes_invalidated)
        client_event(&session->client, "invalidated", "{\"areas\":[\"variables\"]}");
}

static void on_quiet(void *arg)
{
    struct session_objects *it = arg;
    struct objects *objects = session_objects_of(it->session);
    it->quiet = NULL;
    if (objects)
        announce(it, objects);
}

void session_objects_announce(struct session_objects *it, struct objects *objects)
{
    if (!it->told.count && !it->view_late)
        return;
    if (!facts_pending(objects))
        announce(it, objects);
    else if (!it->quiet)
        it->quiet = timer_start(it->session->options.loop, QUIET_MS, on_quiet, it);
}

static void on_facts(void *arg)
{
    struct session_objects *it = arg;
    struct objects *objects = session_objects_of(it->session);
    it->tired = false;
    note_actors(it);
    session_objects_release(it);
    if (objects)
        session_objects_announce(it, objects);
}

void session_objects_listen(struct session_objects *it, struct objects *objects)
{
    if (!it->listening)
        objects_listen(objects, on_facts, it);
    it->listening = true;
}

/* --- the end --- */

void session_objects_leave(struct session *session)
{
    struct session_objects *it = session->objects;
    struct objects *objects = session_objects_of(session);
    if (!it)
        return;
    session_objects_flush(session);
    timer_cancel(&it->quiet);
    if (objects)
        objects_unlisten(objects, it);
    it->listening = false;
    if (session->place.hub)
        hub_drop_asks(&session->place);
    session_objects_drop_views(it);
    session_objects_drop_kept(it);
    while (it->asked) {
        struct asked *next = it->asked->next;
        free(it->asked);
        it->asked = next;
    }
}

void session_objects_destroy(struct session *session)
{
    struct session_objects *it = session->objects;
    if (!it)
        return;
    session->client.gone = true;
    if (it->destroyed)
        *it->destroyed = true;
    session_objects_drop_gather(it);
    session_objects_leave(session);
    known_clear(&it->known);
    id_map_clear(&it->told);
    session->objects = NULL;
    free(it);
}
