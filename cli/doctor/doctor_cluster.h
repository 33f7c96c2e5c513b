/* Asks the cluster from here: the GCS or the dashboard, its nodes, its debuggers. */
#ifndef RAYDBG_CLI_DOCTOR_DOCTOR_CLUSTER_H
#define RAYDBG_CLI_DOCTOR_DOCTOR_CLUSTER_H

#include "cli/doctor/doctor_queries.h"

struct doctor_query;

/* Sends all queries to facts->cluster.address. `token` is the one for a relay, or NULL; borrowed.
 * Returns NULL if the credentials are invalid, and notes that. */
struct doctor_query *doctor_query_start(struct doctor_queries *queries, const char *token);
/* Points to true once the cluster has named its relays, or has failed to. */
const bool *doctor_query_relays_known(const struct doctor_query *query);
void doctor_query_stop(struct doctor_query **query);

#endif
