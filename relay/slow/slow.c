#include "relay/slow/slow.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/job_id.h"
#include "relay/slow/slow_rules.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *slow_span(int64_t us, char out[WHY_SPAN_TEXT])
{
    if (us < 0 || us >= 10000000)
        return why_span(us < 0 ? -1 : us / 1000, out);
    if (us < 100)
        snprintf(out, WHY_SPAN_TEXT, "%.2f ms", (double)us / 1000);
    else if (us < 10000)
        snprintf(out, WHY_SPAN_TEXT, "%.1f ms", (double)us / 1000);
    else if (us < 1000000)
        snprintf(out, WHY_SPAN_TEXT, "%.0f ms", (double)us / 1000);
    else
        snprintf(out, WHY_SPAN_TEXT, "%.1f s", (double)us / 1000000);
    return out;
}

/* --- the job --- */

/* The jobs that have tasks, by the time at which each submitted one last. */
struct job_list {
    struct job_row {
        const char *job_id;
        int64_t last_ns;
    } * rows;
    size_t count;
};

static bool is_task(const struct ray_attempt *attempt)
{
    return attempt->timing && *attempt->job_id &&
           (attempt->type == RAY_NORMAL_TASK || attempt->type == RAY_ACTOR_TASK);
}

static void add_job(struct job_list *jobs, const struct ray_attempt *attempt)
{
    size_t i = 0;
    while (i < jobs->count && strcmp(jobs->rows[i].job_id, attempt->job_id) != 0)
        i++;
    if (i == jobs->count) {
        jobs->rows = mem_resize(jobs->rows, ++jobs->count, sizeof *jobs->rows);
        jobs->rows[i] = (struct job_row){.job_id = attempt->job_id};
    }
    if (attempt->timing->state_ns[RAY_ATTEMPT_PENDING_ARGS] > jobs->rows[i].last_ns)
        jobs->rows[i].last_ns = attempt->timing->state_ns[RAY_ATTEMPT_PENDING_ARGS];
}

static int fail_job(const struct job_list *jobs, const char *text, bool is_ambiguous,
                    struct err *err)
{
    enum { SHOWN = 8 };
    char ids[SHOWN * (ID_TEXT(ID_JOB_BYTES) + 2)] = "", id[ID_TEXT(ID_JOB_BYTES)];
    for (size_t i = 0; i < jobs->count && i < SHOWN; i++)
        snprintf(ids + strlen(ids), sizeof ids - strlen(ids), "%s%s", i ? ", " : "",
                 job_id_brief(jobs->rows[i].job_id, id));
    err_set(err, ERR_NOT_FOUND, "%s with '%s'",
            is_ambiguous ? "the ids of several jobs begin" : "no job's id begins", text);
    return jobs->count
               ? err_hint(err, "jobs that have tasks: %s%s", ids, jobs->count > SHOWN ? ", …" : "")
               : err_hint(err, "no job has a task");
}

/* The job whose whole id is meant: the one with this short id, or the only one that begins so. NULL
 * with `err` set if there is none, or several. */
static const char *find_job(const struct why_records *records, const struct job_list *jobs,
                            const char *text, struct err *err)
{
    const char *found = NULL;
    bool is_ambiguous = false;
    for (size_t i = 0; i < records->job_count + jobs->count; i++) {
        const char *job_id = i < records->job_count ? records->jobs[i].job_id
                                                    : jobs->rows[i - records->job_count].job_id;
        if (job_id_is(job_id, text))
            return job_id;
        if (!text_starts(job_id, text))
            continue;
        is_ambiguous = is_ambiguous || (found && strcmp(found, job_id) != 0);
        found = job_id;
    }
    if (found && !is_ambiguous)
        return found;
    fail_job(jobs, text, is_ambiguous, err);
    return NULL;
}

static bool is_internal(const struct why_records *records, const char *job_id)
{
    const struct ray_job *job = why_records_job(records, job_id);
    return job && job->is_internal;
}

/* The job that has submitted a task last; "" if none has. */
static const char *last_job(const struct why_records *records, const struct job_list *jobs)
{
    const struct job_row *last = NULL;
    for (size_t i = 0; i < jobs->count; i++)
        if (!is_internal(records, jobs->rows[i].job_id) &&
            (!last || jobs->rows[i].last_ns > last->last_ns))
            last = &jobs->rows[i];
    return last ? last->job_id : "";
}

/* Returns the whole id; NULL with `err` set. */
static const char *choose_job(const struct why_records *records, const struct slow_query *query,
                              struct err *err)
{
    struct job_list jobs = {0};
    for (size_t i = 0; i < records->attempt_count; i++)
        if (is_task(&records->attempts[i]))
            add_job(&jobs, &records->attempts[i]);
    const char *job_id =
        query->job ? find_job(records, &jobs, query->job, err) : last_job(records, &jobs);
    free(jobs.rows);
    return job_id;
}

/* --- findings --- */

static bool is_named(const struct slow_query *query, const char *name)
{
    return !query->name || fnmatch(query->name, name, 0) == 0;
}

static void finding_clear(struct slow_finding *finding)
{
    free(finding->name);
    free(finding->cause);
    free(finding->advice);
}

/* Why the rule cannot judge; NULL: it can. */
static const char *problem_of(const struct slow_rule *rule, const struct slow_job *job)
{
    if (rule->of_job && job->records->problems[WHY_WORKERS].code)
        return job->records->problems[WHY_WORKERS].what;
    return rule->needs_cpus ? job->cpus.problem : NULL;
}

/* True if the rule speaks. A finding that costs the job next to nothing is dropped. */
static bool apply(const struct slow_rule *rule, const struct slow_job *job,
                  const struct slow_group *group, const struct slow_query *query,
                  struct slow_report *out)
{
    struct slow_finding finding = {.code = rule->code};
    if (problem_of(rule, job) || !rule->find(job, group, &finding))
        return false;
    bool is_asked = is_named(query, finding.name) || (group && is_named(query, group->name));
    if (!is_asked || finding.cost_us * 100 < job->runs.busy_us * SLOW_LEAST_PERCENT) {
        finding_clear(&finding);
        return false;
    }
    out->findings = mem_resize(out->findings, out->count + 1, sizeof *out->findings);
    out->findings[out->count++] = finding;
    return true;
}

static int compare_costs(const void *left, const void *right)
{
    const struct slow_finding *a = left, *b = right;
    return (a->cost_us < b->cost_us) - (a->cost_us > b->cost_us);
}

static void find_all(const struct slow_job *job, const struct slow_query *query,
                     struct slow_report *out)
{
    size_t count;
    const struct slow_rule *rules = slow_rules_all(&count);
    for (size_t i = 0; i < job->runs.group_count; i++) {
        bool found = false;
        for (size_t k = 0; k < count && !found; k++)
            found = !rules[k].of_job && apply(&rules[k], job, &job->runs.groups[i], query, out);
    }
    for (size_t k = 0; k < count; k++)
        if (rules[k].of_job)
            apply(&rules[k], job, NULL, query, out);
    if (out->count)
        qsort(out->findings, out->count, sizeof *out->findings, compare_costs);
}

/* --- what is unknown --- */

static void add_rules(const struct slow_job *job, struct slow_report *out)
{
    size_t count;
    const struct slow_rule *rules = slow_rules_all(&count);
    for (size_t i = 0; i < count; i++) {
        const char *problem = problem_of(&rules[i], job);
        if (problem)
            why_list_add(&out->unknown, "%s: %s", rules[i].looks_for, problem);
        else
            why_list_add(&out->looked_for, "%s", rules[i].looks_for);
    }
}

/* The last second of a process that was killed is always missing: a few are not worth a word. */
static void add_untimed(const struct slow_runs *runs, struct slow_report *out)
{
    size_t over = 0, timed = 0;
    for (size_t i = 0; i < runs->count; i++) {
        over += runs->items[i].attempt->timing->state_ns[RAY_ATTEMPT_FINISHED] > 0;
        timed += runs->items[i].execute_us >= 0;
    }
    if (10 * (over - timed) > over)
        why_list_add(&out->unknown,
                     "how long %zu of %zu finished tasks executed: Ray has no event of it",
                     over - timed, over);
}

/* --- the report --- */

static size_t count_nodes(const struct slow_runs *runs)
{
    const char **seen = mem_array(runs->started, sizeof(const char *));
    size_t count = 0;
    for (size_t i = 0; i < runs->started; i++) {
        const char *node_id = runs->by_process[i]->attempt->node_id;
        size_t k = 0;
        if (i && slow_runs_same_process(runs->by_process[i - 1], runs->by_process[i]))
            continue;
        while (k < count && strcmp(seen[k], node_id) != 0)
            k++;
        if (k == count && *node_id)
            seen[count++] = node_id;
    }
    free(seen);
    return count;
}

static size_t count_names(const struct slow_runs *runs, const struct slow_query *query)
{
    size_t count = 0;
    for (size_t i = 0; i < runs->group_count; i++)
        count += is_named(query, runs->groups[i].name);
    return count;
}

static void fill(const struct slow_job *job, const struct slow_query *query,
                 struct slow_report *out)
{
    const struct slow_runs *runs = &job->runs;
    out->tasks = runs->tasks;
    out->names = count_names(runs, query);
    out->nodes = count_nodes(runs);
    out->busy_us = runs->busy_us;
    out->running = runs->busy_us ? (double)runs->running_us / (double)runs->busy_us : 0;
    out->cpus = job->cpus.total;
    find_all(job, query, out);
    add_rules(job, out);
    add_untimed(runs, out);
}

int slow_make(const struct why_records *records, const struct slow_query *query,
              struct slow_report *out, struct err *err)
{
    struct slow_job job = {.records = records};
    char id[ID_TEXT(ID_JOB_BYTES)];
    int failed = 0;
    *out = (struct slow_report){.kept = records->attempt_count, .dropped = records->dropped};
    const char *job_id = choose_job(records, query, err);
    if (!job_id)
        return -1;
    text_copy(out->job_id, sizeof out->job_id, job_id);
    slow_runs_make(records, job_id, query->since_us, &job.runs);
    slow_cpus_make(records, job.runs.since_us, &job.cpus);
    if (job.runs.count && !count_names(&job.runs, query)) {
        failed = err_set(err, ERR_NOT_FOUND, "no task of job %s has a name like '%s'",
                         job_id_brief(job_id, id), query->name);
        err_hint(err, "raydbg slow without a name looks at all of them");
    } else {
        fill(&job, query, out);
    }
    slow_cpus_clear(&job.cpus);
    slow_runs_clear(&job.runs);
    return failed;
}

void slow_clear(struct slow_report *report)
{
    for (size_t i = 0; i < report->count; i++)
        finding_clear(&report->findings[i]);
    free(report->findings);
    why_list_clear(&report->looked_for);
    why_list_clear(&report->unknown);
    *report = (struct slow_report){0};
}
