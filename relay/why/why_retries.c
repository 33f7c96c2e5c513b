/* Judges earlier attempts of a task, and how Ray reacts to a failure. */
#include "base/text.h"
#include "relay/why/why_rules.h"

/* How many of the attempts up to this one Ray's memory monitor has ended. */
static int count_memory_kills(const struct why_records *records, const struct ray_attempt *attempt)
{
    int count = 0;
    for (const struct ray_attempt *it = attempt; it; it = why_records_previous(records, it))
        count += it->state == RAY_ATTEMPT_FAILED && it->has_error &&
                 it->error_type == RAY_ERROR_OUT_OF_MEMORY;
    return count;
}

/* Adds the last line of the user's program in which the attempt was. */
static void tell_location(const struct ray_attempt *before, const struct why_report *its,
                          struct why_report *report)
{
    const struct why_frame *frame = NULL;
    for (size_t i = 0; i < its->frame_count; i++)
        if (its->frames[i].is_users)
            frame = &its->frames[i];
    if (frame)
        why_list_add(&report->details, "attempt %d was at %s:%lld in %s", before->attempt + 1,
                     frame->file, (long long)frame->line, frame->function);
}

/* Says why the attempt before this one failed, unless this one has failed in the same way. */
static void tell_failed(const struct why_records *records, const struct ray_attempt *attempt,
                        const struct ray_attempt *before, struct why_report *report)
{
    struct why_report its = {0};
    char span[WHY_SPAN_TEXT];
    why_rules_ended_task(records, before, &its);
    if (attempt->state != RAY_ATTEMPT_FAILED || !text_equal(its.code, report->code)) {
        why_list_add(&report->ray, "this is attempt %d: attempt %d failed %s ago: %s",
                     attempt->attempt + 1, before->attempt + 1,
                     why_span(records->now_ms - before->state_ms[before->state], span), its.cause);
        for (size_t i = 0; i < its.unknown.count; i++)
            why_list_add(&report->unknown, "of attempt %d: %s", before->attempt + 1,
                         its.unknown.items[i]);
        tell_location(before, &its, report);
    }
    why_report_clear(&its);
}

static void tell_previous(const struct why_records *records, const struct ray_attempt *attempt,
                          struct why_report *report)
{
    const struct ray_attempt *before = why_records_previous(records, attempt);
    if (!before)
        why_list_add(&report->unknown,
                     "why it is attempt %d: Ray has no record of the one before it",
                     attempt->attempt + 1);
    else if (before->state == RAY_ATTEMPT_FINISHED && !before->raised_type)
        why_list_add(
            &report->ray,
            "this is attempt %d: the result of attempt %d was lost, and Ray makes it again",
            attempt->attempt + 1, before->attempt + 1);
    else if (ray_attempt_is_over(before))
        tell_failed(records, attempt, before, report);
}

static void tell_end(const struct ray_attempt *attempt, struct why_report *report)
{
    int error = attempt->has_error ? attempt->error_type : -1;
    bool never_retried =
        error == RAY_ERROR_TASK_CANCELLED || error == RAY_ERROR_RUNTIME_ENV_SETUP_FAILED;
    if (attempt->attempt > 0 && error == RAY_ERROR_TASK_EXECUTION_EXCEPTION)
        why_list_add(&report->ray,
                     "it was tried %d times: Ray retries an exception only with "
                     "retry_exceptions, and while retries are left",
                     attempt->attempt + 1);
    else if (attempt->attempt > 0 && !never_retried)
        why_list_add(&report->ray, "it was tried %d times: no retries are left",
                     attempt->attempt + 1);
    else if (error == RAY_ERROR_TASK_EXECUTION_EXCEPTION)
        why_list_add(&report->ray,
                     "Ray did not retry it: it retries an exception only with retry_exceptions");
    else
        why_list_add(&report->ray, "Ray did not retry it");
}

void why_rules_retries(const struct why_records *records, const struct ray_attempt *attempt,
                       struct why_report *report)
{
    int kills = count_memory_kills(records, attempt);
    if (why_records_is_retried(records, attempt))
        why_list_add(&report->ray, "Ray has retried it");
    else if (attempt->state == RAY_ATTEMPT_FAILED && attempt->type == RAY_NORMAL_TASK)
        tell_end(attempt, report);
    if (attempt->attempt > 0)
        tell_previous(records, attempt, report);
    if (kills && !ray_attempt_is_over(attempt))
        why_list_add(&report->ray,
                     "Ray's memory monitor has killed it %d time%s, and Ray retries that without "
                     "limit (RAY_task_oom_retries)",
                     kills, kills == 1 ? "" : "s");
}
