/* The editor's end of prefetched answers (relay/client/prefetch.h): keeps them, and gives each to
 * the client at most once, for an identical request. Uses none that is old, or that precedes
 * something that may change state: a client's request that does more than read, an event that ends
 * reads, or a message of the relay. Everything runs on the loop's thread. */
#ifndef RAYDBG_CLI_DAP_DAP_PREFETCH_H
#define RAYDBG_CLI_DAP_DAP_PREFETCH_H

#include "dap/envelope.h"
#include "relay/io/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dap_prefetch;

struct dap_prefetch_ops {
    int64_t fresh_ms;    /* an answer serves requests for this long after it was announced */
    int64_t patience_ms; /* how long a request waits for an answer before it goes to the relay */
    /* A response for the client's request with this seq. */
    void (*answer)(void *arg, const char *json, size_t len, int64_t request_seq);
    /* A request that has waited goes to the relay. */
    void (*release)(void *arg, const char *json, size_t len);
    /* An event for the relay. */
    void (*tell)(void *arg, const char *json, size_t len);
};

struct dap_prefetch *dap_prefetch_create(struct loop *loop, const struct dap_prefetch_ops *ops,
                                         void *arg);
void dap_prefetch_destroy(struct dap_prefetch **prefetch);

/* The connection is gone; later messages use another one. Releases the requests that wait. */
void dap_prefetch_restart(struct dap_prefetch *prefetch);
/* Call before a client's request goes to the relay. True if it must not: it was answered, or waits
 * for an answer that is on its way. */
bool dap_prefetch_takes(struct dap_prefetch *prefetch, const char *json, size_t len,
                        const struct envelope *request);
/* Call for each request that goes to the relay, the client's and raydbg's own. */
void dap_prefetch_sent(struct dap_prefetch *prefetch, const struct envelope *request);
/* Call for each event from the relay: true if it is not for the client. */
bool dap_prefetch_event(struct dap_prefetch *prefetch, const char *json,
                        const struct envelope *event);

#endif
