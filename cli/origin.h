/* Where a command's list of pauses comes from: the cluster, or a relay that knows it. */
#ifndef RAYDBG_CLI_ORIGIN_H
#define RAYDBG_CLI_ORIGIN_H

#include "relay/cluster.h"
#include "relay/relay_address.h"

#include <stdbool.h>

struct origin;

/* Both borrow what they get. */
struct origin *origin_of_cluster(struct cluster *cluster);
struct origin *origin_of_relay(struct loop *loop, const struct relay_address *relay);
void origin_destroy(struct origin **origin); /* drops callbacks that have not run */

/* As cluster_refresh(), one at a time. */
void origin_refresh(struct origin *origin, cluster_done_fn fn, void *arg);

/* As cluster_rest_ms(); 0 of a relay, which sees to that itself. */
int64_t origin_rest_ms(const struct origin *origin);

/* After the last refresh; valid until the next one ends. */
const struct pause_list *origin_pauses(const struct origin *origin);
const struct cluster_facts *origin_facts(const struct origin *origin);
const char *origin_cluster(const struct origin *origin); /* its address */
/* A task waits whose name is still to come; as cluster_names_pending(). */
bool origin_names_pending(const struct origin *origin);

/* "127.0.0.1:4713"; NULL: the cluster was asked itself. */
const char *origin_relay(const struct origin *origin);
/* Who was asked, for messages. */
const char *origin_name(const struct origin *origin);

#endif
