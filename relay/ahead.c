#include "relay/ahead.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/envelope.h"
#include "dap/message.h"
#include "dap/reads.h"
#include "relay/ahead_plan.h"
#include "relay/metrics.h"

#include <inttypes.h>
#include <stdlib.h>

/* No client counts so far. */
#define FIRST_SEQ (INT64_C(1) << 60)

enum {
    LIMIT = 256 * 1024, /* bytes of one stop's answers */
    LAG = 64 * 1024,    /* a client that has more to read has no use for more */
    ASKS = 64,          /* unanswered at a time, the client's and ours */
};

/* A request whose answer is waited for. */
struct ask {
    struct ask *next;
    int64_t seq;            /* the client's, or ours */
    struct plan_step *step; /* NULL: its stop is over */
    bool own;
    struct buf unsent; /* the request, until the session has it */
};

struct ahead {
    struct loop *loop;
    const struct ahead_ops *ops;
    void *arg;
    struct plan *plan; /* NULL until the first stop */
    struct ask *asks, **last;
    size_t ask_count, own_count;
    struct timer *send;
    int64_t seq;    /* of our last request */
    int64_t batch;  /* the last one */
    int64_t heard;  /* the client's requests that may change something */
    int64_t judged; /* `heard` when the batch began */
    size_t bytes;   /* of its answers */
    bool live;      /* the batch goes on */
    bool disturbed; /* it was ended, but not by the client */
};

bool ahead_is_offered(const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    struct span at;
    bool offered = false;
    return envelope_read(&envelope, json, len, &problem) == 0 && envelope.kind == DAP_REQUEST &&
           text_equal(envelope.name, "initialize") && envelope.arguments.len &&
           scan_find(json, envelope.arguments, "supportsRaydbgAhead", &at) &&
           scan_boolean(json, at, &offered) && offered;
}

bool ahead_is_own(int64_t client_seq)
{
    return client_seq >= FIRST_SEQ;
}

struct ahead *ahead_create(struct loop *loop, const struct ahead_ops *ops, void *arg)
{
    struct ahead *ahead = mem_alloc(sizeof *ahead);
    ahead->loop = loop;
    ahead->ops = ops;
    ahead->arg = arg;
    ahead->last = &ahead->asks;
    ahead->seq = FIRST_SEQ - 1;
    return ahead;
}

bool ahead_waits(const struct ahead *ahead)
{
    return ahead && ahead->own_count > 0;
}

/* --- to the editor's end --- */

static void tell(struct ahead *ahead, const struct buf *body)
{
    struct buf event = {0};
    message_event(&event, 0, "raydbg/ahead", body->data);
    ahead->ops->send(ahead->arg, event.data, event.len);
    buf_free(&event);
}

/* --- asking --- */

static struct ask *note(struct ahead *ahead, int64_t seq, struct plan_step *step, bool own)
{
    struct ask *ask = mem_alloc(sizeof *ask);
    *ask = (struct ask){.seq = seq, .step = step, .own = own};
    *ahead->last = ask;
    ahead->last = &ask->next;
    ahead->ask_count++;
    ahead->own_count += own;
    return ask;
}

static void forget(struct ahead *ahead, struct ask **at)
{
    struct ask *ask = *at;
    *at = ask->next;
    if (!*at)
        ahead->last = at;
    ahead->ask_count--;
    ahead->own_count -= ask->own;
    buf_free(&ask->unsent);
    free(ask);
}

static bool take(struct ahead *ahead, int64_t seq, struct ask *out)
{
    for (struct ask **at = &ahead->asks; *at; at = &(*at)->next) {
        if ((*at)->seq != seq)
            continue;
        *out = **at;
        out->unsent = (struct buf){0};
        forget(ahead, at);
        return true;
    }
    return false;
}

static struct ask *find_unsent(const struct ahead *ahead)
{
    struct ask *ask = ahead->asks;
    while (ask && !ask->unsent.len)
        ask = ask->next;
    return ask;
}

/* What the session says to one may end the batch, or begin another. */
static void send_asks(void *arg)
{
    struct ahead *ahead = arg;
    struct ask *ask;
    ahead->send = NULL;
    while ((ask = find_unsent(ahead))) {
        struct buf request = ask->unsent;
        ask->unsent = (struct buf){0};
        ahead->ops->ask(ahead->arg, request.data, request.len);
        buf_free(&request);
    }
}

static void ask_ahead(struct ahead *ahead, struct plan_step *step, const char *arguments)
{
    struct ask *ask = note(ahead, ahead->seq, step, true);
    message_request(&ask->unsent, ahead->seq, plan_command(step), arguments);
    metrics_add(METRIC_AHEAD_ASKED_TOTAL, 1);
    if (!ahead->send)
        ahead->send = timer_start(ahead->loop, 0, send_asks, ahead);
}

/* Announces and asks whatever can be asked by now. */
static void go_on(struct ahead *ahead)
{
    struct buf body = {0}, arguments = {0};
    struct plan_step *step;
    buf_printf(&body, "{\"batch\":%" PRId64 ",\"heard\":%" PRId64 ",\"asks\":[", ahead->batch,
               ahead->heard);
    size_t empty = body.len;
    while (ahead->ask_count < ASKS && (step = plan_next(ahead->plan, ahead->seq + 1, &arguments))) {
        ahead->seq++;
        buf_printf(&body, "%s{\"id\":%" PRId64 ",\"command\":\"%s\"", body.len > empty ? "," : "",
                   ahead->seq, plan_command(step));
        if (arguments.len)
            buf_printf(&body, ",\"arguments\":%s", arguments.data);
        buf_add_string(&body, "}");
        ask_ahead(ahead, step, arguments.len ? arguments.data : NULL);
        buf_clear(&arguments, SIZE_MAX);
    }
    if (body.len > empty) {
        buf_add_string(&body, "]}");
        tell(ahead, &body);
    }
    buf_free(&body);
    buf_free(&arguments);
}

/* --- the end of a batch --- */

/* Answers that are still to come are of no use. What the session has not heard is not asked. */
static void end(struct ahead *ahead)
{
    ahead->live = false;
    timer_cancel(&ahead->send);
    for (struct ask **at = &ahead->asks; *at;)
        if ((*at)->unsent.len)
            forget(ahead, at);
        else
            at = &(*at)->next;
}

void ahead_destroy(struct ahead **ahead)
{
    struct ahead *it = *ahead;
    if (!it)
        return;
    *ahead = NULL;
    timer_cancel(&it->send);
    while (it->asks)
        forget(it, &it->asks);
    plan_destroy(&it->plan);
    free(it);
}

void ahead_disturb(struct ahead *ahead)
{
    struct buf body = {0};
    if (!ahead || !ahead->live)
        return;
    end(ahead);
    ahead->disturbed = true;
    buf_printf(&body, "{\"batch\":%" PRId64 ",\"drop\":true}", ahead->batch);
    tell(ahead, &body);
    buf_free(&body);
}

/* --- from the client --- */

static void on_used(struct ahead *ahead, const char *json, const struct envelope *event)
{
    struct span at, item;
    int64_t batch, id;
    size_t cursor = 0;
    if (!event->body.len || !scan_find(json, event->body, "batch", &at) ||
        !scan_integer(json, at, &batch) || batch != ahead->batch ||
        !scan_find(json, event->body, "used", &at) || json[at.at] != '[')
        return;
    while (scan_element(json, at, &cursor, &item))
        if (scan_integer(json, item, &id) && plan_used(ahead->plan, id))
            metrics_add(METRIC_AHEAD_USED_TOTAL, 1);
}

bool ahead_from_client(struct ahead *ahead, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    if (!ahead || envelope_read(&envelope, json, len, &problem) != 0)
        return false;
    if (envelope.kind == DAP_EVENT && text_equal(envelope.name, "raydbg/ahead")) {
        if (ahead->plan)
            on_used(ahead, json, &envelope);
        return true;
    }
    if (envelope.kind != DAP_REQUEST)
        return false;
    if (!reads_only(envelope.name)) {
        ahead->heard++;
        end(ahead);
    } else if (ahead->plan && ahead->ask_count < ASKS) {
        struct plan_step *step = plan_asked(ahead->plan, json, &envelope);
        if (step)
            note(ahead, envelope.seq, step, false);
    }
    return false;
}

/* --- to the client --- */

/* One that takes the focus. */
static bool read_stop(const char *json, const struct envelope *event, int64_t *thread)
{
    struct span at;
    bool stays = false;
    if (!event->body.len || !scan_find(json, event->body, "threadId", &at) ||
        !scan_integer(json, at, thread))
        return false;
    if (scan_find(json, event->body, "preserveFocusHint", &at))
        scan_boolean(json, at, &stays);
    return !stays;
}

static void begin(struct ahead *ahead, int64_t thread)
{
    bool judge = !ahead->disturbed && ahead->heard > ahead->judged;
    if (!ahead->plan)
        ahead->plan = plan_create(ahead->ops->drives(ahead->arg));
    for (struct ask **at = &ahead->asks; *at;) {
        (*at)->step = NULL;
        if ((*at)->own) /* its answer is still withheld */
            at = &(*at)->next;
        else
            forget(ahead, at);
    }
    plan_stop(ahead->plan, thread, judge);
    ahead->judged = ahead->heard;
    ahead->disturbed = false;
    ahead->bytes = 0;
    ahead->batch++;
    ahead->live = ahead->ops->queued(ahead->arg) < LAG;
    if (ahead->live)
        go_on(ahead);
}

static void on_event(struct ahead *ahead, const char *json, const struct envelope *event)
{
    int64_t thread;
    if (!reads_end_with(event->name))
        return;
    ahead->disturbed |= ahead->live;
    end(ahead);
    if (text_equal(event->name, "stopped") && read_stop(json, event, &thread))
        begin(ahead, thread);
}

static void pass_answer(struct ahead *ahead, int64_t seq, const char *json,
                        const struct envelope *response)
{
    struct buf body = {0};
    ahead->bytes += response->whole.len;
    buf_printf(&body, "{\"batch\":%" PRId64 ",\"id\":%" PRId64, ahead->batch, seq);
    if (response->success && ahead->bytes <= LIMIT && ahead->ops->queued(ahead->arg) < LAG) {
        buf_add_string(&body, ",\"response\":");
        buf_add(&body, json + response->whole.at, response->whole.len);
    }
    buf_add_string(&body, "}");
    tell(ahead, &body);
    buf_free(&body);
}

static bool is_asked(const struct ahead *ahead, int64_t seq)
{
    const struct ask *ask = ahead->asks;
    while (ask && ask->seq != seq)
        ask = ask->next;
    return ask != NULL;
}

/* Most messages are none of ours, and their start says so. */
static bool concerns(const struct ahead *ahead, const char *json, size_t len)
{
    struct envelope head;
    if (!envelope_read_head(&head, json, len))
        return true;
    return head.kind == DAP_EVENT ? reads_end_with(head.name) : is_asked(ahead, head.request_seq);
}

bool ahead_to_client(struct ahead *ahead, const char *json, size_t len)
{
    struct envelope envelope;
    struct ask ask;
    const char *problem;
    if (!ahead || !concerns(ahead, json, len) || envelope_read(&envelope, json, len, &problem) != 0)
        return false;
    if (envelope.kind == DAP_EVENT)
        on_event(ahead, json, &envelope);
    if (envelope.kind != DAP_RESPONSE || !take(ahead, envelope.request_seq, &ask))
        return false;
    if (ask.step)
        plan_answered(ask.step, json, &envelope);
    if (ahead->live && ask.step)
        go_on(ahead);
    if (ahead->live && ask.own && ask.step)
        pass_answer(ahead, ask.seq, json, &envelope);
    return ask.own;
}
