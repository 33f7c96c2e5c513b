/* From the words of an `attach` to the one pause that they name. */
#ifndef RAYDBG_RELAY_FINDER_H
#define RAYDBG_RELAY_FINDER_H

#include "relay/attach_arguments.h"
#include "relay/cluster.h"
#include "relay/session.h"

struct finder;

/* `pause` is borrowed for the call; exactly one of the two is set. May run from within
 * finder_find(). */
typedef void (*finder_fn)(void *arg, const struct err *err, const struct pause *pause);

struct finder *finder_create(const struct session_options *options);
void finder_destroy(struct finder **finder);

/* One search at a time. `arguments` is borrowed until fn has run. */
void finder_find(struct finder *finder, const struct attach_arguments *arguments, finder_fn fn,
                 void *arg);
/* fn does not run any more. */
void finder_cancel(struct finder *finder);

/* The cluster of the last search; NULL before, and for a direct connection. */
struct cluster *finder_cluster(const struct finder *finder);

/* The cluster of this attach, for who looks for more than one pause; NULL with `err` set. */
struct cluster *finder_use_cluster(struct finder *finder, const struct attach_arguments *arguments,
                                   struct err *err);

/* The one pause that `task` names (NULL: the only one there is), or an error with the candidates.
 */
int finder_choose(const struct pause_list *list, const char *task, const struct address *address,
                  const struct pause **out, struct err *err);

#endif
