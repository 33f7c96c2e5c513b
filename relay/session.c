#include "relay/session.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/rules.h"
#include "relay/filters.h"
#include "relay/intern.h"
#include "relay/multi.h"
#include "relay/parent.h"
#include "relay/session_cluster_objects.h"
#include "relay/session_follow.h"
#include "relay/session_objects.h"
#include "relay/session_state.h"

#include <stdio.h>
#include <stdlib.h>

void session_end(struct session *session)
{
    if (session->ended)
        return;
    session->ended = true;
    fate_cancel(&session->fate);
    parent_child_over(session);
    session->ops->on_end(session->arg);
}

void session_send_terminated(struct session *session)
{
    if (session->terminated)
        return;
    session->terminated = true;
    client_event(&session->client, "terminated", NULL);
}

void session_fail_attach(struct session *session, const struct err *err)
{
    int64_t seq = session->attach_seq;
    session->attach_seq = 0;
    client_fail(&session->client, seq, "attach", err);
}

bool session_attached(const struct session *session)
{
    return !session->lost && !session->leaving && hub_is_attached(&session->place);
}

void session_act(struct session *session, const char *action, const char *detail)
{
    if (session->ops->on_act)
        session->ops->on_act(session->arg, action, detail);
}

void session_disturbed(const struct session *session)
{
    if (session->ops->on_disturbed)
        session->ops->on_disturbed(session->arg);
}

/* --- requests that the session handles --- */

static void on_exception_filters(struct session *session, const char *json,
                                 const struct envelope *envelope)
{
    struct buf edited = {0};
    struct envelope again;
    if (session->pause.debugger == PAUSE_PDB) { /* its post mortem needs none */
        hub_forward(&session->place, (struct client_seq){envelope->seq}, json,
                    envelope->whole.at + envelope->whole.len, envelope);
        return;
    }
    const char *problem =
        filters_add_uncaught(json, envelope->whole.at + envelope->whole.len, envelope, &edited);
    if (problem || envelope_read(&again, edited.data, edited.len, &problem) != 0) {
        client_refuse(&session->client, envelope->seq, envelope->name, problem, false);
    } else {
        session->place.filters_set = true;
        hub_forward(&session->place, (struct client_seq){envelope->seq}, edited.data, edited.len,
                    &again);
    }
    buf_free(&edited);
}

static void on_continue(struct session *session, const char *json, const struct envelope *envelope)
{
    if (hub_has_stopped(&session->place))
        hub_forward(&session->place, (struct client_seq){envelope->seq}, json,
                    envelope->whole.at + envelope->whole.len, envelope);
    else /* debugpy would never answer, nor anything after it (debugpy-facts, item 6) */
        client_respond(&session->client, envelope->seq, "continue",
                       "{\"allThreadsContinued\":true}");
}

static void on_cancel(struct session *session, const char *json, const struct envelope *envelope)
{
    (void)json; /* debugpy cannot cancel anything; the request's own answer still comes */
    client_respond(&session->client, envelope->seq, "cancel", NULL);
}

static void on_take_over(struct session *session, const char *json, const struct envelope *envelope)
{
    (void)json;
    const char *why = session->options.hubs ? hub_take_over(&session->place)
                                            : "nobody else can drive: there is no relay";
    if (why)
        client_refuse(&session->client, envelope->seq, envelope->name, why, false);
    else
        client_respond(&session->client, envelope->seq, envelope->name, NULL);
    session_act(session, "take-over", why ? why : "");
}

static void on_release(struct session *session, const char *json, const struct envelope *envelope)
{
    (void)json;
    if (!hub_drives(&session->place)) {
        client_refuse(&session->client, envelope->seq, envelope->name,
                      "this session observes: another client drives", false);
        return;
    }
    client_respond(&session->client, envelope->seq, envelope->name, NULL);
    session_act(session, "release", "");
    hub_release(session->place.hub, session->place.name);
}

static const struct handler {
    const char *command;
    enum { ANY, ONE, ONE_ATTACHED } when; /* ONE: not in a session over many, which has its own */
    void (*handle)(struct session *session, const char *json, const struct envelope *envelope);
} handlers[] = {
    {"initialize", ANY, session_on_initialize},
    {"attach", ANY, session_on_attach},
    {"configurationDone", ONE, session_on_configuration_done},
    {"setExceptionBreakpoints", ONE_ATTACHED, on_exception_filters},
    {"continue", ONE_ATTACHED, on_continue},
    {"disconnect", ANY, session_on_disconnect},
    {"terminate", ANY, session_on_terminate},
    {"cancel", ANY, on_cancel},
    {"stepIn", ONE_ATTACHED, session_follow_on_step_in},
    {"stepInTargets", ONE_ATTACHED, session_follow_on_targets},
    {"raydbg/stepIntoRemote", ONE_ATTACHED, session_follow_on_into},
    {"raydbg/stepOutToGet", ONE_ATTACHED, session_follow_on_back},
    {"raydbg/takeOver", ONE_ATTACHED, on_take_over},
    {"raydbg/release", ONE_ATTACHED, on_release},
    {"raydbg/objects", ONE_ATTACHED, session_objects_on_list},
    {"raydbg/clusterObjects", ANY, session_cluster_objects_on_request},
};

static bool is_for_multi(const struct session *session, const struct handler *handler)
{
    return session->multi && (!handler || handler->when != ANY);
}

/* A request that only a session over many knows. */
static bool is_many_only(const struct session *session, const char *command)
{
    return session->multi && text_starts(command, "raydbg/");
}

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
    if (rule->action == RULE_REFUSE && (rule->name || !is_many_only(session, envelope->name)))
        return rule->reason;
    /* The adapter sets a member of these itself, and closes the connection if it cannot. */
    if (envelope->arguments.len && json[envelope->arguments.at] != '{' &&
        (text_equal(envelope->name, "pause") || text_equal(envelope->name, "continue")))
        return "\"arguments\" must be an object";
    if ((handler && handler->when != ONE_ATTACHED) || is_for_multi(session, handler))
        return NULL;
    if (!session_attached(session))
        return why_not_attached(session);
    return rule->action == RULE_ANSWER ? NULL : hub_refusal(&session->place, json, envelope);
}

static void refuse_unknown(struct session *session, const struct envelope *envelope)
{
    char text[DAP_NAME_MAX + 64];
    snprintf(text, sizeof text, "debugpy does not implement '%s'", envelope->name);
    client_refuse(&session->client, envelope->seq, envelope->name, text, false);
}

/* An observer's breakpoints are remembered until it drives. */
static bool keeps_set(struct session *session, const char *json, const struct envelope *envelope)
{
    return breakpoints_is_set(envelope->name) && hub_keeps_set(&session->place, json, envelope);
}

static void refuse_set(struct session *session, const char *json, const struct envelope *envelope)
{
    struct buf body = {0};
    breakpoints_unarmed_body(json, envelope,
                             "another client drives: this takes effect when this one does", &body);
    client_respond(&session->client, envelope->seq, envelope->name, body.data);
    buf_free(&body);
}

/* What an audit log wants to know of; without what was evaluated or set. */
static void note_act(struct session *session, const char *command, const char *refusal)
{
    static const char *const acts[] = {"evaluate",
                                       "setVariable",
                                       "setExpression",
                                       "continue",
                                       "next",
                                       "stepIn",
                                       "stepOut",
                                       "pause",
                                       "goto",
                                       "raydbg/stepIntoRemote",
                                       "raydbg/stepOutToGet"};
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (text_equal(command, acts[i]))
            session_act(session, refusal ? "refused" : command, refusal ? command : "");
}

/* What waits for facts on a stop goes before they are no facts any more. */
static bool ends_stop(const char *command)
{
    static const char *const commands[] = {"continue",
                                           "next",
                                           "stepIn",
                                           "stepOut",
                                           "goto",
                                           "disconnect",
                                           "terminate",
                                           "raydbg/release",
                                           "raydbg/stepIntoRemote",
                                           "raydbg/stepOutToGet"};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (text_equal(command, commands[i]))
            return true;
    return false;
}

static void on_request(struct session *session, const char *json, size_t len,
                       const struct envelope *envelope)
{
    const struct handler *handler = find_handler(envelope->name);
    if (!envelope->seq_at.len) {
        client_refuse(&session->client, 0, envelope->name, "the request has no \"seq\"", false);
        return;
    }
    if (!session->initialized && !text_equal(envelope->name, "initialize") &&
        !text_equal(envelope->name, "disconnect")) {
        client_refuse(&session->client, envelope->seq, envelope->name,
                      "the first request must be 'initialize'", false);
        return;
    }
    if (session_follow_request(session, json, len, envelope))
        return;
    if (session->parent && parent_request(session->parent, json, envelope))
        return;
    if (ends_stop(envelope->name))
        session_objects_flush(session);
    const char *why = refusal(session, json, envelope, handler);
    if (why || !session->multi) /* which notes for each of its debuggees */
        note_act(session, envelope->name, why);
    if (why && !rules_find(RULE_FROM_CLIENT, DAP_REQUEST, envelope->name)->name)
        refuse_unknown(session, envelope);
    else if (why)
        client_refuse(&session->client, envelope->seq, envelope->name, why, false);
    else if (is_for_multi(session, handler))
        multi_request(session->multi, json, len, envelope);
    else if (keeps_set(session, json, envelope))
        refuse_set(session, json, envelope);
    else if (handler)
        handler->handle(session, json, envelope);
    else if (!session_objects_request(session, json, len, envelope))
        hub_forward(&session->place, (struct client_seq){envelope->seq}, json, len, envelope);
}

/* --- the public side --- */

struct session *session_create(const struct session_options *options, const struct session_ops *ops,
                               void *arg)
{
    struct session *session = mem_alloc(sizeof *session);
    session->options = *options;
    session->role = options->role;
    session->ops = ops;
    session->arg = arg;
    client_init(&session->client, ops->on_message, arg);
    session->client.halves = ops->on_halves;
    session->client.pass = ops->on_pass;
    session->finder = finder_create(&session->options);
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
    } else if (envelope.kind == DAP_EVENT || !asks_answer(&session->asks, json, &envelope)) {
        log_info("a %s from the client was dropped: nothing was asked",
                 envelope.kind == DAP_EVENT ? "event" : "response");
    }
}

bool session_is_broken(const struct session *session)
{
    return session->broken;
}

void session_flow(struct session *session, bool enable)
{
    if (session->halted == !enable)
        return; /* who has not stopped the debuggee must not start it: somebody else may have */
    session->halted = !enable;
    if (session->multi)
        multi_flow(session->multi, enable);
    if (session->place.hub && hub_drives(&session->place))
        hub_read_enable(session->place.hub, enable);
}

const struct pause *session_pause(const struct session *session)
{
    if (session->multi)
        return multi_pause(session->multi);
    return session->place.hub ? hub_pause(session->place.hub) : NULL;
}

bool session_drives(const struct session *session)
{
    return session->multi ? multi_drives(session->multi) : hub_drives(&session->place);
}

size_t session_count(const struct session *session)
{
    return session->multi ? multi_count(session->multi) : session->place.hub != NULL;
}

const char *session_client_name(const struct session *session)
{
    return session->client_name ? session->client_name : "";
}

void session_destroy(struct session **session)
{
    struct session *it = *session;
    if (!it)
        return;
    *session = NULL;
    it->client.gone = true;
    fate_cancel(&it->fate);
    multi_destroy(&it->multi);
    parent_child_over(it);
    parent_destroy(&it->parent);
    asks_drop(&it->asks, NULL);
    session_flow(it, true);
    session_follow_destroy(it);
    session_objects_destroy(it);
    session_cluster_objects_destroy(it);
    hub_abandon(&it->place);
    hub_destroy(&it->own);
    finder_destroy(&it->finder);
    attach_arguments_clear(&it->attach);
    pause_clear(&it->pause);
    client_free(&it->client);
    intern_drop(&it->initialize_words);
    intern_drop(&it->attach_words);
    free(it->initialize);
    free(it->client_name);
    free(it->why_lost);
    free(it);
}
