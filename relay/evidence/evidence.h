/* One look at a cluster for relay/why. Callbacks run on the loop's thread, never from within
 * evidence_ask(). */
#ifndef RAYDBG_RELAY_EVIDENCE_EVIDENCE_H
#define RAYDBG_RELAY_EVIDENCE_EVIDENCE_H

#include "relay/cluster/cluster.h"
#include "relay/pause/pause.h"
#include "relay/why/why_judge.h"

struct evidence;

struct evidence_query {
    const char *name;                /* of the subject; NULL: the whole cluster. Copied */
    int64_t within_ms;               /* without a name: failures of the last so many ms */
    bool tables_only;                /* neither last words nor references */
    const struct pause_list *pauses; /* that a relay knows, with who has them; or NULL. Copied */
    const char *relay;               /* its name, "127.0.0.1:4713"; NULL: their drivers have them */
    bool looks_twice;                /* at what may be a deadlock: that takes 1.5 s more */
    bool timing;                     /* attempts with ray_attempt.timing */
};

/* `err` if the cluster does not answer, or if nothing has the name. `records`, and `subject` (NULL
 * without a name), are valid until the evidence is freed. */
typedef void (*evidence_fn)(void *arg, const struct err *err, const struct why_records *records,
                            const struct why_subject *subject);
/* NULL with `err` set if the cluster is a dashboard: it does not have these records. */
struct evidence *evidence_ask(struct cluster *cluster, const struct evidence_query *query,
                              evidence_fn fn, void *arg, struct err *err);
/* The callback does not run after it. */
void evidence_free(struct evidence **evidence);

#endif
