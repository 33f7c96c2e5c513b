#include "relay/many/many.h"

#include "base/mem.h"
#include "relay/many/many_state.h"

#include <stdlib.h>

/* The answer to `disconnect`, for which an editor waits 2 s. */
enum { LEAVE_MS = 1500 };
/* A lost task may pause again soon; one that could not be attached to is left alone longer. */
enum { LOST_MS = 1500, FAILED_MS = 15000 };

static void left(struct many *many)
{
    if (many->over)
        return;
    many->over = true;
    timer_cancel(&many->patience);
    many_discovery_stop(&many->find);
    session_left(many->session);
}

static void end(struct many *many, const char *why)
{
    if (many->over || many->leaving)
        return;
    many_say(many, "console", "raydbg: %s\n", why);
    session_send_terminated(many->session);
    many_discovery_stop(&many->find);
    timer_cancel(&many->intro);
}

static void on_over(struct many *many)
{
    end(many, "nothing more can pause: what this session was about is over");
}

/* Called after a debuggee has gone. */
static void settle(struct many *many)
{
    if (many->over || many->target_count > 0) {
        many_join_proceed(many);
        return;
    }
    if (many->leaving)
        left(many);
    else if (!pause_filter_is_open(&many->attach->many) && many->configured)
        end(many, "the last task of this session is over");
    else if (many->configured)
        many_join_say_waiting(many);
    many_join_proceed(many);
}

static void free_task(struct many_task *task)
{
    invariant(task->state == MANY_GONE && task->many->by_slot[task->slot] == task);
    task->many->by_slot[task->slot] = NULL;
    many_threads_free(task);
    many_task_free(task);
}

static void sweep(void *arg)
{
    struct many *many = many_checked(arg);
    many->sweep = NULL;
    for (struct many_task **at = &many->targets; *at;) {
        struct many_task *task = *at;
        if (task->state != MANY_GONE) {
            at = &task->next;
            continue;
        }
        many_task_close(task); /* its callbacks may add a task behind it */
        *at = task->next;
        idmap_drop(many->ids, task->slot);
        free_task(task);
    }
    settle(many);
}

static void on_task_ended(struct many_task *task, const char *why)
{
    struct many *many = task->many;
    enum many_task_state was = task->state;
    char title[256];
    if (was == MANY_GONE)
        return;
    many_threads_leave(task, true);
    many_task_move(task, MANY_GONE);
    invariant(many->target_count > 0);
    many->target_count--;
    many->hooks->gone(many->verbs, task);
    many_breakpoints_gone(many->sets, task);
    many_modules_gone(many->modules, task);
    many_progress_end(task);
    many_capabilities_tell(many);
    many_tell_role(many);
    pause_title(&task->pause, title, sizeof title);
    if (why && task->attach_error)
        many_say(many, "console", "raydbg: %s is left out: %s\n", title, why);
    if (many->find && was != MANY_LEAVING)
        many_discovery_shun(many->find, &task->pause, task->attach_error ? FAILED_MS : LOST_MS);
    if (!many->sweep)
        many->sweep = timer_start(many->loop, 0, sweep, many);
}

static void on_patience(void *arg)
{
    struct many *many = many_checked(arg);
    many->patience = NULL;
    left(many);
}

static size_t count_attached(const struct many *many)
{
    size_t count = 0;
    for (const struct many_task *at = many->targets; at; at = at->next)
        count += at->state == MANY_READY || at->state == MANY_RUNNING;
    return count;
}

static void say_goodbye(struct many *many, enum hub_leave how)
{
    const struct hub_table *hubs = many->options->hubs;
    size_t count = count_attached(many);
    if (count == 0)
        return;
    if (how == HUB_LEAVE_KILL)
        many_say(many, "console", "raydbg: %zu task%s: the workers are ended (--kill)\n", count,
                 count == 1 ? "" : "s");
    else if (how == HUB_LEAVE && hubs && hub_table_hold(hubs) != HUB_NEVER)
        many_say(many, "console",
                 "raydbg: %zu task%s held by %s; release with: raydbg release --all\n", count,
                 count == 1 ? " stays" : "s stay", hub_table_name(hubs));
    else
        many_say(many, "console", "raydbg: %zu task%s on; the next breakpoint() waits again\n",
                 count, count == 1 ? " goes" : "s go");
}

static void on_leave(void *mode, enum hub_leave how)
{
    struct many *many = many_checked(mode);
    if (many->over) {
        session_left(many->session);
        return;
    }
    if (!many->leaving)
        say_goodbye(many, how);
    many->leaving = true;
    many_breakpoints_withdraw(many->sets);
    timer_cancel(&many->hurry);
    timer_cancel(&many->intro);
    many_discovery_stop(&many->find);
    for (struct many_task *at = many->targets; at; at = at->next)
        many_task_leave(at, how);
    if (many->target_count == 0)
        left(many);
    else if (!many->patience)
        many->patience = timer_start(many->loop, LEAVE_MS, on_patience, many);
}

/* --- life --- */

static const struct many_task_ops task_ops = {
    .received = many_flow_count,
    .event = many_on_event,
    .stepped = many_thread_stepped,
    .ready = many_join_ready,
    .ended = on_task_ended,
};

struct many *many_open(struct session *session, const struct many_hooks *hooks)
{
    struct many *many = mem_alloc(sizeof *many);
    many_set_magic(many);
    many->session = session;
    many->client = session_client(session);
    many->attach = session_attach_arguments(session);
    many->options = session_options(session);
    many->loop = many->options->loop;
    many->ids = idmap_create();
    many->jobs = many_jobs_create();
    many->sets = many_breakpoints_create(many);
    many->modules = many_modules_create(many);
    many->task_ops = &task_ops;
    many->hooks = hooks;
    many->verbs = hooks->create(many);
    many->find = many_discovery_start(many, on_over);
    return many;
}

static void on_destroy(void *mode)
{
    struct many *it = many_checked(mode);
    it->leaving = it->over = true;
    many_discovery_stop(&it->find);
    it->hooks->destroy(&it->verbs);
    timer_cancel(&it->hurry);
    timer_cancel(&it->intro);
    timer_cancel(&it->patience);
    timer_cancel(&it->sweep);
    many_flow_stop(it);
    while (it->targets) {
        struct many_task *next = it->targets->next;
        if (it->targets->state != MANY_GONE)
            many_task_move(it->targets, MANY_GONE);
        many_task_close(it->targets);
        free_task(it->targets);
        it->targets = next;
    }
    many_stops_free(it); /* the tasks' callbacks may have noted a stop or a name */
    many_breakpoints_withdraw(it->sets);
    many_breakpoints_destroy(&it->sets);
    many_modules_destroy(&it->modules);
    idmap_destroy(&it->ids);
    many_jobs_destroy(&it->jobs);
    free(it->by_slot);
    free(it->role);
    free(it->limits);
    many_clear_magic(it);
    free(it);
}

static bool is_over(const void *mode)
{
    const struct many *many = many_checked(mode);
    return many->over;
}

static const struct pause *shown_pause(const void *mode)
{
    const struct many *many = many_checked(mode);
    const struct many_task *task = many->acting ? many->acting : many_focused(many);
    return task ? &task->pause : NULL;
}

static size_t count_targets(const void *mode)
{
    const struct many *many = many_checked(mode);
    return many->target_count;
}

static bool drives_any(const void *mode)
{
    const struct many *many = many_checked(mode);
    for (const struct many_task *at = many->targets; at; at = at->next)
        if (at->inner && session_drives(at->inner))
            return true;
    return false;
}

static void on_request(void *mode, const char *json, size_t len, const struct envelope *request)
{
    many_request(many_checked(mode), json, len, request);
}

static void on_flow(void *mode, bool enable)
{
    many_flow(many_checked(mode), enable);
}

const struct session_mode_ops many_mode_ops = {
    .leaves_later = true,
    .request = on_request,
    .leave = on_leave,
    .is_over = is_over,
    .flow = on_flow,
    .pause = shown_pause,
    .count = count_targets,
    .drives = drives_any,
    .destroy = on_destroy,
};
