/* Finds out each task's rank. */
#include "relay/many/many_state.h"

#include "base/buf.h"
#include "dap/message.h"
#include "relay/stack/rank.h"
#include "relay/stack/ray_frames.h"

#include <inttypes.h>
#include <stdlib.h>

enum { RANK_MS = 15000 };

static void know(struct many_task *task, char *rank)
{
    task->rank_known = true;
    if (rank) {
        free(task->rank);
        task->rank = rank;
        many_names_renew(task);
    }
    many_stop_introduce(task->many, false);
}

/* `arg` is the `rank_task` of the question. */
static void on_rank(void *arg, struct many_task *task, const char *json, size_t len,
                    const struct envelope *response)
{
    (void)len;
    if ((uintptr_t)arg == task->rank_task)
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
    many_ask(task, "evaluate", arguments.data, RANK_MS, on_rank, (void *)task->rank_task);
    buf_free(&arguments);
}

/* A thread that outlives the task before may be stopped, too. */
static const struct many_thread *latest_stop(const struct many_task *task)
{
    const struct many_thread *latest = NULL;
    for (size_t i = 0; i < task->thread_count; i++) {
        const struct many_thread *thread = &task->threads[i];
        if (thread->stopped && (!latest || thread->stopped_at > latest->stopped_at))
            latest = thread;
    }
    return latest;
}

/* An actor's rank is its own rather than a call's: it stays until a call has another one. */
void many_rank_renew(struct many_task *task)
{
    task->rank_asked = task->rank_known = false;
    task->rank_task++;
    if (task->rank && !*task->pause.actor_id) {
        free(task->rank);
        task->rank = NULL;
        many_names_renew(task);
    }
    const struct many_thread *latest = latest_stop(task);
    if (latest && latest->stack)
        many_rank_ask(task, ray_frames_first_user(latest->stack, latest->stack_len));
}
