/* Finds out each task's rank. */
#include "relay/many/many_state.h"

#include "base/buf.h"
#include "dap/message.h"
#include "relay/stack/rank.h"

#include <inttypes.h>
#include <stdlib.h>

enum { RANK_MS = 15000 };

static void know(struct many_task *task, char *rank)
{
    task->rank_known = true;
    task->rank = rank;
    if (rank)
        many_names_renew(task);
    many_stop_introduce(task->many, false);
}

static void on_rank(void *arg, struct many_task *task, const char *json, size_t len,
                    const struct envelope *response)
{
    (void)arg, (void)len;
    know(task, response ? rank_read(json, response) : NULL);
}

void many_rank_ask(struct many_task *task, int64_t frame)
{
    struct buf arguments = {0};
    if (task->rank_asked)
        return;
    task->rank_asked = true;
    if (!frame) {
        know(task, NULL);
        return;
    }
    buf_printf(&arguments, "{\"frameId\":%" PRId64 ",\"context\":\"watch\",\"expression\":", frame);
    message_quote(&arguments, rank_expression);
    buf_add_string(&arguments, "}");
    many_ask(task, "evaluate", arguments.data, RANK_MS, on_rank, NULL);
    buf_free(&arguments);
}
