/* Whether a pause's debugger can be connected to from here, as far as that is known without trying.
 */
#ifndef RAYDBG_RELAY_REACH_H
#define RAYDBG_RELAY_REACH_H

#include "relay/pause.h"

/* -1 with `err` for Ray's pdb on another node's localhost: a try could reach somebody else here,
 * and Ray's pdb takes no second one. 0 otherwise. */
int reach_check(const struct pause *pause, struct err *err);

#endif
