/* One debuggee of a session over many tasks, as the DAP client of its inner session. */
#include "relay/many/many_state.h"

#include "base/intern.h"
#include "base/list.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/dap_command.h"
#include "dap/message.h"
#include "dap/splice.h"

#include <stdlib.h>
#include <string.h>

struct many_task_request {
    struct many_task_request *next;
    struct many_task *task;
    struct upstream_seq seq;
    struct timer *timer;
    many_answer_fn fn;
    void *arg;
};

/* The allowed moves: a row for each state, in the order of enum many_task_state. */
void many_task_move_at(struct invariant_location location, struct many_task *task,
                       enum many_task_state next)
{
    static const struct invariant_state states[] = {
        [MANY_QUEUED] = {"queued", INVARIANT_TO(MANY_ATTACHING) | INVARIANT_TO(MANY_GONE)},
        [MANY_ATTACHING] = {"attaching", INVARIANT_TO(MANY_READY) | INVARIANT_TO(MANY_LEAVING) |
                                             INVARIANT_TO(MANY_GONE)},
        [MANY_READY] = {"ready", INVARIANT_TO(MANY_RUNNING) | INVARIANT_TO(MANY_LEAVING) |
                                     INVARIANT_TO(MANY_GONE)},
        [MANY_RUNNING] = {"running", INVARIANT_TO(MANY_LEAVING) | INVARIANT_TO(MANY_GONE)},
        [MANY_LEAVING] = {"leaving", INVARIANT_TO(MANY_GONE)},
        [MANY_GONE] = {"gone", 0},
    };
    invariant_move(location, "task of a session over many", states, task->state, next);
    task->state = next;
}

/* --- asking --- */

/* Ends an ask that is no longer in the list. */
static void request_tell(struct many_task_request *request, const char *json, size_t len,
                         const struct envelope *response)
{
    timer_cancel(&request->timer);
    if (request->fn)
        request->fn(request->arg, request->task, json, len, response);
    free(request);
}

static void request_finish(struct many_task_request *request, const char *json, size_t len,
                           const struct envelope *response)
{
    LIST_REMOVE(request->task->requests, request);
    request_tell(request, json, len, response);
}

static void on_late(void *arg)
{
    struct many_task_request *request = arg;
    struct pending pending;
    request->timer = NULL;
    seqmap_take(request->task->pending, request->seq, &pending);
    request_finish(request, NULL, 0, NULL);
}

void many_ask(struct many_task *task, const char *command, const char *arguments,
              int64_t timeout_ms, many_answer_fn fn, void *arg)
{
    struct buf message = {0};
    if (!task->inner) {
        if (fn)
            fn(arg, task, NULL, 0, NULL);
        return;
    }
    struct many_task_request *request = mem_alloc(sizeof *request);
    *request =
        (struct many_task_request){.next = task->requests, .task = task, .fn = fn, .arg = arg};
    task->requests = request;
    request->seq = seqmap_add(task->pending, request, (struct client_seq){0}, command, NULL);
    if (timeout_ms)
        request->timer = timer_start(task->many->loop, timeout_ms, on_late, request);
    message_request(&message, request->seq.value, command, arguments);
    bool was_quiet = task->quiet;
    task->quiet = true;
    session_receive(task->inner, message.data, message.len);
    task->quiet = was_quiet;
    buf_free(&message);
}

static void drop_requests(struct many_task *task, const void *arg)
{
    for (struct many_task_request *request = task->requests; request; request = request->next)
        if (request->arg == arg)
            request->fn = NULL;
}

void many_drop_requests(struct many *many, const void *arg)
{
    for (struct many_task *at = many->targets; at; at = at->next)
        drop_requests(at, arg);
}

void many_pass(struct many_task *task, int64_t client_seq, int64_t thread, const char *json,
               size_t len, const struct envelope *envelope)
{
    struct buf message = {0};
    struct client *client = task->many->client;
    if (!many_task_is_there(task)) {
        client_refuse(client, client_seq, envelope->name,
                      task->stalled ? "the worker does not take any more for now"
                                    : "the task is not attached (any more)",
                      false);
        return;
    }
    struct upstream_seq seq = seqmap_add(task->pending, NULL, (struct client_seq){client_seq},
                                         envelope->name, (void *)(intptr_t)thread);
    splice_seq(json, len, envelope, seq.value, 0, &message);
    session_receive(task->inner, message.data, message.len);
    buf_free(&message);
}

/* --- messages from the inner session --- */

void many_pass_out(struct many_task *task, int64_t client_seq, int64_t thread, const char *json,
                   size_t len, const struct envelope *envelope)
{
    struct many *many = task->many;
    struct buf out = {0};
    struct envelope rewritten;
    if (id_rewrite_out(many->ids, task->slot, thread, json, len, envelope, &out)) {
        envelope_moved(envelope, len, out.data, out.len, &rewritten);
        client_pass(many->client, out.data, out.len, &rewritten, client_seq);
    } else {
        client_pass(many->client, json, len, envelope, client_seq);
    }
    buf_free(&out);
}

static bool is_step(const char *command)
{
    return dap_command_is(command, DAP_COMMAND_STEPS) || text_equal(command, "goto");
}

/* Handles the answer to a request of the client's. */
static void on_answer(struct many_task *task, const struct pending *pending, const char *json,
                      size_t len, const struct envelope *response)
{
    int64_t thread = (int64_t)(intptr_t)pending->tag;
    many_pass_out(task, pending->client.value, thread, json, len, response);
    if (is_step(pending->command))
        task->many->task_ops->stepped(task, thread, response->success);
}

static void on_inner_response(struct many_task *task, const char *json, size_t len,
                              const struct envelope *response, int64_t request_seq)
{
    struct pending pending;
    if (!seqmap_take(task->pending, (struct upstream_seq){request_seq}, &pending))
        return;
    if (!pending.owner) {
        on_answer(task, &pending, json, len, response);
        return;
    }
    /* The callback may ask again from within: the inner session's message is gone then. */
    struct many_task_request *request = pending.owner;
    invariant(request->task == task);
    char *copy = mem_string_n(json, len);
    request_finish(request, copy, len, response);
    free(copy);
}

static void on_inner_pass(void *arg, const char *json, size_t len, const struct envelope *envelope,
                          int64_t request_seq)
{
    struct many_task *task = many_task_checked(arg);
    if (task->state == MANY_GONE)
        return;
    task->many->task_ops->received(task, len);
    if (envelope->kind == DAP_RESPONSE) {
        on_inner_response(task, json, len, envelope, request_seq);
    } else if (envelope->kind == DAP_EVENT) {
        char *copy = mem_string_n(json, len);
        task->many->task_ops->event(task, copy, len, envelope);
        free(copy);
    }
}

/* A message that the inner session itself has made. */
static void on_inner_message(void *arg, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, json, len, &problem) == 0)
        on_inner_pass(arg, json, len, &envelope, envelope.request_seq);
}

static void on_inner_end(void *arg)
{
    struct many_task *task = many_task_checked(arg);
    task->many->task_ops->ended(task, NULL);
}

static void on_inner_flow(void *arg, bool flows)
{
    struct many_task *task = many_task_checked(arg);
    task->stalled = !flows;
}

static void on_inner_act(void *arg, const char *action, const char *detail)
{
    struct many_task *task = many_task_checked(arg);
    struct many *many = task->many;
    if (task->quiet && !text_equal(action, "attach") && !text_equal(action, "take-over"))
        return;
    const struct many_task *before = many->acting;
    many->acting = task;
    session_act(many->session, action, detail);
    many->acting = before;
}

static void on_inner_disturbed(void *arg)
{
    const struct many_task *task = many_task_checked(arg);
    session_disturbed(task->many->session);
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

static void on_attach_answer(void *arg, struct many_task *task, const char *json, size_t len,
                             const struct envelope *response)
{
    (void)arg, (void)len;
    if (task->state != MANY_ATTACHING || (response && response->success))
        return;
    char *why = response ? scan_string(json, response->message) : NULL;
    task->attach_error = why;
    task->many->task_ops->ended(task, why ? why : "attaching was given up");
}

void many_task_attach(struct many_task *task)
{
    struct many *many = task->many;
    const char *initialize = session_initialize_arguments(many->session);
    struct session_options options = *many->options;
    options.task = NULL;
    options.connect = NULL;
    options.modes = NULL;
    options.cluster = pause_finder_cluster(session_finder(many->session));
    options.pause = &task->pause;
    options.one_of_many = true;
    options.role = session_role(many->session);
    invariant(!task->inner && !task->requests);
    many_task_move(task, MANY_ATTACHING);
    task->since_us = loop_now_us();
    task->inner = session_create(&options, &inner_ops, task);
    many_ask(task, "initialize", *initialize ? initialize : NULL, 0, NULL, NULL);
    many_ask(task, "attach", many->attach->each, 0, on_attach_answer, NULL);
}

void many_task_configure(struct many_task *task)
{
    invariant(task->inner);
    many_task_move(task, MANY_RUNNING);
    many_ask(task, "configurationDone", NULL, 0, NULL, NULL);
}

static void on_left(void *arg, struct many_task *task, const char *json, size_t len,
                    const struct envelope *response)
{
    (void)arg, (void)json, (void)len, (void)response;
    task->many->task_ops->ended(task, NULL);
}

void many_task_leave(struct many_task *task, enum hub_leave how)
{
    static const char *const ways[] = {
        [HUB_LEAVE] = "{\"onDisconnect\":\"hold\"}",
        [HUB_LEAVE_CONTINUE] = "{\"onDisconnect\":\"continue\"}",
        [HUB_LEAVE_KILL] = "{\"terminateDebuggee\":true}",
    };
    if (task->state == MANY_GONE || task->state == MANY_LEAVING)
        return;
    if (!task->inner) {
        task->many->task_ops->ended(task, NULL);
        return;
    }
    many_task_move(task, MANY_LEAVING);
    many_ask(task, "disconnect", ways[how], 0, on_left, NULL);
}

void many_task_close(struct many_task *task)
{
    struct pending pending;
    session_destroy(&task->inner);
    for (struct many_task_request *request; (request = task->requests);) {
        task->requests = request->next;
        request_tell(request, NULL, 0, NULL);
    }
    while (seqmap_take_oldest(task->pending, NULL, true, &pending))
        if (!pending.owner)
            client_refuse(task->many->client, pending.client.value, pending.command,
                          "the task is not attached any more", false);
}

void many_task_free(struct many_task *task)
{
    invariant(!task->inner && !task->requests); /* many_task_close() has been called */
    seqmap_destroy(&task->pending);
    pause_clear(&task->pause);
    free(task->rank);
    free(task->role);
    intern_drop(&task->capabilities);
    free(task->attach_error);
    many_task_clear_magic(task);
    free(task);
}
