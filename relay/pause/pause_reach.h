/* Checks if a pause's debugger can be reached from here, as far as that is known without a
 * connection. */
#ifndef RAYDBG_RELAY_PAUSE_PAUSE_REACH_H
#define RAYDBG_RELAY_PAUSE_PAUSE_REACH_H

#include "relay/pause/pause.h"

/* -1 with `err` for Ray's pdb on another node's localhost: a connection could reach another process
 * here, and Ray's pdb accepts only one. 0 otherwise. */
int pause_reach_check(const struct pause *pause, struct err *err);

#endif
