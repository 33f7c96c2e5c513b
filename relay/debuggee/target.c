#include "relay/debuggee/target.h"

#include "base/buf.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/text.h"
#include "dap/dap_command.h"
#include "dap/splice.h"
#include "relay/debuggee/request_guards.h"
#include "relay/debuggee/target_state.h"
#include "relay/inject/inject.h"
#include "relay/io/socket.h"

#include <stdlib.h>
#include <string.h>

enum {
    CONNECT_MS = 5000,
    REVERSE_CUT_S = 900, /* CUT_S in relay/worker_agent/agent_tls.py; loopback is not cut */
};

/* A threadId that means all threads to pydevd. */
#define ALL_THREADS "\"*\""

/* The allowed moves, a row for each state, in the order of the picture in target.h. */
static const struct invariant_state states[] = {
    [TARGET_CONNECTING] = {"connecting",
                           INVARIANT_TO(TARGET_ATTACHING) | INVARIANT_TO(TARGET_GONE)},
    [TARGET_ATTACHING] = {"attaching", INVARIANT_TO(TARGET_CONNECTING) |
                                           INVARIANT_TO(TARGET_READY) | INVARIANT_TO(TARGET_GONE)},
    [TARGET_READY] = {"ready", INVARIANT_TO(TARGET_RUNNING) | INVARIANT_TO(TARGET_LEAVING) |
                                   INVARIANT_TO(TARGET_GONE)},
    [TARGET_RUNNING] = {"running", INVARIANT_TO(TARGET_LEAVING) | INVARIANT_TO(TARGET_GONE)},
    [TARGET_LEAVING] = {"leaving", INVARIANT_TO(TARGET_GONE)},
    [TARGET_GONE] = {"gone", 0},
};

void target_move_at(struct invariant_location location, struct target *target,
                    enum target_state next)
{
    invariant_move(location, "target", states, target->state, next);
    target->state = next;
}

/* --- the link's callbacks --- */

/* debugpy 1.8.0 reports a stop at breakpoint() as a step. If no client stepped this thread, appends
 * the event with the reason of later versions and returns true. */
static bool correct_reason(struct target *target, const char *json, size_t len,
                           const struct envelope *event, struct buf *out)
{
    struct span at;
    int64_t thread;
    if (!text_equal(event->name, "stopped") ||
        !scan_integer_at(json, event->body, "threadId", &thread))
        return false;
    bool stepped = stopped_threads_has(&target->stepping, thread);
    stopped_threads_remove(&target->stepping, thread);
    if (stepped || !scan_find(json, event->body, "reason", &at) ||
        !scan_string_is(json, at, "step"))
        return false;
    struct edit edit = {at, "\"breakpoint\"", strlen("\"breakpoint\"")};
    splice_apply(json, len, &edit, 1, out);
    return true;
}

static void pass_event(struct target *target, const char *json, size_t len,
                       const struct envelope *envelope)
{
    struct buf corrected = {0};
    struct envelope again;
    const char *problem;
    if (correct_reason(target, json, len, envelope, &corrected) &&
        envelope_read(&again, corrected.data, corrected.len, &problem) == 0)
        target->ops->on_event(target->arg, corrected.data, corrected.len, &again);
    else
        target->ops->on_event(target->arg, json, len, envelope);
    buf_free(&corrected);
}

/* pydevd's warning that the injection takes its time: a page of the relay's own source code. */
static bool is_of_injection(const char *json, const struct envelope *event)
{
    struct span category;
    if (!text_equal(event->name, "output") || !event->body.len ||
        !scan_find(json, event->body, "category", &category) ||
        !scan_string_is(json, category, "important"))
        return false;
    char *output = scan_string_at(json, event->body, "output");
    bool is = output && inject_is_warned_of(output);
    free(output);
    return is;
}

static void on_link_event(void *arg, const char *json, size_t len, const struct envelope *envelope)
{
    struct target *target = target_checked(arg);
    target->greeted = true;
    if (text_equal(envelope->name, "initialized")) {
        target_initialized_event(target);
        return;
    }
    stopped_threads_event(&target->stopped, json, envelope);
    if (target->state >= TARGET_READY && !is_of_injection(json, envelope))
        pass_event(target, json, len, envelope);
}

static void on_link_response(void *arg, const struct pending *pending, const char *json, size_t len,
                             const struct envelope *envelope)
{
    struct target *target = target_checked(arg);
    /* debugpy refused a step, so its thread is still stopped. Which thread it is was not noted: let
     * requests for all of them pass. */
    if (!envelope->success && dap_command_is(pending->command, DAP_COMMAND_STEPS))
        target->stopped.all = true;
    target->ops->on_response(target->arg, pending, json, len, envelope);
}

static void on_link_close(void *arg, const char *why)
{
    struct target *target = target_checked(arg);
    enum target_state state = target->state;
    if (state == TARGET_GONE || (state == TARGET_ATTACHING && target->again))
        return;
    stopped_threads_resume_all(&target->stopped);
    if (state == TARGET_CONNECTING || state == TARGET_ATTACHING) {
        target_connection_failed(target, why);
        return;
    }
    target_move(target, TARGET_GONE);
    timer_cancel(&target->timer);
    timer_cancel(&target->again);
    target->ops->on_gone(target->arg, why);
}

static bool on_large_begin(void *arg, const struct pending *pending, const char *head,
                           size_t head_len, size_t total, const struct envelope *envelope)
{
    struct target *target = target_checked(arg);
    return target->state >= TARGET_READY &&
           target->ops->large_begin(target->arg, pending, head, head_len, total, envelope);
}

static void on_large_part(void *arg, const char *bytes, size_t len)
{
    struct target *target = target_checked(arg);
    target->ops->large_part(target->arg, bytes, len);
}

static void on_large_end(void *arg, bool whole)
{
    struct target *target = target_checked(arg);
    target->ops->large_end(target->arg, whole);
}

static void on_link_drain(void *arg)
{
    struct target *target = target_checked(arg);
    if (target->state != TARGET_GONE)
        target->ops->on_drain(target->arg);
}

static void on_link_write(void *arg, int64_t at, const char *head, size_t head_len,
                          const char *json, size_t len)
{
    struct target *target = target_checked(arg);
    target->ops->on_write(target->arg, at, head, head_len, json, len);
}

static void on_link_unread(void *arg)
{
    struct target *target = target_checked(arg);
    target->ops->on_unread(target->arg);
}

static const struct link_ops link_ops = {
    .on_unread = on_link_unread,
    .on_write = on_link_write,
    .on_drain = on_link_drain,
    .on_open = target_on_link_open,
    .on_event = on_link_event,
    .on_response = on_link_response,
    .on_close = on_link_close,
    .large_begin = on_large_begin,
    .large_part = on_large_part,
    .large_end = on_large_end,
};

/* --- */

static struct target *create(const struct target_options *options, const struct target_ops *ops,
                             void *arg)
{
    struct target *target = mem_alloc(sizeof *target);
    *target = (struct target){
        .loop = options->loop,
        .ops = ops,
        .arg = arg,
        .host = mem_string(options->host),
        .port = options->port,
        .initialize = mem_string(options->initialize),
        .attach = mem_string(options->attach),
        .pdb = options->pdb,
        .tune = options->tune,
        .sub_process = options->sub_process,
        .reverse = options->reverse,
        .waiting = -1,
    };
    target_set_magic(target);
    return target;
}

void target_open_link(struct target *target)
{
    if (target->pdb) /* it listens on IPv4, even if the name gives IPv6 first */
        target->link = link_open_pdb(target->loop, socket_ipv4_host(target->host), target->port,
                                     CONNECT_MS, &link_ops, target);
    else
        target->link = link_open(target->loop, target->host, target->port, CONNECT_MS, target->tune,
                                 &link_ops, target);
    link_read_enable(target->link, !target->halted);
}

/* A pydevd dials the relay; the relay cannot dial a pydevd. */
static void on_missing(void *arg)
{
    struct target *target = target_checked(arg);
    target->timer = NULL;
    target_connection_failed(target, "the process has closed its connection to the relay");
}

struct target *target_open(const struct target_options *options, const struct target_ops *ops,
                           void *arg)
{
    struct target *target = create(options, ops, arg);
    if (!target->reverse) {
        target_open_link(target);
    } else if (options->fd >= 0) {
        target->facts.cut_s = REVERSE_CUT_S;
        target->link = link_accept(target->loop, options->fd, target->tune, &link_ops, target);
    } else {
        target->timer = timer_start(target->loop, 0, on_missing, target);
    }
    return target;
}

struct target *target_adopt(const struct target_options *options, int fd, int64_t first_seq,
                            const char *rest, size_t rest_len, const struct target_ops *ops,
                            void *arg)
{
    struct target *target = create(options, ops, arg);
    target->state = TARGET_RUNNING;
    target->facts.cut_s = target->reverse ? REVERSE_CUT_S : 0;
    target->link =
        link_adopt(options->loop, fd, options->tune, first_seq, rest, rest_len, &link_ops, target);
    return target;
}

void target_destroy(struct target **target)
{
    struct target *it = *target;
    if (!it)
        return;
    *target = NULL;
    timer_cancel(&it->timer);
    timer_cancel(&it->again);
    link_destroy(&it->link);
    stopped_threads_clear(&it->stopped);
    stopped_threads_clear(&it->stepping);
    free(it->host);
    free(it->initialize);
    free(it->attach);
    free(it->capabilities);
    target_clear_magic(it);
    free(it);
}

enum target_state target_state(const struct target *target)
{
    return target->state;
}

bool target_deaf(const struct target *target)
{
    return target->deaf;
}

bool target_let_go(const struct target *target)
{
    return target->let_go;
}

struct target_facts target_facts(const struct target *target)
{
    return target->facts;
}

void target_recall_facts(struct target *target, struct target_facts facts)
{
    if (facts.cut_s > 0)
        target->facts.cut_s = facts.cut_s;
    if (facts.adapter > 0)
        target->facts.adapter = facts.adapter;
}

int target_waiting(const struct target *target)
{
    return target->state == TARGET_READY ? target->waiting : -1;
}

int target_fd(const struct target *target)
{
    return target->link ? link_fd(target->link) : -1;
}

size_t target_queued(const struct target *target)
{
    return target->link ? link_queued(target->link) : 0;
}

void target_read_enable(struct target *target, bool enable)
{
    target->halted = !enable;
    if (target->link)
        link_read_enable(target->link, enable);
}

const char *target_unread(const struct target *target, size_t *len)
{
    *len = 0;
    return target->link ? link_unread(target->link, len) : "";
}

void target_put_back(struct target *target, const char *bytes, size_t len)
{
    link_put_back(target->link, bytes, len);
}

void target_recall(struct target *target, const char *json, const struct envelope *event)
{
    stopped_threads_event(&target->stopped, json, event);
}

bool target_has_stopped(const struct target *target)
{
    return !stopped_threads_empty(&target->stopped);
}

/* Threads count as running as soon as the request leaves: a later request that overtook the
 * `continued` event might never be answered. debugpy resumes every thread on `continue`, whatever
 * threadId says. */
static void note_resume(struct target *target, const char *json, const struct envelope *envelope)
{
    int64_t thread;
    if (text_equal(envelope->name, "continue")) {
        stopped_threads_resume_all(&target->stopped);
        stopped_threads_resume_all(&target->stepping);
    } else if (dap_command_is(envelope->name, DAP_COMMAND_STEPS) && envelope->arguments.len &&
               scan_integer_at(json, envelope->arguments, "threadId", &thread)) {
        stopped_threads_remove(&target->stopped, thread);
        stopped_threads_add(&target->stepping, thread);
    }
}

/* debugpy's adapter resumes and pauses all threads, whatever threadId says; here the target does
 * so: gives the span to replace. Earlier pydevds take the threadId at its word. */
static bool names_thread(const struct target *target, const char *command, const char *json,
                         struct span arguments, struct span *out)
{
    return target->reverse && (text_equal(command, "continue") || text_equal(command, "pause")) &&
           arguments.len && scan_find(json, arguments, "threadId", out);
}

static bool forward_to_all(struct target *target, void *owner, struct client_seq client,
                           const char *json, size_t len, const struct envelope *envelope)
{
    struct span at;
    struct buf out = {0};
    struct envelope again;
    const char *problem;
    if (!names_thread(target, envelope->name, json, envelope->arguments, &at))
        return false;
    struct edit edit = {at, ALL_THREADS, strlen(ALL_THREADS)};
    splice_apply(json, len, &edit, 1, &out);
    bool sound = envelope_read(&again, out.data, out.len, &problem) == 0;
    if (sound)
        link_forward(target->link, owner, client, out.data, out.len, &again);
    buf_free(&out);
    return sound;
}

void target_forward(struct target *target, void *owner, struct client_seq client, const char *json,
                    size_t len, const struct envelope *envelope)
{
    note_resume(target, json, envelope);
    if (!forward_to_all(target, owner, client, json, len, envelope))
        link_forward(target->link, owner, client, json, len, envelope);
}

const char *target_refusal(const struct target *target, const char *json,
                           const struct envelope *envelope)
{
    return request_guards_refusal(&target->stopped, json, envelope);
}

void target_ask(struct target *target, const char *command, const char *arguments,
                int64_t timeout_ms, link_answer_fn fn, void *arg)
{
    if (text_equal(command, "continue")) {
        stopped_threads_resume_all(&target->stopped);
        stopped_threads_resume_all(&target->stepping);
    }
    struct span at;
    struct buf all = {0};
    if (arguments &&
        names_thread(target, command, arguments, (struct span){0, strlen(arguments)}, &at)) {
        struct edit edit = {at, ALL_THREADS, strlen(ALL_THREADS)};
        splice_apply(arguments, strlen(arguments), &edit, 1, &all);
    }
    link_ask(target->link, command, all.data ? all.data : arguments, timeout_ms, fn, arg);
    buf_free(&all);
}

void target_run(struct target *target, bool filters_set)
{
    /* Without `uncaught` a post-mortem pause does not stop at all (docs/facts/debugpy.md#0.3). */
    if (!filters_set && !target->pdb && !target->reverse)
        link_ask(target->link, "setExceptionBreakpoints", "{\"filters\":[\"uncaught\"]}", 0, NULL,
                 NULL);
    link_excuse(target->link, 0);
    link_ask(target->link, "configurationDone", NULL, 0, NULL, NULL);
    target_move(target, TARGET_RUNNING);
}

size_t target_owed(const struct target *target)
{
    return target->link ? link_owed(target->link) : 0;
}

size_t target_orphans(const struct target *target)
{
    return target->link ? link_orphans(target->link) : 0;
}

bool target_only_evaluates(const struct target *target, const void *owner, struct client_seq client)
{
    const struct pending *it = target->link ? link_find_pending(target->link, owner, client) : NULL;
    return it && text_equal(it->command, "evaluate") &&
           target_owed(target) <= target_orphans(target) + 1;
}

void target_guard(struct target *target, bool guard)
{
    if (guard)
        link_guard(target->link);
    else
        link_entrust(target->link);
}

bool target_take_pending(struct target *target, const void *owner, struct pending *out)
{
    return target->link && link_take_pending(target->link, owner, out);
}
