/* How tasks join: few attach at a time, and the client is shown the first ones together. */
#include "relay/many/many_state.h"

#include "base/list.h"
#include "base/mem.h"

/* At most ATTACHING tasks attach at once; a slow one no longer counts after ATTACHING_MS. */
enum { ATTACHING = 32, ATTACHING_MS = 3000 };
/* Eager: the tasks that are shown first have the machine to themselves. Only FIRST attach until the
 * client has asked for variables and LOOK_MS are over, or until FIRST_MS after `initialized`. */
enum { FIRST = 4, LOOK_MS = 100, FIRST_MS = 500 };
/* How long tasks are waited for: for `initialized`, and for the first stop after configurationDone
 * (HURRY_MS); for another stop of a population that is not complete, since the last one (INTRO_MS).
 * On a busy machine debuggees are slow in all that they do: then SLOW_SHARE times as long as the
 * slowest took to attach, but MOST_MS at the most in each of the two phases. */
enum { HURRY_MS = 2000, INTRO_MS = 500, SLOW_SHARE = 2, MOST_MS = 10000 };

static uint32_t next_slot(struct many *many)
{
    if (many->slots == many->slot_room) {
        many->slot_room = many->slot_room ? 2 * many->slot_room : 16;
        many->by_slot = mem_resize(many->by_slot, many->slot_room, sizeof(struct many_task *));
    }
    many->by_slot[many->slots] = NULL;
    return many->slots++;
}

void many_join(struct many *many, const struct pause *pause, bool first)
{
    struct many_task *task = mem_alloc(sizeof *task);
    *task = (struct many_task){
        .many = many,
        .slot = next_slot(many),
        .first = first,
        .pending = seqmap_create(),
    };
    many_task_set_magic(task);
    pause_copy(&task->pause, pause);
    LIST_APPEND(many->targets, task);
    many->by_slot[task->slot] = task;
    many->target_count++;
    many_jobs_note(many->jobs, pause->job_id);
}

static bool is_first_only(const struct many *many)
{
    return many->attach->eager && !many->unhurried;
}

/* The tasks that attach; during an eager client's head start also those that have attached. */
static size_t count_attaching(const struct many *many)
{
    size_t count = 0;
    int64_t now = loop_now_us();
    for (const struct many_task *at = many->targets; at; at = at->next) {
        if (at->state == MANY_ATTACHING)
            count += now - at->since_us < (int64_t)ATTACHING_MS * 1000;
        else if (at->state != MANY_QUEUED && at->state != MANY_GONE)
            count += is_first_only(many);
    }
    return count;
}

static void start_queued(struct many *many)
{
    size_t attaching = count_attaching(many), most = is_first_only(many) ? FIRST : ATTACHING;
    for (struct many_task *at = many->targets; at && attaching < most; at = at->next) {
        if (at->state != MANY_QUEUED)
            continue;
        many_task_attach(at);
        attaching++;
    }
}

static bool first_are_settled(const struct many *many)
{
    for (const struct many_task *at = many->targets; at; at = at->next)
        if (at->first && (at->state == MANY_QUEUED || at->state == MANY_ATTACHING))
            return false;
    return true;
}

void many_join_say_waiting(struct many *many)
{
    char what[256];
    if (many->waited_told || many->attach->run)
        return;
    many->waited_told = true;
    pause_filter_describe(&many->attach->many, what, sizeof what);
    many_say(many, "console", "raydbg: no task is paused that matches %s: waiting for one\n", what);
}

static void say_initialized(struct many *many)
{
    if (many->initialized || many->leaving)
        return;
    many->initialized = true;
    timer_cancel(&many->hurry);
    many_capabilities_tell(many);
    if (many->target_count == 0)
        many_join_say_waiting(many);
    session_send_initialized(many->session);
}

static int64_t at_least_us(const struct many *many, int64_t ms)
{
    int64_t us = ms * 1000, slow_us = SLOW_SHARE * many->attach_us;
    return us > slow_us ? us : slow_us;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static struct timer *timer_at(struct many *many, int64_t due_us, loop_fn fn)
{
    return timer_start(many->loop, (due_us - loop_now_us() + 999) / 1000, fn, many);
}

/* While no task at all has attached, it is not known how slow they are. */
static void on_hurry(void *arg)
{
    struct many *many = many_checked(arg);
    int64_t most_us = many->hurry_us + MOST_MS * 1000L;
    int64_t due_us =
        many->attach_us ? earlier(many->hurry_us + at_least_us(many, HURRY_MS), most_us) : most_us;
    many->hurry = NULL;
    if (loop_now_us() < due_us)
        many->hurry = timer_at(many, due_us, on_hurry);
    else
        say_initialized(many);
}

static void on_unhurried(void *arg)
{
    struct many *many = many_checked(arg);
    many->hurry = NULL;
    many->unhurried = true;
    many_join_proceed(many);
    many_stop_introduce(many, false);
}

void many_join_looked(struct many *many)
{
    if (!many->introduced || many->looked)
        return;
    many->looked = true;
    if (!is_first_only(many))
        return;
    timer_cancel(&many->hurry);
    many->hurry = timer_start(many->loop, LOOK_MS, on_unhurried, many);
}

/* The population is shown although not all of it has stopped. */
static void say_incomplete(struct many *many)
{
    int64_t counted = 0, stopped = 0;
    for (const struct many_task *at = many->targets; at; at = at->next) {
        if (at->state == MANY_QUEUED || at->state == MANY_GONE)
            continue;
        int64_t here = (int64_t)many_stopped_count(at);
        stopped += here;
        counted += at->pause.paused_threads > here ? at->pause.paused_threads : here;
    }
    if (counted > stopped)
        many_say(many, "console",
                 "raydbg: %lld threads are paused, %lld of them have stopped so far: others are "
                 "shown when they do\n",
                 (long long)counted, (long long)stopped);
}

/* A slow debugpy reports stops late: what it reports then is to be shown together. */
static void on_intro(void *arg)
{
    struct many *many = many_checked(arg);
    int64_t first_us = many->intro_us + at_least_us(many, HURRY_MS), due_us = first_us;
    struct many_task *task;
    /* An eager client has seen the first stops: the others need not be shown soon, but together. */
    if (many_first_stopped(many, &task) && !many->assembling && !many->introduced)
        due_us = many->news_us + at_least_us(many, INTRO_MS);
    due_us = earlier(due_us, many->intro_us + MOST_MS * 1000L);
    many->intro = NULL;
    if (loop_now_us() < due_us) {
        many->intro = timer_at(many, due_us, on_intro);
        return;
    }
    say_incomplete(many);
    many_stop_introduce(many, true);
}

/* An eager client may send configurationDone while tasks still attach: these have as long for that
 * as if `initialized` waited for them. */
static void wait_for_stops(struct many *many)
{
    many->assembling = many->attach->eager && !first_are_settled(many);
    many->intro_us = many->news_us = loop_now_us();
    timer_cancel(&many->intro);
    many->intro = timer_start(many->loop, many->assembling ? HURRY_MS : INTRO_MS, on_intro, many);
}

void many_join_proceed(struct many *many)
{
    if (many->leaving || many->over)
        return;
    start_queued(many);
    if (many->assembling && first_are_settled(many)) {
        wait_for_stops(many);
        many_stop_introduce(many, false);
    }
    if (many->initialized)
        return;
    if (many->attach->eager) {
        say_initialized(many);
        many->hurry = timer_start(many->loop, FIRST_MS, on_unhurried, many);
    } else if (first_are_settled(many)) {
        say_initialized(many);
    } else if (!many->hurry) {
        many->hurry_us = loop_now_us();
        many->hurry = timer_start(many->loop, HURRY_MS, on_hurry, many);
    }
}

void many_join_ready(struct many_task *task)
{
    struct many *many = task->many;
    if (task->state != MANY_ATTACHING)
        return;
    many_task_move(task, MANY_READY);
    task->pause.paused_threads = session_paused_threads(task->inner);
    int64_t took_us = loop_now_us() - task->since_us;
    if (took_us >= many->attach_us)
        many->attach_us = took_us + 1; /* not 0 */
    if (many->hurry && !many->attach->eager) {
        timer_cancel(&many->hurry);
        many->hurry = timer_start(many->loop, 0, on_hurry, many);
    }
    many->waited_told = false;
    many_capabilities_joined(task);
    many_breakpoints_arm(many->sets, task);
    if (many->configured && task->state == MANY_READY)
        many_task_configure(task);
    many_join_proceed(many);
}

void many_join_configuration_done(struct many *many, const struct envelope *request)
{
    if (!many->initialized || many->configured) {
        client_refuse(
            many->client, request->seq, request->name,
            "configurationDone is only allowed after an attach and its 'initialized' event", false);
        return;
    }
    many->configured = true;
    client_respond(many->client, request->seq, request->name, NULL);
    session_attach_succeeded(many->session);
    wait_for_stops(many);
    for (struct many_task *at = many->targets; at; at = at->next)
        if (at->state == MANY_READY)
            many_task_configure(at);
}
