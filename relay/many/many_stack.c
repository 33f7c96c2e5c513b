/* Stacks from memory: each stop's whole stack is requested once, when it happens, so that a client
 * that asks for hundreds of them does not wait. */
#include "relay/many/many_state.h"

#include "base/list.h"
#include "base/mem.h"
#include "dap/message.h"
#include "relay/stack/ray_frames.h"
#include "relay/stack/stack_slice.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { FETCH_MS = 20000 };

struct many_stack_wait {
    struct many_stack_wait *next;
    int64_t seq;
    struct stack_range range;
};

/* Asks the debuggee for frames beyond those that it gave. */
static void ask_for(struct many_task *task, int64_t own, int64_t seq, struct stack_range range)
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
        many_pass(task, seq, own, message.data, message.len, &request);
    buf_free(&message);
}

static void answer(struct many_task *task, const struct many_thread *thread, int64_t seq,
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
        ask_for(task, thread->own, seq, range);
    else if (slice == STACK_SLICE_SAME)
        many_pass_out(task, seq, thread->own, thread->stack, thread->stack_len, &response);
    else if (envelope_read(&response, cut.data, cut.len, &problem) == 0)
        many_pass_out(task, seq, thread->own, cut.data, cut.len, &response);
    buf_free(&cut);
}

static void refuse_waits(struct many_task *task, struct many_thread *thread, const char *why)
{
    struct many_stack_wait *wait = thread->waits;
    thread->waits = NULL;
    while (wait) {
        struct many_stack_wait *next = wait->next;
        client_refuse(task->many->client, wait->seq, "stackTrace", why, false);
        free(wait);
        wait = next;
    }
}

/* The stop that a stack was requested for. */
struct fetch {
    int64_t own, stops;
};

static void on_stack(void *arg, struct many_task *task, const char *json, size_t len,
                     const struct envelope *response)
{
    struct fetch fetch = *(struct fetch *)arg;
    struct many_thread *thread = many_thread_find(task, fetch.own);
    free(arg);
    if (!thread || !thread->stopped || thread->stops != fetch.stops || thread->stack)
        return;
    thread->stack_asked = false;
    if (!response) {
        refuse_waits(task, thread, "the worker does not answer");
        return;
    }
    thread->stack = mem_string_n(json, len);
    thread->stack_len = len;
    struct many_stack_wait *wait = thread->waits;
    thread->waits = NULL;
    many_rank_ask(task, ray_frames_first_user(thread->stack, thread->stack_len));
    for (struct many_stack_wait *next; wait; wait = next) {
        next = wait->next;
        thread = many_thread_find(task, fetch.own);
        if (thread && thread->stack && thread->stops == fetch.stops)
            answer(task, thread, wait->seq, wait->range);
        else
            client_refuse(task->many->client, wait->seq, "stackTrace", "that stop is over", false);
        free(wait);
    }
}

void many_stack_fetch(struct many_task *task, struct many_thread *thread)
{
    char arguments[64];
    struct fetch *fetch = mem_alloc(sizeof *fetch);
    *fetch = (struct fetch){thread->own, thread->stops};
    thread->stack_asked = true;
    snprintf(arguments, sizeof arguments, "{\"threadId\":%" PRId64 "}", thread->own);
    many_ask(task, "stackTrace", arguments, FETCH_MS, on_stack, fetch);
}

void many_stack_request(struct many_task *task, struct many_thread *thread, const char *json,
                        const struct envelope *request)
{
    struct stack_range range = stack_range_read(json, request);
    if (!thread->stopped) {
        client_refuse(task->many->client, request->seq, request->name, "this thread is not stopped",
                      false);
    } else if (thread->stack) {
        answer(task, thread, request->seq, range);
    } else {
        struct many_stack_wait *wait = mem_alloc(sizeof *wait);
        *wait = (struct many_stack_wait){NULL, request->seq, range};
        LIST_APPEND(thread->waits, wait);
        if (!thread->stack_asked) /* an earlier request got no answer */
            many_stack_fetch(task, thread);
    }
}

void many_stack_drop(struct many_task *task, struct many_thread *thread)
{
    free(thread->stack);
    thread->stack = NULL;
    thread->stack_len = 0;
    thread->stack_asked = false;
    refuse_waits(task, thread, "that stop is over");
}
