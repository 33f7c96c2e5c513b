/* `raydbg list`: what it prints, and how it goes on with --watch. */
#ifndef RAYDBG_CLI_PAUSE_WATCH_H
#define RAYDBG_CLI_PAUSE_WATCH_H

#include "base/buf.h"
#include "base/err.h"
#include "cli/origin.h"
#include "cli/pause_select.h"

enum list_format { LIST_TABLE, LIST_JSON, LIST_YAML };

struct list_request {
    struct pause_select select;
    enum list_format format;
    bool watch;
};

/* The pauses on stdout; hints, and what is said of an empty list, on stderr. */
void list_print(const struct origin *origin, const struct list_request *request);

/* Runs until SIGINT or SIGTERM: redraws on a terminal, else prints changes as JSON lines
 * {"event": "added"|"changed"|"removed", "pause": {…}}, each flushed. A pause shows within 250 ms
 * of its appearing in the GCS; slower while the cluster is slow or away, which is said once, and
 * with LIST_JSON is a line, too: those of watch_live() and watch_away(). Returns the exit code. */
int pause_watch(struct loop *loop, struct origin *origin, const struct list_request *request);

/* Appends {"event": "live", "cluster": "ADDRESS", "relay": "ADDRESS"|null}: the list is as the
 * cluster has it, or will be after the lines that follow. `relay` may be NULL. Pure. */
void watch_live(const char *cluster, const char *relay, struct buf *out);
/* Appends {"event": "away", "error": {"what", "why", "hint"}}: nothing is known of changes until
 * the next "live". Pure. */
void watch_away(const struct err *err, struct buf *out);

/* Appends a line for each difference. Pure. */
void pause_changes(const struct pause_list *before, const struct pause_list *after,
                   struct buf *out);

#endif
