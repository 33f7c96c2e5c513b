/* What the cluster says, asked from here: the GCS or the dashboard, its nodes, its debuggers. */
#ifndef RAYDBG_CLI_DOCTOR_CLUSTER_H
#define RAYDBG_CLI_DOCTOR_CLUSTER_H

#include "cli/doctor_asking.h"

struct doctor_inquiry;

/* Asks everything of facts->cluster.place. `token` is what a relay would be shown, or NULL;
 * borrowed. NULL if the credentials make no sense, which is noted. */
struct doctor_inquiry *doctor_inquiry_start(struct doctor_asking *asking, const char *token);
/* Whether the cluster has said which relays it knows, or will not. */
const bool *doctor_inquiry_relays_known(const struct doctor_inquiry *inquiry);
void doctor_inquiry_stop(struct doctor_inquiry **inquiry);

#endif
