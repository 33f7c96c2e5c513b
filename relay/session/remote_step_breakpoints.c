/* A breakpoint that is set while the client looks at the callee is set in the caller, too. The two
 * tasks have connections of their own: the client gets the callee's answer when both have answered,
 * so that the callee cannot return, and the caller pass the line, before the breakpoint is set
 * there. */
#include "base/buf.h"
#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/debuggee/exception_filters.h"
#include "relay/session/remote_step_state.h"

#include <stdlib.h>

struct remote_step_set {
    struct remote_step_set *next;
    struct remote_step *step;
    int64_t seq;       /* the client's request */
    int64_t since_us;  /* when the caller was asked */
    bool caller_waits; /* the caller has not answered yet */
    bool given_up;     /* the client's answer does not wait for the caller's */
    struct buf answer; /* the callee's answer, while it waits for the caller's */
};

static void set_free(struct remote_step_set *set)
{
    LIST_REMOVE(set->step->sets, set);
    buf_free(&set->answer);
    free(set);
}

static void pass_answer(struct remote_step_set *set)
{
    struct envelope envelope;
    const char *problem;
    if (set->answer.len &&
        envelope_read(&envelope, set->answer.data, set->answer.len, &problem) == 0)
        client_pass(&set->step->session->client, set->answer.data, set->answer.len, &envelope,
                    set->seq);
    buf_free(&set->answer);
}

/* --- the caller --- */

static void say_unconfirmed(const struct remote_step_set *set, const char *json,
                            const struct envelope *envelope)
{
    struct session *session = set->step->session;
    const char *name = session->pause.task_name ? session->pause.task_name : "the caller";
    char *why = json && envelope->message.len ? scan_string(json, envelope->message) : NULL;
    char *text = why ? mem_format("raydbg: %s did not take these breakpoints: %s\n", name, why)
                     : mem_format("raydbg: %s has not confirmed these breakpoints: until it does "
                                  "they hold in this task only\n",
                                  name);
    client_say(&session->client, "console", text);
    free(text);
    free(why);
}

static void on_caller_answer(void *arg, const char *json, size_t len,
                             const struct envelope *envelope)
{
    struct remote_step_set *set = arg;
    bool late = !json && loop_now_us() - set->since_us >= (int64_t)REMOTE_STEP_ASK_MS * 1000;
    (void)len;
    set->caller_waits = false;
    if (!set->given_up && (late || (json && !envelope->success)))
        say_unconfirmed(set, json, envelope);
    bool answered = set->answer.len || set->given_up;
    pass_answer(set);
    if (answered)
        set_free(set);
}

static bool set_in_caller(struct remote_step_set *set, const char *json, size_t len,
                          const struct envelope *envelope)
{
    struct session *session = set->step->session;
    struct buf edited = {0}, mapped = {0};
    struct envelope again;
    const char *problem;
    if (session_map_paths(session, json, len, envelope, &mapped, &again)) {
        json = mapped.data;
        envelope = &again;
    }
    if (text_equal(envelope->name, "setExceptionBreakpoints") && session_adds_uncaught(session)) {
        if (exception_filters_add_uncaught(json, len, envelope, &edited) ||
            envelope_read(&again, edited.data, edited.len, &problem) != 0) {
            buf_free(&edited);
            return false;
        }
        json = edited.data;
        envelope = &again;
    }
    bool sent = hub_set_quietly(&session->member, json, envelope, REMOTE_STEP_ASK_MS,
                                on_caller_answer, set);
    buf_free(&edited);
    buf_free(&mapped);
    return sent;
}

void remote_step_set_in_caller(struct remote_step *step, const char *json, size_t len,
                               const struct envelope *envelope)
{
    struct remote_step_set *set = mem_alloc(sizeof *set);
    *set = (struct remote_step_set){.next = step->sets,
                                    .step = step,
                                    .seq = envelope->seq,
                                    .since_us = loop_now_us(),
                                    .caller_waits = true};
    step->sets = set;
    if (!set_in_caller(set, json, len, envelope))
        set_free(set);
}

/* --- the callee --- */

bool remote_step_set_waits(struct remote_step *step, const char *json, size_t len,
                           const struct envelope *envelope)
{
    struct remote_step_set *set = step->sets;
    while (set && (set->given_up || set->seq != envelope->request_seq))
        set = set->next;
    if (!set)
        return false;
    if (!set->caller_waits) {
        set_free(set);
        return false;
    }
    buf_clear(&set->answer, 0);
    buf_add(&set->answer, json, len);
    return true;
}

void remote_step_sets_give_up(struct remote_step *step)
{
    for (struct remote_step_set *set = step->sets, *next; set; set = next) {
        next = set->next;
        set->given_up = true;
        pass_answer(set);
        if (!set->caller_waits)
            set_free(set);
    }
}

void remote_step_sets_clear(struct remote_step *step)
{
    for (struct remote_step_set *set = step->sets, *next; set; set = next) {
        next = set->next;
        buf_free(&set->answer);
        free(set);
    }
    step->sets = NULL;
}
