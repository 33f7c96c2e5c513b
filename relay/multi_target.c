/* One debuggee of a multi, as the DAP client of its inner session. */
#include "relay/multi_state.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/message.h"
#include "dap/splice.h"

#include <stdlib.h>
#include <string.h>

struct multi_ask {
    struct multi_ask *next;
    struct multi_target *target;
    struct upstream_seq seq;
    struct timer *timer;
    multi_answer_fn fn;
    void *arg;
};

bool multi_target_is_there(const struct multi_target *target)
{
    return target->inner && !target->stalled &&
           (target->state == MULTI_READY || target->state == MULTI_RUNNING);
}

/* --- asking --- */

/* It is in the list no more. */
static void ask_tell(struct multi_ask *ask, const char *json, size_t len,
                     const struct envelope *response)
{
    timer_cancel(&ask->timer);
    if (ask->fn)
        ask->fn(ask->arg, ask->target, json, len, response);
    free(ask);
}

static void ask_finish(struct multi_ask *ask, const char *json, size_t len,
                       const struct envelope *response)
{
    struct multi_ask **at = &ask->target->asks;
    while (*at != ask)
        at = &(*at)->next;
    *at = ask->next;
    ask_tell(ask, json, len, response);
}

static void on_late(void *arg)
{
    struct multi_ask *ask = arg;
    struct pending pending;
    ask->timer = NULL;
    seqmap_take(ask->target->pending, ask->seq, &pending);
    ask_finish(ask, NULL, 0, NULL);
}

void multi_ask(struct multi_target *target, const char *command, const char *arguments,
               int64_t timeout_ms, multi_answer_fn fn, void *arg)
{
    struct buf message = {0};
    if (!target->inner) {
        if (fn)
            fn(arg, target, NULL, 0, NULL);
        return;
    }
    struct multi_ask *ask = mem_alloc(sizeof *ask);
    *ask = (struct multi_ask){.next = target->asks, .target = target, .fn = fn, .arg = arg};
    target->asks = ask;
    ask->seq = seqmap_add(target->pending, ask, (struct client_seq){0}, command, NULL);
    if (timeout_ms)
        ask->timer = timer_start(target->multi->loop, timeout_ms, on_late, ask);
    message_request(&message, ask->seq.value, command, arguments);
    bool was_quiet = target->quiet;
    target->quiet = true;
    session_receive(target->inner, message.data, message.len);
    target->quiet = was_quiet;
    buf_free(&message);
}

static void drop_asks(struct multi_target *target, const void *arg)
{
    for (struct multi_ask *ask = target->asks; ask; ask = ask->next)
        if (ask->arg == arg)
            ask->fn = NULL;
}

void multi_drop_asks(struct multi *multi, const void *arg)
{
    for (struct multi_target *at = multi->targets; at; at = at->next)
        drop_asks(at, arg);
}

void multi_pass(struct multi_target *target, int64_t client_seq, int64_t thread, const char *json,
                size_t len, const struct envelope *envelope)
{
    struct buf message = {0};
    struct client *client = &target->multi->session->client;
    if (!multi_target_is_there(target)) {
        client_refuse(client, client_seq, envelope->name,
                      target->stalled ? "the worker does not take any more for now"
                                      : "the task is not attached (any more)",
                      false);
        return;
    }
    struct upstream_seq seq = seqmap_add(target->pending, NULL, (struct client_seq){client_seq},
                                         envelope->name, (void *)(intptr_t)thread);
    splice_seq(json, len, envelope, seq.value, 0, &message);
    session_receive(target->inner, message.data, message.len);
    buf_free(&message);
}

/* --- what comes --- */

void multi_pass_out(struct multi_target *target, int64_t client_seq, int64_t thread,
                    const char *json, size_t len, const struct envelope *envelope)
{
    struct multi *multi = target->multi;
    struct buf out = {0};
    struct envelope rewritten;
    if (id_rewrite_out(multi->ids, target->slot, thread, json, len, envelope, &out)) {
        envelope_moved(envelope, len, out.data, out.len, &rewritten);
        client_pass(&multi->session->client, out.data, out.len, &rewritten, client_seq);
    } else {
        client_pass(&multi->session->client, json, len, envelope, client_seq);
    }
    buf_free(&out);
}

static bool is_step(const char *command)
{
    return text_equal(command, "next") || text_equal(command, "stepIn") ||
           text_equal(command, "stepOut") || text_equal(command, "goto");
}

/* The answer to a request of the client's. */
static void on_answer(struct multi_target *target, const struct pending *pending, const char *json,
                      size_t len, const struct envelope *response)
{
    int64_t thread = (int64_t)(intptr_t)pending->tag;
    multi_pass_out(target, pending->client.value, thread, json, len, response);
    struct multi_thread *stepped =
        is_step(pending->command) ? multi_thread_find(target, thread) : NULL;
    if (stepped && response->success)
        multi_thread_stepped(target, stepped);
    else if (stepped)
        stepped->asked = false;
}

static void on_inner_response(struct multi_target *target, const char *json, size_t len,
                              const struct envelope *response, int64_t request_seq)
{
    struct pending pending;
    if (!seqmap_take(target->pending, (struct upstream_seq){request_seq}, &pending))
        return;
    if (!pending.owner) {
        on_answer(target, &pending, json, len, response);
        return;
    }
    /* Who asked may ask again from within, and what the inner session has is gone then. */
    struct multi_ask *ask = pending.owner;
    char *copy = mem_string_n(json, len);
    ask_finish(ask, copy, len, response);
    free(copy);
}

static void on_inner_pass(void *arg, const char *json, size_t len, const struct envelope *envelope,
                          int64_t request_seq)
{
    struct multi_target *target = arg;
    if (target->state == MULTI_GONE)
        return;
    multi_flow_count(target, len);
    if (envelope->kind == DAP_RESPONSE) {
        on_inner_response(target, json, len, envelope, request_seq);
    } else if (envelope->kind == DAP_EVENT) {
        char *copy = mem_string_n(json, len);
        multi_on_event(target, copy, len, envelope);
        free(copy);
    }
}

/* The inner session's own words. */
static void on_inner_message(void *arg, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, json, len, &problem) == 0)
        on_inner_pass(arg, json, len, &envelope, envelope.request_seq);
}

static void on_inner_end(void *arg)
{
    multi_target_ended(arg, NULL);
}

static void on_inner_flow(void *arg, bool flows)
{
    struct multi_target *target = arg;
    target->stalled = !flows;
}

static void on_inner_act(void *arg, const char *action, const char *detail)
{
    struct multi_target *target = arg;
    struct multi *multi = target->multi;
    if (target->quiet && !text_equal(action, "attach") && !text_equal(action, "take-over"))
        return;
    const struct multi_target *before = multi->acting;
    multi->acting = target;
    session_act(multi->session, action, detail);
    multi->acting = before;
}

static void on_inner_disturbed(void *arg)
{
    const struct multi_target *target = arg;
    const struct session *outer = target->multi->session;
    if (outer->ops->on_disturbed)
        outer->ops->on_disturbed(outer->arg);
}

static const struct session_ops inner_ops = {
    .on_message = on_inner_message,
    .on_pass = on_inner_pass,
    .on_end = on_inner_end,
    .on_flow = on_inner_flow,
    .on_act = on_inner_act,
    .on_disturbed = on_inner_disturbed,
};

/* --- attaching --- */

static void on_attach_answer(void *arg, struct multi_target *target, const char *json, size_t len,
                             const struct envelope *response)
{
    (void)arg, (void)len;
    if (target->state != MULTI_ATTACHING || (response && response->success))
        return;
    char *why = response && response->message.len ? scan_string(json, response->message) : NULL;
    target->attach_error = why;
    multi_target_ended(target, why ? why : "attaching was given up");
}

void multi_target_attach(struct multi_target *target)
{
    const struct session *outer = target->multi->session;
    struct session_options options = outer->options;
    options.task = NULL;
    options.connect = NULL;
    options.cluster = finder_cluster(outer->finder);
    options.pause = &target->pause;
    options.one_of_many = true;
    options.role = outer->role;
    target->state = MULTI_ATTACHING;
    target->since_us = loop_now_us();
    target->inner = session_create(&options, &inner_ops, target);
    multi_ask(target, "initialize",
              outer->initialize && *outer->initialize ? outer->initialize : NULL, 0, NULL, NULL);
    multi_ask(target, "attach", outer->attach.each, 0, on_attach_answer, NULL);
}

void multi_target_configure(struct multi_target *target)
{
    target->state = MULTI_RUNNING;
    multi_ask(target, "configurationDone", NULL, 0, NULL, NULL);
}

static void on_left(void *arg, struct multi_target *target, const char *json, size_t len,
                    const struct envelope *response)
{
    (void)arg, (void)json, (void)len, (void)response;
    multi_target_ended(target, NULL);
}

void multi_target_leave(struct multi_target *target, enum hub_leave how)
{
    static const char *const ways[] = {
        [HUB_LEAVE] = "{\"onDisconnect\":\"hold\"}",
        [HUB_LEAVE_CONTINUE] = "{\"onDisconnect\":\"continue\"}",
        [HUB_LEAVE_KILL] = "{\"terminateDebuggee\":true}",
    };
    if (target->state == MULTI_GONE || target->state == MULTI_LEAVING)
        return;
    if (!target->inner) {
        multi_target_ended(target, NULL);
        return;
    }
    target->state = MULTI_LEAVING;
    multi_ask(target, "disconnect", ways[how], 0, on_left, NULL);
}

void multi_target_close(struct multi_target *target)
{
    struct pending pending;
    session_destroy(&target->inner);
    for (struct multi_ask *ask; (ask = target->asks);) {
        target->asks = ask->next;
        ask_tell(ask, NULL, 0, NULL);
    }
    while (seqmap_take_oldest(target->pending, NULL, true, &pending))
        if (!pending.owner)
            client_refuse(&target->multi->session->client, pending.client.value, pending.command,
                          "the task is not attached any more", false);
}

void multi_target_free(struct multi_target *target)
{
    multi_threads_free(target);
    seqmap_destroy(&target->pending);
    pause_clear(&target->pause);
    free(target->rank);
    free(target->role);
    free(target->capabilities);
    free(target->attach_error);
    free(target);
}
