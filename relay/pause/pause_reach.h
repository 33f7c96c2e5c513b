/* Checks if a pause's debugger can be reached from here, as far as that is known without a
 * connection. */
#ifndef RAYDBG_RELAY_PAUSE_PAUSE_REACH_H
#define RAYDBG_RELAY_PAUSE_PAUSE_REACH_H

#include "relay/pause/pause.h"

#include <stdbool.h>

/* -1 with `err` for Ray's pdb on another node's localhost: a connection could reach another process
 * here, and Ray's pdb accepts only one. 0 otherwise. */
int pause_reach_check(const struct pause *pause, struct err *err);

/* True if a check that has failed may soon not fail: the pause is new, and Ray <= 2.34 registers a
 * pdb before it listens. False at the latest 10 s after the registration. Does not check again: the
 * pdb may listen by now. */
bool pause_reach_is_early(const struct pause *pause);

#endif
