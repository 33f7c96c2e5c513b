#include "relay/session/session.h"

#include "base/buf.h"
#include "base/intern.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/dap_command.h"
#include "dap/line_base.h"
#include "dap/plain_request.h"
#include "dap/rules.h"
#include "relay/debuggee/exception_filters.h"
#include "relay/debuggee/request_guards.h"
#include "relay/session/remote_step.h"
#include "relay/session/session_state.h"
#include "relay/session/session_verbs.h"
#include "relay/session/session_watch.h"
#include "relay/variables/cluster_objects.h"
#include "relay/variables/variables.h"

#include <stdio.h>
#include <stdlib.h>

void session_end_admission(struct session *session)
{
    void *bearer = session->bearer;
    session_forget_bearer(session);
    if (bearer) /* `initialize` is kept until a session is attached */
        session->options.admission->over(bearer, !session->initialize);
}

void session_move_at(struct invariant_location location, struct session *session,
                     enum session_state next)
{
    static const struct invariant_state states[] = {
        [SESSION_NEW] = {"new", INVARIANT_TO(SESSION_READY) | INVARIANT_TO(SESSION_LEAVING) |
                                    INVARIANT_TO(SESSION_ENDED)},
        [SESSION_READY] = {"ready", INVARIANT_TO(SESSION_LOST) | INVARIANT_TO(SESSION_LEAVING) |
                                        INVARIANT_TO(SESSION_ENDED)},
        [SESSION_LOST] = {"lost", INVARIANT_TO(SESSION_LEAVING) | INVARIANT_TO(SESSION_ENDED)},
        [SESSION_LEAVING] = {"leaving", INVARIANT_TO(SESSION_LOST) | INVARIANT_TO(SESSION_ENDED)},
        [SESSION_ENDED] = {"ended", 0},
    };
    invariant_move(location, "session", states, session->state, next);
    session->state = next;
}

void session_end(struct session *session)
{
    if (session->state == SESSION_ENDED)
        return;
    session_move(session, SESSION_ENDED);
    death_cause_cancel(&session->death_cause);
    session_end_admission(session);
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
    client_fail(&session->client, open_request_close(&session->attach_request), "attach", err);
    session_hand_on_held(session);
}

bool session_attached(const struct session *session)
{
    return session->state == SESSION_READY && hub_is_attached(&session->member);
}

struct variables_context *session_variables(struct session *session)
{
    struct variables_context *context = &session->variables;
    context->loop = session->options.loop;
    context->client = &session->client;
    context->member = &session->member;
    context->cluster = pause_finder_cluster(session->finder);
    context->options = &session->attach.objects;
    context->object_scope = !session->attach.no_object_scope;
    context->one_of_many = session->options.one_of_many;
    context->takes_invalidated = session->takes_invalidated;
    context->authenticated = !session->options.hubs || session->role != AUTH_NONE;
    return context;
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

/* An observer's breakpoints are remembered until it drives. */
static bool keeps_set(struct session *session, const char *json, const struct envelope *envelope)
{
    return breakpoint_union_is_set(envelope->name) &&
           hub_keeps_set(&session->member, json, envelope);
}

static void refuse_set(struct session *session, const char *json, const struct envelope *envelope)
{
    struct buf body = {0};
    breakpoint_union_unarmed_body(
        json, envelope, "another client drives: this takes effect when this one does", &body);
    client_respond(&session->client, envelope->seq, envelope->name, body.data);
    buf_free(&body);
}

/* `edited` is the client's request as the debugger gets it. */
static void set_filters(struct session *session, const char *json, const struct envelope *envelope,
                        const char *edited, const struct envelope *again)
{
    if (keeps_set(session, edited, again)) {
        refuse_set(session, json, envelope);
        return;
    }
    hub_forward(&session->member, (struct client_seq){envelope->seq}, edited,
                again->whole.at + again->whole.len, again);
}

static void on_exception_filters(struct session *session, const char *json,
                                 const struct envelope *envelope)
{
    struct buf edited = {0};
    struct envelope again;
    if (!session_adds_uncaught(session)) {
        set_filters(session, json, envelope, json, envelope);
        return;
    }
    const char *problem = exception_filters_add_uncaught(
        json, envelope->whole.at + envelope->whole.len, envelope, &edited);
    if (problem || envelope_read(&again, edited.data, edited.len, &problem) != 0)
        client_refuse(&session->client, envelope->seq, envelope->name, problem, false);
    else
        set_filters(session, json, envelope, edited.data, &again);
    buf_free(&edited);
}

static void on_continue(struct session *session, const char *json, const struct envelope *envelope)
{
    if (hub_has_stopped(&session->member))
        hub_forward(&session->member, (struct client_seq){envelope->seq}, json,
                    envelope->whole.at + envelope->whole.len, envelope);
    else /* debugpy would never answer, nor anything after it (docs/facts/debugpy.md#versions.6) */
        client_respond(&session->client, envelope->seq, "continue",
                       "{\"allThreadsContinued\":true}");
}

static void on_cancel(struct session *session, const char *json, const struct envelope *envelope)
{
    (void)json; /* debugpy cannot cancel anything; the request's own answer still comes */
    client_respond(&session->client, envelope->seq, "cancel", NULL);
    hub_interrupt(&session->member, (struct client_seq){envelope->nested_id});
}

/* An attached task cannot be started again: the client gets its stops as a client that joins does,
 * and shows them anew. A disconnect and a second attach would let the task go between the two. */
static void on_restart(struct session *session, const char *json, const struct envelope *envelope)
{
    (void)json;
    client_respond(&session->client, envelope->seq, envelope->name, NULL);
    session_act(session, "restart", "");
    hub_tell_stops(&session->member);
}

const char *session_take_over(struct session *session)
{
    const char *why = session->options.hubs ? hub_take_over(&session->member)
                                            : "nobody else can drive: there is no relay";
    session_act(session, "take-over", why ? why : "");
    return why;
}

static void on_take_over(struct session *session, const char *json, const struct envelope *envelope)
{
    (void)json;
    const char *why = session_take_over(session);
    if (why)
        client_refuse(&session->client, envelope->seq, envelope->name, why, false);
    else
        client_respond(&session->client, envelope->seq, envelope->name, NULL);
}

static void on_release(struct session *session, const char *json, const struct envelope *envelope)
{
    (void)json;
    session_release(session, envelope);
}

static void on_objects(struct session *session, const char *json, const struct envelope *envelope)
{
    variables_on_list(session_variables(session), json, envelope);
}

static void on_cluster_objects(struct session *session, const char *json,
                               const struct envelope *envelope)
{
    cluster_objects_on_request(session_variables(session), json, envelope);
}

static const struct handler {
    const char *command;
    enum { ANY, ONE, ONE_ATTACHED } when; /* ONE: without a mode only; a mode has its own */
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
    {"stepIn", ONE_ATTACHED, remote_step_on_step_in},
    {"stepInTargets", ONE_ATTACHED, remote_step_on_targets},
    {"raydbg/stepIntoRemote", ONE_ATTACHED, remote_step_on_into},
    {"raydbg/stepOutToGet", ONE_ATTACHED, remote_step_on_back},
    {"restart", ONE_ATTACHED, on_restart},
    {"raydbg/takeOver", ONE_ATTACHED, on_take_over},
    {"raydbg/release", ONE_ATTACHED, on_release},
    {"raydbg/objects", ONE_ATTACHED, on_objects},
    {"raydbg/clusterObjects", ANY, on_cluster_objects},
};

static bool is_for_mode(const struct session *session, const struct handler *handler)
{
    return session->mode && (!handler || handler->when != ANY);
}

/* A request that only a mode knows. */
static bool is_mode_only(const struct session *session, const char *command)
{
    return session->mode && text_starts(command, "raydbg/");
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
    return session->state > SESSION_READY ? "the session has ended"
                                          : "the session is not attached to a task yet";
}

/* NULL if the request may go on. */
static const char *refusal(const struct session *session, const char *json,
                           const struct envelope *envelope, const struct handler *handler)
{
    const struct rule *rule = rules_find(RULE_FROM_CLIENT, DAP_REQUEST, envelope->name);
    if (rule->action == RULE_REFUSE && (rule->name || !is_mode_only(session, envelope->name)))
        return rule->reason;
    /* The adapter sets a member of "arguments" itself, and closes the connection if it cannot. */
    if (envelope->arguments.len && json[envelope->arguments.at] != '{' &&
        (text_equal(envelope->name, "pause") || text_equal(envelope->name, "continue")))
        return "\"arguments\" must be an object";
    if ((handler && handler->when != ONE_ATTACHED) || is_for_mode(session, handler))
        return NULL;
    if (!session_attached(session))
        return why_not_attached(session);
    return rule->action == RULE_ANSWER ? NULL : hub_refusal(&session->member, json, envelope);
}

static void refuse_unknown(struct session *session, const struct envelope *envelope)
{
    char text[DAP_NAME_MAX + 64];
    snprintf(text, sizeof text, "debugpy does not implement '%s'", envelope->name);
    client_refuse(&session->client, envelope->seq, envelope->name, text, false);
}

/* Notes a request for the audit log, without what was evaluated or set. */
static void note_act(struct session *session, const char *command, const char *refusal)
{
    if (dap_command_is(command, DAP_COMMAND_AUDITED))
        session_act(session, refusal ? "refused" : command, refusal ? command : "");
}

/* A request that this session handles, in its debuggee's paths. */
static void handle_request(struct session *session, const char *json, size_t len,
                           const struct envelope *envelope, const char *why)
{
    const struct handler *handler = find_handler(envelope->name);
    /* Responses that wait for facts on this stop go first: after it the facts do not hold. */
    if (!why && dap_command_is(envelope->name, DAP_COMMAND_ENDS_STOP))
        variables_flush(session_variables(session));
    why = why ? why : refusal(session, json, envelope, handler);
    if (why || !session->mode) /* a mode notes it for each of its debuggees */
        note_act(session, envelope->name, why);
    if (why && !rules_find(RULE_FROM_CLIENT, DAP_REQUEST, envelope->name)->name)
        refuse_unknown(session, envelope);
    else if (why)
        client_refuse(&session->client, envelope->seq, envelope->name, why, false);
    else if (is_for_mode(session, handler))
        session->mode_ops->request(session->mode, json, len, envelope);
    else if (handler)
        handler->handle(session, json, envelope);
    else if (keeps_set(session, json, envelope))
        refuse_set(session, json, envelope);
    else if (!variables_request(session_variables(session), json, len, envelope))
        hub_forward(&session->member, (struct client_seq){envelope->seq}, json, len, envelope);
}

static void on_request(struct session *session, const char *json, size_t len,
                       const struct envelope *envelope)
{
    const struct handler *handler = find_handler(envelope->name);
    struct buf mapped = {0};
    struct envelope again;
    if (!envelope->seq_at.len) {
        client_refuse(&session->client, 0, envelope->name, "the request has no \"seq\"", false);
        return;
    }
    if (session->state == SESSION_NEW && !text_equal(envelope->name, "initialize") &&
        !text_equal(envelope->name, "disconnect")) {
        client_refuse(&session->client, envelope->seq, envelope->name,
                      "the first request must be 'initialize'", false);
        return;
    }
    const char *why = request_guards_size_refusal(len);
    if (!why && (!handler || handler->when != ANY) &&
        session_hold_request(session, json, len, envelope))
        return;
    if (!why && remote_step_request(session, json, len, envelope))
        return;
    if (!why && session_verbs_request(session, json, envelope))
        return;
    if (session_map_paths(session, json, len, envelope, &mapped, &again))
        handle_request(session, mapped.data, mapped.len, &again, why);
    else
        handle_request(session, json, len, envelope, why);
    buf_free(&mapped);
}

/* --- the public side --- */

struct session *session_create(const struct session_options *options, const struct session_ops *ops,
                               void *arg)
{
    struct session *session = mem_alloc(sizeof *session);
    invariant(options->loop && ops->on_message && ops->on_end);
    session_set_magic(session);
    session->options = *options;
    session->role = options->role;
    session->takes_role = options->one_of_many;
    session->ops = ops;
    session->arg = arg;
    client_init(&session->client, ops->on_message, arg);
    session->client.halves = ops->on_halves;
    session->client.pass = ops->on_pass;
    session->finder = pause_finder_create(&session->options);
    return session;
}

/* True if the request is handled in another form, in which Python reads it as it is meant. */
static bool receive_plain(struct session *session, const char *json, size_t len,
                          const struct envelope *request)
{
    struct buf plain = {0};
    bool edited = plain_request_write(json, len, request, &plain);
    if (edited)
        session_receive(session, plain.data, plain.len);
    buf_free(&plain);
    return edited;
}

/* A request that was held has been translated when it came. */
static void receive_request(struct session *session, const char *json, size_t len,
                            const struct envelope *request)
{
    struct buf counted = {0};
    struct envelope again;
    if (!session->held.handing_on &&
        line_base_write(&session->client.base, json, len, request, &counted)) {
        envelope_moved(request, len, counted.data, counted.len, &again);
        on_request(session, counted.data, counted.len, &again);
    } else {
        on_request(session, json, len, request);
    }
    buf_free(&counted);
}

void session_receive(struct session *session, const char *json, size_t len)
{
    struct envelope envelope;
    const char *problem;
    if (session->state == SESSION_ENDED)
        return;
    if (envelope_read(&envelope, json, len, &problem) != 0) {
        char *text = mem_format("this is no DAP message: %s", problem);
        session_broken(session, text);
        free(text);
    } else if (!scan_strict(json, len, &problem)) {
        /* debugpy's adapter never answers again after bytes that Python's json cannot read. */
        if (envelope.kind == DAP_REQUEST)
            client_refuse(&session->client, envelope.seq, envelope.name, problem, false);
    } else if (envelope.kind == DAP_REQUEST) {
        if (!receive_plain(session, json, len, &envelope))
            receive_request(session, json, len, &envelope);
    } else if (envelope.kind == DAP_EVENT ||
               !reverse_requests_answer(&session->asks, json, &envelope)) {
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
        return;
    session->halted = !enable;
    if (session->mode)
        session->mode_ops->flow(session->mode, enable);
    if (session->member.hub)
        hub_read_enable(&session->member, enable);
    remote_step_flow(session, enable);
}

const struct pause *session_pause(const struct session *session)
{
    if (session->mode)
        return session->mode_ops->pause(session->mode);
    return session->member.hub ? hub_pause(session->member.hub) : NULL;
}

bool session_drives(const struct session *session)
{
    return session->mode ? session->mode_ops->drives(session->mode) : hub_drives(&session->member);
}

size_t session_count(const struct session *session)
{
    return session->mode ? session->mode_ops->count(session->mode) : session->member.hub != NULL;
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
    session_drop_held(it);
    death_cause_cancel(&it->death_cause);
    session_watch_destroy(it);
    session_close_mode(it);
    session_end_admission(it);
    reverse_requests_drop(&it->asks, NULL);
    session_flow(it, true);
    remote_step_destroy(it);
    variables_destroy(session_variables(it));
    cluster_objects_destroy(session_variables(it));
    hub_abandon(&it->member);
    hub_destroy(&it->own);
    pause_finder_destroy(&it->finder);
    attach_arguments_clear(&it->attach);
    path_view_clear(&it->paths);
    pause_clear(&it->pause);
    client_free(&it->client);
    intern_drop(&it->initialize_words);
    intern_drop(&it->attach_words);
    free(it->initialize);
    free(it->client_name);
    free(it->why_lost);
    free(it->rank);
    session_clear_magic(it);
    free(it);
}
