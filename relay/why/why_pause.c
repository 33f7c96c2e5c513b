/* The rules for tasks that are stopped in a debugger, and for those that wait for them. */
#include "base/mem.h"
#include "base/text.h"
#include "relay/why/why_graph.h"
#include "relay/why/why_rules.h"

#include <stdlib.h>
#include <string.h>

/* "stopped at app.py:22 in Ray's legacy pdb and waits for a debugger"; the caller frees it. */
static char *pause_words(const struct why_pause *pause)
{
    const char *location = pause->location ? pause->location : "a breakpoint";
    const char *in = pause->is_post_mortem ? ", where it raised an exception (post mortem)"
                     : pause->is_pdb       ? " in Ray's legacy pdb"
                                           : "";
    if (!pause->location && pause->is_post_mortem) {
        location = "the line";
        in = " that raised an exception (post mortem)";
    }
    return pause->holder ? mem_format("stopped at %s%s: %s", location, in, pause->holder)
                         : mem_format("stopped at %s%s and waits for a debugger", location, in);
}

static void tell_attach(const struct ray_attempt *attempt, struct why_report *report)
{
    char id[ID_TEXT(ID_TASK_BYTES)];
    why_list_add(&report->next, "raydbg attach %s", why_short_id(attempt->task_id, id));
}

bool why_rules_own_pause(const struct why_records *records, const struct ray_attempt *attempt,
                         struct why_report *report)
{
    const struct why_pause *pause = why_records_pause(records, attempt);
    if (!pause)
        return false;
    char *words = pause_words(pause);
    why_report_cause(report, "paused", "it is %s", words);
    tell_attach(attempt, report);
    free(words);
    return true;
}

/* A task that is stopped keeps its CPUs, too. */
static const struct ray_attempt *paused_holder(const struct why_records *records,
                                               const struct ray_attempt *waiting)
{
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        if (why_records_pause(records, it) && why_graph_holds(records, it, waiting, true))
            return it;
    }
    return NULL;
}

/* The first task that is stopped, of those that this one may wait for. */
static const struct ray_attempt *find_paused(const struct why_records *records,
                                             const struct ray_attempt *attempt)
{
    struct why_reach reach;
    why_graph_reach(records, attempt, &reach);
    for (size_t i = 1; i < reach.count; i++)
        if (why_records_pause(records, reach.items[i]))
            return reach.items[i];
    for (size_t i = 0; i < reach.count; i++) {
        const struct ray_attempt *it = reach.items[i];
        const struct ray_attempt *holder =
            it->state == RAY_ATTEMPT_PENDING_NODE ? paused_holder(records, it) : NULL;
        if (holder)
            return holder;
    }
    return NULL;
}

static bool any_paused(const struct why_records *records)
{
    for (size_t i = 0; i < records->attempt_count; i++)
        if (why_records_pause(records, &records->attempts[i]))
            return true;
    return false;
}

void why_rules_others_pause(const struct why_records *records, const struct ray_attempt *attempt,
                            struct why_report *report)
{
    static const char *const codes[] = {"may_wait", "queued_in_actor", "waits_for_argument",
                                        "waits_for_resources"};
    bool waits = false;
    char name[WHY_NAME_TEXT];
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        waits |= text_equal(report->code, codes[i]);
    const struct ray_attempt *paused =
        waits && any_paused(records) ? find_paused(records, attempt) : NULL;
    if (!paused)
        return;
    char *words = pause_words(why_records_pause(records, paused));
    why_report_cause(report, "waits_for_paused", "it %s for %s, which is %s",
                     attempt->state == RAY_ATTEMPT_RUNNING ? "may wait" : "waits",
                     why_name_of_task(paused, name), words);
    why_link_task(paused, report);
    tell_attach(paused, report);
    free(words);
}
