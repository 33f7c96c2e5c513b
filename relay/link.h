/* The connection to one debug adapter: framing, sequence numbers, and who waits for which answer.
 * It knows nothing of what the messages mean. Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_LINK_H
#define RAYDBG_RELAY_LINK_H

#include "dap/envelope.h"
#include "dap/seqmap.h"
#include "relay/loop.h"

struct link;

/* A message above this can pass in parts instead of being held. */
#define LINK_LARGE ((size_t)256 * 1024)

struct link_ops {
    void (*on_open)(void *arg);
    void (*on_event)(void *arg, const char *json, size_t len, const struct envelope *envelope);
    /* The answer to a link_forward(); answers to link_ask() go to its own callback. */
    void (*on_response)(void *arg, const struct pending *pending, const char *json, size_t len,
                        const struct envelope *envelope);
    /* The stream is closed or broken; `why` is one clause. Every link_ask() has had its callback;
     * link_take_pending() gives the forwarded requests that are still unanswered. */
    void (*on_close)(void *arg, const char *why);
    /* link_queued() is 0 again. */
    void (*on_drain)(void *arg);
    /* An event (`pending` NULL), or the answer to a link_forward(), of `total` > LINK_LARGE bytes.
     * `head` is its first `head_len`, `envelope` what envelope_read_head() gives of them. True: the
     * request counts as answered, and the rest follows in order through large_part, then large_end;
     * `whole` is false if the link died in between (before on_close). False: the message comes
     * whole by on_event or on_response, as it does when large_begin is NULL, when the keys do not
     * stand in front of the body, and for more than 256 MiB not at all: the link is lost then. No
     * other message comes before large_end, and none of these after link_destroy(). */
    bool (*large_begin)(void *arg, const struct pending *pending, const char *head, size_t head_len,
                        size_t total, const struct envelope *envelope);
    void (*large_part)(void *arg, const char *bytes, size_t len);
    void (*large_end)(void *arg, bool whole);
};

/* A callback must not destroy the link but through link_destroy(), which may be called from any. */
struct link *link_open(struct loop *loop, const char *host, uint16_t port, int64_t timeout_ms,
                       bool quickack, const struct link_ops *ops, void *arg);
/* The same for Ray's legacy pdb, which becomes a debug adapter first (relay/pdb_install.h). A port
 * that refuses is tried again for a while: Ray tells it before it listens. A pdb that does not
 * become one is let go: its task runs on. */
struct link *link_open_pdb(struct loop *loop, const char *host, uint16_t port, int64_t timeout_ms,
                           const struct link_ops *ops, void *arg);
/* Goes on with an earlier relay's connection, the connected socket `fd`, which is the link's from
 * here on. Requests get seqs from `first_seq` on, which must be above all that the earlier relay
 * has used: answers to its requests are dropped. So is the rest of a message that it has read in
 * part. on_open is not called. */
struct link *link_adopt(struct loop *loop, int fd, bool quickack, int64_t first_seq,
                        const struct link_ops *ops, void *arg);
/* A connection to debugpy that still stands is left to the closer (relay/closer.h), which ends it
 * when that does no harm; without one it is closed at once. */
void link_destroy(struct link **link);

/* The connected socket, or -1; bytes that it has not taken yet. */
int link_fd(const struct link *link);
size_t link_queued(const struct link *link);
/* Stops or resumes what comes from the adapter: no callback but link_ask()'s time limits and, if
 * nothing that was read waits to be delivered, on_close. What had been read waits in order, at most
 * one read (64 KiB), and once more what the kernel held if the connection breaks meanwhile;
 * on_close comes behind it. Enabling delivers nothing from within. */
void link_read_enable(struct link *link, bool enable);

/* Sends a client's request under a seq of the link's own; every other byte stays. `owner` (not
 * NULL) comes back in `pending`. */
void link_forward(struct link *link, void *owner, struct client_seq client, const char *json,
                  size_t len, const struct envelope *envelope);

/* `json` is NULL if no answer came in time or the link died. */
typedef void (*link_answer_fn)(void *arg, const char *json, size_t len,
                               const struct envelope *envelope);
/* Sends a request of the relay's own, whose answer no client sees. `fn` runs exactly once unless
 * the link is destroyed first; NULL if nobody cares. `timeout_ms` 0: no limit. */
void link_ask(struct link *link, const char *command, const char *arguments, int64_t timeout_ms,
              link_answer_fn fn, void *arg);

/* False once the stream is closed or broken, also while link_ask()'s callbacks are told so. */
bool link_is_open(const struct link *link);

/* Requests that have no answer yet, but for `count` whose answer waits for something that was not
 * asked: `attach` for configurationDone. */
size_t link_owed(const struct link *link);
void link_excuse(struct link *link, size_t count);
/* Somebody else, a keeper, has a hand on the connection: the closer lets go of it; and takes it
 * again. */
void link_entrust(struct link *link);
void link_guard(struct link *link);

/* Takes the oldest forwarded request of `owner` without an answer; false if there is none. An
 * answer that still comes is dropped. */
bool link_take_pending(struct link *link, const void *owner, struct pending *out);

#endif
