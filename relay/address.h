/* Where the cluster is: the ways a user, or Ray itself, says it (ray-facts.md 7). */
#ifndef RAYDBG_RELAY_ADDRESS_H
#define RAYDBG_RELAY_ADDRESS_H

#include "base/err.h"

#include <stdbool.h>

enum address_kind { ADDRESS_GCS, ADDRESS_DASHBOARD };

struct address {
    enum address_kind kind;
    char text[512];   /* "HOST:PORT", or "http://HOST:PORT" for a dashboard, normalised */
    char source[512]; /* where it came from, for messages: "--address", "RAY_ADDRESS", a file */
};

/* `given` is --address's or an attach argument's value, or NULL. Order: given > RAY_ADDRESS >
 * RAY_API_SERVER_ADDRESS > ray_current_cluster > raylets in /proc. What was set on purpose is never
 * passed over: if it makes no sense, that is the error. "auto" skips to the file. ray:// is refused
 * with what to give instead. */
int address_find(struct address *address, const char *given, struct err *err);

/* The last step alone: the GCS that the raylets of this machine serve, read from the command lines
 * in `proc` ("/proc"). Raylets of several clusters are an error that lists them. */
int address_from_raylets(struct address *address, const char *proc, struct err *err);

#endif
