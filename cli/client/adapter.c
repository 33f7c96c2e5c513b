#include "cli/client/adapter.h"

#include "base/mem.h"
#include "relay/children/client_modes.h"
#include "relay/locate/relay_websocket.h"

#include <stdlib.h>

/* Either session or bridge is set. */
struct adapter {
    struct session *session;
    struct relay_websocket *bridge;
    struct adapter_ops ops;
    void *arg;
};

static void on_open(void *arg)
{
    (void)arg; /* earlier messages are queued */
}

static void on_message(void *arg, const char *json, size_t len)
{
    struct adapter *adapter = arg;
    adapter->ops.on_message(adapter->arg, json, len);
}

static void on_session_end(void *arg)
{
    struct adapter *adapter = arg;
    adapter->ops.on_end(adapter->arg, NULL);
}

static void on_close(void *arg, const struct err *err)
{
    struct adapter *adapter = arg;
    adapter->ops.on_end(adapter->arg, err);
}

struct adapter *adapter_create(const struct session_options *options,
                               const struct relay_address *relay, const struct adapter_ops *ops,
                               void *arg)
{
    static const struct session_ops session_ops = {.on_message = on_message,
                                                   .on_end = on_session_end};
    static const struct relay_websocket_ops relay_websocket_ops = {on_open, on_message, on_close};
    struct adapter *adapter = mem_alloc(sizeof *adapter);
    adapter->ops = *ops;
    adapter->arg = arg;
    if (relay)
        adapter->bridge = relay_websocket_open(options->loop, relay, &relay_websocket_ops, adapter);
    else {
        struct session_options own = *options;
        own.modes = &client_session_modes;
        adapter->session = session_create(&own, &session_ops, adapter);
    }
    return adapter;
}

void adapter_send(struct adapter *adapter, const char *json, size_t len)
{
    if (adapter->bridge)
        relay_websocket_send(adapter->bridge, json, len);
    else
        session_receive(adapter->session, json, len);
}

void adapter_destroy(struct adapter **adapter)
{
    struct adapter *it = *adapter;
    if (!it)
        return;
    *adapter = NULL;
    relay_websocket_destroy(&it->bridge);
    session_destroy(&it->session);
    free(it);
}
