/* Finds the keeper behind a path, or starts one; for relay/keeper/keeper*.c only. */
#ifndef RAYDBG_RELAY_KEEPER_KEEPER_FIND_H
#define RAYDBG_RELAY_KEEPER_KEEPER_FIND_H

#include "base/err.h"

/* Returns a blocking socket to this user's keeper at `path`, or -1 with `err` set. Creates the
 * directory (0700) if it does not exist; no other user may have access to it. Replaces a dead
 * keeper's socket file. Relays that start at once get the same keeper (`path`.lock). */
int keeper_find(const char *path, struct err *err);

#endif
