/* The configuration with which a parent (child_sessions.h) has its client start a child session for
 * one pause. Pure; the caller frees the results. */
#ifndef RAYDBG_RELAY_CHILDREN_CHILD_CONFIGURATION_H
#define RAYDBG_RELAY_CHILDREN_CHILD_CONFIGURATION_H

#include "dap/scan.h"
#include "relay/pause/pause.h"

/* The members that each child's configuration begins with, from the arguments of the parent's
 * `attach`: "…,". */
char *child_configuration_common(const char *json, struct span arguments);

/* The session's name: its thread's in a session over many tasks. `format` is task_label()'s. */
char *child_configuration_name(const char *format, const struct pause *pause);

/* The arguments of startDebugging; `common` is child_configuration_common()'s. They contain the
 * ticket: wipe them before they are freed. */
char *child_configuration_start(const char *common, const char *format, const struct pause *pause,
                                const char *ticket);

#endif
