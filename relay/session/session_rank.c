#include "relay/session/session_rank.h"

#include "base/buf.h"
#include "dap/message.h"
#include "relay/session/session_state.h"
#include "relay/stack/rank.h"
#include "relay/stack/ray_frames.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { RANK_MS = 15000 };

static void on_rank(void *arg, const char *json, size_t len, const struct envelope *response)
{
    struct session *session = session_checked(arg);
    (void)len;
    free(session->rank);
    session->rank = response ? rank_read(json, response) : NULL;
}

/* A name format without {rank} needs no rank, and a pause that was not found in the cluster has no
 * name. With several paused threads each may have a rank of its own. */
static bool is_wanted(const struct session *session)
{
    const char *format = session->attach.thread_name;
    return !session->rank_asked && !session->options.one_of_many && session->pause.worker_id[0] &&
           session->pause.paused_threads <= 1 && session_attached(session) &&
           (!format || strstr(format, "{rank}"));
}

void session_rank_ask(struct session *session, const char *stack, size_t len)
{
    struct buf arguments = {0};
    int64_t frame = is_wanted(session) ? ray_frames_first_user(stack, len) : 0;
    if (!frame)
        return;
    session->rank_asked = true;
    buf_printf(&arguments, "{\"frameId\":%" PRId64 ",\"context\":\"watch\",\"expression\":", frame);
    message_quote(&arguments, rank_expression);
    buf_add_string(&arguments, "}");
    hub_ask(&session->member, "evaluate", arguments.data, RANK_MS, on_rank, session);
    buf_free(&arguments);
}
