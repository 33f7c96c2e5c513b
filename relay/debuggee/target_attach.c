/* A target's handshake with the adapter: `initialize`, `attach`, the injection; a new attempt if
 * another client is still leaving; and the errors for all that can fail. */
#include "relay/debuggee/target_state.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "dap/message.h"
#include "relay/inject/inject.h"

#include <stdlib.h>
#include <string.h>

enum {
    HANDSHAKE_MS = 15000, /* attach takes 0.1-0.3 s; a worker that swaps takes longer */
    BUSY_MS = 60000,      /* the adapter may still pass on what was printed for the client before */
    INJECT_MS = 8000,
    AGAIN_MS = 500,
    AGAIN_MAX = 6, /* the closer takes some 2 s to give an expression up */
};

static void on_handshake_timeout(void *arg);

static void fail(struct target *target, const struct err *err)
{
    target_move(target, TARGET_GONE);
    timer_cancel(&target->timer);
    timer_cancel(&target->again);
    target->ops->on_failed(target->arg, err);
}

static char *failure_text(const char *json, const struct envelope *envelope)
{
    return envelope->message.len ? scan_string(json, envelope->message)
                                 : scan_string_at(json, envelope->body, "error/format");
}

static void on_attached(void *arg, const char *json, size_t len, const struct envelope *envelope);

static void ask_attach(struct target *target)
{
    link_ask(target->link, "attach", target->attach, 0, on_attached, target);
}

static void on_again(void *arg)
{
    struct target *target = target_checked(arg);
    target->again = NULL;
    if (!target->begun && link_is_open(target->link)) {
        target->timer = timer_start(target->loop, HANDSHAKE_MS, on_handshake_timeout, target);
        ask_attach(target);
        return;
    }
    target_move(target, TARGET_CONNECTING);
    free(target->capabilities);
    target->capabilities = NULL;
    target->greeted = target->begun = false;
    link_destroy(&target->link);
    target_open_link(target);
}

/* The client that debugs the worker may be leaving: this process's own a moment ago, or that of a
 * killed process, whose connection the closer ends. debugpy's adapter takes another `attach` on a
 * connection whose first one was refused, and a new connection would do harm: the adapter reports
 * each to the client that is leaving, and where that is gone already, it accepts none after it. A
 * session that has begun (`initialized`) takes no other `attach`, nor does a connection that the
 * adapter has closed. The relay cannot dial a pydevd. */
static bool try_again(struct target *target)
{
    if (target->again || target->reverse || target->tries == AGAIN_MAX)
        return false;
    target->tries++;
    timer_cancel(&target->timer);
    /* Disconnects well before the next connection: an end while that is accepted would disturb the
     * adapter. */
    if (target->begun)
        link_ask(target->link, "disconnect", "{\"restart\":false,\"terminateDebuggee\":false}", 0,
                 NULL, NULL);
    target->again = timer_start(target->loop, AGAIN_MS, on_again, target);
    return true;
}

/* Turns the adapter's reason for not attaching into an error. */
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
        err_hint(&err, "close that session first; the task is not disturbed. If it is closed, the "
                       "debugger still runs code for it (30 s at most), or passes on what the task "
                       "has printed: try again");
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

/* Frees what only attaching needs. */
static void forget_words(struct target *target)
{
    free(target->initialize);
    free(target->attach);
    target->initialize = target->attach = NULL;
}

static void become_ready(struct target *target)
{
    timer_cancel(&target->timer);
    target_move(target, TARGET_READY);
    char *capabilities = target->capabilities;
    target->capabilities = NULL;
    forget_words(target);
    target->ops->on_ready(target->arg, capabilities, target->capabilities_len);
    free(capabilities);
}

/* False after a refusal, if the connection is given up for a new one: its answers do not count. */
static bool is_attaching(const struct target *target)
{
    return target->state == TARGET_ATTACHING && !target->again;
}

static void on_injected(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct target *target = target_checked(arg);
    (void)len;
    if (!is_attaching(target) || !link_is_open(target->link))
        return;
    char *applied = envelope_result(json, envelope);
    if (!applied)
        log_warn("%s:%d: the debugger could not be tuned: stepping may be slow", target->host,
                 target->port);
    log_info("%s:%d: injected: %s", target->host, target->port, applied ? applied : "-");
    if (!target->reverse)
        target->facts.cut_s = inject_cut_s(applied);
    target->facts.adapter = inject_adapter(applied);
    target->waiting = inject_waiting(applied);
    free(applied);
    become_ready(target);
}

static void inject(struct target *target)
{
    struct inject_options options = {
        .tune = target->tune, .sub_process = target->sub_process, .reverse = target->reverse};
    char *expression = inject_expression(&options);
    struct buf arguments = {0};
    buf_add_string(&arguments, "{\"context\":\"watch\",\"expression\":");
    message_quote(&arguments, expression);
    buf_add_string(&arguments, "}");
    link_ask(target->link, "evaluate", arguments.data, INJECT_MS, on_injected, target);
    buf_free(&arguments);
    free(expression);
}

void target_initialized_event(struct target *target)
{
    target->begun = true;
    if (!target->reverse) /* debugpy's adapter answers `attach` after configurationDone */
        link_excuse(target->link, 1);
    if (is_attaching(target) && target->pdb)
        become_ready(target);
    else if (is_attaching(target))
        inject(target);
}

/* A failure before `initialized` is a refusal; debugpy's success comes after configurationDone. */
static void on_attached(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct target *target = target_checked(arg);
    (void)len;
    if (json && !envelope->success && is_attaching(target))
        attach_failed(target, json, envelope);
}

static void on_capabilities(void *arg, const char *json, size_t len,
                            const struct envelope *envelope)
{
    struct target *target = target_checked(arg);
    if (!json || !is_attaching(target))
        return;
    if (!envelope->success) {
        attach_failed(target, json, envelope);
        return;
    }
    (void)len;
    target->capabilities_len = envelope->body.len;
    target->capabilities = mem_string_n(json + envelope->body.at, envelope->body.len);
    ask_attach(target);
}

static void on_handshake_timeout(void *arg)
{
    struct target *target = target_checked(arg);
    target->timer = NULL;
    if (target->greeted && !target->patient) {
        target->patient = true;
        target->timer =
            timer_start(target->loop, BUSY_MS - HANDSHAKE_MS, on_handshake_timeout, target);
        return;
    }
    struct err err;
    err_set(&err, ERR_UNREACHABLE, "the debugger at %s:%d does not answer", target->host,
            target->port);
    if (target->greeted) {
        err_why(&err, "it greeted, and then kept silent for %d s", BUSY_MS / 1000);
        err_hint(&err, "it may be busy with what the task printed for the client before: try "
                       "again. If it stays so, a client has asked what debugpy never answers");
    } else {
        /* The adapter reports a new client to the one that is attached, before it accepts others.
         */
        err_why(&err,
                "it accepted the connection and then kept silent for %d s: a client that is "
                "attached does not read, or one (or a port scanner) has closed while it was "
                "greeted, and then debugpy takes no client any more",
                HANDSHAKE_MS / 1000);
        err_hint(&err, "if a client is attached, let it read, and end its session. If none is, the "
                       "task waits for ever: cancel or kill it, run it again");
    }
    fail(target, &err);
}

void target_on_link_open(void *arg)
{
    struct target *target = target_checked(arg);
    target_move(target, TARGET_ATTACHING);
    target->patient = false;
    target->timer = timer_start(target->loop, HANDSHAKE_MS, on_handshake_timeout, target);
    link_ask(target->link, "initialize", target->initialize, 0, on_capabilities, target);
}

void target_connection_failed(struct target *target, const char *why)
{
    struct err err;
    err_set(&err, ERR_UNREACHABLE, "connection to the debugger at %s:%d failed", target->host,
            target->port);
    err_why(&err, "%s", why);
    err_hint(&err, "if the port is not reachable from this machine, run raydbg on a node of the "
                   "cluster, or forward the port");
    fail(target, &err);
}
