/* Answers that come in parts, and such as came before in this stop. */
#include "relay/session_objects_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/annotate_look.h"
#include "relay/metrics.h"
#include "relay/session_state.h"

#include <stdlib.h>
#include <string.h>

/* What is kept goes when so long nothing came again. */
enum { IDLE_MS = 10000 };

/* From here on the kernel is asked for memory, and given it back, each time. */
enum { SPARE_LEAST = 128 << 10 };

/* An answer that comes in parts. While it is the same as one that is kept, nothing is copied. */
struct gather {
    struct pending pending;
    struct envelope head; /* read from `start` */
    char start[KEPT_HEAD_LIMIT];
    size_t start_len; /* up to the rows */
    struct kept *same;
    size_t came;               /* of the rows and what is behind them; with `same` */
    size_t total;              /* of the message */
    struct buf json;           /* without `same`: what has come, behind some room, for kept_put() */
    size_t at;                 /* where in `json` the message starts */
    struct annotate_look look; /* at the same */
    bool dropped;              /* nobody wants the rest */
    bool answered;             /* it was refused */
    bool plain;                /* it has come, and has nothing to annotate */
};

/* --- what is kept --- */

static struct kept_basis basis_of(const struct session_objects *it, const struct held *held,
                                  int64_t facts)
{
    return (struct kept_basis){held->asked.reference, held->asked.frame, facts, it->known.changes};
}

/* What has come so far is copied. */
static void gather_start(struct session_objects *it, const char *bytes, size_t len)
{
    struct gather *gather = it->gather;
    gather->at = gather->start_len ? KEPT_HEAD_LIMIT - gather->start_len : 0;
    if (it->spare.cap <= gather->at + gather->total)
        buf_free(&it->spare);
    gather->json = it->spare;
    it->spare = (struct buf){0};
    buf_reserve(&gather->json, gather->at + gather->total);
    gather->json.len = gather->at;
    buf_add(&gather->json, bytes, len);
}

/* It is not what is kept, or that goes. */
static void gather_own(struct session_objects *it)
{
    struct gather *gather = it->gather;
    struct envelope envelope;
    size_t len;
    if (!gather || !gather->same)
        return;
    const char *json =
        kept_came(gather->same, gather->start, gather->start_len, &gather->head, &len, &envelope);
    gather_start(it, json, gather->start_len + gather->came);
    gather->same = NULL;
}

void session_objects_drop_kept(struct session_objects *it)
{
    timer_cancel(&it->idle);
    gather_own(it);
    kept_clear(&it->kept);
    buf_free(&it->spare);
    buf_free(&it->spare_edited);
}

static void on_idle(void *arg)
{
    struct session_objects *it = arg;
    it->idle = NULL;
    if (!it->kept.used) {
        session_objects_drop_kept(it);
        return;
    }
    it->kept.used = false;
    it->idle = timer_start(it->session->options.loop, IDLE_MS, on_idle, it);
}

/* Something is of use: it stays so long. */
static void in_use(struct session_objects *it)
{
    it->kept.used = true;
    if (!it->idle)
        it->idle = timer_start(it->session->options.loop, IDLE_MS, on_idle, it);
}

/* All that stays is within one limit. */
static void fit_spares(struct session_objects *it)
{
    if (it->kept.bytes + it->spare.cap + it->spare_edited.cap > KEPT_BYTES)
        buf_free(&it->spare_edited);
    if (it->kept.bytes + it->spare.cap > KEPT_BYTES)
        buf_free(&it->spare);
}

/* The next one need not be given memory that the kernel has cleared page by page. */
static void save(struct session_objects *it, struct buf *from, struct buf *spare)
{
    buf_free(spare);
    *spare = *from;
    spare->len = 0;
    *from = (struct buf){0};
    fit_spares(it);
    in_use(it);
}

struct buf session_objects_take_spare(struct session_objects *it)
{
    struct buf spare = it->spare_edited;
    it->spare_edited = (struct buf){0};
    return spare;
}

void session_objects_save_spare(struct session_objects *it, struct buf *edited)
{
    if (edited->cap >= SPARE_LEAST)
        save(it, edited, &it->spare_edited);
    else
        buf_free(edited);
}

/* The response is the one that has come in parts. */
static struct gather *given(const struct session_objects *it, const struct held *held)
{
    struct gather *given = it->given;
    return given && !given->same && held->json == given->json.data + given->at ? given : NULL;
}

bool session_objects_applies(const struct session_objects *it, const struct held *held)
{
    const struct gather *gather = given(it, held);
    return !(gather && gather->plain) && annotate_applies(held->json, held->len);
}

void session_objects_inherit(struct session_objects *it, const struct held *held)
{
    const struct gather *gather = given(it, held);
    int64_t frame = held->asked.frame;
    if (!frame)
        return;
    if (!gather || !gather->plain || gather->look.scattered) {
        known_inherit(&it->known, held->json, held->len, frame);
        return;
    }
    const struct annotate_look *look = &gather->look;
    for (size_t i = 0; i < look->run_count; i++)
        known_inherit_run(&it->known, look->runs[i].first, look->runs[i].last, frame);
}

static bool came_before(struct session_objects *it, const struct held *held,
                        const struct envelope *envelope)
{
    size_t rows = kept_rows(held->json, held->len, envelope);
    return rows && kept_came_before(&it->kept, held->json + rows, held->len - rows);
}

void session_objects_keep(struct session_objects *it, const struct render *render,
                          const struct held *held, const struct envelope *envelope,
                          const struct buf *edited)
{
    const struct known_row *row = known_find(&it->known, held->asked.reference);
    bool own_rows = it->known.views || (row && (row->is_ref || row->is_array));
    bool firm =
        !held->applies || (!render->wants && !render->pending && !facts_may_come(render->objects));
    if (!text_equal(held->command, "variables") || own_rows || !firm || held->len < KEPT_LEAST)
        return;
    int64_t facts = held->applies ? objects_facts(render->objects) : -1;
    struct kept_basis basis = basis_of(it, held, facts);
    struct gather *gather = given(it, held);
    in_use(it);
    if (!came_before(it, held, envelope))
        return;
    gather_own(it);
    kept_put(&it->kept, &basis, held->json, held->len, envelope, edited,
             gather && gather->start_len ? &gather->json : NULL);
    fit_spares(it);
}

bool session_objects_send_again(struct session_objects *it, const struct held *held,
                                const struct envelope *envelope, bool *as_it_is)
{
    const struct objects *objects = session_objects_of(it->session);
    struct kept_basis basis = basis_of(it, held, objects_facts(objects));
    struct envelope own;
    size_t len, rows = 0;
    struct kept *kept = NULL;
    if (it->kept.first && text_equal(held->command, "variables"))
        rows = kept_rows(held->json, held->len, envelope);
    if (rows)
        kept = kept_find(&it->kept, held->json + rows, held->len - rows);
    if (!kept || !kept_holds(kept, &basis))
        return false;
    const char *sent = kept_sent(kept, held->json, rows, envelope, &len, &own);
    if (sent && facts_may_come(objects))
        return false;
    it->kept.used = true;
    if (held->asked.frame)
        known_inherit(&it->known, held->json, rows, held->asked.frame);
    *as_it_is = !sent;
    if (sent)
        client_pass(&it->session->client, sent, len, &own, held->asked.seq);
    return true;
}

/* --- in parts --- */

static void gather_drop(struct gather *gather)
{
    gather->dropped = true;
    gather->same = NULL;
    buf_free(&gather->json);
}

void session_objects_refuse_gathered(struct session *session, const char *why)
{
    struct gather *gather = session->objects ? session->objects->gather : NULL;
    if (!gather || gather->answered)
        return;
    gather->answered = true;
    gather_drop(gather);
    client_refuse(&session->client, gather->pending.client.value, gather->pending.command, why,
                  false);
}

void session_objects_drop_gather(struct session_objects *it)
{
    if (it->gather)
        buf_free(&it->gather->json);
    free(it->gather);
    it->gather = NULL;
}

/* While what has just come is near: to read all of it again at the end costs more. */
static void look_on(struct gather *gather, bool whole)
{
    annotate_look_on(&gather->look, gather->json.data + gather->at, gather->json.len - gather->at,
                     whole);
}

static void gather_add(struct session_objects *it, const char *bytes, size_t len)
{
    struct gather *gather = it->gather;
    if (gather->same && !kept_goes_on(gather->same, gather->came, bytes, len))
        gather_own(it);
    if (gather->same)
        gather->came += len;
    else
        buf_add(&gather->json, bytes, len);
    if (!gather->same)
        look_on(gather, false);
}

bool session_objects_gather(struct session *session, const struct pending *pending,
                            const char *head, size_t head_len, size_t total)
{
    struct session_objects *it = session->objects;
    struct envelope envelope;
    if (it)
        session_objects_drop_gather(it); /* of a hub that was left */
    if (!it || !session_objects_collects(session, pending, total) ||
        !envelope_read_head(&envelope, head, head_len))
        return false;
    struct gather *gather = it->gather = mem_alloc(sizeof *gather);
    size_t start = kept_rows(head, head_len, &envelope);
    *gather = (struct gather){.pending = *pending, .head = envelope, .total = total};
    if (start) {
        memcpy(gather->start, head, start);
        gather->start_len = start;
        gather->same = kept_begins(&it->kept, head + start, head_len - start, total - start);
    }
    if (gather->same)
        gather->came = head_len - start;
    else
        gather_start(it, head, head_len);
    return true;
}

bool session_objects_part(struct session *session, const char *bytes, size_t len)
{
    struct gather *gather = session->objects ? session->objects->gather : NULL;
    if (gather && !gather->dropped)
        gather_add(session->objects, bytes, len);
    return gather != NULL;
}

/* Where nothing has to be changed nothing has to be read, as in what passes in parts: the body is
 * then said to reach to the end. */
static bool read_gathered(struct gather *gather, const char *json, size_t len,
                          struct envelope *envelope, const char **problem)
{
    look_on(gather, true);
    gather->plain = gather->head.body.at && !gather->look.applies;
    if (!gather->plain)
        return envelope_read(envelope, json, len, problem) == 0;
    *envelope = gather->head;
    envelope->body.len = len - envelope->body.at;
    envelope->whole.len = len - envelope->whole.at;
    return true;
}

static void give(struct session *session, struct gather *gather, session_objects_whole_fn fn)
{
    struct envelope envelope;
    const char *json = gather->json.data + gather->at, *problem;
    size_t len = gather->json.len - gather->at;
    if (gather->same)
        json = kept_came(gather->same, gather->start, gather->start_len, &gather->head, &len,
                         &envelope);
    else if (!read_gathered(gather, json, len, &envelope, &problem)) {
        client_refuse(&session->client, gather->pending.client.value, gather->pending.command,
                      problem, false);
        return;
    }
    metrics_add(METRIC_MESSAGES_FROM_WORKER_TOTAL, 1);
    metrics_add(METRIC_BYTES_FROM_WORKER_TOTAL, (int64_t)len);
    fn(session, &gather->pending, json, len, &envelope);
}

bool session_objects_part_end(struct session *session, bool whole, session_objects_whole_fn fn)
{
    struct session_objects *it = session->objects;
    if (!it || !it->gather)
        return false;
    struct gather *gather = it->gather;
    if (!whole) { /* why is told later */
        gather_drop(gather);
        return true;
    }
    bool destroyed = false;
    it->gather = NULL;
    it->given = gather;
    it->destroyed = &destroyed;
    if (!gather->dropped)
        give(session, gather, fn);
    if (!destroyed) {
        it->given = NULL;
        it->destroyed = NULL;
        if (gather->json.data)
            save(it, &gather->json, &it->spare);
    }
    buf_free(&gather->json);
    free(gather);
    return true;
}
