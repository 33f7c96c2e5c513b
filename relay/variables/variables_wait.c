/* Holds messages that wait for facts, and announces facts that come late. */
#include "relay/variables/variables_state.h"

#include "base/hash.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

enum {
    QUIET_MS = 100,       /* facts that come within it are announced once */
    HELD_LIMIT = 8 << 20, /* bytes held; past it all are sent at once */
    TOLD_LIMIT = 8192,
};

bool variables_pending(const struct worker_objects *objects)
{
    return worker_objects_state(objects) == WORKER_OBJECTS_ASKING ||
           (worker_objects_state(objects) == WORKER_OBJECTS_KNOWN &&
            !worker_objects_settled(objects));
}

bool variables_may_come(const struct worker_objects *objects)
{
    return variables_pending(objects) || worker_objects_state(objects) == WORKER_OBJECTS_FAILED ||
           worker_objects_expects_more(objects);
}

/* --- waiting --- */

static void held_free(struct held *held)
{
    free(held->json);
    free(held);
}

static void send_held(struct variables *it, struct held *held)
{
    it->held_bytes -= held->len;
    if (held->kind == HELD_RESPONSE)
        variables_pass(it, held);
    else
        variables_answer(it, held);
    held_free(held);
}

/* Actors are asked for once a stop: a message that waits for them has waited long enough. */
static void note_actors(struct variables *it)
{
    for (const struct held *at = it->held; at; at = at->next)
        it->knows_actors = it->knows_actors || at->wants & WANTS_ACTORS;
}

void variables_flush(struct variables_context *context)
{
    struct variables *it = context->objects;
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
    struct variables *it = variables_checked(arg);
    it->patience = NULL;
    it->tired = true;
    variables_flush(it->context);
}

void variables_hold(struct variables *it, const struct held *held)
{
    struct held *copy = mem_alloc(sizeof *copy);
    *copy = *held;
    copy->next = NULL;
    copy->json = mem_string_n(held->json, held->len);
    LIST_APPEND(it->held, copy);
    it->held_bytes += copy->len;
    if (variables_of(it->context))
        worker_objects_hurry(variables_of(it->context));
    if (it->held_bytes > HELD_LIMIT)
        variables_flush(it->context);
    else if (!it->patience)
        it->patience = timer_start(it->context->loop, VARIABLES_PATIENCE_MS, on_patience, it);
}

static bool is_ready(const struct variables *it, const struct worker_objects *objects,
                     const struct held *held)
{
    return !objects ||
           (!variables_pending(objects) && !array_views_pending(it, held->awaited.reference) &&
            !(held->wants & WANTS_ACTORS && !it->knows_actors) &&
            !(held->wants & WANTS_STORE && !worker_objects_store(objects)));
}

void variables_release(struct variables *it)
{
    struct worker_objects *objects = variables_of(it->context);
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
        worker_objects_hurry(objects); /* the rest may wait for other facts than before */
    it->flushing = true;
    for (struct held *next; ready; ready = next) {
        next = ready->next;
        send_held(it, ready);
    }
    it->flushing = false;
}

/* --- what the client was shown --- */

/* The text that the client sees of an actor. */
static void see_actor(const struct render *render, const uint8_t id[ID_ACTOR_BYTES],
                      struct buf *out)
{
    char hex[ID_TEXT(ID_ACTOR_BYTES)];
    struct actor_note note = {0};
    text_hex(id, ID_ACTOR_BYTES, hex);
    if (worker_objects_actor(render->objects, hex, &note))
        buf_printf(out, "%s %s %s %lld %s", note.class_name, note.name, note.node,
                   (long long)note.pid, note.state);
}

static uint64_t see(const struct render *render, const struct id_key *key)
{
    struct object_id id;
    struct buf text = {0};
    size_t count;
    memcpy(id.bytes, key->bytes, sizeof id.bytes);
    switch ((enum told_kind)key->bytes[FIXED_MAP_KEY - 1]) {
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
        if (worker_objects_count(render->objects, &count))
            buf_printf(&text, "%zu", count);
        break;
    case TOLD_STORE:
        if (worker_objects_state(render->objects) != WORKER_OBJECTS_ASKING)
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
    struct buf *shown = &render->shown;
    if (!shown->data)
        *shown = variables_take_spare(&render->it->spare_shown);
    /* Made in its place: a copy of what was just stored in parts stalls the processor. */
    uint8_t *key = (uint8_t *)buf_reserve(shown, FIXED_MAP_KEY);
    memset(key, 0, FIXED_MAP_KEY + 1);
    if (id)
        memcpy(key, id->bytes, sizeof id->bytes);
    else if (actor_id && !text_unhex(actor_id, key, ID_ACTOR_BYTES))
        return;
    key[FIXED_MAP_KEY - 1] = (uint8_t)kind;
    shown->len += FIXED_MAP_KEY;
}

/* True if more may become known of a thing that was sent; `facts`: variables_may_come(). */
static bool may_change(const struct render *render, const struct id_key *key, bool facts)
{
    size_t count;
    switch ((enum told_kind)key->bytes[FIXED_MAP_KEY - 1]) {
    case TOLD_ACTOR:
        return true;
    case TOLD_STORE:
        return render->wants || facts;
    case TOLD_COUNT:
        return !worker_objects_worker(render->objects) &&
               worker_objects_count(render->objects, &count);
    case TOLD_OBJECT:
    case TOLD_ALL_OF_OBJECT:
        break;
    }
    return facts;
}

void render_end(struct render *render, bool sent)
{
    bool facts = sent && variables_may_come(render->objects);
    for (size_t at = 0; sent && at < render->shown.len; at += sizeof(struct id_key)) {
        struct id_key key;
        memcpy(&key, render->shown.data + at, sizeof key);
        if (may_change(render, &key, facts))
            fixed_map_set(&render->it->told, &key, see(render, &key), TOLD_LIMIT);
    }
    variables_save_spare(render->it, &render->shown, &render->it->spare_shown);
}

static bool differs(const struct render *render)
{
    const struct id_entry *entry;
    size_t cursor = 0;
    if (render->it->view_late)
        return true;
    while ((entry = fixed_map_next(&render->it->told, &cursor)))
        if (see(render, &entry->key) != entry->value)
            return true;
    return false;
}

/* --- late facts --- */

static void announce(struct variables *it, struct worker_objects *objects)
{
    struct variables_context *context = it->context;
    struct render render = variables_render(it, objects, 0);
    timer_cancel(&it->quiet);
    if (worker_objects_generation(objects) != it->generation)
        return;
    bool late = differs(&render);
    if (late) /* the client then requests again all that it shows */
        fixed_map_clear(&it->told);
    it->view_late = false;
    if (late && context->takes_invalidated)
        client_event(context->client, "invalidated", "{\"areas\":[\"variables\"]}");
}

static void on_quiet(void *arg)
{
    struct variables *it = variables_checked(arg);
    struct worker_objects *objects = variables_of(it->context);
    it->quiet = NULL;
    if (objects)
        announce(it, objects);
}

void variables_announce(struct variables *it, struct worker_objects *objects)
{
    if (!it->told.count && !it->view_late)
        return;
    if (!variables_pending(objects))
        announce(it, objects);
    else if (!it->quiet)
        it->quiet = timer_start(it->context->loop, QUIET_MS, on_quiet, it);
}

static void on_facts(void *arg)
{
    struct variables *it = variables_checked(arg);
    struct worker_objects *objects = variables_of(it->context);
    it->tired = false;
    note_actors(it);
    variables_release(it);
    if (objects)
        variables_announce(it, objects);
}

void variables_listen(struct variables *it, struct worker_objects *objects)
{
    if (!it->listening)
        worker_objects_listen(objects, on_facts, it);
    it->listening = true;
}

/* --- the end --- */

void variables_leave(struct variables_context *context)
{
    struct variables *it = context->objects;
    struct worker_objects *objects = variables_of(context);
    if (!it)
        return;
    variables_flush(context);
    timer_cancel(&it->quiet);
    if (objects)
        worker_objects_unlisten(objects, it);
    it->listening = false;
    variables_drop_views(it);
    variables_drop_spares(it);
    LIST_FREE(it->awaited, free);
}

void variables_destroy(struct variables_context *context)
{
    struct variables *it = context->objects;
    if (!it)
        return;
    context->client->gone = true;
    if (it->destroyed)
        *it->destroyed = true;
    variables_drop_gather(it);
    variables_leave(context);
    known_clear(&it->known);
    fixed_map_clear(&it->told);
    context->objects = NULL;
    variables_clear_magic(it);
    free(it);
}
