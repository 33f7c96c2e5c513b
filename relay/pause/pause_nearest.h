/* Guesses the pause that the user meant by a name that no pause has. Pure. */
#ifndef RAYDBG_RELAY_PAUSE_PAUSE_NEAREST_H
#define RAYDBG_RELAY_PAUSE_PAUSE_NEAREST_H

#include "base/err.h"
#include "relay/pause/pause.h"

/* The pause's index in the list, or SIZE_MAX if no name of a task, an actor or a class is near.
 * Sets `*name` to the nearest name (borrowed from the list). Idle workers do not count. */
size_t pause_nearest(const struct pause_list *list, const char *task, const char **name);

/* Sets "no paused task is called 'squre'; did you mean square (c2668a)?", with the names of the
 * paused tasks. Returns -1. */
int pause_unknown(const struct pause_list *list, const char *task, struct err *err);

#endif
