#include "relay/session.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/capabilities.h"
#include "dap/envelope.h"
#include "dap/message.h"
#include "dap/rules.h"
#include "dap/splice.h"
#include "relay/attach_arguments.h"
#include "relay/exceptions.h"
#include "relay/finder.h"
#include "relay/frames.h"
#include "relay/target.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FATE_TRIES = 8, FATE_WAIT_MS = 250, KEEP_OUT = 65536 };

/* Every request gets exactly one response: at once, when debuggee answers, or when it is known that
 * it never will. The two that wait for something else are kept here by their seq. */
struct session {
    struct session_options options;
    const struct session_ops *ops;
    void *arg;
    int64_t seq;
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
    bool client_gone;
    bool ended;
    bool broken; /* the client's stream was nonsense */
    bool lost;   /* the debuggee is gone unasked; `fate` says why once it is known */
    char *fate;
    int fate_tries;
    struct timer *timer;
    struct buf out;
};

/* --- to the client --- */

/* Empties the output buffer and gives the next message's seq. */
static int64_t begin(struct session *session)
{
    buf_clear(&session->out, KEEP_OUT);
    return ++session->seq;
}

static void deliver(struct session *session)
{
    if (!session->client_gone && !session->ended)
        session->ops->on_message(session->arg, session->out.data, session->out.len);
}

static void respond(struct session *session, int64_t request_seq, const char *command,
                    const char *body)
{
    int64_t seq = begin(session);
    message_response(&session->out, seq, request_seq, command, body);
    deliver(session);
}

static void refuse(struct session *session, int64_t request_seq, const char *command,
                   const char *why, bool show)
{
    int64_t seq = begin(session);
    message_failure(&session->out, seq, request_seq, command, why, show);
    deliver(session);
}

static void send_event(struct session *session, const char *event, const char *body)
{
    int64_t seq = begin(session);
    message_event(&session->out, seq, event, body);
    deliver(session);
}

static void say(struct session *session, const char *category, const char *text)
{
    int64_t seq = begin(session);
    message_output(&session->out, seq, category, text);
    deliver(session);
}

static void end(struct session *session)
{
    if (session->ended)
        return;
    session->ended = true;
    timer_cancel(&session->timer);
    session->ops->on_end(session->arg);
}

static void send_terminated(struct session *session)
{
    if (session->terminated)
        return;
    session->terminated = true;
    send_event(session, "terminated", NULL);
}

static void fail_attach(struct session *session, const struct err *err)
{
    char line[1600];
    int64_t seq = session->attach_seq;
    session->attach_seq = 0;
    err_line(err, line, sizeof line);
    refuse(session, seq, "attach", line, true);
}

/* --- the debuggee is gone --- */

static void answer_pending(struct session *session, const char *why)
{
    struct pending pending;
    while (target_take_pending(session->target, &pending))
        refuse(session, pending.client.value, pending.command, why, false);
}

static void finish_leaving(struct session *session)
{
    if (session->target)
        answer_pending(session, "the session has ended");
    send_terminated(session);
    if (session->disconnect_seq)
        respond(session, session->disconnect_seq, "disconnect", NULL);
    session->disconnect_seq = 0;
    target_destroy(&session->target);
}

static void announce_fate(struct session *session, const char *sentence)
{
    session->fate = mem_string(sentence);
    char *text = mem_format("raydbg: %s\n", sentence);
    answer_pending(session, sentence);
    say(session, "important", text);
    free(text);
    send_terminated(session);
    if (session->client_gone)
        end(session);
}

static void ask_fate(void *arg);

static void on_fate(void *arg, const char *sentence)
{
    struct session *session = arg;
    if (session->fate || session->leaving)
        return;
    if (sentence) {
        announce_fate(session, sentence);
    } else if (++session->fate_tries < FATE_TRIES) {
        session->timer = timer_start(session->options.loop, FATE_WAIT_MS, ask_fate, session);
    } else {
        announce_fate(session, "the worker's debugger went away; the cluster does not say why");
    }
}

/* The raylet notices a death within some ms, the GCS a little later: hence the tries. */
static void ask_fate(void *arg)
{
    struct session *session = arg;
    session->timer = NULL;
    struct cluster *cluster = finder_cluster(session->finder);
    if (cluster && session->pause.worker_id[0])
        cluster_fate(cluster, session->pause.worker_id, on_fate, session);
    else
        announce_fate(session, "the debuggee ended, or closed the connection");
}

static void lose(struct session *session)
{
    if (session->lost)
        return;
    session->lost = true;
    ask_fate(session);
}

/* --- from the debuggee --- */

static void forward_out(struct session *session, const char *json, size_t len,
                        const struct envelope *envelope, int64_t request_seq)
{
    int64_t seq = begin(session);
    splice_seq(json, len, envelope, seq, request_seq, &session->out);
    deliver(session);
}

/* The same for a message whose spans have moved. */
static void forward_edited(struct session *session, const struct buf *message, int64_t request_seq)
{
    struct envelope envelope;
    const char *problem;
    if (envelope_read(&envelope, message->data, message->len, &problem) == 0)
        forward_out(session, message->data, message->len, &envelope, request_seq);
}

static void send_capabilities(struct session *session, const char *body, size_t len)
{
    struct buf filtered = {0};
    capabilities_filter(body, (struct span){0, len}, &filtered);
    if (!text_equal(filtered.data, capabilities_default())) {
        struct buf event = {0};
        buf_printf(&event, "{\"capabilities\":%s}", filtered.data);
        send_event(session, "capabilities", event.data);
        buf_free(&event);
    }
    buf_free(&filtered);
}

static void on_target_ready(void *arg, const char *capabilities, size_t len)
{
    struct session *session = arg;
    send_capabilities(session, capabilities, len);
    send_event(session, "initialized", NULL);
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
    if (session->disconnect_seq || session->client_gone) {
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
        forward_edited(session, &cleaned, 0);
    else
        forward_out(session, json, len, envelope, 0);
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
        forward_edited(session, &edited, pending->client.value);
    else
        forward_out(session, json, len, envelope, pending->client.value);
    buf_free(&edited);
}

static void on_target_gone(void *arg, const char *why)
{
    struct session *session = arg;
    if (session->leaving) {
        bool disconnecting = session->disconnect_seq != 0;
        finish_leaving(session);
        if (disconnecting || session->client_gone)
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
        refuse(session, envelope->seq, "initialize", "the session is already initialized", false);
        return;
    }
    session->initialize = mem_string_n(json + envelope->arguments.at, envelope->arguments.len);
    respond(session, envelope->seq, "initialize", capabilities_default());
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
        refuse(session, envelope->seq, "attach", "the session is already attached", false);
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
        refuse(session, envelope->seq, "configurationDone",
               "configurationDone is only allowed after an attach and its 'initialized' event",
               false);
        return;
    }
    respond(session, envelope->seq, "configurationDone", NULL);
    respond(session, session->attach_seq, "attach", NULL);
    session->attach_seq = 0;
    target_run(session->target, session->filters_set);
}

/* Post mortem stops only with the filter `uncaught` (debugpy-facts 0.3): it is always there. */
static void on_exception_filters(struct session *session, const char *json,
                                 const struct envelope *envelope)
{
    struct buf edited = {0};
    struct span filters, filter;
    size_t cursor = 0;
    bool there = false, any = false;
    struct edit edit = {0};
    if (!envelope->arguments.len || json[envelope->arguments.at] != '{') {
        refuse(session, envelope->seq, envelope->name, "\"arguments\" must be an object", false);
        return;
    }
    if (scan_find(json, envelope->arguments, "filters", &filters) && json[filters.at] == '[') {
        while (scan_element(json, filters, &cursor, &filter)) {
            any = true;
            there = there || scan_string_is(json, filter, "uncaught");
        }
        edit.at.at = filters.at + 1;
        edit.with = any ? "\"uncaught\"," : "\"uncaught\"";
    } else if (scan_find(json, envelope->arguments, "filters", &filters)) {
        refuse(session, envelope->seq, envelope->name, "\"filters\" must be an array", false);
        return;
    } else {
        struct span key, value;
        any = scan_member(json, envelope->arguments, &cursor, &key, &value);
        edit.at.at = envelope->arguments.at + 1;
        edit.with = any ? "\"filters\":[\"uncaught\"]," : "\"filters\":[\"uncaught\"]";
    }
    edit.len = strlen(edit.with);
    size_t len = envelope->whole.at + envelope->whole.len;
    splice_apply(json, len, &edit, there ? 0 : 1, &edited);
    struct envelope again;
    const char *problem;
    session->filters_set = true;
    if (envelope_read(&again, edited.data, edited.len, &problem) == 0)
        target_forward(session->target, (struct client_seq){envelope->seq}, edited.data, edited.len,
                       &again);
    buf_free(&edited);
}

static void on_continue(struct session *session, const char *json, const struct envelope *envelope)
{
    if (target_has_stopped(session->target))
        target_forward(session->target, (struct client_seq){envelope->seq}, json,
                       envelope->whole.at + envelope->whole.len, envelope);
    else /* debugpy would never answer, nor anything after it (debugpy-facts, item 6) */
        respond(session, envelope->seq, "continue", "{\"allThreadsContinued\":true}");
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
    say(session, "console", text);
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
    respond(session, envelope->seq, "terminate", NULL);
    if (attached(session))
        leave(session, wants_kill(session));
    else
        send_terminated(session);
}

static void on_cancel(struct session *session, const char *json, const struct envelope *envelope)
{
    (void)json; /* debugpy cannot cancel anything; the request's own answer still comes */
    respond(session, envelope->seq, "cancel", NULL);
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
    if (session->fate)
        return session->fate;
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

static void on_request(struct session *session, const char *json, size_t len,
                       const struct envelope *envelope)
{
    const struct handler *handler = find_handler(envelope->name);
    if (!envelope->seq_at.len) {
        refuse(session, 0, envelope->name, "the request has no \"seq\"", false);
        return;
    }
    if (!session->initialize && !text_equal(envelope->name, "initialize") &&
        !text_equal(envelope->name, "disconnect")) {
        refuse(session, envelope->seq, envelope->name, "the first request must be 'initialize'",
               false);
        return;
    }
    const char *why = refusal(session, json, envelope, handler);
    if (why)
        refuse(session, envelope->seq, envelope->name, why, false);
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
            refuse(session, envelope.seq, envelope.name, problem, false);
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
    refuse(session, 0, "", problem, true);
    session->broken = true;
    session->client_gone = true;
    leave(session, false);
}

void session_client_gone(struct session *session)
{
    session->client_gone = true;
    if (!session->ended)
        leave(session, false);
}

bool session_is_broken(const struct session *session)
{
    return session->broken;
}

size_t session_backlog(const struct session *session)
{
    return session->target ? target_backlog(session->target) : 0;
}

void session_destroy(struct session **session)
{
    struct session *it = *session;
    if (!it)
        return;
    *session = NULL;
    timer_cancel(&it->timer);
    target_destroy(&it->target);
    finder_destroy(&it->finder);
    attach_arguments_clear(&it->attach);
    pause_clear(&it->pause);
    buf_free(&it->out);
    free(it->initialize);
    free(it->fate);
    free(it);
}
