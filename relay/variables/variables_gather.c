/* Gathers answers that come in parts, and keeps their memory for the next. */
#include "relay/variables/variables_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "relay/annotate/annotate_scan.h"
#include "relay/io/metrics.h"

#include <stdlib.h>

enum {
    IDLE_MS = 10000, /* time without use after which spare memory is freed */
    /* Smaller buffers are not kept: they do not cost a call to the kernel each time. */
    SPARE_LEAST = 128 << 10,
    SPARE_BYTES = 4 << 20 /* most bytes kept in all */
};

/* An answer that comes in parts. */
struct gather {
    struct pending pending;
    struct envelope head; /* read from the message's start */
    struct buf json;      /* the bytes so far */
    struct annotate_scan look;
    bool dropped;   /* the rest is ignored */
    bool answered;  /* the request was refused */
    bool plain;     /* complete, and has nothing to annotate */
    bool unchecked; /* complete, and annotating it will check it */
};

/* --- spare memory --- */

void variables_drop_spares(struct variables *it)
{
    timer_cancel(&it->idle);
    buf_free(&it->spare);
    buf_free(&it->spare_edited);
    buf_free(&it->spare_shown);
}

static void on_idle(void *arg)
{
    struct variables *it = variables_checked(arg);
    it->idle = NULL;
    if (it->spare_used)
        it->idle = timer_start(it->context->loop, IDLE_MS, on_idle, it);
    else
        variables_drop_spares(it);
    it->spare_used = false;
}

/* Keeps a buffer for the next answer, which then needs no new memory: the kernel would clear that
 * page by page. */
static void save(struct variables *it, struct buf *from, struct buf *spare)
{
    buf_free(spare);
    *spare = *from;
    spare->len = 0;
    *from = (struct buf){0};
    if (it->spare.cap + it->spare_edited.cap + it->spare_shown.cap > SPARE_BYTES)
        buf_free(&it->spare_edited);
    if (it->spare.cap + it->spare_shown.cap > SPARE_BYTES)
        buf_free(&it->spare_shown);
    if (it->spare.cap > SPARE_BYTES)
        buf_free(&it->spare);
    it->spare_used = true;
    if (!it->idle)
        it->idle = timer_start(it->context->loop, IDLE_MS, on_idle, it);
}

struct buf variables_take_spare(struct buf *spare)
{
    struct buf taken = *spare;
    *spare = (struct buf){0};
    return taken;
}

void variables_save_spare(struct variables *it, struct buf *used, struct buf *spare)
{
    if (used->cap >= SPARE_LEAST)
        save(it, used, spare);
    else
        buf_free(used);
}

/* --- results of the scan --- */

/* The gathered answer, if the response is that one; else NULL. */
static struct gather *given(const struct variables *it, const struct held *held)
{
    struct gather *given = it->given;
    return given && held->json == given->json.data ? given : NULL;
}

bool variables_applies(const struct variables *it, const struct held *held)
{
    const struct gather *gather = given(it, held);
    return !(gather && gather->plain) && annotate_applies(held->json, held->len);
}

bool variables_unchecked(const struct variables *it, const struct held *held)
{
    const struct gather *gather = given(it, held);
    return gather && gather->unchecked;
}

void variables_inherit(struct variables *it, const struct held *held)
{
    const struct gather *gather = given(it, held);
    int64_t frame = held->awaited.frame;
    if (!frame)
        return;
    if (!gather || !gather->plain || gather->look.scattered) {
        known_inherit(&it->known, held->json, held->len, frame);
        return;
    }
    const struct annotate_scan *look = &gather->look;
    for (size_t i = 0; i < look->run_count; i++)
        known_inherit_run(&it->known, look->runs[i].first, look->runs[i].last, frame);
}

/* --- in parts --- */

static void gather_drop(struct gather *gather)
{
    gather->dropped = true;
    buf_free(&gather->json);
}

void variables_refuse_gathered(struct variables_context *context, const char *why)
{
    struct gather *gather = context->objects ? context->objects->gather : NULL;
    if (!gather || gather->answered)
        return;
    gather->answered = true;
    gather_drop(gather);
    client_refuse(context->client, gather->pending.client.value, gather->pending.command, why,
                  false);
}

void variables_drop_gather(struct variables *it)
{
    if (it->gather)
        buf_free(&it->gather->json);
    free(it->gather);
    it->gather = NULL;
}

/* Scans each part as it comes, while it is in the CPU's cache: to read all of it again at the end
 * costs more. */
static void gather_add(struct gather *gather, const char *bytes, size_t len)
{
    buf_add(&gather->json, bytes, len);
    annotate_scan_on(&gather->look, gather->json.data, gather->json.len, false);
}

bool variables_gather(struct variables_context *context, const struct pending *pending,
                      const char *head, size_t head_len, size_t total)
{
    struct variables *it = context->objects;
    struct envelope envelope;
    if (it)
        variables_drop_gather(it); /* from a hub that the session has left */
    if (!it || !variables_collects(context, pending, total) ||
        !envelope_read_head(&envelope, head, head_len))
        return false;
    struct gather *gather = it->gather = mem_alloc(sizeof *gather);
    *gather = (struct gather){.pending = *pending, .head = envelope};
    if (it->spare.cap <= total)
        buf_free(&it->spare);
    gather->json = it->spare;
    it->spare = (struct buf){0};
    buf_reserve(&gather->json, total);
    gather_add(gather, head, head_len);
    return true;
}

bool variables_part(struct variables_context *context, const char *bytes, size_t len)
{
    struct gather *gather = context->objects ? context->objects->gather : NULL;
    if (gather && !gather->dropped)
        gather_add(gather, bytes, len);
    return gather != NULL;
}

/* True if variables_response() will annotate the answer. */
static bool will_annotate(const struct variables_context *context, const struct gather *gather)
{
    return gather->look.applies && gather->head.success &&
           text_equal(gather->pending.command, "variables") && variables_of(context) &&
           variables_collects(context, &gather->pending, gather->json.len);
}

/* An answer without anything to annotate is not parsed, like one that passes in parts: its body is
 * taken to reach to the end. One that will be annotated is parsed then. */
static bool read_gathered(const struct variables_context *context, struct gather *gather,
                          struct envelope *envelope, const char **problem)
{
    const char *json = gather->json.data;
    size_t len = gather->json.len;
    annotate_scan_on(&gather->look, json, len, true);
    gather->plain = gather->head.body.at && !gather->look.applies;
    gather->unchecked = gather->head.body.at && will_annotate(context, gather);
    if (!gather->plain && !gather->unchecked)
        return envelope_read(envelope, json, len, problem) == 0;
    *envelope = gather->head;
    envelope->body.len = len - envelope->body.at;
    envelope->whole.len = len - envelope->whole.at;
    return true;
}

static void give(struct variables_context *context, struct gather *gather, variables_whole_fn fn,
                 void *arg)
{
    struct envelope envelope;
    const char *problem;
    if (!read_gathered(context, gather, &envelope, &problem)) {
        variables_forget(context, &gather->pending);
        client_refuse(context->client, gather->pending.client.value, gather->pending.command,
                      problem, false);
        return;
    }
    metrics_add(METRIC_MESSAGES_FROM_WORKER_TOTAL, 1);
    metrics_add(METRIC_BYTES_FROM_WORKER_TOTAL, (int64_t)gather->json.len);
    fn(arg, &gather->pending, gather->json.data, gather->json.len, &envelope);
}

bool variables_part_end(struct variables_context *context, bool whole, variables_whole_fn fn,
                        void *arg)
{
    struct variables *it = context->objects;
    if (!it || !it->gather)
        return false;
    struct gather *gather = it->gather;
    if (!whole) { /* the refusal follows, with the reason */
        gather_drop(gather);
        return true;
    }
    bool destroyed = false;
    it->gather = NULL;
    it->given = gather;
    it->destroyed = &destroyed;
    if (!gather->dropped)
        give(context, gather, fn, arg);
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
