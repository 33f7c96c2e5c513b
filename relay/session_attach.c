/* A session's way from `initialize` to `configurationDone`. */
#include "relay/multi.h"
#include "relay/parent.h"
#include "relay/session_cluster_objects.h"
#include "relay/session_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/capabilities.h"
#include "relay/intern.h"
#include "relay/reach.h"

#include <stdlib.h>
#include <string.h>

static void read_client(struct session *session)
{
    static const char *const members[] = {"clientName", "clientID"};
    struct span all = {0, strlen(session->initialize)}, value;
    for (size_t i = 0; i < sizeof members / sizeof *members && !session->client_name; i++)
        if (scan_find(session->initialize, all, members[i], &value))
            session->client_name = scan_string(session->initialize, value);
    if (scan_find(session->initialize, all, "supportsInvalidatedEvent", &value))
        scan_boolean(session->initialize, value, &session->takes_invalidated);
    if (scan_find(session->initialize, all, "supportsStartDebuggingRequest", &value))
        scan_boolean(session->initialize, value, &session->starts_sessions);
}

void session_on_initialize(struct session *session, const char *json,
                           const struct envelope *envelope)
{
    if (session->initialized) {
        client_refuse(&session->client, envelope->seq, "initialize",
                      "the session is already initialized", false);
        return;
    }
    session->initialized = true;
    session->initialize = mem_string_n(json + envelope->arguments.at, envelope->arguments.len);
    session->initialize_words = intern_get(session->initialize, strlen(session->initialize));
    if (envelope->arguments.len)
        read_client(session);
    client_respond(&session->client, envelope->seq, "initialize", capabilities_default());
}

static struct hub *open_own(struct session *session, const struct target_options *target)
{
    static const struct hub_ops nobody;
    struct hub_options options = {.target = *target,
                                  .pause = &session->pause,
                                  .hold = HUB_NEVER,
                                  .cluster = finder_cluster(session->finder)};
    options.target.loop = session->options.loop;
    options.target.host = session->pause.host;
    options.target.port = session->pause.port;
    hub_destroy(&session->own);
    session->own = hub_open(&options, &nobody, NULL);
    return session->own;
}

static void join(struct session *session)
{
    struct span arguments = {0, strlen(session->initialize)};
    char *initialize =
        initialize_arguments(session->initialize, arguments, session->attach.sub_process);
    struct target_options target = {
        .initialize = initialize,
        .attach = session->attach.upstream,
        .pdb = session->pause.debugger == PAUSE_PDB,
        .tune = session->options.tune && !session->attach.no_tune,
        .sub_process = session->attach.sub_process,
    };
    struct hub *hub = session->options.hubs
                          ? hubs_get(session->options.hubs, &session->pause, &target)
                          : open_own(session, &target);
    char *name = mem_format("%s @ %s", session->client_name ? session->client_name : "a client",
                            session->options.peer ? session->options.peer : "here");
    struct member_wish wish = {
        .name = name,
        .may_drive = !session->options.hubs || session->role == AUTH_DRIVER,
        .observe = session->attach.observe,
        .take_over = session->attach.take_over && session->role == AUTH_DRIVER,
        .sparing = session->options.one_of_many,
    };
    session_act(session, wish.take_over ? "take-over" : "attach", "");
    hub_join(hub, &session->place, &session_member_ops, session, &wish);
    if (session->halted && hub_drives(&session->place))
        hub_read_enable(hub, false);
    free(name);
    free(initialize);
}

static void on_found(void *arg, const struct err *err, const struct pause *pause)
{
    struct session *session = arg;
    if (!session->attach_seq)
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

/* False, and the session over if nothing else says who its client is. */
static bool admit(struct session *session)
{
    struct err err;
    bool stranger = session->role == AUTH_NONE;
    if (parent_admit(session, &err) == 0) {
        tell_role(session);
        return true;
    }
    session_act(session, "refused", "a ticket that is not good");
    session_fail_attach(session, &err);
    if (stranger)
        session_end(session);
    return false;
}

/* False, and the session over, if the client may not attach. */
static bool authenticate(struct session *session)
{
    struct err err;
    if (session->attach.ticket)
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

/* What a relay's client may not say. */
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

/* Says so if it cannot. */
static bool starts_children(struct session *session)
{
    const char *why = NULL;
    if (!session->attach.sessions || !attach_arguments_many(&session->attach))
        return false;
    if (!(why = parent_obstacle(session)))
        return true;
    char *text = mem_format("raydbg: the tasks are shown as threads of one session: %s\n", why);
    client_say(&session->client, "console", text);
    free(text);
    return false;
}

static void on_ticket(struct session *session)
{
    struct err err;
    const struct pause *pause = birth_pause(session->birth);
    if (reach_check(pause, &err) == 0)
        on_found(session, NULL, pause);
    else
        on_found(session, &err, NULL);
}

static bool is_about_many(const struct session *session)
{
    return attach_arguments_many(&session->attach) && !session->options.pause &&
           !session->options.connect;
}

void session_on_attach(struct session *session, const char *json, const struct envelope *envelope)
{
    struct err err;
    if (session->multi && multi_is_over(session->multi))
        multi_destroy(&session->multi);
    if (session->place.hub || session->attach_seq || session->parent || session->multi) {
        client_refuse(&session->client, envelope->seq, "attach", "the session is already attached",
                      false);
        return;
    }
    session->attach_seq = envelope->seq;
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
    hub_destroy(&session->own); /* of an attach that failed: it knows the cluster of then */
    session_cluster_objects_drop(session, "the session attaches");
    if (starts_children(session))
        session->parent = parent_open(session, json, envelope);
    else if (is_about_many(session))
        session->multi = multi_open(session);
    else if (session->birth)
        on_ticket(session);
    else
        finder_find(session->finder, &session->attach, on_found, session);
}

void session_on_configuration_done(struct session *session, const char *json,
                                   const struct envelope *envelope)
{
    (void)json;
    if (!session_attached(session) || !hub_wants_configuration(&session->place)) {
        client_refuse(
            &session->client, envelope->seq, "configurationDone",
            "configurationDone is only allowed after an attach and its 'initialized' event", false);
        return;
    }
    client_respond(&session->client, envelope->seq, "configurationDone", NULL);
    client_respond(&session->client, session->attach_seq, "attach", NULL);
    session->attach_seq = 0;
    hub_configure(&session->place);
}
