/* The log that a relay leaves to the next one for one debuggee, in the keeper's shared memory: a
 * run of records, first a whole snapshot, then the changes since. A change costs only its own
 * length. Pure. */
#ifndef RAYDBG_RELAY_HUB_HUB_LOG_H
#define RAYDBG_RELAY_HUB_HUB_LOG_H

#include "base/buf.h"
#include "dap/scan.h"
#include "relay/hub/hub_snapshot.h"

/* Appends the whole snapshot, with its `clearing`. */
void hub_log_whole(const struct hub_snapshot *snapshot, struct buf *out);
/* Appends the snapshot without `clearing`, which stays as it was. */
void hub_log_news(const struct hub_snapshot *snapshot, struct buf *out);
/* Appends more elements of `clearing`: `json` has them with commas between. */
void hub_log_sets(const char *json, size_t len, struct buf *out);
/* Appends a request, head and body, that may be sent in part. It begins at byte `at` of all that is
 * sent on the connection (socket_written()). */
void hub_log_request(int64_t at, const char *head, size_t head_len, const char *body,
                     size_t body_len, struct buf *out);

/* Appends the bytes of target_unread(), in place of those that were appended before. */
void hub_log_unread(const char *bytes, size_t len, struct buf *out);

struct hub_log {
    struct hub_snapshot snapshot;
    struct buf unread;   /* the latest of hub_log_unread() */
    struct buf requests; /* the records of hub_log_request(), one after the other */
    /* Set by hub_log_rest(): what is unsent of a request and of those behind it, and the span of
     * their records in `requests`. */
    struct buf rest;
    struct span records;
};

/* False (and nothing to clear) if the bytes are no log, or one of an unknown version. */
bool hub_log_read(struct hub_log *out, const char *bytes, size_t len);
void hub_log_clear(struct hub_log *log);

/* Finds `rest` and `records` on a connection that has sent `written` bytes; both are empty if
 * everything was sent. The earlier relay's snapshot has the effects of all requests, also of those
 * that had not begun to leave: a thread that one of them resumes is running there. False if the
 * bytes end in a request that is not among `requests`. */
bool hub_log_rest(struct hub_log *log, int64_t written);

#endif
