/* The connection to one debug adapter: framing, sequence numbers, and the requests that wait for an
 * answer. The owner knows what the messages mean. Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_DEBUGGEE_LINK_H
#define RAYDBG_RELAY_DEBUGGEE_LINK_H

#include "dap/envelope.h"
#include "dap/seqmap.h"
#include "relay/io/loop.h"

struct link;

/* A message above this size can pass in parts instead of being held. */
#define LINK_LARGE ((size_t)256 * 1024)

struct link_ops {
    void (*on_open)(void *arg);
    void (*on_event)(void *arg, const char *json, size_t len, const struct envelope *envelope);
    /* The answer to a link_forward(); answers to link_ask() go to its own callback. */
    void (*on_response)(void *arg, const struct pending *pending, const char *json, size_t len,
                        const struct envelope *envelope);
    /* The stream is closed or broken; `why` is one clause. Every link_ask() callback has run;
     * link_take_pending() gives the forwarded requests that are still unanswered. */
    void (*on_close)(void *arg, const char *why);
    /* A request is about to be written that may leave only in part if this process dies. It begins
     * at byte `at` of the bytes sent on the socket (socket_written()). May be NULL. */
    void (*on_write)(void *arg, int64_t at, const char *head, size_t head_len, const char *json,
                     size_t len);
    /* link_unread() is not empty any more; or it is, and its bytes are about to be delivered. May
     * be NULL. */
    void (*on_unread)(void *arg);
    /* link_queued() is 0 again. */
    void (*on_drain)(void *arg);
    /* An event (`pending` NULL), or the answer to a link_forward(), of `total` > LINK_LARGE bytes.
     * `head` is its first `head_len` bytes, `envelope` what envelope_read_head() finds in them. If
     * this returns true, the request counts as answered, and the rest follows in order through
     * large_part, then large_end; `whole` is false if the link died in between (before on_close).
     * If it returns false, or is NULL, or the keys are not in front of the body, the message comes
     * whole by on_event or on_response, unless it is above 256 MiB: then the link closes. No other
     * message comes before large_end, and none of these callbacks after link_destroy(). */
    bool (*large_begin)(void *arg, const struct pending *pending, const char *head, size_t head_len,
                        size_t total, const struct envelope *envelope);
    void (*large_part)(void *arg, const char *bytes, size_t len);
    void (*large_end)(void *arg, bool whole);
};

/* Connects to an adapter. Any callback may call link_destroy(), but must not destroy the link in
 * another way. */
struct link *link_open(struct loop *loop, const char *host, uint16_t port, int64_t timeout_ms,
                       bool quickack, const struct link_ops *ops, void *arg);
/* The same for Ray's legacy pdb, which becomes a debug adapter first
 * (relay/debuggee/pdb_install.h). A refused connection is tried again for a while, because Ray
 * publishes the port before it listens there. A pdb that does not become an adapter is told to
 * continue: its task runs on. */
struct link *link_open_pdb(struct loop *loop, const char *host, uint16_t port, int64_t timeout_ms,
                           const struct link_ops *ops, void *arg);
/* A connection on which a pydevd has dialled the relay; the link owns the connected socket `fd`
 * from here on. on_open follows, never from within this call. Closing it lets the process run on,
 * so no closer guards it. */
struct link *link_accept(struct loop *loop, int fd, bool quickack, const struct link_ops *ops,
                         void *arg);
/* Takes over an earlier relay's connection: the link owns the connected socket `fd` from here on.
 * Requests get seqs from `first_seq` on, which must be above all that the earlier relay used:
 * answers to its requests are dropped, and so is the rest of a message that it had read in part.
 * `rest`, what the earlier relay had not written of its requests, is sent first. on_open is not
 * called. */
struct link *link_adopt(struct loop *loop, int fd, bool quickack, int64_t first_seq,
                        const char *rest, size_t rest_len, const struct link_ops *ops, void *arg);
/* For a link that was adopted just now: delivers the link_unread() of the earlier relay, before all
 * that comes; not from within this call. */
void link_put_back(struct link *link, const char *bytes, size_t len);
/* Ends the connection, as if the peer had: on_close follows from within. For a pydevd, which does
 * not close after `disconnect`. */
void link_end(struct link *link, const char *why);
/* An open connection to debugpy is left to the closer (relay/debuggee/closer.h), which ends it when
 * that does no harm; without a closer it is closed at once. */
void link_destroy(struct link **link);

/* The connected socket, or -1; and the bytes that it has not taken yet. */
int link_fd(const struct link *link);
size_t link_queued(const struct link *link);
/* Stops or resumes reading from the adapter. While it is stopped no callback runs, except for
 * link_ask()'s time limits and, if no bytes wait to be delivered, on_close. Bytes that were read
 * before wait in order: at most one read (64 KiB), and in addition what the kernel held if the
 * connection breaks meanwhile; on_close comes after them. Enabling delivers nothing from within the
 * call. */
void link_read_enable(struct link *link, bool enable);

/* The bytes that have been read and wait until reading is enabled. The kernel keeps those behind
 * them. */
const char *link_unread(const struct link *link, size_t *len);

/* Sends a client's request under a seq of the link's own; every other byte is unchanged. `owner`
 * (not NULL) comes back in `pending`. */
void link_forward(struct link *link, void *owner, struct client_seq client, const char *json,
                  size_t len, const struct envelope *envelope);

/* `json` is NULL if no answer came in time or the link died. */
typedef void (*link_answer_fn)(void *arg, const char *json, size_t len,
                               const struct envelope *envelope);
/* Sends a request of the relay's own, whose answer no client sees. `fn` may be NULL; it runs
 * exactly once unless the link is destroyed first. `timeout_ms` 0: no limit. */
void link_ask(struct link *link, const char *command, const char *arguments, int64_t timeout_ms,
              link_answer_fn fn, void *arg);

/* False once the stream is closed or broken, also while link_ask()'s callbacks run because of
 * that. */
bool link_is_open(const struct link *link);

/* The number of requests without an answer, less the `count` excused ones, whose answer waits for a
 * request that was not sent yet: `attach` is answered after configurationDone. */
size_t link_owed(const struct link *link);
void link_excuse(struct link *link, size_t count);
/* The number of unanswered requests that link_take_pending() has taken. */
size_t link_orphans(const struct link *link);
/* The forwarded request that `owner` knows by this seq, without an answer; NULL if there is none.
 */
const struct pending *link_find_pending(const struct link *link, const void *owner,
                                        struct client_seq client);
/* A keeper holds the connection: the closer drops its duplicate. link_guard() gives it one again,
 * unless the peer is a pydevd (link_accept()). */
void link_entrust(struct link *link);
void link_guard(struct link *link);

/* Takes the oldest forwarded request of `owner` without an answer; false if there is none. An
 * answer to it that still comes is dropped. */
bool link_take_pending(struct link *link, const void *owner, struct pending *out);

#endif
