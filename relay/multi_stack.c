/* Stacks from memory: each stop's whole stack is asked for once, when it happens, so that a client
 * that asks for hundreds of them waits for nobody. */
#include "relay/multi_state.h"

#include "base/mem.h"
#include "dap/message.h"
#include "relay/stack_slice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FETCH_MS = 20000 };

struct multi_stack_wait {
    struct multi_stack_wait *next;
    int64_t seq;
    struct stack_range range;
};

/* The debuggee has more frames than it gave: it is asked for these. */
static void ask_for(struct multi_target *target, int64_t own, int64_t seq, struct stack_range range)
{
    struct buf message = {0};
    struct envelope request;
    const char *problem;
    char arguments[128];
    snprintf(arguments, sizeof arguments,
             "{\"threadId\":%" PRId64 ",\"startFrame\":%" PRId64 ",\"levels\":%" PRId64 "}", own,
             range.start, range.levels);
    message_request(&message, seq, "stackTrace", arguments);
    if (envelope_read(&request, message.data, message.len, &problem) == 0)
        multi_pass(target, seq, own, message.data, message.len, &request);
    buf_free(&message);
}

static void answer(struct multi_target *target, const struct multi_thread *thread, int64_t seq,
                   struct stack_range range)
{
    struct buf cut = {0};
    struct envelope response;
    const char *problem;
    if (envelope_read(&response, thread->stack, thread->stack_len, &problem) != 0)
        return;
    enum stack_slice slice =
        response.success ? stack_slice(thread->stack, thread->stack_len, &response, range, &cut)
                         : STACK_SLICE_SAME;
    if (slice == STACK_SLICE_MISSING)
        ask_for(target, thread->own, seq, range);
    else if (slice == STACK_SLICE_SAME)
        multi_pass_out(target, seq, thread->own, thread->stack, thread->stack_len, &response);
    else if (envelope_read(&response, cut.data, cut.len, &problem) == 0)
        multi_pass_out(target, seq, thread->own, cut.data, cut.len, &response);
    buf_free(&cut);
}

static void refuse_waits(struct multi_target *target, struct multi_thread *thread, const char *why)
{
    struct multi_stack_wait *wait = thread->waits;
    thread->waits = NULL;
    while (wait) {
        struct multi_stack_wait *next = wait->next;
        client_refuse(&target->multi->session->client, wait->seq, "stackTrace", why, false);
        free(wait);
        wait = next;
    }
}

/* Which stop it was asked for. */
struct fetch {
    int64_t own, stops;
};

static void on_stack(void *arg, struct multi_target *target, const char *json, size_t len,
                     const struct envelope *response)
{
    struct fetch fetch = *(struct fetch *)arg;
    struct multi_thread *thread = multi_thread_find(target, fetch.own);
    free(arg);
    if (!thread || !thread->stopped || thread->stops != fetch.stops || thread->stack)
        return;
    thread->stack_asked = false;
    if (!response) {
        refuse_waits(target, thread, "the worker does not answer");
        return;
    }
    thread->stack = mem_string_n(json, len);
    thread->stack_len = len;
    struct multi_stack_wait *wait = thread->waits;
    thread->waits = NULL;
    multi_rank_ask(target, thread);
    for (struct multi_stack_wait *next; wait; wait = next) {
        next = wait->next;
        thread = multi_thread_find(target, fetch.own);
        if (thread && thread->stack && thread->stops == fetch.stops)
            answer(target, thread, wait->seq, wait->range);
        else
            client_refuse(&target->multi->session->client, wait->seq, "stackTrace",
                          "that stop is over", false);
        free(wait);
    }
}

void multi_stack_fetch(struct multi_target *target, struct multi_thread *thread)
{
    char arguments[64];
    struct fetch *fetch = mem_alloc(sizeof *fetch);
    *fetch = (struct fetch){thread->own, thread->stops};
    thread->stack_asked = true;
    snprintf(arguments, sizeof arguments, "{\"threadId\":%" PRId64 "}", thread->own);
    multi_ask(target, "stackTrace", arguments, FETCH_MS, on_stack, fetch);
}

void multi_stack_request(struct multi_target *target, struct multi_thread *thread, const char *json,
                         const struct envelope *request)
{
    struct stack_range range = stack_range_read(json, request);
    if (!thread->stopped) {
        client_refuse(&target->multi->session->client, request->seq, request->name,
                      "this thread is not stopped", false);
    } else if (thread->stack) {
        answer(target, thread, request->seq, range);
    } else {
        struct multi_stack_wait *wait = mem_alloc(sizeof *wait);
        struct multi_stack_wait **at = &thread->waits;
        *wait = (struct multi_stack_wait){NULL, request->seq, range};
        while (*at)
            at = &(*at)->next;
        *at = wait;
        if (!thread->stack_asked) /* no answer came before */
            multi_stack_fetch(target, thread);
    }
}

void multi_stack_drop(struct multi_target *target, struct multi_thread *thread)
{
    free(thread->stack);
    thread->stack = NULL;
    thread->stack_len = 0;
    thread->stack_asked = false;
    refuse_waits(target, thread, "that stop is over");
}

int64_t multi_stack_user_frame(const struct multi_thread *thread)
{
    struct envelope envelope;
    struct span frames, frame, at;
    const char *problem;
    size_t cursor = 0;
    int64_t id = 0;
    if (!thread->stack ||
        envelope_read(&envelope, thread->stack, thread->stack_len, &problem) != 0 ||
        !envelope.body.len || !scan_find(thread->stack, envelope.body, "stackFrames", &frames) ||
        thread->stack[frames.at] != '[')
        return 0;
    while (scan_element(thread->stack, frames, &cursor, &frame))
        if (!(scan_find(thread->stack, frame, "presentationHint", &at) &&
              scan_string_is(thread->stack, at, "subtle")) &&
            scan_find(thread->stack, frame, "id", &at) && scan_integer(thread->stack, at, &id))
            return id;
    return 0;
}
