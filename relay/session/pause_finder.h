/* Finds the one pause that an `attach` names. */
#ifndef RAYDBG_RELAY_SESSION_PAUSE_FINDER_H
#define RAYDBG_RELAY_SESSION_PAUSE_FINDER_H

#include "relay/cluster/cluster.h"
#include "relay/session/attach_arguments.h"
#include "relay/session/session.h"

struct pause_finder;

/* Exactly one of `err` and `pause` is set; `pause` is borrowed for the call. May run from within
 * pause_finder_find(). */
typedef void (*pause_finder_fn)(void *arg, const struct err *err, const struct pause *pause);

struct pause_finder *pause_finder_create(const struct session_options *options);
void pause_finder_destroy(struct pause_finder **finder);

/* One search at a time. `arguments` is borrowed until fn has run. */
void pause_finder_find(struct pause_finder *finder, const struct attach_arguments *arguments,
                       pause_finder_fn fn, void *arg);
/* fn does not run after this. */
void pause_finder_cancel(struct pause_finder *finder);

/* The options' cluster, else that of the last search; NULL if there is neither. */
struct cluster *pause_finder_cluster(const struct pause_finder *finder);

/* The cluster of this attach, for a search for more than one pause; NULL with `err` set. */
struct cluster *pause_finder_use_cluster(struct pause_finder *finder,
                                         const struct attach_arguments *arguments, struct err *err);

/* The one pause that `task` names (NULL: the only one that waits or is held), or an error that
 * lists the candidates. */
int pause_finder_choose(const struct pause_list *list, const char *task,
                        const struct cluster_address *address, const struct pause **out,
                        struct err *err);

#endif
