/* Finds the keeper behind a path, or starts one; for relay/keeper*.c alone. */
#ifndef RAYDBG_RELAY_KEEPER_FIND_H
#define RAYDBG_RELAY_KEEPER_FIND_H

#include "base/err.h"

/* A blocking socket to the keeper of this user at `path`; -1 with `err` set. Its directory is made
 * (0700) if it is not there, and must be the user's alone. A dead keeper's socket file is replaced.
 * Relays that start at once get the same keeper (`path`.lock). */
int keeper_find(const char *path, struct err *err);

#endif
