#include "relay/session/session_watch.h"

#include "base/mem.h"
#include "base/text.h"
#include "dap/dap_command.h"
#include "relay/session/session_state.h"
#include "relay/stack/user_threads.h"

#include <stdlib.h>

/* The first question comes late enough that a step, or the way to the next stop, costs the cluster
 * nothing. An answer may be older than the task: two in a row must say that it has ended. */
enum { FIRST_MS = 300, LONGEST_MS = 2000, ANSWERS = 2 };

struct task_watch {
    struct session *session;
    struct timer *timer;
    bool asking;
    bool in_doubt; /* the worker was asked if a thread outlives the task */
    int over;      /* answers in a row that the worker does not run the task */
    int64_t interval_ms;
};

static void ask(void *arg);

static bool is_watched(const struct session *session)
{
    return session->attach.end_with_task && !session->options.one_of_many &&
           session->pause.debugger != PAUSE_PDB && session->pause.worker_id[0] &&
           session->pause.task_id[0] && pause_finder_cluster(session->finder) &&
           session_attached(session) && !hub_has_stopped(&session->member);
}

static void ask_later(struct task_watch *watch)
{
    int64_t rest = cluster_rest_ms(pause_finder_cluster(watch->session->finder));
    if (!watch->timer && !watch->asking && !watch->in_doubt)
        watch->timer =
            timer_start(watch->session->options.loop,
                        rest > watch->interval_ms ? rest : watch->interval_ms, ask, watch);
    if (watch->interval_ms < LONGEST_MS)
        watch->interval_ms += watch->interval_ms / 4;
}

/* The watch may be freed when this returns. */
static void tell_end(struct session *session)
{
    const struct pause *pause = &session->pause;
    const char *name = pause->task_name ? pause->task_name : "the task";
    if (*pause->actor_id || pause->ambiguous) {
        char *text = mem_format(
            "raydbg: %s has ended; this session waits for the actor's next stop\n", name);
        client_say(&session->client, "console", text);
        free(text);
        return;
    }
    char *why = mem_format("%s has ended", name);
    session->task_over = true;
    session_dismiss(session, why);
    free(why);
}

/* A thread that outlives its call is debugged on. A worker that does not answer is not judged. */
static void on_user_threads(void *arg, const char *json, size_t len,
                            const struct envelope *response)
{
    struct session *session = session_checked(arg);
    struct task_watch *watch = session->watch;
    (void)len;
    if (!watch || !watch->in_doubt)
        return;
    watch->in_doubt = false;
    if (!is_watched(session))
        return;
    bool over = response && !user_threads_stand(json, response);
    if (response)
        hub_judge_idle(session->member.hub, !over);
    if (watch->over >= ANSWERS && over) {
        tell_end(session);
        return;
    }
    watch->over = 0;
    ask_later(watch);
}

static void ask_user_threads(struct task_watch *watch)
{
    struct buf arguments = {0};
    user_threads_query(&arguments);
    watch->in_doubt = true;
    hub_ask(&watch->session->member, "evaluate", arguments.data, USER_THREADS_MS, on_user_threads,
            watch->session);
    buf_free(&arguments);
}

static void on_refreshed(void *arg, const struct err *err)
{
    struct task_watch *watch = arg;
    struct session *session = watch->session;
    watch->asking = false;
    if (!is_watched(session))
        return;
    if (err ||
        !pause_is_over(&session->pause, cluster_pauses(pause_finder_cluster(session->finder))))
        watch->over = 0;
    else
        watch->over++;
    if (watch->over >= ANSWERS)
        ask_user_threads(watch);
    else
        ask_later(watch);
}

static void ask(void *arg)
{
    struct task_watch *watch = arg;
    watch->timer = NULL;
    if (!is_watched(watch->session))
        return;
    watch->asking = true;
    cluster_refresh(pause_finder_cluster(watch->session->finder), on_refreshed, watch);
}

static void begin(struct session *session)
{
    if (!is_watched(session))
        return;
    if (!session->watch) {
        session->watch = mem_alloc(sizeof *session->watch);
        session->watch->session = session;
    }
    session->watch->over = 0;
    session->watch->in_doubt = false;
    session->watch->interval_ms = FIRST_MS;
    timer_cancel(&session->watch->timer);
    ask_later(session->watch);
}

void session_watch_event(struct session *session, const struct envelope *event)
{
    if (text_equal(event->name, "continued"))
        begin(session);
}

void session_watch_response(struct session *session, const struct pending *pending,
                            const struct envelope *response)
{
    if (response->success && dap_command_is(pending->command, DAP_COMMAND_RESUMES))
        begin(session);
}

void session_watch_destroy(struct session *session)
{
    struct task_watch *watch = session->watch;
    if (!watch)
        return;
    session->watch = NULL;
    timer_cancel(&watch->timer);
    if (pause_finder_cluster(session->finder))
        cluster_refresh_cancel(pause_finder_cluster(session->finder), watch);
    free(watch);
}
