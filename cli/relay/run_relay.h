/* The relay that the processes of `raydbg run` and `raydbg env` dial, and what makes them trust it.
 */
#ifndef RAYDBG_CLI_RELAY_RUN_RELAY_H
#define RAYDBG_CLI_RELAY_RUN_RELAY_H

#include "cli/common/relay_options.h"
#include "relay/locate/relay_dial.h"
#include "relay/worker_agent/agent_files.h"

/* How long a relay that was started stays without use, for the processes of `raydbg run`. */
#define RUN_RELAY_IDLE "10s"

struct run_relay {
    struct relay_choice choice;
    struct relay_dial dial; /* where the agents find it */
};

/* Chooses the relay of the cluster at `address` (--address, or NULL), or starts one, which stays
 * for `idle` without use. An error if the agents could not dial it. The caller clears
 * `out->choice`, also after an error. Runs the loop. */
int run_relay_find(struct run_relay *out, const struct relay_wish *wish, const char *address,
                   const char *idle, struct err *err);

/* The configuration of agents with this key id; borrows both. */
struct agent_files_config run_relay_config(const struct run_relay *relay, const char *key_id);
/* Wipes and frees the key. */
void run_relay_forget(struct agent_files_config *config);

#endif
