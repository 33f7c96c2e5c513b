/* The model of one Ray cluster: which workers are paused, and where. Reads the GCS or the
 * dashboard. All callbacks run on the loop's thread, and never from within a call. */
#ifndef RAYDBG_RELAY_CLUSTER_CLUSTER_H
#define RAYDBG_RELAY_CLUSTER_CLUSTER_H

#include "relay/cluster/cluster_address.h"
#include "relay/cluster/cluster_view.h"
#include "relay/io/loop.h"
#include "relay/pause/pause.h"

struct cluster;
struct ray_source;

struct cluster_facts {
    char ray_version[32]; /* "" if unknown */
    char python_version[32];
    size_t nodes_alive;
    size_t workers_alive;
    int64_t tasks_running; /* -1 if not asked */
};

/* Loads Ray's credentials from the environment; sends nothing yet. NULL with `err` set on failure.
 */
struct cluster *cluster_create(struct loop *loop, const struct cluster_address *address,
                               struct err *err);
void cluster_destroy(struct cluster **cluster); /* drops callbacks that have not run */

const struct cluster_address *cluster_address(const struct cluster *cluster);
/* The source of the cluster's records, for callers that ask it directly; lives as long as the
 * cluster. */
struct ray_source *cluster_source(const struct cluster *cluster);
struct loop *cluster_loop(const struct cluster *cluster);

/* An object that a higher room keeps for each cluster; it is destroyed with the cluster. */
struct cluster_part {
    struct cluster_part *next;
    const void *kind; /* an address that only this kind of part has */
    /* Called after the source is destroyed, which drops its callbacks; the last part added is
     * destroyed first. */
    void (*destroy)(struct cluster_part *part);
};
/* The cluster takes over `part`. */
void cluster_add_part(struct cluster *cluster, struct cluster_part *part);
struct cluster_part *cluster_find_part(const struct cluster *cluster,
                                       const void *kind); /* or NULL */

/* Refreshes the model once. `err` is NULL on success. A worker that does not answer is no error:
 * what it runs stays unknown. Only one refresh runs at a time: a call during it joins it. */
typedef void (*cluster_done_fn)(void *arg, const struct err *err);
void cluster_refresh(struct cluster *cluster, cluster_done_fn fn, void *arg);

/* Cancels the callbacks with this `arg`. */
void cluster_refresh_cancel(struct cluster *cluster, const void *arg);

/* The state after the last refresh; valid until the next one ends. */
const struct pause_list *cluster_pauses(const struct cluster *cluster);
const struct cluster_facts *cluster_facts(const struct cluster *cluster);

/* The number of live nodes whose address is none of this host's; `*first` is the address of one,
 * valid until the next refresh, or NULL. */
size_t cluster_nodes_away(const struct cluster *cluster, const char **first);
/* The address of a live node on this host, not a loopback one if there is another; NULL: there is
 * no node here. Valid until the next refresh. */
const char *cluster_node_here(const struct cluster *cluster);

/* How long to wait before the next refresh, after the last one. A large cluster, or one that
 * answers slowly, is refreshed less often. */
int64_t cluster_rest_ms(const struct cluster *cluster);

/* True while a paused task has no name: workers report their tasks about once a second, and a pause
 * shows before that. Refresh again after some 100 ms; the name comes within CLUSTER_NAMES_MS, on a
 * busy cluster within CLUSTER_NAMES_BUSY_MS. */
#define CLUSTER_NAMES_MS 2000
#define CLUSTER_NAMES_BUSY_MS 6000
bool cluster_names_pending(const struct cluster *cluster);

/* Asks for the jobs, unless it did so less than a second ago; the answer reaches
 * cluster_job_is_over() later. */
void cluster_renew_jobs(struct cluster *cluster);
/* True if the cluster has reported that this job has ended. */
bool cluster_job_is_over(const struct cluster *cluster, const char *job_id);

/* True if the cluster has reported that this worker is a driver. */
bool cluster_is_driver(const struct cluster *cluster, const char *worker_id);

/* Asks the cluster anew for a worker's death cause. `sentence` says that the worker or its node has
 * ended ("worker pid 7 on 10.0.0.7 died: SYSTEM_ERROR: …"). With DEATH_UNKNOWN it says what is
 * known instead: the cluster does not answer, the worker's raylet does not, or the worker lives.
 * The raylet is asked only if `thorough`. */
typedef void (*cluster_death_cause_fn)(void *arg, enum death_kind kind, const char *sentence);
void cluster_death_cause(struct cluster *cluster, const char *worker_id, bool thorough,
                         cluster_death_cause_fn fn, void *arg);
/* Cancels the callbacks with this `arg`. */
void cluster_death_cause_cancel(struct cluster *cluster, const void *arg);

#endif
