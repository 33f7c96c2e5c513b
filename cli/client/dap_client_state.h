/* The private state of dap_client.h, shared by dap_client.c (life, requests and responses) and
 * dap_client_events.c (events and threads). */
#ifndef RAYDBG_CLI_CLIENT_DAP_CLIENT_STATE_H
#define RAYDBG_CLI_CLIENT_DAP_CLIENT_STATE_H

#include "cli/client/dap_client.h"
#include "relay/io/loop.h"

struct dap_client {
    struct loop *loop;
    struct adapter *adapter;
    struct dap_client_ops ops;
    void *arg;
    int64_t seq;
    struct waiting *waiting;
    struct dap_client_thread *threads; /* in the order of their last stop */
    size_t thread_count;
    int64_t last_number;
    bool many;
    bool all_stopped; /* threads that the next `threads` response adds are stopped, too */
    bool initialized;
    bool ended;
    struct err end; /* the reason; code 0: an orderly end */
};

/* dap_client_events.c */
void dap_client_take_event(struct dap_client *client, const char *name, struct json body);
/* The worker or the session has closed its side: marks the client as ended and no thread as
 * stopped. */
void dap_client_set_ended(struct dap_client *client);
void dap_client_free_threads(struct dap_client *client);

#endif
