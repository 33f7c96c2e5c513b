/* One debuggee: a worker's debugpy, or its pdb made a debug adapter; attached, set right
 * (relay/inject.h), and known: which threads are stopped, what must not be sent to it. Everything
 * runs on the loop's thread.
 *
 *   connecting ──▶ attaching ──▶ ready ──▶ running ──▶ leaving ──▶ gone
 *        └──────────────┴──────────┴──────────┴──────────────────────▲
 *
 * ready: breakpoints may be set, the task still waits; running: configurationDone was sent. */
#ifndef RAYDBG_RELAY_TARGET_H
#define RAYDBG_RELAY_TARGET_H

#include "base/err.h"
#include "dap/envelope.h"
#include "dap/seqmap.h"
#include "relay/link.h"
#include "relay/loop.h"

#include <stdbool.h>

enum target_state {
    TARGET_CONNECTING,
    TARGET_ATTACHING,
    TARGET_READY,
    TARGET_RUNNING,
    TARGET_LEAVING,
    TARGET_GONE,
};

struct target;

/* All borrowed for target_open() only. */
struct target_options {
    struct loop *loop;
    const char *host;
    uint16_t port;
    const char *initialize; /* JSON object: the client's arguments for `initialize` */
    const char *attach;     /* JSON object: debugpy's arguments for `attach` */
    bool pdb;               /* not debugpy: Ray's legacy pdb (docs/pdb.md) */
    bool tune;
    bool sub_process; /* let debugpy debug child processes too */
};

struct target_ops {
    /* `capabilities` is the adapter's `initialize` body. */
    void (*on_ready)(void *arg, const char *capabilities, size_t len);
    /* Attaching failed; nothing else follows. */
    void (*on_failed)(void *arg, const struct err *err);
    void (*on_event)(void *arg, const char *json, size_t len, const struct envelope *envelope);
    void (*on_response)(void *arg, const struct pending *pending, const char *json, size_t len,
                        const struct envelope *envelope);
    void (*on_drain)(void *arg); /* target_queued() is 0 again */
    /* A message in parts, as link.h has it. */
    bool (*large_begin)(void *arg, const struct pending *pending, const char *head, size_t head_len,
                        size_t total, const struct envelope *envelope);
    void (*large_part)(void *arg, const char *bytes, size_t len);
    void (*large_end)(void *arg, bool whole);
    /* The link died after on_ready; target_take_pending() gives what is still unanswered. */
    void (*on_gone)(void *arg, const char *why);
};

struct target *target_open(const struct target_options *options, const struct target_ops *ops,
                           void *arg);
/* Goes on with a connection that another relay has attached: it is running from the start, and
 * on_ready is not called. `fd` is the target's from here on; `first_seq` as in link_adopt(). */
struct target *target_adopt(const struct target_options *options, int fd, int64_t first_seq,
                            const struct target_ops *ops, void *arg);
/* Closes the connection, or leaves it to the closer: if it is the last one, debugpy resumes every
 * thread. */
void target_destroy(struct target **target);

enum target_state target_state(const struct target *target);
bool target_has_stopped(const struct target *target);
int target_fd(const struct target *target);        /* the connected socket, or -1 */
size_t target_queued(const struct target *target); /* bytes that the socket has not taken */
/* Stops or resumes reading what the debuggee says. */
void target_read_enable(struct target *target, bool enable);
/* An event that another relay has seen: which threads are stopped. */
void target_recall(struct target *target, const char *json, const struct envelope *event);

/* Passes a client's request on; `owner` (not NULL) comes back in `pending`. The caller has checked
 * the rules and target_refusal(). */
void target_forward(struct target *target, void *owner, struct client_seq client, const char *json,
                    size_t len, const struct envelope *envelope);

/* Why debugpy must not get this request now (static text: it would never answer), or NULL. */
const char *target_refusal(const struct target *target, const char *json,
                           const struct envelope *envelope);

/* ready → running: sends the exception filter that post mortem needs unless `filters_set`, then
 * configurationDone. Stops that are true then follow as events. */
void target_run(struct target *target, bool filters_set);

/* Sends a request of the relay's own; see link_ask(). Threads that a `continue` lets go count as
 * running from here on. */
void target_ask(struct target *target, const char *command, const char *arguments,
                int64_t timeout_ms, link_answer_fn fn, void *arg);

/* Says goodbye; the task goes on unless `kill`. on_gone follows, at the latest after 3 s. */
void target_leave(struct target *target, bool kill);

/* The closer's hand on the connection (relay/closer.h), which it has from the start: off while a
 * keeper's is on it. */
void target_guard(struct target *target, bool guard);

bool target_take_pending(struct target *target, const void *owner, struct pending *out);

#endif
