/* A session's way from `initialize` to `configurationDone`. */
#include "relay/session/session_state.h"
#include "relay/variables/cluster_objects.h"

#include "base/intern.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/capabilities.h"
#include "dap/line_base.h"
#include "dap/same.h"
#include "relay/debuggee/debugpy_arguments.h"
#include "relay/pause/pause_reach.h"

#include <stdlib.h>
#include <string.h>

static void read_client(struct session *session)
{
    static const char *const members[] = {"clientName", "clientID"};
    struct span all = {0, strlen(session->initialize)}, value;
    for (size_t i = 0; i < sizeof members / sizeof *members && !session->client_name; i++)
        if (scan_find(session->initialize, all, members[i], &value))
            session->client_name = scan_string(session->initialize, value);
    scan_boolean_at(session->initialize, all, "supportsInvalidatedEvent",
                    &session->takes_invalidated);
    session->takes_role |= capabilities_takes_role(session->initialize, all);
    if (!session->client.pass && !session->bases) /* those are of sessions of raydbg's own */
        session->client.base = line_base_read(session->initialize, all);
    scan_boolean_at(session->initialize, all, "supportsStartDebuggingRequest",
                    &session->starts_sessions);
}

void session_on_initialize(struct session *session, const char *json,
                           const struct envelope *envelope)
{
    if (session->state != SESSION_NEW) {
        client_refuse(&session->client, envelope->seq, "initialize",
                      "the session is already initialized", false);
        return;
    }
    struct err err;
    if (debugpy_arguments_check_initialize(json, envelope->arguments, &err) != 0) {
        client_fail(&session->client, envelope->seq, "initialize", &err);
        return;
    }
    session_move(session, SESSION_READY);
    session->initialize = mem_string_n(json + envelope->arguments.at, envelope->arguments.len);
    session->initialize_words = intern_get(session->initialize, strlen(session->initialize));
    if (envelope->arguments.len)
        read_client(session);
    struct buf body = {0};
    if (capabilities_will_launch(json, envelope->arguments))
        capabilities_for_launch(&body);
    else
        buf_add(&body, capabilities_default(), strlen(capabilities_default()) - 1);
    buf_add_string(&body, ", \"supportsRestartRequest\": true}");
    client_respond(&session->client, envelope->seq, "initialize", body.data);
    buf_free(&body);
}

static struct hub *open_own(struct session *session, const struct target_options *target)
{
    static const struct hub_ops nobody;
    struct hub_options options = {.target = *target,
                                  .pause = &session->pause,
                                  .hold = HUB_NEVER,
                                  .cluster = pause_finder_cluster(session->finder)};
    options.target.loop = session->options.loop;
    options.target.host = session->pause.host;
    options.target.port = session->pause.port;
    hub_destroy(&session->own);
    session->own = hub_open(&options, &nobody, NULL);
    return session->own;
}

/* True if the debugger does what `value` asks for without being told: an argument that is off. */
static bool is_off(const char *json, struct span value)
{
    return json[value.at] == 'f' || (value.len == 2 && strchr("[{", json[value.at]));
}

/* False for a setting in the client's own words that the debugger's `attach` does not have. */
static bool is_met(const char *own, struct span value, const char *name, const char *attach)
{
    struct span all = {0, strlen(attach)}, other;
    return scan_find(attach, all, name, &other) ? same_value(own, value, attach, other)
                                                : is_off(own, value);
}

/* Appends the quoted names of the client's settings that have no effect. Of its members those are
 * for the debugger that are in `upstream`, too. */
static void list_unmet(const struct attach_arguments *attach, const char *debugger, struct buf *out)
{
    struct span own = {0, strlen(attach->each)}, upstream = {0, strlen(attach->upstream)};
    struct span key, value, any;
    size_t cursor = 0;
    while (scan_member(attach->each, own, &cursor, &key, &value)) {
        char *name = scan_string(attach->each, key);
        if (!text_equal(name, "pathMappings") && !text_equal(name, "clientOS") &&
            scan_find(attach->upstream, upstream, name, &any) &&
            !is_met(attach->each, value, name, debugger))
            buf_printf(out, "%s\"%s\"", out->len ? ", " : "", name);
        free(name);
    }
}

/* A worker's debugger is attached to once, with the arguments of the client that came first. A
 * later client keeps its own paths, and learns which of its settings have no effect. */
static void compare_arguments(struct session *session, const struct hub *hub)
{
    const char *attach = hub_attach_arguments(hub), *by = hub_attached_by(hub);
    struct buf unmet = {0};
    path_view_clear(&session->paths);
    if (!*attach) /* an earlier relay's: not known */
        return;
    if (!path_view_set(&session->paths, session->attach.upstream, attach))
        client_say(&session->client, "important",
                   "raydbg: attach: a \"remoteRoot\" of \".\" is for the client that attaches "
                   "first: write the worker's directory\n");
    /* A process that has dialled the relay has the relay's settings, for all clients. */
    if (!session->options.one_of_many && session->pause.debugger != PAUSE_PYDEVD)
        list_unmet(&session->attach, attach, &unmet);
    if (unmet.len) {
        char *text = mem_format("raydbg: attach: %s: without effect, the worker's debugger has the "
                                "settings of %s, which attached first\n",
                                unmet.data, by ? by : "the relay");
        client_say(&session->client, "console", text);
        free(text);
    }
    buf_free(&unmet);
}

static void join(struct session *session)
{
    invariant(session->initialize && !session->member.hub);
    struct span arguments = {0, strlen(session->initialize)};
    char *initialize =
        debugpy_arguments_initialize(session->initialize, arguments, session->attach.sub_process);
    struct target_options target = {
        .initialize = initialize,
        .attach = session->attach.upstream,
        .pdb = session->pause.debugger == PAUSE_PDB,
        .tune = session->options.tune && !session->attach.no_tune,
        .sub_process = session->attach.sub_process,
    };
    char *name = mem_format("%s @ %s", session->client_name ? session->client_name : "a client",
                            session->options.peer ? session->options.peer : "here");
    struct hub *hub = session->options.hubs
                          ? hub_table_get(session->options.hubs, &session->pause, &target, name)
                          : open_own(session, &target);
    compare_arguments(session, hub);
    struct member_wish wish = {
        .name = name,
        .may_drive = !session->options.hubs || session->role == AUTH_DRIVER,
        .observe = session->attach.observe,
        .take_over = session->attach.take_over && session->role == AUTH_DRIVER,
        .sparing = session->options.one_of_many,
    };
    session_act(session, wish.take_over ? "take-over" : "attach", "");
    hub_join(hub, &session->member, &session_member_ops, session, &wish);
    if (session->halted && session->member.hub)
        hub_read_enable(&session->member, false);
    free(name);
    free(initialize);
}

static void on_found(void *arg, const struct err *err, const struct pause *pause)
{
    struct session *session = session_checked(arg);
    if (!session->attach_request.open)
        return;
    if (err) {
        session_fail_attach(session, err);
        return;
    }
    pause_clear(&session->pause);
    pause_copy(&session->pause, pause);
    join(session);
}

static void tell_role(struct session *session)
{
    if (session->ops->on_role)
        session->ops->on_role(session->arg, session->role);
}

static int take_ticket(struct session *session, struct err *err)
{
    const struct session_admission *admission = session->options.admission;
    enum auth_role role;
    if (!admission) {
        err_set(err, ERR_DENIED, "this ticket is not known here");
        err_why(err, "there is no relay here, which would have made it");
        return err_hint(err, "attach by \"task\" instead");
    }
    session->bearer = admission->admit(admission->arg, session->attach.ticket, session,
                                       &session->admitted, &role, err);
    if (!session->bearer)
        return -1;
    if (session->role == AUTH_NONE || role < session->role)
        session->role = role;
    return 0;
}

/* False if the ticket is not valid; without a role from the transport the session is then over. */
static bool admit(struct session *session)
{
    struct err err;
    bool unauthenticated = session->role == AUTH_NONE;
    if (take_ticket(session, &err) == 0) {
        tell_role(session);
        return true;
    }
    session_act(session, "refused", "a ticket that is not good");
    session_fail_attach(session, &err);
    if (unauthenticated)
        session_end(session);
    return false;
}

/* False if the client may not attach; without a role the session is then over. */
static bool authenticate(struct session *session)
{
    struct err err;
    /* A remote task is entered with the words of its caller's session, whose role it has. */
    if (session->attach.ticket && !session->caller)
        return admit(session);
    if (!session->options.hubs || session->role != AUTH_NONE)
        return true;
    session->role = auth_check(session->options.auth, session->attach.token);
    if (session->role != AUTH_NONE) {
        tell_role(session);
        return true;
    }
    if (session->attach.token)
        err_set(&err, ERR_DENIED, "the token is not this relay's");
    else
        err_set(&err, ERR_DENIED, "this relay wants a token");
    err_why(&err, "a client over plain TCP shows it in the attach argument \"token\"");
    err_hint(&err, "the relay's user has it in $XDG_STATE_HOME/raydbg/token (~/.local/state)");
    session_act(session, "refused", session->attach.token ? "wrong token" : "no token");
    session_fail_attach(session, &err);
    session_end(session);
    return false;
}

/* Checks the arguments against each other, and against what a relay's client may ask for. */
static int check_arguments(struct session *session, struct err *err)
{
    if (session->options.hubs && session->attach.connect_host && !session->options.allow_connect) {
        err_set(err, ERR_DENIED, "this relay attaches to its cluster's tasks only");
        err_why(err, "\"connect\" would reach %s:%d from where the relay runs",
                session->attach.connect_host, session->attach.connect_port);
        return err_hint(err, "name a task, or start the relay with --allow-connect");
    }
    if (session->attach.observe && session->attach.take_over) {
        err_set(err, ERR_USAGE, "attach: \"role\" is observer and \"takeOver\" is true");
        return err_hint(err, "who takes over drives");
    }
    if (session->attach.take_over && session->options.hubs && session->role != AUTH_DRIVER)
        return err_set(err, ERR_DENIED, "this client's token lets it observe only");
    return 0;
}

static void on_ticket(struct session *session)
{
    struct err err;
    const struct pause *pause = session->admitted;
    if (pause_reach_check(pause, &err) == 0)
        on_found(session, NULL, pause);
    else
        on_found(session, &err, NULL);
}

/* Says which arguments have no effect. A child session has those of the session that started it. */
static void tell_left_out(struct session *session)
{
    if (session->attach.just_my_code && !session->attach.ticket)
        client_say(&session->client, "console",
                   "raydbg: attach: \"justMyCode\" has no effect: it is always off, as a "
                   "breakpoint() in a task would not stop with it before Python 3.12\n");
    if (!session->attach.unknown)
        return;
    char *text = mem_format("raydbg: attach: neither raydbg nor a debugger in a task has a use for "
                            "%s: left out\n",
                            session->attach.unknown);
    client_say(&session->client, "console", text);
    free(text);
}

void session_on_attach(struct session *session, const char *json, const struct envelope *envelope)
{
    struct err err;
    if (session->state > SESSION_READY) { /* its client has yet to disconnect */
        client_refuse(&session->client, envelope->seq, "attach", "the session has ended", false);
        return;
    }
    if (session->mode && session->mode_ops->is_over(session->mode))
        session_close_mode(session);
    if (session->member.hub || session->attach_request.open || session->mode) {
        client_refuse(&session->client, envelope->seq, "attach", "the session is already attached",
                      false);
        return;
    }
    session_end_admission(session); /* of an attach that has failed */
    open_request_begin(&session->attach_request, envelope->seq);
    session->initialized = false;
    session->attach_us = loop_now_us();
    attach_arguments_clear(&session->attach);
    intern_drop(&session->attach_words);
    session->attach_words = intern_get(json + envelope->arguments.at, envelope->arguments.len);
    if (attach_arguments_read(&session->attach, json, envelope->arguments, &err) != 0) {
        session_fail_attach(session, &err);
        return;
    }
    if (!session->options.pause && !session->options.connect)
        attach_arguments_default_task(&session->attach, session->options.task);
    if (!authenticate(session))
        return;
    if (check_arguments(session, &err) != 0) {
        session_fail_attach(session, &err);
        return;
    }
    tell_left_out(session);
    hub_destroy(&session->own); /* left by an attach that failed, with that attach's cluster */
    cluster_objects_drop(session_variables(session), "the session attaches");
    if (session->options.modes)
        session->mode = session->options.modes->open(session, json, envelope, &session->mode_ops);
    if (session->mode)
        return;
    if (session->admitted)
        on_ticket(session);
    else
        pause_finder_find(session->finder, &session->attach, on_found, session);
}

/* --- requests right behind `attach` --- */

/* A client need not wait for `initialized`: debugpy's adapter handles what is behind an attach in
 * order, when the attach is over. */
struct held_request {
    struct held_request *next;
    int64_t seq;
    char command[DAP_NAME_MAX];
    size_t len;
    char json[];
};

enum { HELD_MAX = 16 << 20 };

static struct held_request *take_held(struct session *session)
{
    struct held_requests *held = &session->held;
    struct held_request *first = held->first;
    held->first = first->next;
    held->bytes -= sizeof *first + first->len;
    return first;
}

/* One at a time, each from the loop: a request may end the session, and others may be behind it. */
static void on_held(void *arg)
{
    struct session *session = session_checked(arg);
    struct held_request *first = take_held(session);
    session->held.timer = NULL;
    session_hand_on_held(session);
    session->held.handing_on = true;
    session_receive(session, first->json, first->len);
    free(first);
}

void session_hand_on_held(struct session *session)
{
    if (session->held.first && !session->held.timer)
        session->held.timer = timer_start(session->options.loop, 0, on_held, session);
}

bool session_hold_request(struct session *session, const char *json, size_t len,
                          const struct envelope *envelope)
{
    struct held_requests *held = &session->held;
    bool own = held->handing_on;
    held->handing_on = false;
    bool attaching = session->attach_request.open && !session->initialized;
    if (own || (!attaching && !held->first))
        return false;
    if (held->bytes + len > HELD_MAX) {
        client_refuse(&session->client, envelope->seq, envelope->name,
                      "too much was sent behind an attach that still goes on", false);
        return true;
    }
    struct held_request *request = mem_alloc(sizeof *request + len);
    request->seq = envelope->seq;
    memcpy(request->command, envelope->name, sizeof request->command);
    request->len = len;
    memcpy(request->json, json, len);
    *(held->first ? &held->last->next : &held->first) = request;
    held->last = request;
    held->bytes += sizeof *request + len;
    return true;
}

void session_refuse_held(struct session *session, const char *why)
{
    timer_cancel(&session->held.timer);
    while (session->held.first) {
        struct held_request *held = take_held(session);
        client_refuse(&session->client, held->seq, held->command, why, false);
        free(held);
    }
}

void session_drop_held(struct session *session)
{
    timer_cancel(&session->held.timer);
    while (session->held.first)
        free(take_held(session));
}

void session_on_configuration_done(struct session *session, const char *json,
                                   const struct envelope *envelope)
{
    (void)json;
    if (!session_attached(session) || !hub_wants_configuration(&session->member)) {
        client_refuse(
            &session->client, envelope->seq, "configurationDone",
            "configurationDone is only allowed after an attach and its 'initialized' event", false);
        return;
    }
    client_respond(&session->client, envelope->seq, "configurationDone", NULL);
    client_respond(&session->client, open_request_close(&session->attach_request), "attach", NULL);
    hub_configure(&session->member);
}
