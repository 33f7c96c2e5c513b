/* The modes of a session that serves a DAP client: one session over many tasks (many.h), or one
 * that starts a session for each (child_sessions.h), as its `attach` asks. */
#ifndef RAYDBG_RELAY_CHILDREN_CLIENT_MODES_H
#define RAYDBG_RELAY_CHILDREN_CLIENT_MODES_H

#include "relay/session/session_mode.h"

/* For session_options.modes. */
extern const struct session_modes client_session_modes;

#endif
