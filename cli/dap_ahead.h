/* The editor's end of what a relay answers ahead (relay/ahead.h): it keeps the answers, and gives
 * each to the client at most once, when the client asks for just that. Nothing is used that
 * is old, nor past anything that may change something: another request of the client's than those
 * that only look, an event that says so, the relay's word. Everything runs on the loop's thread. */
#ifndef RAYDBG_CLI_DAP_AHEAD_H
#define RAYDBG_CLI_DAP_AHEAD_H

#include "dap/envelope.h"
#include "relay/loop.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dap_ahead;

struct dap_ahead_ops {
    int64_t fresh_ms; /* a request that comes later than this after it was asked ahead is passed */
    int64_t patience_ms; /* how long one waits for its answer before it is passed after all */
    /* A response for the client, whose request had this seq. */
    void (*answer)(void *arg, const char *json, size_t len, int64_t request_seq);
    /* A request that was held back goes to the relay after all. */
    void (*release)(void *arg, const char *json, size_t len);
    /* An event for the relay. */
    void (*tell)(void *arg, const char *json, size_t len);
};

struct dap_ahead *dap_ahead_create(struct loop *loop, const struct dap_ahead_ops *ops, void *arg);
void dap_ahead_destroy(struct dap_ahead **ahead);

/* The connection is gone; what is said from here on goes to another one. What waits is released. */
void dap_ahead_restart(struct dap_ahead *ahead);
/* A request of the client's is about to go to the relay: true if it does not, because it is
 * answered, or waits for an answer that is on its way. */
bool dap_ahead_takes(struct dap_ahead *ahead, const char *json, size_t len,
                     const struct envelope *request);
/* A request goes to the relay, whoever has made it. */
void dap_ahead_sent(struct dap_ahead *ahead, const struct envelope *request);
/* An event from the relay: true if it is not for the client. */
bool dap_ahead_event(struct dap_ahead *ahead, const char *json, const struct envelope *event);

#endif
