/* One debuggee: a worker's debugpy, its pdb turned into a debug adapter, or a pydevd that has
 * dialled the relay, which is its adapter then (relay/reverse). The target attaches, sends the
 * injection (relay/inject/inject.h), and knows which threads are stopped and which requests must
 * not be sent. Everything runs on the loop's thread.
 *
 *   connecting ──▶ attaching ──▶ ready ──▶ running ──▶ leaving ──▶ gone
 *        └──────────────┴──────────┴──────────┴──────────────────────▲
 *
 * ready: breakpoints may be set, the task still waits; running: configurationDone was sent. A new
 * attempt to attach goes from attaching back to connecting. */
#ifndef RAYDBG_RELAY_DEBUGGEE_TARGET_H
#define RAYDBG_RELAY_DEBUGGEE_TARGET_H

#include "base/err.h"
#include "dap/envelope.h"
#include "dap/seqmap.h"
#include "relay/debuggee/link.h"
#include "relay/io/loop.h"

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

/* Strings are borrowed for target_open() or target_adopt() only. */
struct target_options {
    struct loop *loop;
    const char *host;
    uint16_t port;
    const char *initialize; /* JSON object: the client's arguments for `initialize` */
    const char *attach;     /* JSON object: debugpy's arguments for `attach` */
    bool pdb;               /* not debugpy: Ray's legacy pdb (docs/pdb.md) */
    /* A pydevd without an adapter. For target_open(), `fd` is the socket on which it has dialled,
     * owned by the target from here on; -1 if it is gone: on_failed follows. */
    bool reverse;
    int fd;
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
    /* A request that may leave only in part; see link.h. */
    void (*on_write)(void *arg, int64_t at, const char *head, size_t head_len, const char *json,
                     size_t len);
    /* target_unread() has changed; see link.h. */
    void (*on_unread)(void *arg);
    /* A message in parts; see link.h. */
    bool (*large_begin)(void *arg, const struct pending *pending, const char *head, size_t head_len,
                        size_t total, const struct envelope *envelope);
    void (*large_part)(void *arg, const char *bytes, size_t len);
    void (*large_end)(void *arg, bool whole);
    /* Tells how the code ended that ran for a client which leaves; `text` is a line. */
    void (*on_note)(void *arg, const char *text);
    /* The link died after on_ready; target_take_pending() gives what is still unanswered. */
    void (*on_gone)(void *arg, const char *why);
};

struct target *target_open(const struct target_options *options, const struct target_ops *ops,
                           void *arg);
/* Takes over a connection that another relay has attached: the target is running from the start,
 * and on_ready is not called. The target owns `fd` from here on; `first_seq` and `rest` are as in
 * link_adopt(). */
struct target *target_adopt(const struct target_options *options, int fd, int64_t first_seq,
                            const char *rest, size_t rest_len, const struct target_ops *ops,
                            void *arg);
/* Closes the connection, or leaves it to the closer. When its last connection ends, debugpy resumes
 * every thread. */
void target_destroy(struct target **target);

enum target_state target_state(const struct target *target);
bool target_has_stopped(const struct target *target);
int target_fd(const struct target *target); /* the connected socket, or -1 */
/* True if the debugger did not answer target_leave(): on_gone's text then says how to let the task
 * go. */
bool target_deaf(const struct target *target);
/* True if the debugger has answered target_leave(): the task goes on. */
bool target_let_go(const struct target *target);
/* The worker's own facts; 0: not known. */
struct target_facts {
    int cut_s;   /* how long debugpy holds the task while the network is cut, in seconds */
    int adapter; /* the pid of debugpy's adapter on the worker's machine */
};
struct target_facts target_facts(const struct target *target);
/* How many threads of a ready target stop when target_run() lets them: those that waited for a
 * client when it attached, as the worker itself has counted them. -1 if not known. */
int target_waiting(const struct target *target);
size_t target_queued(const struct target *target); /* bytes that the socket has not taken */
/* Stops or resumes reading from the debuggee. */
void target_read_enable(struct target *target, bool enable);
/* The bytes that were read and wait until reading is enabled; see link.h. */
const char *target_unread(const struct target *target, size_t *len);
/* For a target that was adopted just now: see link_put_back(). */
void target_put_back(struct target *target, const char *bytes, size_t len);
/* Takes what another relay knew of the worker. */
void target_recall_facts(struct target *target, struct target_facts facts);
/* Applies an event that another relay has seen, to know which threads are stopped. */
void target_recall(struct target *target, const char *json, const struct envelope *event);

/* Passes a client's request on; `owner` (not NULL) comes back in `pending`. The caller has checked
 * the rules and target_refusal(). */
void target_forward(struct target *target, void *owner, struct client_seq client, const char *json,
                    size_t len, const struct envelope *envelope);

/* Static text that says why debugpy must not get this request now (it would never answer), or
 * NULL. */
const char *target_refusal(const struct target *target, const char *json,
                           const struct envelope *envelope);

/* ready → running: sends the exception filter that post mortem needs unless `filters_set`, then
 * configurationDone. The current stops then follow as events. */
void target_run(struct target *target, bool filters_set);

/* Sends a request of the relay's own; see link_ask(). Threads that a `continue` resumes count as
 * running from here on. */
void target_ask(struct target *target, const char *command, const char *arguments,
                int64_t timeout_ms, link_answer_fn fn, void *arg);

/* How many requests are unanswered, and of how many the sender has left. */
size_t target_owed(const struct target *target);
size_t target_orphans(const struct target *target);
/* True if the debugger works on this `evaluate` of the owner's, and on nothing else that anybody
 * still waits for. */
bool target_only_evaluates(const struct target *target, const void *owner,
                           struct client_seq client);
/* Has the worker answer every open request with a failure, and interrupt what it evaluates for
 * them; on_note follows if that was something. */
void target_give_up(struct target *target);

/* Sends `disconnect` when everything is answered; requests that take longer than a second are given
 * up. The task goes on unless `kill`. on_gone follows, after 8 s at the latest. */
void target_leave(struct target *target, bool kill);

/* Turns the closer's guard of the connection (relay/debuggee/closer.h) on or off. It is on from the
 * start, and off while a keeper holds the connection. */
void target_guard(struct target *target, bool guard);

bool target_take_pending(struct target *target, const void *owner, struct pending *out);

#endif
