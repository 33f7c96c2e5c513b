/* A session's callbacks from its hub. */
#include "relay/session/session_state.h"
#include "relay/variables/cluster_objects.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/capabilities.h"
#include "dap/dap_command.h"
#include "dap/location_members.h"
#include "dap/message.h"
#include "dap/rules.h"
#include "dap/splice.h"
#include "relay/client/prefetch.h"
#include "relay/io/metrics.h"
#include "relay/pause/task_label.h"
#include "relay/session/remote_step.h"
#include "relay/session/session_rank.h"
#include "relay/session/session_verbs.h"
#include "relay/session/session_watch.h"
#include "relay/stack/exception_text.h"
#include "relay/stack/ray_frames.h"
#include "relay/stack/thread_names.h"
#include "relay/variables/variables.h"

#include <stdlib.h>

/* --- the debuggee is gone --- */

static void end_pending(struct session *session, const char *why, bool ran)
{
    struct pending pending;
    variables_refuse_gathered(session_variables(session), why);
    variables_leave(session_variables(session));
    while (hub_take_pending(&session->member, &pending)) {
        if (remote_step_forgets(&pending) || session_verbs_forgets(&pending))
            continue;
        remote_step_note_ended(session, &pending);
        if (ran && dap_command_is(pending.command, DAP_COMMAND_RESUMES))
            client_respond(&session->client, pending.client.value, pending.command, NULL);
        else
            client_refuse(&session->client, pending.client.value, pending.command, why, false);
    }
}

void session_refuse_pending(struct session *session, const char *why)
{
    end_pending(session, why, false);
    session_refuse_held(session, why);
}

void session_end_callee(struct session *session)
{
    static const char why[] = "the session is with the task's caller again";
    remote_step_give_up(session, why);
    end_pending(session, why, true);
}

/* If a message that was announced to the client ends early, the client's stream is of no use any
 * more. */
static void break_off(struct session *session, const char *why)
{
    if (!session->client.large || session->client.gone)
        return;
    session->client.gone = true;
    session_act(session, "broken", why);
    session_end(session);
}

void session_finish_leaving(struct session *session)
{
    session_answer_release(session, "the session has ended");
    session_refuse_pending(session, "the session has ended");
    cluster_objects_drop(session_variables(session), "the session has ended");
    session_send_terminated(session);
    if (session->disconnect_request.open)
        client_respond(&session->client, open_request_close(&session->disconnect_request),
                       "disconnect", NULL);
    hub_abandon(&session->member);
    break_off(session, "it left in the middle of a large message");
}

/* Editors show an `important` output as a notice, too. */
static void tell_lost(struct session *session, const char *category, const char *sentence)
{
    session->why_lost = mem_string(sentence);
    char *text = mem_format("raydbg: %s\n", sentence);
    client_say(&session->client, category,
               text); /* the console prints it once, before the refusals */
    bool goes_on = session->member.hub && hub_goes_on(session->member.hub);
    session_answer_release(session, goes_on ? NULL : sentence);
    session_refuse_pending(session, sentence);
    free(text);
    if (remote_step_lost(session, sentence))
        return;
    session_send_terminated(session);
    if (session->client.gone)
        session_end(session);
}

static void on_death_cause(void *arg, enum death_kind kind, const char *sentence)
{
    tell_lost(arg, kind == DEATH_ORDINARY ? "console" : "important", sentence);
}

static void on_lost(void *arg, const char *why)
{
    struct session *session = session_checked(arg);
    if (session->state == SESSION_LOST || session->state == SESSION_ENDED)
        return;
    session_move(session, SESSION_LOST);
    session->died = why == NULL;
    if (session->stalled) {
        session->stalled = false;
        session_tell_flow(session);
    }
    variables_flush(session_variables(session));
    if (session->attach_request.open) {
        struct err err;
        err_set(&err, ERR_FAILED, "%s", why ? why : "the debuggee went away while attaching");
        session_fail_attach(session, &err);
    }
    if (why)
        tell_lost(session, "important", why);
    else
        session->death_cause =
            death_cause_ask(session->options.loop, pause_finder_cluster(session->finder),
                            session->pause.worker_id, on_death_cause, session);
}

static void on_silent(void *arg, const char *why)
{
    struct session *session = session_checked(arg);
    char *text = mem_format("raydbg: %s\n", why);
    session_refuse_pending(session, why);
    client_say(&session->client, "important", text);
    free(text);
}

static void on_left(void *arg)
{
    struct session *session = session_checked(arg);
    bool disconnecting = session->disconnect_request.open;
    invariant(session->member.hub);
    if (session->goes_on && hub_goes_on(session->member.hub))
        session_say_goes_on(session);
    session_finish_leaving(session);
    if (disconnecting || session->client.gone)
        session_end(session);
}

/* --- attached --- */

static void send_capabilities(struct session *session, const char *body, size_t len)
{
    struct buf filtered = {0};
    capabilities_filter(body, (struct span){0, len}, &filtered);
    if (!text_equal(filtered.data, capabilities_default()) && !text_equal(filtered.data, "{}")) {
        struct buf event = {0};
        capabilities_withdraw(&filtered);
        buf_printf(&event, "{\"capabilities\":%s}", filtered.data);
        client_event(&session->client, "capabilities", event.data);
        buf_free(&event);
    }
    buf_free(&filtered);
}

static void on_ready(void *arg, const char *capabilities, size_t len)
{
    struct session *session = session_checked(arg);
    int waiting = hub_waiting(&session->member);
    if (waiting >= 0) /* Ray's own count may be wrong: ray_worker_paused_threads() */
        session->pause.paused_threads = waiting;
    metrics_attach_seconds((double)(loop_now_us() - session->attach_us) / 1e6);
    send_capabilities(session, capabilities, len);
    /* Thousands of sessions may be idle from here on: free what only attaching needs. */
    free(session->initialize);
    free(session->attach.upstream);
    free(session->attach.token);
    session->initialize = session->attach.upstream = session->attach.token = NULL;
    session_send_initialized(session);
}

int64_t session_paused_threads(const struct session *session)
{
    return session->pause.paused_threads;
}

static void on_failed(void *arg, const struct err *err)
{
    struct session *session = session_checked(arg);
    struct err own = *err;
    char title[256];
    if (session->pause.worker_id[0]) {
        pause_title(&session->pause, title, sizeof title);
        err_set(&own, err->code, "%s: %s", title, err->what);
        err_why(&own, "%s", err->why);
        err_hint(&own, "%s", err->hint);
    }
    session_fail_attach(session, &own);
    if (session->disconnect_request.open || session->client.gone) {
        session_finish_leaving(session);
        session_end(session);
    }
}

void session_tell_flow(const struct session *session)
{
    if (session->ops->on_flow)
        session->ops->on_flow(session->arg, !session->stalled && !remote_step_stalls(session));
}

static void on_flow(void *arg, bool flows)
{
    struct session *session = session_checked(arg);
    session->stalled = !flows;
    session_tell_flow(session);
}

/* True if the debuggee of this session itself stops for a client that does not read. */
static bool stops(const struct session *session)
{
    return session->state == SESSION_LOST || session_drives(session) || !session_pause(session);
}

bool session_stops_some(const struct session *session)
{
    while (session && !stops(session))
        session = remote_step_callee(session);
    return session != NULL;
}

bool session_stops_all(const struct session *session)
{
    while (session && stops(session))
        session = remote_step_callee(session);
    return session == NULL;
}

static void on_note(void *arg, const char *category, const char *text)
{
    struct session *session = session_checked(arg);
    client_say(&session->client, category, text);
}

static void on_role(void *arg, bool drives, const char *driver)
{
    struct session *session = session_checked(arg);
    struct buf body = {0};
    invariant(session->member.hub);
    buf_printf(&body, "{\"role\":\"%s\",\"driver\":", drives ? "driver" : "observer");
    if (*driver)
        message_quote(&body, driver);
    else
        buf_add_string(&body, "null");
    buf_add_string(&body, "}");
    if (session->takes_role)
        client_event(&session->client, "raydbg/role", body.data);
    buf_free(&body);
    if (!drives && *driver) {
        char *text = mem_format("raydbg: %s drives; this session observes\n", driver);
        client_say(&session->client, "console", text);
        free(text);
    }
}

static void on_disturbed(void *arg)
{
    session_disturbed(arg);
}

/* --- paths --- */

bool session_map_paths(const struct session *session, const char *json, size_t len,
                       const struct envelope *envelope, struct buf *out, struct envelope *again)
{
    if (path_view_is_plain(&session->paths) ||
        !path_view_write(&session->paths, json, len, envelope, out))
        return false;
    envelope_moved(envelope, len, out->data, out->len, again);
    return true;
}

/* --- events --- */

static bool is_telemetry(const char *json, const struct envelope *envelope)
{
    struct span category;
    return text_equal(envelope->name, "output") && envelope->body.len &&
           scan_find(json, envelope->body, "category", &category) &&
           scan_string_is(json, category, "telemetry");
}

/* True if the client must not see this event. */
static bool is_hidden(const struct session *session, const char *json,
                      const struct envelope *envelope)
{
    const struct rule *rule = rules_find(RULE_FROM_DEBUGGEE, DAP_EVENT, envelope->name);
    return rule->action == RULE_DROP || is_telemetry(json, envelope) ||
           session->state == SESSION_LOST ||
           (text_equal(envelope->name, "debugpyAttach") && !session->attach.sub_process);
}

static void pass_event(struct session *session, const char *json, size_t len,
                       const struct envelope *envelope)
{
    if (remote_step_event(session, envelope))
        return;
    struct buf cleaned = {0};
    session_watch_event(session, envelope);
    if (text_equal(envelope->name, "continued") || text_equal(envelope->name, "stopped"))
        variables_go_on(session_variables(session)); /* sends what waits for the previous stop */
    if (text_equal(envelope->name, "stopped") &&
        exception_text_clean(json, len, envelope, &cleaned))
        client_pass_edited(&session->client, &cleaned, 0);
    else
        client_pass(&session->client, json, len, envelope, 0);
    buf_free(&cleaned);
}

static void on_event(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct session *session = session_checked(arg);
    struct buf mapped = {0};
    struct envelope again;
    if (is_hidden(session, json, envelope))
        return;
    if (session_map_paths(session, json, len, envelope, &mapped, &again))
        pass_event(session, mapped.data, mapped.len, &again);
    else
        pass_event(session, json, len, envelope);
    buf_free(&mapped);
}

/* --- responses --- */

/* The responses that are rewritten. */
static const struct {
    const char *command;
    bool (*rewrite)(const char *json, size_t len, const struct envelope *envelope, struct buf *out);
} rewritten[] = {
    {"stackTrace", ray_frames_mark},
    {"exceptionInfo", exception_text_clean},
};

static bool is_rewritten(const char *command)
{
    for (size_t i = 0; i < sizeof rewritten / sizeof *rewritten; i++)
        if (text_equal(command, rewritten[i].command))
            return true;
    return false;
}

/* Puts the task's name into a `threads` response; false if nothing changes. A client with many
 * tasks names their threads itself. */
static bool names_threads(const struct session *session, const char *json, size_t len,
                          const struct envelope *envelope, struct buf *out)
{
    const struct pause *pause = session_pause(session);
    const struct stop *stop = session->member.hub ? hub_last_stop(&session->member) : NULL;
    if (session->options.one_of_many || !pause || !pause->worker_id[0])
        return false;
    char *task = task_label(session->attach.thread_name, pause, session->rank, NULL);
    struct thread_names names = {
        .task = task,
        .pool = pause->actor_class ? task_label_task(pause) : NULL,
        .stopped = stop ? stop->thread : 0,
        .all = session->attach.all_threads,
    };
    bool edited = thread_names_edit(json, len, envelope, &names, out);
    free(task);
    return edited;
}

static bool rewrite(const struct session *session, const struct pending *pending, const char *json,
                    size_t len, const struct envelope *envelope, struct buf *out)
{
    if (text_equal(pending->command, "threads"))
        return names_threads(session, json, len, envelope, out);
    for (size_t i = 0; envelope->success && i < sizeof rewritten / sizeof *rewritten; i++)
        if (text_equal(pending->command, rewritten[i].command))
            return rewritten[i].rewrite(json, len, envelope, out);
    return false;
}

static void pass_response(struct session *session, const struct pending *pending, const char *json,
                          size_t len, const struct envelope *envelope)
{
    struct buf edited = {0};
    session_watch_response(session, pending, envelope);
    if (session_verbs_response(session, pending, json, envelope) ||
        remote_step_response(session, pending, json, len, envelope))
        return;
    bool rewritten_now = rewrite(session, pending, json, len, envelope, &edited);
    if (text_equal(pending->command, "stackTrace") && envelope->success)
        session_rank_ask(session, rewritten_now ? edited.data : json,
                         rewritten_now ? edited.len : len);
    if (rewritten_now)
        client_pass_edited(&session->client, &edited, pending->client.value);
    else if (!variables_response(session_variables(session), pending, json, len, envelope))
        client_pass(&session->client, json, len, envelope, pending->client.value);
    buf_free(&edited);
}

static void on_response(void *arg, const struct pending *pending, const char *json, size_t len,
                        const struct envelope *envelope)
{
    struct session *session = session_checked(arg);
    struct buf mapped = {0};
    struct envelope again;
    if (session_map_paths(session, json, len, envelope, &mapped, &again))
        pass_response(session, pending, mapped.data, mapped.len, &again);
    else
        pass_response(session, pending, json, len, envelope);
    buf_free(&mapped);
}

/* --- messages in parts --- */

/* True if lines, columns or paths in the message are translated: it must be whole. */
static bool is_translated(const struct session *session, const struct pending *pending,
                          const struct envelope *envelope)
{
    if (path_view_is_plain(&session->paths) && !line_base_differs(&session->client.base))
        return false;
    return pending ? location_members_any(DAP_RESPONSE, pending->command)
                   : location_members_any(DAP_EVENT, envelope->name);
}

static bool on_large_begin(void *arg, const struct pending *pending, const char *head,
                           size_t head_len, size_t total, const struct envelope *envelope)
{
    struct session *session = session_checked(arg);
    struct buf own = {0};
    bool ahead = pending && prefetch_is_own(pending->client.value);
    if (session->client.gone || ahead || is_translated(session, pending, envelope))
        return false;
    if (pending && variables_gather(session_variables(session), pending, head, head_len, total))
        return true;
    if (!session->ops->on_large)
        return false;
    if (pending ? is_rewritten(pending->command) ||
                      variables_collects(session_variables(session), pending, total)
                : is_hidden(session, head, envelope))
        return false;
    if (pending)
        variables_forget(session_variables(session), pending);
    splice_seq(head, head_len, envelope, ++session->client.seq, pending ? pending->client.value : 0,
               &own);
    session->ops->on_large(session->arg, total - head_len + own.len);
    session->ops->on_part(session->arg, own.data, own.len);
    client_large(&session->client, true);
    buf_free(&own);
    return true;
}

static void on_large_part(void *arg, const char *bytes, size_t len)
{
    struct session *session = session_checked(arg);
    if (!variables_part(session_variables(session), bytes, len) && !session->client.gone)
        session->ops->on_part(session->arg, bytes, len);
}

static void on_large_end(void *arg, bool whole)
{
    struct session *session = session_checked(arg);
    if (variables_part_end(session_variables(session), whole, on_response, session))
        return;
    client_large(&session->client, !whole);
    break_off(session, "the debuggee died in the middle of a large message");
}

const struct member_ops session_member_ops = {
    .on_ready = on_ready,
    .on_failed = on_failed,
    .on_event = on_event,
    .on_response = on_response,
    .large_begin = on_large_begin,
    .large_part = on_large_part,
    .large_end = on_large_end,
    .on_flow = on_flow,
    .on_note = on_note,
    .on_role = on_role,
    .on_disturbed = on_disturbed,
    .on_lost = on_lost,
    .on_silent = on_silent,
    .on_left = on_left,
};
