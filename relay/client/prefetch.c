#include "relay/client/prefetch.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/dap_command.h"
#include "dap/envelope.h"
#include "dap/message.h"
#include "dap/reads.h"
#include "relay/client/prefetch_plan.h"
#include "relay/io/metrics.h"

#include <inttypes.h>
#include <stdlib.h>

/* The first seq of our own requests: no client counts so far. */
#define FIRST_SEQ (INT64_C(1) << 60)

enum {
    LIMIT = 256 * 1024, /* bytes of one stop's responses */
    LAG = 64 * 1024,    /* nothing is prefetched for a client that has more than this to read */
    ASKS = 64,          /* unanswered requests at a time, the client's and ours */
};

/* A request without a response yet. */
struct prefetch_request {
    struct prefetch_request *next;
    int64_t seq;            /* the client's, or ours */
    struct plan_step *step; /* NULL: its stop is over */
    bool own;
    struct buf unsent; /* the request, until the session has it */
};

struct prefetch {
    uint32_t magic;
    struct loop *loop;
    const struct prefetch_ops *ops;
    void *arg;
    struct plan *plan; /* NULL until the first stop */
    struct prefetch_request *requests, **last;
    size_t request_count, own_count;
    struct timer *send;
    int64_t seq;    /* of our last request */
    int64_t batch;  /* the last one's number */
    int64_t heard;  /* the client's requests that may change something */
    int64_t judged; /* `heard` when the batch began */
    size_t bytes;   /* of the batch's responses */
    bool live;      /* the batch goes on */
    bool disturbed; /* the batch was ended, but not by the client */
};
INVARIANT_MAGIC(prefetch, 0xdd7398f1)
#define prefetch_checked(object) prefetch_checked_at(INVARIANT_HERE, object)

bool prefetch_is_offered(const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    bool offered = false;
    return envelope_read(&envelope, json, len, &problem) == 0 && envelope.kind == DAP_REQUEST &&
           text_equal(envelope.name, "initialize") && envelope.arguments.len &&
           scan_boolean_at(json, envelope.arguments, "supportsRaydbgAhead", &offered) && offered;
}

bool prefetch_is_own(int64_t client_seq)
{
    return client_seq >= FIRST_SEQ;
}

struct prefetch *prefetch_create(struct loop *loop, const struct prefetch_ops *ops, void *arg)
{
    struct prefetch *prefetch = mem_alloc(sizeof *prefetch);
    prefetch_set_magic(prefetch);
    prefetch->loop = loop;
    prefetch->ops = ops;
    prefetch->arg = arg;
    prefetch->last = &prefetch->requests;
    prefetch->seq = FIRST_SEQ - 1;
    return prefetch;
}

bool prefetch_waits(const struct prefetch *prefetch)
{
    return prefetch && prefetch->own_count > 0;
}

/* --- to the editor's end --- */

static void tell(struct prefetch *prefetch, const struct buf *body)
{
    struct buf event = {0};
    message_event(&event, 0, "raydbg/prefetch", body->data);
    prefetch->ops->send(prefetch->arg, event.data, event.len);
    buf_free(&event);
}

/* --- asking --- */

static struct prefetch_request *note(struct prefetch *prefetch, int64_t seq, struct plan_step *step,
                                     bool own)
{
    struct prefetch_request *request = mem_alloc(sizeof *request);
    *request = (struct prefetch_request){.seq = seq, .step = step, .own = own};
    *prefetch->last = request;
    prefetch->last = &request->next;
    prefetch->request_count++;
    prefetch->own_count += own;
    return request;
}

static void forget(struct prefetch *prefetch, struct prefetch_request **at)
{
    struct prefetch_request *request = *at;
    *at = request->next;
    if (!*at)
        prefetch->last = at;
    invariant(prefetch->request_count > 0);
    prefetch->request_count--;
    prefetch->own_count -= request->own;
    buf_free(&request->unsent);
    free(request);
}

static bool take(struct prefetch *prefetch, int64_t seq, struct prefetch_request *out)
{
    for (struct prefetch_request **at = &prefetch->requests; *at; at = &(*at)->next) {
        if ((*at)->seq != seq)
            continue;
        *out = **at;
        out->unsent = (struct buf){0};
        forget(prefetch, at);
        return true;
    }
    return false;
}

static struct prefetch_request *find_unsent(const struct prefetch *prefetch)
{
    struct prefetch_request *request = prefetch->requests;
    while (request && !request->unsent.len)
        request = request->next;
    return request;
}

/* Looks for an unsent request each time: the session's response may end the batch or begin one. */
static void send_requests(void *arg)
{
    struct prefetch *prefetch = prefetch_checked(arg);
    struct prefetch_request *request;
    prefetch->send = NULL;
    while ((request = find_unsent(prefetch))) {
        struct buf unsent = request->unsent;
        request->unsent = (struct buf){0};
        prefetch->ops->ask(prefetch->arg, unsent.data, unsent.len);
        buf_free(&unsent);
    }
}

static void ask_ahead(struct prefetch *prefetch, struct plan_step *step, const char *arguments)
{
    struct prefetch_request *request = note(prefetch, prefetch->seq, step, true);
    message_request(&request->unsent, prefetch->seq, plan_command(step), arguments);
    metrics_add(METRIC_PREFETCH_REQUESTS_TOTAL, 1);
    if (!prefetch->send)
        prefetch->send = timer_start(prefetch->loop, 0, send_requests, prefetch);
}

/* Announces and makes all requests that can be prefetched now. */
static void go_on(struct prefetch *prefetch)
{
    struct buf body = {0}, arguments = {0};
    struct plan_step *step;
    buf_printf(&body, "{\"batch\":%" PRId64 ",\"heard\":%" PRId64 ",\"asks\":[", prefetch->batch,
               prefetch->heard);
    size_t empty = body.len;
    while (prefetch->request_count < ASKS &&
           (step = plan_next(prefetch->plan, prefetch->seq + 1, &arguments))) {
        prefetch->seq++;
        buf_printf(&body, "%s{\"id\":%" PRId64 ",\"command\":\"%s\"", body.len > empty ? "," : "",
                   prefetch->seq, plan_command(step));
        if (arguments.len)
            buf_printf(&body, ",\"arguments\":%s", arguments.data);
        buf_add_string(&body, "}");
        ask_ahead(prefetch, step, arguments.len ? arguments.data : NULL);
        buf_clear(&arguments, SIZE_MAX);
    }
    if (body.len > empty) {
        buf_add_string(&body, "]}");
        tell(prefetch, &body);
    }
    buf_free(&body);
    buf_free(&arguments);
}

/* --- the end of a batch --- */

/* Ends the batch: responses that are still to come are not used, unsent requests are dropped. */
static void end(struct prefetch *prefetch)
{
    prefetch->live = false;
    timer_cancel(&prefetch->send);
    for (struct prefetch_request **at = &prefetch->requests; *at;)
        if ((*at)->unsent.len)
            forget(prefetch, at);
        else
            at = &(*at)->next;
}

void prefetch_destroy(struct prefetch **prefetch)
{
    struct prefetch *it = *prefetch;
    if (!it)
        return;
    *prefetch = NULL;
    timer_cancel(&it->send);
    while (it->requests)
        forget(it, &it->requests);
    plan_destroy(&it->plan);
    prefetch_clear_magic(it);
    free(it);
}

void prefetch_disturb(struct prefetch *prefetch)
{
    struct buf body = {0};
    if (!prefetch || !prefetch->live)
        return;
    end(prefetch);
    prefetch->disturbed = true;
    buf_printf(&body, "{\"batch\":%" PRId64 ",\"drop\":true}", prefetch->batch);
    tell(prefetch, &body);
    buf_free(&body);
}

/* --- from the client --- */

static void on_used(struct prefetch *prefetch, const char *json, const struct envelope *event)
{
    struct span at, item;
    int64_t batch, id;
    size_t cursor = 0;
    if (!scan_integer_at(json, event->body, "batch", &batch) || batch != prefetch->batch ||
        !scan_find(json, event->body, "used", &at) || json[at.at] != '[')
        return;
    while (scan_element(json, at, &cursor, &item))
        if (scan_integer(json, item, &id) && plan_used(prefetch->plan, id))
            metrics_add(METRIC_PREFETCH_USED_TOTAL, 1);
}

bool prefetch_from_client(struct prefetch *prefetch, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    if (!prefetch || envelope_read(&envelope, json, len, &problem) != 0)
        return false;
    if (envelope.kind == DAP_EVENT && text_equal(envelope.name, "raydbg/prefetch")) {
        if (prefetch->plan)
            on_used(prefetch, json, &envelope);
        return true;
    }
    if (envelope.kind != DAP_REQUEST)
        return false;
    if (!dap_command_is(envelope.name, DAP_COMMAND_READS)) {
        prefetch->heard++;
        end(prefetch);
    } else if (prefetch->plan && prefetch->request_count < ASKS) {
        struct plan_step *step = plan_asked(prefetch->plan, json, &envelope);
        if (step)
            note(prefetch, envelope.seq, step, false);
    }
    return false;
}

/* --- to the client --- */

/* Reads the thread of a stop that takes the focus; false for any other. */
static bool read_stop(const char *json, const struct envelope *event, int64_t *thread)
{
    bool stays = false;
    if (!scan_integer_at(json, event->body, "threadId", thread))
        return false;
    scan_boolean_at(json, event->body, "preserveFocusHint", &stays);
    return !stays;
}

static void begin(struct prefetch *prefetch, int64_t thread)
{
    bool judge = !prefetch->disturbed && prefetch->heard > prefetch->judged;
    if (!prefetch->plan)
        prefetch->plan = plan_create(prefetch->ops->drives(prefetch->arg));
    for (struct prefetch_request **at = &prefetch->requests; *at;) {
        (*at)->step = NULL;
        if ((*at)->own) /* its response must still be withheld from the client */
            at = &(*at)->next;
        else
            forget(prefetch, at);
    }
    plan_stop(prefetch->plan, thread, judge);
    prefetch->judged = prefetch->heard;
    prefetch->disturbed = false;
    prefetch->bytes = 0;
    prefetch->batch++;
    prefetch->live = prefetch->ops->queued(prefetch->arg) < LAG;
    if (prefetch->live)
        go_on(prefetch);
}

static void on_event(struct prefetch *prefetch, const char *json, const struct envelope *event)
{
    int64_t thread;
    if (!reads_end_with(event->name))
        return;
    prefetch->disturbed |= prefetch->live;
    end(prefetch);
    if (text_equal(event->name, "stopped") && read_stop(json, event, &thread))
        begin(prefetch, thread);
}

static void pass_answer(struct prefetch *prefetch, int64_t seq, const char *json,
                        const struct envelope *response)
{
    struct buf body = {0};
    prefetch->bytes += response->whole.len;
    buf_printf(&body, "{\"batch\":%" PRId64 ",\"id\":%" PRId64, prefetch->batch, seq);
    if (response->success && prefetch->bytes <= LIMIT &&
        prefetch->ops->queued(prefetch->arg) < LAG) {
        buf_add_string(&body, ",\"response\":");
        buf_add(&body, json + response->whole.at, response->whole.len);
    }
    buf_add_string(&body, "}");
    tell(prefetch, &body);
    buf_free(&body);
}

static bool is_asked(const struct prefetch *prefetch, int64_t seq)
{
    const struct prefetch_request *request = prefetch->requests;
    while (request && request->seq != seq)
        request = request->next;
    return request != NULL;
}

/* True if prefetch must read the message. Most do not concern it, and their start shows that. */
static bool concerns(const struct prefetch *prefetch, const char *json, size_t len)
{
    struct envelope head;
    if (!envelope_read_head(&head, json, len))
        return true;
    return head.kind == DAP_EVENT ? reads_end_with(head.name)
                                  : is_asked(prefetch, head.request_seq);
}

bool prefetch_to_client(struct prefetch *prefetch, const char *json, size_t len)
{
    struct envelope envelope;
    struct prefetch_request request;
    const char *problem;
    if (!prefetch || !concerns(prefetch, json, len) ||
        envelope_read(&envelope, json, len, &problem) != 0)
        return false;
    if (envelope.kind == DAP_EVENT)
        on_event(prefetch, json, &envelope);
    if (envelope.kind != DAP_RESPONSE || !take(prefetch, envelope.request_seq, &request))
        return false;
    if (request.step)
        plan_answered(request.step, json, &envelope);
    if (prefetch->live && request.step)
        go_on(prefetch);
    if (prefetch->live && request.own && request.step)
        pass_answer(prefetch, request.seq, json, &envelope);
    return request.own;
}
