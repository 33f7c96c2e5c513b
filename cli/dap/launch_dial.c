#include "cli/dap/launch_dial.h"

#include "base/mem.h"
#include "relay/locate/relay_call.h"

#include <stdlib.h>

enum { ANSWER_MS = 30000 };

struct launch_dial {
    struct loop *loop;
    const struct relay_address *relay;
    launch_dial_fn fn;
    void *arg;
    struct relay_call *call;
    struct timer *later; /* for a relay that need not be asked */
};

static void finish(struct launch_dial *dial, const char *json, size_t len)
{
    struct relay_dial found;
    struct err err;
    bool known = relay_dial_read(&found, dial->relay, json, len, &err) == 0;
    dial->fn(dial->arg, &found, known ? NULL : &err);
}

static void on_answer(void *arg, const struct http_reply *reply)
{
    struct launch_dial *dial = arg;
    struct err err;
    dial->call = NULL;
    if (relay_address_reply(dial->relay, reply, &err) == 0)
        finish(dial, reply->body, reply->len);
    else
        dial->fn(dial->arg, NULL, &err);
}

static void on_look(void *arg, const struct http_reply *reply)
{
    struct launch_dial *dial = arg;
    (void)reply; /* without its cluster a relay may still know */
    dial->call = relay_call(dial->relay, dial->loop, "GET", RELAY_DIAL_PATH, NULL, ANSWER_MS,
                            on_answer, dial);
}

static void on_later(void *arg)
{
    struct launch_dial *dial = arg;
    dial->later = NULL;
    finish(dial, NULL, 0);
}

struct launch_dial *launch_dial_start(struct loop *loop, const struct relay_address *relay,
                                      launch_dial_fn fn, void *arg)
{
    struct launch_dial *dial = mem_alloc(sizeof *dial);
    *dial = (struct launch_dial){.loop = loop, .relay = relay, .fn = fn, .arg = arg};
    if (relay_dial_is_asked(relay))
        dial->call =
            relay_call(relay, loop, "GET", RELAY_DIAL_LOOK, NULL, ANSWER_MS, on_look, dial);
    else
        dial->later = timer_start(loop, 0, on_later, dial);
    return dial;
}

void launch_dial_destroy(struct launch_dial **dial)
{
    struct launch_dial *it = *dial;
    if (!it)
        return;
    *dial = NULL;
    timer_cancel(&it->later);
    if (it->call)
        relay_call_cancel(&it->call);
    free(it);
}
