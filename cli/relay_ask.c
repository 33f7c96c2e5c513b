#include "cli/relay_ask.h"

#include "cli/command.h"

enum { DEADLINE_MS = 30000 };

struct answer {
    const struct relay_address *relay;
    struct err err;
    struct buf body;
    bool done;
};

static void on_reply(void *arg, const struct http_reply *reply)
{
    struct answer *answer = arg;
    answer->done = true;
    if (relay_address_reply(answer->relay, reply, &answer->err) == 0)
        buf_add(&answer->body, reply->body, reply->len);
}

int relay_ask(struct loop *loop, const struct relay_address *relay, const char *method,
              const char *path, struct buf *body, struct err *err)
{
    struct answer answer = {.relay = relay};
    relay_address_request(relay, loop, method, path, DEADLINE_MS, on_reply, &answer);
    loop_run_until(loop, &answer.done, -1);
    *body = answer.body;
    *err = answer.err;
    return answer.err.code ? -1 : 0;
}

int relay_is_missing(void)
{
    struct err err;
    err_set(&err, ERR_UNREACHABLE, "there is no relay");
    err_why(&err, "none runs on this machine, and the cluster knows none that can be reached");
    err_hint(&err, "raydbg relay starts one; --relay says where it is");
    return command_fail(&err);
}
