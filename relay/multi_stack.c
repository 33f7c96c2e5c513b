/* Stacks from memory: each stop's whole stack is asked for once, when it happens, so that a client
 * that asks for hundreds of them waits for nobody. */
#include "relay/multi_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FETCH_MS = 20000 };

struct multi_stack_wait {
    struct multi_stack_wait *next;
    int64_t seq, start, levels;
};

/* The body of a whole stack's response, cut to `levels` (0: all) frames from `start` on. */
static void add_slice(struct buf *out, const char *json, const struct envelope *response,
                      int64_t start, int64_t levels)
{
    struct span frames, frame;
    size_t cursor = 0;
    int64_t index = 0, given = 0;
    buf_add_string(out, "{\"stackFrames\":[");
    if (response->body.len && scan_find(json, response->body, "stackFrames", &frames) &&
        json[frames.at] == '[') {
        for (; scan_element(json, frames, &cursor, &frame); index++) {
            if (index < start || (levels && given == levels))
                continue;
            buf_add_string(out, given++ ? "," : "");
            buf_add(out, json + frame.at, frame.len);
        }
    }
    buf_printf(out, "],\"totalFrames\":%" PRId64 "}", index);
}

static void answer(struct multi_target *target, const struct multi_thread *thread, int64_t seq,
                   int64_t start, int64_t levels)
{
    struct buf message = {0};
    struct envelope envelope;
    const char *problem;
    int64_t own = thread->own;
    if (envelope_read(&envelope, thread->stack, thread->stack_len, &problem) != 0)
        return;
    if (!envelope.success) {
        client_pass(&target->multi->session->client, thread->stack, thread->stack_len, &envelope,
                    seq);
        return;
    }
    buf_add_string(&message, "{\"seq\":0,\"type\":\"response\",\"request_seq\":0,\"success\":true,"
                             "\"command\":\"stackTrace\",\"body\":");
    add_slice(&message, thread->stack, &envelope, start, levels);
    buf_add_string(&message, "}");
    if (envelope_read(&envelope, message.data, message.len, &problem) == 0)
        multi_pass_out(target, seq, own, message.data, message.len, &envelope);
    buf_free(&message);
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
            answer(target, thread, wait->seq, wait->start, wait->levels);
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
    snprintf(arguments, sizeof arguments, "{\"threadId\":%" PRId64 "}", thread->own);
    multi_ask(target, "stackTrace", arguments, FETCH_MS, on_stack, fetch);
}

static int64_t read_count(const char *json, const struct envelope *request, const char *name)
{
    struct span at;
    int64_t count = 0;
    if (request->arguments.len && scan_find(json, request->arguments, name, &at))
        scan_integer(json, at, &count);
    return count > 0 ? count : 0;
}

void multi_stack_request(struct multi_target *target, struct multi_thread *thread, const char *json,
                         const struct envelope *request)
{
    int64_t start = read_count(json, request, "startFrame");
    int64_t levels = read_count(json, request, "levels");
    if (!thread->stopped) {
        client_refuse(&target->multi->session->client, request->seq, request->name,
                      "this thread is not stopped", false);
    } else if (thread->stack) {
        answer(target, thread, request->seq, start, levels);
    } else {
        struct multi_stack_wait *wait = mem_alloc(sizeof *wait);
        struct multi_stack_wait **at = &thread->waits;
        *wait = (struct multi_stack_wait){NULL, request->seq, start, levels};
        while (*at)
            at = &(*at)->next;
        *at = wait;
    }
}

void multi_stack_drop(struct multi_target *target, struct multi_thread *thread)
{
    free(thread->stack);
    thread->stack = NULL;
    thread->stack_len = 0;
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
