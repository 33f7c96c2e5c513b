/* The end of a session: by the client's request, without one, or by the relay; and the task's
 * release. */
#include "base/mem.h"
#include "base/text.h"
#include "relay/session/remote_step.h"
#include "relay/session/session_state.h"

#include <stdlib.h>

static bool wants_kill(const struct session *session)
{
    return session->options.kill || session->attach.kill;
}

/* Tells the client what becomes of the task that it leaves; that it goes on is not known yet. */
static void say_goodbye(struct session *session, enum hub_leave how)
{
    char title[256], id[ID_TEXT(ID_TASK_BYTES)];
    const struct hub_table *hubs = session->options.hubs;
    char *text = NULL;
    if (session->task_over)
        return; /* the client knows it */
    pause_title(&session->pause, title, sizeof title);
    text_copy(id, session->pause.task_id[0] ? 7 : sizeof id, session->pause.task_id);
    if (how == HUB_LEAVE_KILL)
        text = mem_format("raydbg: the worker of %s is ended (--kill)\n", title);
    else if (hubs && (how == HUB_LEAVE || !hub_drives(&session->member)) &&
             (hub_table_hold(hubs) != HUB_NEVER || hub_members(session->member.hub) > 1))
        text = mem_format("raydbg: %s stays held by %s; release it with: raydbg release %s\n",
                          title, hub_table_name(hubs), *id ? id : "TASK");
    else
        session->goes_on = true;
    session->raised = text_equal(hub_reason(session->member.hub), "exception");
    if (text)
        client_say(&session->client, "console", text);
    free(text);
}

void session_say_goes_on(struct session *session)
{
    char title[256];
    pause_title(&session->pause, title, sizeof title);
    char *text = mem_format("raydbg: %s goes on%s\n", title,
                            session->raised ? ": its exception goes to its caller"
                                            : "; its next breakpoint() waits again");
    client_say(&session->client, "console", text);
    free(text);
}

static void give_up_attach(struct session *session)
{
    struct err err;
    if (!session->attach_request.open)
        return;
    err_set(&err, ERR_FAILED, "the attach was given up");
    session_fail_attach(session, &err);
}

void session_left(struct session *session)
{
    bool disconnecting = session->disconnect_request.open;
    give_up_attach(session);
    session_finish_leaving(session);
    if (disconnecting || session->client.gone)
        session_end(session);
}

static void note_leaving(struct session *session)
{
    if (session->state < SESSION_LEAVING)
        session_move(session, SESSION_LEAVING);
}

static void leave(struct session *session, enum hub_leave how)
{
    remote_step_leave(session, how);
    if (session->mode && !session->mode_ops->is_over(session->mode)) {
        note_leaving(session);
        session->mode_ops->leave(session->mode, how);
        if (session->mode_ops->leaves_later)
            return;
    }
    if (session_attached(session)) {
        say_goodbye(session, how);
        note_leaving(session);
        hub_leave(&session->member, how);
        return;
    }
    if (session->member.hub && session->state == SESSION_LEAVING)
        return; /* the goodbye is under way */
    note_leaving(session);
    pause_finder_cancel(session->finder);
    give_up_attach(session);
    session_finish_leaving(session);
    session_end(session);
}

/* The way to leave when the client is lost. */
static enum hub_leave default_leave(const struct session *session)
{
    return session->attach.continue_on_disconnect ? HUB_LEAVE_CONTINUE : HUB_LEAVE;
}

static bool holds_on_loss(const struct session *session)
{
    const struct hub *hub = session->member.hub;
    return session->options.hubs && hub_table_hold(session->options.hubs) == HUB_ON_LOSS &&
           !(hub && hub_is_kept(hub));
}

static bool is_alone(const struct session *session)
{
    return !session->member.hub || hub_members(session->member.hub) < 2;
}

/* The way to leave when the client's `disconnect` does not name one. A client that restarts comes
 * back for the task. */
static enum hub_leave goodbye_leave(const struct session *session, bool restarts)
{
    if (restarts)
        return HUB_LEAVE;
    return holds_on_loss(session) && is_alone(session) ? HUB_LEAVE_CONTINUE
                                                       : default_leave(session);
}

/* True under HUB_ON_LOSS if the task runs: a running task is not held at a client's request. */
static bool has_nothing_to_hold(const struct session *session)
{
    return holds_on_loss(session) && session_attached(session) && is_alone(session) &&
           !hub_has_stopped(&session->member);
}

static enum hub_leave forced_leave(const struct session *session)
{
    return wants_kill(session) ? HUB_LEAVE_KILL : HUB_LEAVE_CONTINUE;
}

void session_on_disconnect(struct session *session, const char *json,
                           const struct envelope *envelope)
{
    struct span at;
    bool terminate = false, restarts = false;
    if (envelope->arguments.len)
        scan_boolean_at(json, envelope->arguments, "restart", &restarts);
    enum hub_leave how = goodbye_leave(session, restarts);
    if (envelope->arguments.len && scan_find(json, envelope->arguments, "terminateDebuggee", &at))
        scan_boolean(json, at, &terminate);
    if (envelope->arguments.len && scan_find(json, envelope->arguments, "onDisconnect", &at))
        how = scan_string_is(json, at, "continue") ? HUB_LEAVE_CONTINUE : HUB_LEAVE;
    if (how == HUB_LEAVE && has_nothing_to_hold(session))
        how = HUB_LEAVE_CONTINUE;
    if (session->disconnect_request.open) /* the client asks again while the goodbye is under way */
        client_respond(&session->client, open_request_close(&session->disconnect_request),
                       "disconnect", NULL);
    open_request_begin(&session->disconnect_request, envelope->seq);
    leave(session, terminate ? forced_leave(session) : how);
}

void session_on_terminate(struct session *session, const char *json,
                          const struct envelope *envelope)
{
    (void)json;
    client_respond(&session->client, envelope->seq, "terminate", NULL);
    if (session->mode && !session->mode_ops->leaves_later)
        session->mode_ops->leave(session->mode, forced_leave(session));
    if (session_attached(session) || (session->mode && session->mode_ops->leaves_later))
        leave(session, forced_leave(session));
    else
        session_send_terminated(session);
}

/* --- without a request of the client --- */

void session_broken(struct session *session, const char *problem)
{
    if (session->state == SESSION_ENDED)
        return;
    client_refuse(&session->client, 0, "", problem, true);
    session->broken = true;
    session->client.gone = true;
    leave(session, default_leave(session));
}

void session_client_gone(struct session *session)
{
    session->client.gone = true;
    if (session->state != SESSION_ENDED)
        leave(session, default_leave(session));
}

void session_dismiss(struct session *session, const char *why)
{
    if (session->state >= SESSION_LEAVING)
        return;
    char *text = mem_format("raydbg: %s\n", why);
    client_say(&session->client, "console", text);
    free(text);
    leave(session, HUB_LEAVE);
}

/* --- release --- */

void session_release(struct session *session, const struct envelope *request)
{
    const char *why = !hub_drives(&session->member)   ? SESSION_OBSERVES
                      : session->release_request.open ? "the task is being released"
                                                      : NULL;
    if (why) {
        client_refuse(&session->client, request->seq, request->name, why, false);
        return;
    }
    invariant(session->member.hub); /* it drives */
    open_request_begin(&session->release_request, request->seq);
    session->releases_by_line = text_equal(request->name, "evaluate");
    session_act(session, "release", "");
    hub_release(session->member.hub, session->member.name);
}

void session_answer_release(struct session *session, const char *why_not)
{
    bool by_line = session->releases_by_line;
    const char *command = by_line ? "evaluate" : "raydbg/release";
    if (!session->release_request.open)
        return;
    int64_t seq = open_request_close(&session->release_request);
    if (why_not)
        client_refuse(&session->client, seq, command, why_not, false);
    else
        client_respond(&session->client, seq, command,
                       by_line ? "{\"result\":\"\",\"variablesReference\":0}" : NULL);
}
