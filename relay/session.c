#include "relay/session.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/capabilities.h"
#include "dap/envelope.h"
#include "dap/rules.h"
#include "relay/attach_arguments.h"
#include "relay/client.h"
#include "relay/exceptions.h"
#include "relay/fate.h"
#include "relay/filters.h"
#include "relay/finder.h"
#include "relay/frames.h"
#include "relay/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Every request gets exactly one response: at once, when debuggee answers, or when it is known that
 * it never will. The two that wait for something else are kept here by their seq. */
struct session {
    struct session_options options;
    const struct session_ops *ops;
    void *arg;
    struct client client;
    char *initialize; /* the client's arguments; NULL before `initialize` */
    struct attach_arguments attach;
    int64_t attach_seq;     /* an `attach` that is not answered yet, or 0 */
    int64_t disconnect_seq; /* the same for `disconnect` */
    struct finder *finder;
    struct pause pause; /* what the session is about; with a host once it was found */
    struct target *target;
    bool filters_set; /* the client set exception filters itself */
    bool leaving;     /* somebody asked for the end */
    bool terminated;  /* the client had its `terminated` event */
    bool ended;
    bool broken; /* the client's stream was nonsense */
    bool lost;   /* the debuggee is gone unasked; `why_lost` says why once it is known */
    struct fate *fate;
    char *why_lost;
};

static void end(struct session *session)
{
    if (session->ended)
        return;
    session->ended = true;
    fate_cancel(&session->fate);
    session->ops->on_end(session->arg);
}

static void send_terminated(struct session *session)
{
    if (session->terminated)
        return;
    session->terminated = true;
    client_event(&session->client, "terminated", NULL);
}

static void fail_attach(struct session *session, const struct err *err)
{
    int64_t seq = session->attach_seq;
    session->attach_seq = 0;
    client_fail(&session->client, seq, "attach", err);
}

/* --- the debuggee is gone --- */

static void answer_pending(struct session *session, const char *why)
{
    struct pending pending;
    while (target_take_pending(session->target, &pending))
        client_refuse(&session->client, pending.client.value, pending.command, why, false);
}

static void finish_leaving(struct session *session)
{
    if (session->target)
        answer_pending(session, "the session has ended");
    send_terminated(session);
    if (session->disconnect_seq)
        client_respond(&session->client, session->disconnect_seq, "disconnect", NULL);
    session->disconnect_seq = 0;
    target_destroy(&session->target);
}

static void on_fate(void *arg, const char *sentence)
{
    struct session *session = arg;
    session->why_lost = mem_string(sentence);
    char *text = mem_format("raydbg: %s\n", sentence);
    answer_pending(session, sentence);
    client_say(&session->client, "important", text);
    free(text);
    send_terminated(session);
    if (session->client.gone)
        end(session);
}

static void lose(struct session *session)
{
    if (session->lost)
        return;
    session->lost = true;
    session->fate = fate_ask(session->options.loop, finder_cluster(session->finder),
                             session->pause.worker_id, on_fate, session);
}

/* --- from the debuggee --- */

static void send_capabilities(struct session *session, const char *body, size_t len)
{
    struct buf filtered = {0};
    capabilities_filter(body, (struct span){0, len}, &filtered);
    if (!text_equal(filtered.data, capabilities_default())) {
        struct buf event = {0};
        buf_printf(&event, "{\"capabilities\":%s}", filtered.data);
        client_event(&session->client, "capabilities", event.data);
        buf_free(&event);
    }
    buf_free(&filtered);
}

static void on_target_ready(void *arg, const char *capabilities, size_t len)
{
    struct session *session = arg;
    send_capabilities(session, capabilities, len);
    client_event(&session->client, "initialized", NULL);
}

static void on_target_failed(void *arg, const struct err *err)
{
    struct session *session = arg;
    struct err own = *err;
    char title[256];
    if (session->pause.worker_id[0]) {
        pause_title(&session->pause, title, sizeof title);
        err_set(&own, err->code, "%s: %s", title, err->what);
        err_why(&own, "%s", err->why);
        err_hint(&own, "%s", err->hint);
    }
    target_destroy(&session->target);
    fail_attach(session, &own);
    if (session->disconnect_seq || session->client.gone) {
        finish_leaving(session);
        end(session);
    }
}

static bool is_telemetry(const char *json, const struct envelope *envelope)
{
    struct span category;
    return text_equal(envelope->name, "output") && envelope->body.len &&
           scan_find(json, envelope->body, "category", &category) &&
           scan_string_is(json, category, "telemetry");
}

static void on_target_event(void *arg, const char *json, size_t len,
                            const struct envelope *envelope)
{
    struct session *session = arg;
    const struct rule *rule = rules_find(RULE_FROM_DEBUGGEE, DAP_EVENT, envelope->name);
    if (rule->action == RULE_DROP || is_telemetry(json, envelope))
        return;
    if (text_equal(envelope->name, "debugpyAttach") && !session->attach.sub_process)
        return;
    if (text_equal(envelope->name, "terminated")) {
        if (!session->leaving)
            lose(session);
        return;
    }
    if (session->lost)
        return;
    struct buf cleaned = {0};
    if (text_equal(envelope->name, "stopped") && exceptions_clean(json, len, envelope, &cleaned))
        client_pass_edited(&session->client, &cleaned, 0);
    else
        client_pass(&session->client, json, len, envelope, 0);
    buf_free(&cleaned);
}

/* The responses that are rewritten. */
static const struct {
    const char *command;
    bool (*rewrite)(const char *json, size_t len, const struct envelope *envelope, struct buf *out);
} rewritten[] = {
    {"stackTrace", frames_mark},
    {"exceptionInfo", exceptions_clean},
};

static bool rewrite(const struct pending *pending, const char *json, size_t len,
                    const struct envelope *envelope, struct buf *out)
{
    for (size_t i = 0; envelope->success && i < sizeof rewritten / sizeof *rewritten; i++)
        if (text_equal(pending->command, rewritten[i].command))
            return rewritten[i].rewrite(json, len, envelope, out);
    return false;
}

static void on_target_response(void *arg, const struct pending *pending, const char *json,
                               size_t len, const struct envelope *envelope)
{
    struct session *session = arg;
    struct buf edited = {0};
    if (rewrite(pending, json, len, envelope, &edited))
        client_pass_edited(&session->client, &edited, pending->client.value);
    else
        client_pass(&session->client, json, len, envelope, pending->client.value);
    buf_free(&edited);
}

static void on_target_gone(void *arg, const char *why)
{
    struct session *session = arg;
    if (session->leaving) {
        bool disconnecting = session->disconnect_seq != 0;
        finish_leaving(session);
        if (disconnecting || session->client.gone)
            end(session);
        return;
    }
    log_info("the link to the debugger is down: %s", why);
    lose(session);
}

static const struct target_ops target_ops = {
    .on_ready = on_target_ready,
    .on_failed = on_target_failed,
    .on_event = on_target_event,
    .on_response = on_target_response,
    .on_gone = on_target_gone,
};

/* --- requests that the session handles --- */

static bool attached(const struct session *session)
{
    return session->target && !session->lost && !session->leaving &&
           (target_state(session->target) == TARGET_READY ||
            target_state(session->target) == TARGET_RUNNING);
}

static void on_initialize(struct session *session, const char *json,
                          const struct envelope *envelope)
{
    if (session->initialize) {
        client_refuse(&session->client, envelope->seq, "initialize",
                      "the session is already initialized", false);
        return;
    }
    session->initialize = mem_string_n(json + envelope->arguments.at, envelope->arguments.len);
    client_respond(&session->client, envelope->seq, "initialize", capabilities_default());
}

static void open_target(struct session *session)
{
    struct span arguments = {0, strlen(session->initialize)};
    char *initialize =
        initialize_arguments(session->initialize, arguments, session->attach.sub_process);
    struct target_options options = {
        .loop = session->options.loop,
        .host = session->pause.host,
        .port = session->pause.port,
        .initialize = initialize,
        .attach = session->attach.upstream,
        .tune = session->options.tune && !session->attach.no_tune,
        .sub_process = session->attach.sub_process,
    };
    session->target = target_open(&options, &target_ops, session);
    free(initialize);
}

static void on_found(void *arg, const struct err *err, const struct pause *pause)
{
    struct session *session = arg;
    if (!session->attach_seq)
        return;
    if (err) {
        fail_attach(session, err);
        return;
    }
    pause_clear(&session->pause);
    pause_copy(&session->pause, pause);
    open_target(session);
}

static void on_attach(struct session *session, const char *json, const struct envelope *envelope)
{
    struct err err;
    if (session->target || session->attach_seq) {
        client_refuse(&session->client, envelope->seq, "attach", "the session is already attached",
                      false);
        return;
    }
    session->attach_seq = envelope->seq;
    attach_arguments_clear(&session->attach);
    if (attach_arguments_read(&session->attach, json, envelope->arguments, &err) != 0) {
        fail_attach(session, &err);
        return;
    }
    finder_find(session->finder, &session->attach, on_found, session);
}

static void on_configuration_done(struct session *session, const char *json,
                                  const struct envelope *envelope)
{
    (void)json;
    if (!attached(session) || target_state(session->target) != TARGET_READY) {
        client_refuse(
            &session->client, envelope->seq, "configurationDone",
            "configurationDone is only allowed after an attach and its 'initialized' event", false);
        return;
    }
    client_respond(&session->client, envelope->seq, "configurationDone", NULL);
    client_respond(&session->client, session->attach_seq, "attach", NULL);
    session->attach_seq = 0;
    target_run(session->target, session->filters_set);
}

static void on_exception_filters(struct session *session, const char *json,
                                 const struct envelope *envelope)
{
    struct buf edited = {0};
    struct envelope again;
    const char *problem =
        filters_add_uncaught(json, envelope->whole.at + envelope->whole.len, envelope, &edited);
    if (problem || envelope_read(&again, edited.data, edited.len, &problem) != 0) {
        client_refuse(&session->client, envelope->seq, envelope->name, problem, false);
    } else {
        session->filters_set = true;
        target_forward(session->target, (struct client_seq){envelope->seq}, edited.data, edited.len,
                       &again);
    }
    buf_free(&edited);
}

static void on_continue(struct session *session, const char *json, const struct envelope *envelope)
{
    if (target_has_stopped(session->target))
        target_forward(session->target, (struct client_seq){envelope->seq}, json,
                       envelope->whole.at + envelope->whole.len, envelope);
    else /* debugpy would never answer, nor anything after it (debugpy-facts, item 6) */
        client_respond(&session->client, envelope->seq, "continue",
                       "{\"allThreadsContinued\":true}");
}

static bool wants_kill(const struct session *session)
{
    return session->options.kill || session->attach.kill;
}

static void say_goodbye(struct session *session, bool kill)
{
    char title[256];
    pause_title(&session->pause, title, sizeof title);
    char *text = mem_format(kill ? "raydbg: the worker of %s is ended (--kill)\n"
                                 : "raydbg: %s goes on; its next breakpoint() waits again\n",
                            title);
    client_say(&session->client, "console", text);
    free(text);
}

static void leave(struct session *session, bool kill)
{
    if (attached(session)) {
        say_goodbye(session, kill);
        session->leaving = true;
        target_leave(session->target, kill);
        return;
    }
    if (session->target && session->leaving)
        return; /* the goodbye is under way */
    struct err err;
    err_set(&err, ERR_FAILED, "the attach was given up");
    session->leaving = true;
    finder_cancel(session->finder);
    if (session->attach_seq)
        fail_attach(session, &err);
    finish_leaving(session);
    end(session);
}

static void on_disconnect(struct session *session, const char *json,
                          const struct envelope *envelope)
{
    struct span at;
    bool terminate = false;
    if (envelope->arguments.len && scan_find(json, envelope->arguments, "terminateDebuggee", &at))
        scan_boolean(json, at, &terminate);
    session->disconnect_seq = envelope->seq;
    leave(session, terminate && wants_kill(session));
}

static void on_terminate(struct session *session, const char *json, const struct envelope *envelope)
{
    (void)json;
    client_respond(&session->client, envelope->seq, "terminate", NULL);
    if (attached(session))
        leave(session, wants_kill(session));
    else
        send_terminated(session);
}

static void on_cancel(struct session *session, const char *json, const struct envelope *envelope)
{
    (void)json; /* debugpy cannot cancel anything; the request's own answer still comes */
    client_respond(&session->client, envelope->seq, "cancel", NULL);
}

static const struct handler {
    const char *command;
    bool attached_only;
    void (*handle)(struct session *session, const char *json, const struct envelope *envelope);
} handlers[] = {
    {"initialize", false, on_initialize},
    {"attach", false, on_attach},
    {"configurationDone", false, on_configuration_done},
    {"setExceptionBreakpoints", true, on_exception_filters},
    {"continue", true, on_continue},
    {"disconnect", false, on_disconnect},
    {"terminate", false, on_terminate},
    {"cancel", false, on_cancel},
};

static const struct handler *find_handler(const char *command)
{
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; i++)
        if (text_equal(command, handlers[i].command))
            return &handlers[i];
    return NULL;
}

static const char *why_not_attached(const struct session *session)
{
    if (session->why_lost)
        return session->why_lost;
    return session->lost || session->leaving ? "the session has ended"
                                             : "the session is not attached to a task yet";
}

/* NULL if the request may go on. */
static const char *refusal(const struct session *session, const char *json,
                           const struct envelope *envelope, const struct handler *handler)
{
    const struct rule *rule = rules_find(RULE_FROM_CLIENT, DAP_REQUEST, envelope->name);
    if (rule->action == RULE_REFUSE)
        return rule->reason;
    /* The adapter sets a member of these itself, and closes the connection if it cannot. */
    if (envelope->arguments.len && json[envelope->arguments.at] != '{' &&
        (text_equal(envelope->name, "pause") || text_equal(envelope->name, "continue")))
        return "\"arguments\" must be an object";
    if (handler && !handler->attached_only)
        return NULL;
    if (!attached(session))
        return why_not_attached(session);
    return target_refusal(session->target, json, envelope);
}

static void refuse_unknown(struct session *session, const struct envelope *envelope)
{
    char text[DAP_NAME_MAX + 64];
    snprintf(text, sizeof text, "debugpy does not implement '%s'", envelope->name);
    client_refuse(&session->client, envelope->seq, envelope->name, text, false);
}

static void on_request(struct session *session, const char *json, size_t len,
                       const struct envelope *envelope)
{
    const struct handler *handler = find_handler(envelope->name);
    if (!envelope->seq_at.len) {
        client_refuse(&session->client, 0, envelope->name, "the request has no \"seq\"", false);
        return;
    }
    if (!session->initialize && !text_equal(envelope->name, "initialize") &&
        !text_equal(envelope->name, "disconnect")) {
        client_refuse(&session->client, envelope->seq, envelope->name,
                      "the first request must be 'initialize'", false);
        return;
    }
    const char *why = refusal(session, json, envelope, handler);
    if (why && !rules_find(RULE_FROM_CLIENT, DAP_REQUEST, envelope->name)->name)
        refuse_unknown(session, envelope);
    else if (why)
        client_refuse(&session->client, envelope->seq, envelope->name, why, false);
    else if (handler)
        handler->handle(session, json, envelope);
    else
        target_forward(session->target, (struct client_seq){envelope->seq}, json, len, envelope);
}

/* --- the public side --- */

struct session *session_create(const struct session_options *options, const struct session_ops *ops,
                               void *arg)
{
    struct session *session = mem_alloc(sizeof *session);
    session->options = *options;
    session->ops = ops;
    session->arg = arg;
    client_init(&session->client, ops->on_message, arg);
    session->finder = finder_create(options);
    return session;
}

void session_receive(struct session *session, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    if (session->ended)
        return;
    if (envelope_read(&envelope, json, len, &problem) != 0) {
        char *text = mem_format("this is no DAP message: %s", problem);
        session_broken(session, text);
        free(text);
    } else if (!scan_strict(json, len, &problem)) {
        /* debugpy's adapter never answers again after what Python's json module cannot read. */
        if (envelope.kind == DAP_REQUEST)
            client_refuse(&session->client, envelope.seq, envelope.name, problem, false);
    } else if (envelope.kind == DAP_REQUEST) {
        on_request(session, json, len, &envelope);
    } else {
        log_info("a %s from the client was dropped: nothing was asked",
                 envelope.kind == DAP_EVENT ? "event" : "response");
    }
}

void session_broken(struct session *session, const char *problem)
{
    if (session->ended)
        return;
    client_refuse(&session->client, 0, "", problem, true);
    session->broken = true;
    session->client.gone = true;
    leave(session, false);
}

void session_client_gone(struct session *session)
{
    session->client.gone = true;
    if (!session->ended)
        leave(session, false);
}

bool session_is_broken(const struct session *session)
{
    return session->broken;
}

void session_destroy(struct session **session)
{
    struct session *it = *session;
    if (!it)
        return;
    *session = NULL;
    fate_cancel(&it->fate);
    target_destroy(&it->target);
    finder_destroy(&it->finder);
    attach_arguments_clear(&it->attach);
    pause_clear(&it->pause);
    client_free(&it->client);
    free(it->initialize);
    free(it->why_lost);
    free(it);
}
