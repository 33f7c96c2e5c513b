/* The model of one Ray cluster: who is paused where. Reads the GCS or the dashboard; all callbacks
 * run on the loop's thread and never from within the call that asked. */
#ifndef RAYDBG_RELAY_CLUSTER_H
#define RAYDBG_RELAY_CLUSTER_H

#include "relay/address.h"
#include "relay/loop.h"
#include "relay/pause.h"

struct cluster;
struct source;
struct sweeper;

struct cluster_facts {
    char ray_version[32]; /* "" if unknown */
    char python_version[32];
    size_t nodes_alive;
    size_t workers_alive;
    int64_t tasks_running; /* -1 if not asked */
};

/* Loads Ray's credentials from the environment; sends nothing yet. NULL with `err` set on failure.
 */
struct cluster *cluster_create(struct loop *loop, const struct address *address, struct err *err);
void cluster_destroy(struct cluster **cluster); /* drops callbacks that have not run */

const struct address *cluster_address(const struct cluster *cluster);
/* What it asks, for others who want to ask it too; lives as long as the cluster. */
struct source *cluster_source(const struct cluster *cluster);
/* For object_sweep.h: what is under way there ends with the cluster. */
struct sweeper *cluster_sweeper(struct cluster *cluster);

/* Asks everything once. `err` NULL on success; partial knowledge (a worker that does not answer) is
 * success, with what is unknown left unknown. One refresh at a time: a second call while one runs
 * joins it. */
typedef void (*cluster_done_fn)(void *arg, const struct err *err);
void cluster_refresh(struct cluster *cluster, cluster_done_fn fn, void *arg);

/* The callbacks with this `arg` do not run any more. */
void cluster_refresh_cancel(struct cluster *cluster, const void *arg);

/* The state after the last refresh; valid until the next one ends. */
const struct pause_list *cluster_pauses(const struct cluster *cluster);
const struct cluster_facts *cluster_facts(const struct cluster *cluster);

/* How long to leave the cluster alone before the next look, as the last one was: a large cluster is
 * looked at less often, and so is one that answers slowly. */
int64_t cluster_rest_ms(const struct cluster *cluster);

/* True while a task that waits has no name yet: workers report their tasks about once a second, and
 * a pause shows before that. Ask again after some 100 ms; it passes within CLUSTER_NAMES_MS, on
 * a cluster that is busy within CLUSTER_NAMES_BUSY_MS. */
#define CLUSTER_NAMES_MS 2000
#define CLUSTER_NAMES_BUSY_MS 6000
bool cluster_names_pending(const struct cluster *cluster);

/* Asks which jobs there are, unless it was asked a second ago; cluster_job_is_over() knows it some
 * time later. */
void cluster_renew_jobs(struct cluster *cluster);
/* Whether the cluster has said that this job has ended. */
bool cluster_job_is_over(const struct cluster *cluster, const char *job_id);

/* Why a worker is no more, in one sentence: "worker pid 7 on 10.0.0.7 died: SYSTEM_ERROR: …", or
 * NULL if the cluster says it lives or knows nothing. Asks the cluster anew. */
typedef void (*cluster_fate_fn)(void *arg, const char *sentence);
void cluster_fate(struct cluster *cluster, const char *worker_id, cluster_fate_fn fn, void *arg);
/* The callbacks with this `arg` do not run any more. */
void cluster_fate_cancel(struct cluster *cluster, const void *arg);

#endif
