/* The connection to one debug adapter: framing, sequence numbers, and who waits for which answer.
 * It knows nothing of what the messages mean. Everything runs on the loop's thread. */
#ifndef RAYDBG_RELAY_LINK_H
#define RAYDBG_RELAY_LINK_H

#include "dap/envelope.h"
#include "dap/seqmap.h"
#include "relay/loop.h"

struct link;

struct link_ops {
    void (*on_open)(void *arg);
    void (*on_event)(void *arg, const char *json, size_t len, const struct envelope *envelope);
    /* The answer to a link_forward(); answers to link_ask() go to its own callback. */
    void (*on_response)(void *arg, const struct pending *pending, const char *json, size_t len,
                        const struct envelope *envelope);
    /* The stream is closed or broken; `why` is one clause. Every link_ask() has had its callback;
     * link_take_pending() gives the forwarded requests that are still unanswered. */
    void (*on_close)(void *arg, const char *why);
};

/* A callback must not destroy the link but through link_destroy(), which may be called from any. */
struct link *link_open(struct loop *loop, const char *host, uint16_t port, int64_t timeout_ms,
                       bool quickack, const struct link_ops *ops, void *arg);
void link_destroy(struct link **link);

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

/* Takes the oldest forwarded request of `owner` without an answer; false if there is none. An
 * answer that still comes is dropped. */
bool link_take_pending(struct link *link, const void *owner, struct pending *out);

#endif
