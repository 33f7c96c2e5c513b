/* The source of a command's list of pauses: the cluster, or a relay that knows it. */
#ifndef RAYDBG_CLI_PAUSES_PAUSE_SOURCE_H
#define RAYDBG_CLI_PAUSES_PAUSE_SOURCE_H

#include "cli/common/relay_options.h"
#include "relay/cluster/cluster.h"
#include "relay/locate/relay_address.h"

#include <stdbool.h>

struct pause_source;

/* Both borrow their arguments. */
struct pause_source *pause_source_of_cluster(struct cluster *cluster);
struct pause_source *pause_source_of_relay(struct loop *loop, const struct relay_address *relay);
/* The relay of a choice, borrowed with its loop; or a new view of its cluster, which the source
 * owns. NULL with `err` set if the view cannot be created. */
struct pause_source *pause_source_of_choice(const struct relay_choice *choice, struct err *err);
void pause_source_destroy(struct pause_source **origin); /* drops callbacks that have not run */

/* Like cluster_refresh(); one at a time. */
void pause_source_refresh(struct pause_source *origin, cluster_done_fn fn, void *arg);

/* Like cluster_rest_ms(); 0 with a relay, which takes care of that itself. */
int64_t pause_source_rest_ms(const struct pause_source *origin);

/* The results of the last refresh; valid until the next one ends. */
const struct pause_list *pause_source_pauses(const struct pause_source *origin);
const struct cluster_facts *pause_source_facts(const struct pause_source *origin);
const char *pause_source_cluster(const struct pause_source *origin); /* its address */
/* True if a task that waits has no name yet; like cluster_names_pending(). */
bool pause_source_names_pending(const struct pause_source *origin);

/* "127.0.0.1:4713"; NULL without a relay. */
const char *pause_source_relay(const struct pause_source *origin);
/* The address of the cluster or relay, for messages. */
const char *pause_source_name(const struct pause_source *origin);

#endif
