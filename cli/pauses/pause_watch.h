/* `raydbg list --watch`. */
#ifndef RAYDBG_CLI_PAUSES_PAUSE_WATCH_H
#define RAYDBG_CLI_PAUSES_PAUSE_WATCH_H

#include "base/buf.h"
#include "base/err.h"
#include "cli/common/relay_options.h"
#include "cli/pauses/list_output.h"

/* Runs until SIGINT or SIGTERM: redraws on a terminal, else prints changes as JSON lines {"event":
 * "added"|"changed"|"removed", "pause": {…}}, each flushed. A pause shows within 250 ms of its
 * appearance in the GCS, later while the cluster is slow or away. It reports once that the cluster
 * is away, with LIST_JSON also by the lines of watch_live() and watch_away().
 * When a relay that was found (not given) ends, it asks the next relay or the cluster itself; when
 * a relay starts, it asks that from then on, and replaces `choice`. `choice` is from relay_choose()
 * with the same wish and --address (`given`); the caller clears it. Both signals are blocked.
 * Returns the exit code. */
int pause_watch(struct relay_choice *choice, const struct relay_wish *wish, const char *given,
                const struct list_request *request);

/* Appends {"event": "live", "cluster": "ADDRESS", "relay": "ADDRESS"|null}: the list is the
 * cluster's, or will be after the lines that follow. Repeated when another relay, or none, is
 * asked. `relay` may be NULL. Pure. */
void watch_live(const char *cluster, const char *relay, struct buf *out);
/* Appends {"event": "away", "error": {"what", "why", "hint"}}: changes are unknown until the next
 * "live". Pure. */
void watch_away(const struct err *err, struct buf *out);

/* Appends a line for each difference. Pure. */
void pause_changes(const struct pause_list *before, const struct pause_list *after,
                   struct buf *out);

#endif
