#include "relay/children/client_modes.h"

#include "base/mem.h"
#include "relay/children/child_sessions.h"
#include "relay/many/many.h"
#include "relay/many_verbs/many_verbs.h"

#include <stdlib.h>

/* True if the attach gets child sessions. If it asks in vain, the client is told why. */
static bool starts_children(struct session *session)
{
    const struct attach_arguments *attach = session_attach_arguments(session);
    const char *why = NULL;
    if (!attach->sessions || !attach_arguments_many(attach))
        return false;
    if (!(why = child_sessions_obstacle(session)))
        return true;
    char *text = mem_format("raydbg: the tasks are shown as threads of one session: %s\n", why);
    client_say(session_client(session), "console", text);
    free(text);
    return false;
}

static bool is_about_many(const struct session *session)
{
    const struct session_options *options = session_options(session);
    return attach_arguments_many(session_attach_arguments(session)) && !options->pause &&
           !options->connect;
}

static void *open_mode(struct session *session, const char *json, const struct envelope *attach,
                       const struct session_mode_ops **ops)
{
    if (starts_children(session)) {
        *ops = &child_sessions_mode_ops;
        return child_sessions_open(session, json, attach);
    }
    if (!is_about_many(session))
        return NULL;
    *ops = &many_mode_ops;
    return many_open(session, &many_verbs_hooks);
}

const struct session_modes client_session_modes = {.open = open_mode};
