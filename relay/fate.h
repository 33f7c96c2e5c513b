/* Why a worker is no more: the cluster is asked until it knows. */
#ifndef RAYDBG_RELAY_FATE_H
#define RAYDBG_RELAY_FATE_H

#include "relay/cluster.h"

struct fate;

/* One sentence, borrowed for the call: what the cluster says, or that it does not know. Runs once,
 * on the loop's thread, perhaps from within fate_ask(); not after fate_cancel(). */
typedef void (*fate_fn)(void *arg, const char *sentence);

/* `cluster` may be NULL (a direct connection), `worker_id` "". The raylet notices a death within
 * some ms, the GCS a little later: it is asked for about 2 s. */
struct fate *fate_ask(struct loop *loop, struct cluster *cluster, const char *worker_id, fate_fn fn,
                      void *arg);
void fate_cancel(struct fate **fate);

#endif
