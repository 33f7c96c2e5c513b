/* The log files of a cluster's nodes, through the agents. Callbacks run on the loop's thread. */
#ifndef RAYDBG_RELAY_EVIDENCE_NODE_LOG_H
#define RAYDBG_RELAY_EVIDENCE_NODE_LOG_H

#include "proto/agent_client.h"
#include "relay/cluster/cluster.h"

struct ray_node;
struct node_logs;

/* `cluster` is borrowed, and must have a GCS. */
struct node_logs *node_logs_create(struct cluster *cluster);
void node_logs_destroy(struct node_logs **logs); /* cancels everything */

/* Lists the files of a node that match `glob`. `node` is borrowed for the call. An error if the
 * node is dead, or its agent is not known or does not answer. May run `fn` from within the call. */
void node_logs_list(struct node_logs *logs, const struct ray_node *node, const char *glob,
                    agent_list_fn fn, void *arg);

/* Where Ray's log monitor moves the output of a process that has ended, when more than 200 files of
 * the node are open (docs/facts/ray.md#10.18). */
#define NODE_LOG_MOVED "old/"

/* Reads a part of a file, wherever Ray has moved it. The handle is valid until `end`; NULL if that
 * has run from within the call. */
struct node_log;
struct node_log *node_logs_read(struct node_logs *logs, const struct ray_node *node,
                                const struct agent_log_part *part,
                                const struct agent_log_calls *calls, void *arg);
void node_log_cancel(struct node_log **log);

#endif
