/* The functions of a session for its mode. */
#include "relay/session/session_mode.h"

#include "relay/session/session_state.h"

void session_close_mode(struct session *session)
{
    void *mode = session->mode;
    session->mode = NULL;
    if (mode)
        session->mode_ops->destroy(mode);
}

struct client *session_client(struct session *session)
{
    return &session->client;
}

const struct session_options *session_options(const struct session *session)
{
    return &session->options;
}

const struct attach_arguments *session_attach_arguments(const struct session *session)
{
    return &session->attach;
}

const char *session_initialize_arguments(const struct session *session)
{
    return session->initialize ? session->initialize : "";
}

enum auth_role session_role(const struct session *session)
{
    return session->role;
}

bool session_takes_role(const struct session *session)
{
    return session->takes_role;
}

bool session_starts_sessions(const struct session *session)
{
    return session->starts_sessions;
}

struct reverse_requests *session_asks(struct session *session)
{
    return &session->asks;
}

struct pause_finder *session_finder(struct session *session)
{
    return session->finder;
}

bool session_attach_is_open(const struct session *session)
{
    return session->attach_request.open;
}

void session_send_initialized(struct session *session)
{
    session->initialized = true;
    client_event(&session->client, "initialized", NULL);
    session_hand_on_held(session);
}

void session_attach_succeeded(struct session *session)
{
    client_respond(&session->client, open_request_close(&session->attach_request), "attach", NULL);
}

void session_forget_bearer(struct session *child)
{
    child->bearer = NULL;
    child->admitted = NULL;
}
