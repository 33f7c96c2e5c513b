#include "base/buf.h"
#include "cli/doctor/doctor_judge_parts.h"

#include <string.h>

static const char hint[] =
    "pip install 'debugpy>=1.8.0' on every node, into the environment of Ray; or for one job "
    "runtime_env={\"pip\": [\"debugpy>=1.8.0\"]} in ray.init(), or ray job submit "
    "--runtime-env-json '{\"pip\": [\"debugpy>=1.8.0\"]}'";

/* Appends what is known of the running jobs' own packages; nothing if they have none. */
static void add_jobs(const struct doctor_cluster *cluster, struct buf *out)
{
    size_t with = cluster->jobs[RUNTIME_PACKAGES_DEBUGPY];
    size_t own = cluster->jobs[RUNTIME_PACKAGES_OWN];
    if (with)
        buf_printf(out, "; %zu running job%s debugpy in %s runtime_env", with,
                   with == 1 ? " has" : "s have", with == 1 ? "its" : "their");
    if (own)
        buf_printf(out,
                   "; %zu running job%s an image, a conda environment or an interpreter whose "
                   "packages cannot be seen from here",
                   own, own == 1 ? " has" : "s have");
}

/* True if the runtime_env of each running job names debugpy, and there is one. */
static bool all_jobs_have_it(const struct doctor_cluster *cluster)
{
    return cluster->jobs[RUNTIME_PACKAGES_DEBUGPY] && !cluster->jobs[RUNTIME_PACKAGES_NODE] &&
           !cluster->jobs[RUNTIME_PACKAGES_OWN] && !cluster->jobs[RUNTIME_PACKAGES_UNKNOWN];
}

/* Sets `words`' why to what `parts` has, a list of clauses that each begin with "; ". */
static void set_why(struct err *words, struct buf *parts)
{
    if (parts->len)
        err_why(words, "%s", parts->data + strlen("; "));
    buf_free(parts);
}

/* No raylet runs here: the packages of the workers cannot be read. */
static void judge_elsewhere(const struct doctor_cluster *cluster, struct doctor_report *report)
{
    struct err *words = doctor_report_add(report, "debugpy", DOCTOR_OK);
    size_t open = cluster->debuggers.count + cluster->debuggers.left_out;
    struct buf why = {0};
    err_set(words, ERR_NONE, "unknown: no node of the cluster runs on this machine");
    if (open)
        buf_printf(&why, "; the %zu worker%s an open debugger ha%s it", open,
                   open == 1 ? " with" : "s with", open == 1 ? "s" : "ve");
    add_jobs(cluster, &why);
    set_why(words, &why);
    err_hint(words, "raydbg doctor on a node finds out; if it is missing there: %s", hint);
}

/* Ray needs 1.8.0. What `pip` and `uv` in a runtime_env install comes on top of the node's
 * packages. */
static void judge_here(const struct doctor_debugpy *debugpy, const struct doctor_cluster *cluster,
                       struct doctor_report *report)
{
    struct ray_version version = {0};
    bool known = debugpy->version && ray_version_parse(debugpy->version, &version);
    bool old = known && ray_version_compare(version, 1, 8, 0) < 0;
    bool good = debugpy->version && !old, by_job = !good && all_jobs_have_it(cluster);
    struct err *words =
        doctor_report_add(report, "debugpy", good || by_job ? DOCTOR_OK : DOCTOR_WARNING);
    struct buf why = {0};
    if (by_job)
        err_set(words, ERR_NONE, "all running jobs have debugpy in their runtime_env");
    else if (!debugpy->version)
        err_set(words, ERR_NONE, "Ray's workers on this node have no debugpy");
    else
        err_set(words, ERR_NONE, "Ray's workers on this node have debugpy%s%s",
                *debugpy->version ? " " : "", debugpy->version);
    if (!good)
        buf_printf(&why, "; %s has %s%s", debugpy->packages,
                   old ? "one older than 1.8.0" : "Ray and not debugpy",
                   by_job ? ""
                          : ": breakpoint() runs on there, and a task that fails does not wait");
    if (!by_job)
        add_jobs(cluster, &why);
    set_why(words, &why);
    if (!good)
        err_hint(words, "%s%s", by_job ? "other jobs need it, too: " : "", hint);
}

/* Without debugpy breakpoint() does not stop, and only the worker's log says so. */
void doctor_judge_debugpy(const struct doctor_facts *facts, struct doctor_report *report)
{
    if (facts->here.debugpy.packages)
        judge_here(&facts->here.debugpy, &facts->cluster, report);
    else if (facts->cluster.workers.answered && !facts->cluster.workers.err.code)
        judge_elsewhere(&facts->cluster, report);
}
