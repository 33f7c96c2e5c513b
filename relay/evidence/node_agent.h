/* Finds the address of a node's agent (proto/agent_client.h). Callbacks run on the loop's thread;
 * if the node's row has the port, from within the call. */
#ifndef RAYDBG_RELAY_EVIDENCE_NODE_AGENT_H
#define RAYDBG_RELAY_EVIDENCE_NODE_AGENT_H

#include "proto/agent_client.h"
#include "proto/records.h"
#include "relay/cluster/cluster.h"

struct node_agent;

/* `address` is "HOST:PORT", and borrowed. `err` if the node is dead, or if the cluster has no
 * address of an agent. */
typedef void (*node_agent_fn)(void *arg, const struct err *err, const char *address);
/* `purpose` is what the agent is wanted for, "its logs",
 * for messages; static. Returns the search,
 * NULL if `fn` has run. */
struct node_agent *node_agent_find(struct cluster *cluster, const struct ray_node *node,
                                   const char *purpose, node_agent_fn fn, void *arg);
/* `fn` does not run. Not after it has. */
void node_agent_cancel(struct node_agent **agent);

#endif
