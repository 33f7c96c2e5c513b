/* The keeper: a small process that outlives the relay. It holds the connections to the debuggees,
 * which must not be closed, and a snapshot of the relay's state of each.
 *
 * The keeper runs detached (setsid, no terminal, cwd /) and listens on a unix socket (0600, in a
 * 0700 directory) where the next relay finds it. A relay whose keeper dies starts another one
 * (keeper_renew(), relay/keeper/keeper_watch.h). Descriptors travel by SCM_RIGHTS. A snapshot lives
 * in a memfd that the relay writes in place, in two halves, each with a sequence number and a
 * checksum, so that a relay killed in mid-write leaves the older half whole. */
#ifndef RAYDBG_RELAY_KEEPER_KEEPER_H
#define RAYDBG_RELAY_KEEPER_KEEPER_H

#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct keeper; /* the relay's end */
struct kept;   /* one connection that the keeper holds */

/* Finds the keeper behind the socket `path`, or starts a new one. `orphan_ms`: how long the keeper
 * waits for the next relay before it closes everything and ends (a warning goes to its log,
 * `path`.log). The keeper notes the pid of the relay that it serves and refuses a second one
 * (ERR_FAILED, "a relay runs already, pid N: use --upgrade"), unless `upgrade`: the old relay then
 * gets SIGTERM and up to 10 s to end. A keeper whose protocol this relay does not speak is an
 * error, too, and closes nothing. Raises the soft limit of open files to the hard one. */
struct keeper *keeper_start(const char *path, int64_t orphan_ms, bool upgrade, struct err *err);
/* For an orderly end of the relay. The keeper ends, too, if it holds nothing, else it waits for the
 * next relay. Returns the number of connections that the keeper holds. */
size_t keeper_leave(struct keeper **keeper);

/* keeper_take_over() calls this within the call, once for each connection that an earlier relay has
 * left. `fd` is a duplicate of what keeper_put() got; the callee owns it and goes on with `kept`.
 * `snapshot` (borrowed) is the latest one. `fd` is at its end or broken if the peer has gone
 * meanwhile; `len` is 0 if that relay had written none. */
typedef void (*keeper_found_fn)(void *arg, struct kept *kept, int fd, const char *snapshot,
                                size_t len);
void keeper_take_over(struct keeper *keeper, keeper_found_fn fn, void *arg);

/* Gives the keeper a duplicate of `fd`. `bytes`, `len` and `spare` are its first snapshot, as for
 * kept_snapshot(); `bytes` NULL: none. It is written before the keeper has the connection: a relay
 * that is killed in between leaves no connection without its snapshot. NULL (and a log line) if the
 * keeper cannot hold it, is dead, or reads nothing although its socket is full: the relay goes on
 * without. A keeper that is only slow gets it when it runs again, even if this process is dead by
 * then. Waits for it a second at most, and not at all as long as an answer is outstanding. */
struct kept *keeper_put(struct keeper *keeper, int fd, const char *bytes, size_t len, size_t spare);
/* True if a slow keeper has answered that it cannot hold the connection: drop it. */
bool kept_is_refused(const struct kept *kept);
/* Replaces the snapshot. Takes some µs: a copy into shared memory, with a system call only when the
 * memory grows. `spare`: bytes of room for kept_add(). */
void kept_snapshot(struct kept *kept, const char *bytes, size_t len, size_t spare);
/* Adds to the snapshot. False, and nothing done, if there is no room: call kept_snapshot() then. */
bool kept_add(struct kept *kept, const char *bytes, size_t len);
/* The keeper closes its duplicate. */
void kept_drop(struct kept **kept);

/* False once the keeper has died. */
bool keeper_lives(const struct keeper *keeper);
/* Readable when the keeper has died, or a late answer has come; -1 once the keeper's
 * death was noticed. */
int keeper_socket(const struct keeper *keeper);
/* Reads late answers, and sends what could not be sent before; false once the keeper has died. */
bool keeper_hear(struct keeper *keeper);
/* True, once, if a connection is not kept that may be by now: put again what is not kept. */
bool keeper_take_missed(struct keeper *keeper);
/* Replaces a dead keeper, as keeper_start() does. Every struct kept must be dropped before. If the
 * new keeper was not started here, keeper_take_over() gives what it holds. Returns 0, or -1 with
 * `err` set, and the keeper stays dead. Takes some ms, at most seconds. */
int keeper_renew(struct keeper *keeper, struct err *err);

/* For `raydbg doctor` and the tests. */
int keeper_pid(const struct keeper *keeper);

#endif
