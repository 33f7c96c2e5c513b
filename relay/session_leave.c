/* How a session is left: by its client's word, without one, or because somebody ends it. */
#include "base/mem.h"
#include "base/text.h"
#include "relay/multi.h"
#include "relay/parent.h"
#include "relay/session_follow.h"
#include "relay/session_state.h"

#include <stdlib.h>

static bool wants_kill(const struct session *session)
{
    return session->options.kill || session->attach.kill;
}

/* What the client is told of the task that it leaves. */
static void say_goodbye(struct session *session, enum hub_leave how)
{
    char title[256], id[ID_TEXT(ID_TASK_BYTES)];
    const struct hubs *hubs = session->options.hubs;
    char *text;
    pause_title(&session->pause, title, sizeof title);
    text_copy(id, session->pause.task_id[0] ? 7 : sizeof id, session->pause.task_id);
    if (how == HUB_LEAVE_KILL)
        text = mem_format("raydbg: the worker of %s is ended (--kill)\n", title);
    else if (hubs && (how == HUB_LEAVE || !hub_drives(&session->place)) &&
             (hubs_hold(hubs) != HUB_NEVER || hub_members(session->place.hub) > 1))
        text = mem_format("raydbg: %s stays held by %s; release it with: raydbg release %s\n",
                          title, hubs_name(hubs), *id ? id : "TASK");
    else
        text = mem_format("raydbg: %s goes on; its next breakpoint() waits again\n", title);
    client_say(&session->client, "console", text);
    free(text);
}

void session_left(struct session *session)
{
    bool disconnecting = session->disconnect_seq != 0;
    struct err err;
    err_set(&err, ERR_FAILED, "the attach was given up");
    if (session->attach_seq)
        session_fail_attach(session, &err);
    session_finish_leaving(session);
    if (disconnecting || session->client.gone)
        session_end(session);
}

static void leave(struct session *session, enum hub_leave how)
{
    session_follow_leave(session, how);
    if (session->multi && !multi_is_over(session->multi)) {
        session->leaving = true;
        multi_leave(session->multi, how);
        return;
    }
    if (session->parent)
        parent_leave(session->parent);
    if (session_attached(session)) {
        say_goodbye(session, how);
        session->leaving = true;
        hub_leave(&session->place, how);
        return;
    }
    if (session->place.hub && session->leaving && !session->lost)
        return; /* the goodbye is under way */
    struct err err;
    err_set(&err, ERR_FAILED, "the attach was given up");
    session->leaving = true;
    finder_cancel(session->finder);
    if (session->attach_seq)
        session_fail_attach(session, &err);
    session_finish_leaving(session);
    session_end(session);
}

/* How a client wants to leave that says no more than that. */
static enum hub_leave default_leave(const struct session *session)
{
    return session->attach.continue_on_disconnect ? HUB_LEAVE_CONTINUE : HUB_LEAVE;
}

static enum hub_leave forced_leave(const struct session *session)
{
    return wants_kill(session) ? HUB_LEAVE_KILL : HUB_LEAVE_CONTINUE;
}

void session_on_disconnect(struct session *session, const char *json,
                           const struct envelope *envelope)
{
    struct span at;
    bool terminate = false;
    enum hub_leave how = default_leave(session);
    if (envelope->arguments.len && scan_find(json, envelope->arguments, "terminateDebuggee", &at))
        scan_boolean(json, at, &terminate);
    if (envelope->arguments.len && scan_find(json, envelope->arguments, "onDisconnect", &at))
        how = scan_string_is(json, at, "continue") ? HUB_LEAVE_CONTINUE : HUB_LEAVE;
    session->disconnect_seq = envelope->seq;
    leave(session, terminate ? forced_leave(session) : how);
}

void session_on_terminate(struct session *session, const char *json,
                          const struct envelope *envelope)
{
    (void)json;
    client_respond(&session->client, envelope->seq, "terminate", NULL);
    if (session->parent)
        parent_leave(session->parent);
    if (session_attached(session) || session->multi)
        leave(session, forced_leave(session));
    else
        session_send_terminated(session);
}

/* --- without the client's word --- */

void session_broken(struct session *session, const char *problem)
{
    if (session->ended)
        return;
    client_refuse(&session->client, 0, "", problem, true);
    session->broken = true;
    session->client.gone = true;
    leave(session, default_leave(session));
}

void session_client_gone(struct session *session)
{
    session->client.gone = true;
    if (!session->ended)
        leave(session, default_leave(session));
}

void session_dismiss(struct session *session, const char *why)
{
    if (session->ended || session->leaving)
        return;
    char *text = mem_format("raydbg: %s\n", why);
    client_say(&session->client, "console", text);
    free(text);
    leave(session, HUB_LEAVE);
}
