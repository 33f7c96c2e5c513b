/* The keeper: a small process that outlives the relay and holds what must not be closed, the
 * connections to the debuggees, with a snapshot of what the relay knew of each.
 *
 * It is forked before threads and grpc start, detached (setsid, no terminal, cwd /), and listens on
 * a unix socket (0600, in a 0700 directory) where the next relay finds it. Descriptors travel by
 * SCM_RIGHTS; a snapshot lives in a memfd that the relay writes in place, in two halves with a
 * sequence number and a checksum each, so that a relay killed in mid-write leaves the older one. */
#ifndef RAYDBG_RELAY_KEEPER_H
#define RAYDBG_RELAY_KEEPER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keeper; /* the relay's end */
struct kept;   /* one connection in its keeping */

/* Finds the keeper behind the socket `path`, or forks a new one. `orphan_ms`: how long it waits for
 * the next relay before it closes everything and ends (a warning goes to its log, `path`.log).
 * `pid` of the relay that it serves is noted: a second relay is refused (ERR_FAILED, "a relay runs
 * already, pid N: use --upgrade"), unless `upgrade`: the old one gets SIGTERM and up to 10 s to go.
 * So is a keeper of another version: nothing is closed. Raises the soft limit of open files to the
 * hard one. Call before any thread is started. */
struct keeper *keeper_start(const char *path, int64_t orphan_ms, bool upgrade, struct err *err);
/* The relay ends in order. The keeper ends too if it holds nothing, else it waits for the next
 * relay. The number it holds is returned. */
size_t keeper_leave(struct keeper **keeper);

/* What an earlier relay has left behind: called once per connection, on the caller's stack. `fd`
 * and `snapshot` (borrowed) are what keeper_put() got last; the callee owns `fd` and goes on with
 * `kept`. `fd` is at its end or broken if the peer has gone meanwhile; `len` is 0 if the relay was
 * killed before its first kept_snapshot(). */
typedef void (*keeper_found_fn)(void *arg, struct kept *kept, int fd, const char *snapshot,
                                size_t len);
void keeper_take_over(struct keeper *keeper, keeper_found_fn fn, void *arg);

/* Puts a duplicate of `fd` in its keeping. NULL (and a log line) if the keeper does not answer: the
 * relay goes on without. */
struct kept *keeper_put(struct keeper *keeper, int fd);
/* Replaces the snapshot, some µs: a copy into shared memory, no system call but when it grows. */
void kept_snapshot(struct kept *kept, const char *bytes, size_t len);
/* The keeper closes its duplicate. */
void kept_drop(struct kept **kept);

/* False once the keeper has died. */
bool keeper_lives(const struct keeper *keeper);

/* For `raydbg doctor` and the tests. */
int keeper_pid(const struct keeper *keeper);

#endif
