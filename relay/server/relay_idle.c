/* Ends a relay when nothing needs it any more. */
#include "relay/server/relay_state.h"

enum { LOOK_MS = 250 };

/* Readers of /events and of lists do not count: they can read from the cluster itself. */
static bool is_needed(const struct relay *relay)
{
    struct agents_count agents;
    agents_count(relay->agents, &agents);
    return relay->clients || relay->waits || agents.connected || hub_table_count(relay->hubs);
}

static void look(void *arg)
{
    struct relay *relay = relay_checked(arg);
    int64_t now_us = loop_now_us();
    relay->idle = NULL;
    if (is_needed(relay))
        relay->used_us = now_us;
    if (now_us - relay->used_us >= relay->options.idle_ms * 1000)
        relay->options.on_idle(relay->options.idle_arg);
    else
        relay->idle = timer_start(relay->loop, LOOK_MS, look, relay);
}

void relay_idle_start(struct relay *relay)
{
    relay_idle_put_off(relay);
    if (relay->options.idle_ms)
        relay->idle = timer_start(relay->loop, LOOK_MS, look, relay);
}

void relay_idle_stop(struct relay *relay)
{
    timer_cancel(&relay->idle);
}

void relay_idle_put_off(struct relay *relay)
{
    relay->used_us = loop_now_us();
}
