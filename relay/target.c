#include "relay/target.h"

#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/guards.h"
#include "relay/inject.h"
#include "relay/link.h"
#include "relay/thread_set.h"

#include "base/buf.h"
#include "dap/message.h"
#include "dap/splice.h"

#include <stdlib.h>
#include <string.h>

enum {
    CONNECT_MS = 5000,
    HANDSHAKE_MS = 15000, /* attach takes 0.1-0.3 s; a worker that swaps takes longer */
    INJECT_MS = 3000,
    LEAVE_MS = 3000,
    ANSWERS_MS = 20, /* between looks whether everything is answered */
    AGAIN_MS = 500,
    AGAIN_MAX = 3,
};

struct target {
    struct loop *loop;
    struct link *link;
    const struct target_ops *ops;
    void *arg;
    enum target_state state;
    char *host;
    uint16_t port;
    char *initialize, *attach, *capabilities;
    size_t capabilities_len;
    struct thread_set stopped;
    struct thread_set stepping; /* threads that a client let step, until they stop */
    struct timer *timer;        /* the limit on the handshake, or on leaving */
    struct timer *again;        /* attaches once more, or looks whether it can leave */
    int tries;
    bool pdb, tune, sub_process;
    bool greeted; /* the adapter has said something */
    bool halted;  /* target_read_enable(…, false) */
};

/* The allowed moves: a row a state, in the order of the picture in target.h. */
static const struct {
    const char *name;
    unsigned next; /* bits of enum target_state */
} states[] = {
#define TO(state) (1U << (state))
    [TARGET_CONNECTING] = {"connecting", TO(TARGET_ATTACHING) | TO(TARGET_GONE)},
    [TARGET_ATTACHING] = {"attaching", TO(TARGET_CONNECTING) | TO(TARGET_READY) | TO(TARGET_GONE)},
    [TARGET_READY] = {"ready", TO(TARGET_RUNNING) | TO(TARGET_LEAVING) | TO(TARGET_GONE)},
    [TARGET_RUNNING] = {"running", TO(TARGET_LEAVING) | TO(TARGET_GONE)},
    [TARGET_LEAVING] = {"leaving", TO(TARGET_GONE)},
    [TARGET_GONE] = {"gone", 0},
#undef TO
};

static void move(struct target *target, enum target_state next)
{
    if (!(states[target->state].next & 1U << next)) {
        log_error("a target cannot go from %s to %s", states[target->state].name,
                  states[next].name);
        abort();
    }
    target->state = next;
}

/* --- attaching --- */

static void fail(struct target *target, const struct err *err)
{
    move(target, TARGET_GONE);
    timer_cancel(&target->timer);
    timer_cancel(&target->again);
    target->ops->on_failed(target->arg, err);
}

static char *failure_text(const char *json, const struct envelope *envelope)
{
    struct span text;
    if (envelope->message.len)
        return scan_string(json, envelope->message);
    if (envelope->body.len && scan_path(json, envelope->body, "error/format", &text))
        return scan_string(json, text);
    return NULL;
}

static void open_link(struct target *target);

/* On a new connection: a session takes no second `attach`. */
static void on_again(void *arg)
{
    struct target *target = arg;
    target->again = NULL;
    move(target, TARGET_CONNECTING);
    free(target->capabilities);
    target->capabilities = NULL;
    link_destroy(&target->link);
    open_link(target);
}

/* The client that it is debugged by may be leaving: this one itself a moment ago, or a process
 * that was killed and that the closer lets go of. */
static bool try_again(struct target *target)
{
    if (target->again || target->tries == AGAIN_MAX)
        return false;
    target->tries++;
    timer_cancel(&target->timer);
    /* It ends well before the next one is accepted: that would disturb the adapter. */
    link_ask(target->link, "disconnect", "{\"restart\":false,\"terminateDebuggee\":false}", 0, NULL,
             NULL);
    target->again = timer_start(target->loop, AGAIN_MS, on_again, target);
    return true;
}

/* The adapter's words for why it would not attach, in ours. */
static void attach_failed(struct target *target, const char *json, const struct envelope *envelope)
{
    char *text = failure_text(json, envelope);
    struct err err;
    if (text && strstr(text, "already being debugged") && try_again(target)) {
        free(text);
        return;
    }
    if (text && strstr(text, "already being debugged")) {
        err_set(&err, ERR_FAILED, "%s:%d is already being debugged by another client", target->host,
                target->port);
        err_why(&err, "a worker's debugpy takes one client at a time");
        err_hint(&err, "close that session first; the task is not disturbed");
    } else if (text && strstr(text, "disconnected unexpectedly")) {
        err_set(&err, ERR_NOT_FOUND, "the worker behind %s:%d is ending", target->host,
                target->port);
        err_why(&err, "its debugger is open but the process is not there any more");
        err_hint(&err, "raydbg list shows what is paused now");
    } else {
        err_set(&err, ERR_FAILED, "the debugger at %s:%d refused to attach", target->host,
                target->port);
        err_why(&err, "%s", text ? text : "it gave no reason");
    }
    free(text);
    fail(target, &err);
}

/* What was needed for attaching only. */
static void forget_words(struct target *target)
{
    free(target->initialize);
    free(target->attach);
    target->initialize = target->attach = NULL;
}

static void become_ready(struct target *target)
{
    timer_cancel(&target->timer);
    move(target, TARGET_READY);
    char *capabilities = target->capabilities;
    target->capabilities = NULL;
    forget_words(target);
    target->ops->on_ready(target->arg, capabilities, target->capabilities_len);
    free(capabilities);
}

static void on_injected(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct target *target = arg;
    struct span result;
    (void)len;
    if (target->state != TARGET_ATTACHING || !link_is_open(target->link))
        return;
    char *applied = NULL;
    if (json && envelope->success && scan_find(json, envelope->body, "result", &result))
        applied = scan_string(json, result);
    else
        log_warn("%s:%d: the debugger could not be tuned: stepping may be slow", target->host,
                 target->port);
    log_info("%s:%d: injected: %s", target->host, target->port, applied ? applied : "-");
    free(applied);
    become_ready(target);
}

static void inject(struct target *target)
{
    struct inject_options options = {.tune = target->tune, .sub_process = target->sub_process};
    char *expression = inject_expression(&options);
    struct buf arguments = {0};
    buf_add_string(&arguments, "{\"context\":\"repl\",\"expression\":");
    message_quote(&arguments, expression);
    buf_add_string(&arguments, "}");
    link_ask(target->link, "evaluate", arguments.data, INJECT_MS, on_injected, target);
    buf_free(&arguments);
    free(expression);
}

/* Before `initialized` this is a refusal; debugpy's success comes after configurationDone. */
static void on_attached(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct target *target = arg;
    (void)len;
    if (json && !envelope->success && target->state == TARGET_ATTACHING)
        attach_failed(target, json, envelope);
}

static void on_initialized(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct target *target = arg;
    if (!json || target->state != TARGET_ATTACHING)
        return;
    if (!envelope->success) {
        attach_failed(target, json, envelope);
        return;
    }
    (void)len;
    target->capabilities_len = envelope->body.len;
    target->capabilities = mem_string_n(json + envelope->body.at, envelope->body.len);
    link_ask(target->link, "attach", target->attach, 0, on_attached, target);
}

static void on_handshake_timeout(void *arg)
{
    struct target *target = arg;
    target->timer = NULL;
    struct err err;
    err_set(&err, ERR_UNREACHABLE, "the debugger at %s:%d does not answer", target->host,
            target->port);
    if (target->greeted) {
        err_why(&err, "it greeted, and then kept silent for %d s", HANDSHAKE_MS / 1000);
        err_hint(&err, "a client may have asked what debugpy never answers; only a new run of the "
                       "task can be debugged then");
    } else {
        err_why(&err,
                "it accepted the connection and then kept silent for %d s: debugpy takes no client "
                "any more once one (or a port scanner) has closed while it was greeted",
                HANDSHAKE_MS / 1000);
        err_hint(&err, "if it stays so, the task waits for ever: cancel or kill it, run it again");
    }
    fail(target, &err);
}

static void on_link_open(void *arg)
{
    struct target *target = arg;
    move(target, TARGET_ATTACHING);
    target->timer = timer_start(target->loop, HANDSHAKE_MS, on_handshake_timeout, target);
    link_ask(target->link, "initialize", target->initialize, 0, on_initialized, target);
}

/* --- attached --- */

static bool is_step(const char *command)
{
    static const char *const steps[] = {"next", "stepIn", "stepOut"};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (text_equal(command, steps[i]))
            return true;
    return false;
}

/* debugpy 1.8.0 calls a stop at breakpoint() a step. True, and the event appended with the reason
 * of later versions, if nobody let this thread step. */
static bool correct_reason(struct target *target, const char *json, size_t len,
                           const struct envelope *event, struct buf *out)
{
    struct span at;
    int64_t thread;
    if (!text_equal(event->name, "stopped") || !event->body.len ||
        !scan_find(json, event->body, "threadId", &at) || !scan_integer(json, at, &thread))
        return false;
    bool stepped = thread_set_has(&target->stepping, thread);
    thread_set_remove(&target->stepping, thread);
    if (stepped || !scan_find(json, event->body, "reason", &at) ||
        !scan_string_is(json, at, "step"))
        return false;
    struct edit edit = {at, "\"breakpoint\"", strlen("\"breakpoint\"")};
    splice_apply(json, len, &edit, 1, out);
    return true;
}

static void pass_event(struct target *target, const char *json, size_t len,
                       const struct envelope *envelope)
{
    struct buf corrected = {0};
    struct envelope again;
    const char *problem;
    if (correct_reason(target, json, len, envelope, &corrected) &&
        envelope_read(&again, corrected.data, corrected.len, &problem) == 0)
        target->ops->on_event(target->arg, corrected.data, corrected.len, &again);
    else
        target->ops->on_event(target->arg, json, len, envelope);
    buf_free(&corrected);
}

static void on_link_event(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct target *target = arg;
    target->greeted = true;
    if (text_equal(envelope->name, "initialized")) {
        link_excuse(target->link, 1); /* `attach` is answered after configurationDone */
        if (target->state == TARGET_ATTACHING && target->pdb)
            become_ready(target);
        else if (target->state == TARGET_ATTACHING)
            inject(target);
        return;
    }
    thread_set_event(&target->stopped, json, envelope);
    if (target->state >= TARGET_READY)
        pass_event(target, json, len, envelope);
}

static void on_link_response(void *arg, const struct pending *pending, const char *json, size_t len,
                             const struct envelope *envelope)
{
    struct target *target = arg;
    /* A step that debugpy refused: its thread still stands. Which one is not worth a table. */
    if (!envelope->success && is_step(pending->command))
        target->stopped.all = true;
    target->ops->on_response(target->arg, pending, json, len, envelope);
}

static void connection_failed(struct target *target, const char *why)
{
    struct err err;
    err_set(&err, ERR_UNREACHABLE, "connection to the debugger at %s:%d failed", target->host,
            target->port);
    err_why(&err, "%s", why);
    err_hint(&err, "if the port is not reachable from this machine, run raydbg on a node of the "
                   "cluster, or forward the port");
    fail(target, &err);
}

static void on_link_close(void *arg, const char *why)
{
    struct target *target = arg;
    enum target_state state = target->state;
    if (state == TARGET_GONE || (state == TARGET_ATTACHING && target->again))
        return;
    thread_set_resume_all(&target->stopped);
    if (state == TARGET_CONNECTING || state == TARGET_ATTACHING) {
        connection_failed(target, why);
        return;
    }
    move(target, TARGET_GONE);
    timer_cancel(&target->timer);
    timer_cancel(&target->again);
    target->ops->on_gone(target->arg, why);
}

static bool on_large_begin(void *arg, const struct pending *pending, const char *head,
                           size_t head_len, size_t total, const struct envelope *envelope)
{
    struct target *target = arg;
    return target->state >= TARGET_READY &&
           target->ops->large_begin(target->arg, pending, head, head_len, total, envelope);
}

static void on_large_part(void *arg, const char *bytes, size_t len)
{
    struct target *target = arg;
    target->ops->large_part(target->arg, bytes, len);
}

static void on_large_end(void *arg, bool whole)
{
    struct target *target = arg;
    target->ops->large_end(target->arg, whole);
}

static void on_link_drain(void *arg)
{
    struct target *target = arg;
    if (target->state != TARGET_GONE)
        target->ops->on_drain(target->arg);
}

static const struct link_ops link_ops = {
    .on_drain = on_link_drain,
    .on_open = on_link_open,
    .on_event = on_link_event,
    .on_response = on_link_response,
    .on_close = on_link_close,
    .large_begin = on_large_begin,
    .large_part = on_large_part,
    .large_end = on_large_end,
};

static struct target *create(const struct target_options *options, const struct target_ops *ops,
                             void *arg)
{
    struct target *target = mem_alloc(sizeof *target);
    *target = (struct target){
        .loop = options->loop,
        .ops = ops,
        .arg = arg,
        .host = mem_string(options->host),
        .port = options->port,
        .initialize = mem_string(options->initialize),
        .attach = mem_string(options->attach),
        .pdb = options->pdb,
        .tune = options->tune,
        .sub_process = options->sub_process,
    };
    return target;
}

static void open_link(struct target *target)
{
    if (target->pdb) /* it listens on IPv4, whatever the name says first */
        target->link = link_open_pdb(
            target->loop, text_equal(target->host, "localhost") ? "127.0.0.1" : target->host,
            target->port, CONNECT_MS, &link_ops, target);
    else
        target->link = link_open(target->loop, target->host, target->port, CONNECT_MS, target->tune,
                                 &link_ops, target);
    link_read_enable(target->link, !target->halted);
}

struct target *target_open(const struct target_options *options, const struct target_ops *ops,
                           void *arg)
{
    struct target *target = create(options, ops, arg);
    open_link(target);
    return target;
}

struct target *target_adopt(const struct target_options *options, int fd, int64_t first_seq,
                            const struct target_ops *ops, void *arg)
{
    struct target *target = create(options, ops, arg);
    target->state = TARGET_RUNNING;
    target->link = link_adopt(options->loop, fd, options->tune, first_seq, &link_ops, target);
    return target;
}

void target_destroy(struct target **target)
{
    struct target *it = *target;
    if (!it)
        return;
    *target = NULL;
    timer_cancel(&it->timer);
    timer_cancel(&it->again);
    link_destroy(&it->link);
    thread_set_clear(&it->stopped);
    thread_set_clear(&it->stepping);
    free(it->host);
    free(it->initialize);
    free(it->attach);
    free(it->capabilities);
    free(it);
}

enum target_state target_state(const struct target *target)
{
    return target->state;
}

int target_fd(const struct target *target)
{
    return link_fd(target->link);
}

size_t target_queued(const struct target *target)
{
    return link_queued(target->link);
}

void target_read_enable(struct target *target, bool enable)
{
    target->halted = !enable;
    link_read_enable(target->link, enable);
}

void target_recall(struct target *target, const char *json, const struct envelope *event)
{
    thread_set_event(&target->stopped, json, event);
}

bool target_has_stopped(const struct target *target)
{
    return !thread_set_empty(&target->stopped);
}

/* Threads count as running as soon as the request leaves: one that overtook the `continued` event
 * might never be answered. debugpy resumes every thread on `continue`, whatever threadId says. */
static void note_resume(struct target *target, const char *json, const struct envelope *envelope)
{
    struct span at;
    int64_t thread;
    if (text_equal(envelope->name, "continue")) {
        thread_set_resume_all(&target->stopped);
        thread_set_resume_all(&target->stepping);
    } else if (is_step(envelope->name) && envelope->arguments.len &&
               scan_find(json, envelope->arguments, "threadId", &at) &&
               scan_integer(json, at, &thread)) {
        thread_set_remove(&target->stopped, thread);
        thread_set_add(&target->stepping, thread);
    }
}

void target_forward(struct target *target, void *owner, struct client_seq client, const char *json,
                    size_t len, const struct envelope *envelope)
{
    note_resume(target, json, envelope);
    link_forward(target->link, owner, client, json, len, envelope);
}

const char *target_refusal(const struct target *target, const char *json,
                           const struct envelope *envelope)
{
    return guards_refusal(&target->stopped, json, envelope);
}

void target_ask(struct target *target, const char *command, const char *arguments,
                int64_t timeout_ms, link_answer_fn fn, void *arg)
{
    if (text_equal(command, "continue")) {
        thread_set_resume_all(&target->stopped);
        thread_set_resume_all(&target->stepping);
    }
    link_ask(target->link, command, arguments, timeout_ms, fn, arg);
}

void target_run(struct target *target, bool filters_set)
{
    /* Without `uncaught` a post-mortem pause does not stop at all (debugpy-facts 0.3). */
    if (!filters_set && !target->pdb)
        link_ask(target->link, "setExceptionBreakpoints", "{\"filters\":[\"uncaught\"]}", 0, NULL,
                 NULL);
    link_excuse(target->link, 0);
    link_ask(target->link, "configurationDone", NULL, 0, NULL, NULL);
    move(target, TARGET_RUNNING);
}

static void on_leave_timeout(void *arg)
{
    struct target *target = arg;
    target->timer = NULL;
    timer_cancel(&target->again);
    move(target, TARGET_GONE);
    target->ops->on_gone(target->arg, "the debugger did not say goodbye in time");
}

/* Once everything is answered: an `evaluate` that ends after the goodbye ends the adapter, and no
 * client ever reaches the worker again. */
static void say_goodbye(void *arg)
{
    struct target *target = arg;
    target->again = NULL;
    if (link_owed(target->link))
        target->again = timer_start(target->loop, ANSWERS_MS, say_goodbye, target);
    else
        link_ask(target->link, "disconnect", "{\"restart\":false,\"terminateDebuggee\":false}", 0,
                 NULL, NULL);
}

void target_leave(struct target *target, bool kill)
{
    if (target->state != TARGET_READY && target->state != TARGET_RUNNING)
        return;
    move(target, TARGET_LEAVING);
    target->timer = timer_start(target->loop, LEAVE_MS, on_leave_timeout, target);
    if (kill)
        link_ask(target->link, "disconnect", "{\"restart\":false,\"terminateDebuggee\":true}", 0,
                 NULL, NULL);
    else
        say_goodbye(target);
}

void target_guard(struct target *target, bool guard)
{
    if (guard)
        link_guard(target->link);
    else
        link_entrust(target->link);
}

bool target_take_pending(struct target *target, const void *owner, struct pending *out)
{
    return link_take_pending(target->link, owner, out);
}
