/* Finds the cluster's address where a user, or Ray itself, gives it (docs/facts/ray.md#7). */
#ifndef RAYDBG_RELAY_CLUSTER_CLUSTER_ADDRESS_H
#define RAYDBG_RELAY_CLUSTER_CLUSTER_ADDRESS_H

#include "base/err.h"

#include <stdbool.h>

enum cluster_address_kind { CLUSTER_ADDRESS_GCS, CLUSTER_ADDRESS_DASHBOARD };

struct cluster_address {
    enum cluster_address_kind kind;
    char text[512];   /* "HOST:PORT", or "http://HOST:PORT" for a dashboard, normalised */
    char source[512]; /* where it came from, for messages: "--address", "RAY_ADDRESS", a file */
};

/* `given` is the value of --address or of an attach argument, or NULL. Order: given > RAY_ADDRESS >
 * RAY_API_SERVER_ADDRESS > ray_current_cluster > raylets in /proc. A value that is set but invalid
 * is an error; the search does not go on. "auto" skips to the file. The error for ray:// says what
 * to give instead. */
int cluster_address_find(struct cluster_address *address, const char *given, struct err *err);

/* Only the last step: the GCS that the raylets of this machine serve, read from the command lines
 * in `proc` ("/proc"). Raylets of several clusters are an error that lists them. */
int cluster_address_from_raylets(struct cluster_address *address, const char *proc,
                                 struct err *err);

#endif
