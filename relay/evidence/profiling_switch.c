#include "relay/evidence/profiling_switch.h"

#include "base/invariant.h"
#include "base/mem.h"
#include "base/text.h"
#include "proto/dashboard.h"
#include "relay/cluster/ray_source.h"

#include <stdlib.h>
#include <string.h>

struct profiling_switch {
    uint32_t magic;
    struct ray_source *source;
    struct dashboard *dashboard;
    char *session; /* of the cluster, as its GCS names it */
    profiling_switch_fn fn;
    void *arg;
};
INVARIANT_MAGIC(profiling_switch, 0xc1410414)
#define profiling_switch_checked(object) profiling_switch_checked_at(INVARIANT_HERE, object)

void profiling_switch_free(struct profiling_switch **profiling)
{
    struct profiling_switch *it = *profiling;
    if (!it)
        return;
    *profiling = NULL;
    ray_source_kv_forget(it->source, it); /* also of the version */
    dashboard_destroy(&it->dashboard);
    free(it->session);
    profiling_switch_clear_magic(it);
    free(it);
}

static void answer(struct profiling_switch *it, const struct err *err)
{
    it->fn(it->arg, err);
}

/* `cause` may be NULL. */
static void answer_unknown(struct profiling_switch *it, const struct err *cause, const char *why)
{
    struct err err;
    err_set(&err, ERR_DENIED,
            "whether the operator of this cluster allows stacks and profiles cannot be found out");
    err_why(&err, "%s", cause ? cause->what : why);
    err_hint(&err, "Ray's dashboard has the switch: run raydbg where the dashboard can be reached, "
                   "such as on the head node");
    answer(it, &err);
}

static void on_profiling(void *arg, const struct err *err, bool enabled)
{
    struct profiling_switch *it = profiling_switch_checked(arg);
    struct err off;
    if (err) {
        answer_unknown(it, err, NULL);
    } else if (enabled) {
        answer(it, NULL);
    } else {
        err_set(&off, ERR_DENIED, "stacks and profiles are switched off in this cluster");
        err_why(&off, "Ray does so by default, for security (from 2.60 on)");
        err_hint(&off, "the operator turns them on with RAY_DASHBOARD_ENABLE_PROFILING=1 in the "
                       "environment of `ray start --head`");
        answer(it, &off);
    }
}

static void on_session(void *arg, const struct err *err, const char *session)
{
    struct profiling_switch *it = profiling_switch_checked(arg);
    if (err)
        answer_unknown(it, err, NULL);
    else if (!text_equal(session, it->session))
        answer_unknown(it, NULL, "the dashboard at that address belongs to another cluster");
    else
        dashboard_profiling(it->dashboard, on_profiling, it);
}

static const struct gcs_kv *entry(const struct gcs_kv *entries, size_t count, const char *key)
{
    for (size_t i = 0; i < count; i++)
        if (text_equal(entries[i].key, key))
            return &entries[i];
    return NULL;
}

static void on_address(void *arg, const struct err *err, const struct gcs_kv *entries, size_t count)
{
    struct profiling_switch *it = profiling_switch_checked(arg);
    const struct gcs_kv *address = entry(entries, count, "dashboard");
    struct err bad;
    if (err || !address) {
        answer_unknown(it, err, "this cluster has no dashboard");
        return;
    }
    char *url = mem_format("http://%s", address->value);
    it->dashboard = ray_source_dashboard_at(it->source, url, &bad);
    free(url);
    if (it->dashboard)
        dashboard_session(it->dashboard, on_session, it);
    else
        answer_unknown(it, &bad, NULL);
}

static void on_session_name(void *arg, const struct err *err, const struct gcs_kv *entries,
                            size_t count)
{
    struct profiling_switch *it = profiling_switch_checked(arg);
    const struct gcs_kv *name = entry(entries, count, "session_name");
    if (err || !name) {
        answer_unknown(it, err, "its session has no name");
        return;
    }
    it->session = mem_string(name->value);
    ray_source_kv_get_all(it->source, "dashboard", "dashboard", on_address, it);
}

static void on_version(void *arg, const struct err *err, struct ray_version version,
                       const char *ray_version, const char *python_version)
{
    struct profiling_switch *it = profiling_switch_checked(arg);
    (void)ray_version, (void)python_version;
    if (err)
        answer(it, err);
    else if (ray_version_compare(version, 2, 56, 0) < 0) /* 2.55.1 has no switch, 2.60 has */
        answer(it, NULL);
    else
        ray_source_kv_get_all(it->source, "session", "session_name", on_session_name, it);
}

struct profiling_switch *profiling_switch_ask(struct cluster *cluster, profiling_switch_fn fn,
                                              void *arg)
{
    struct profiling_switch *it = mem_alloc(sizeof *it);
    *it = (struct profiling_switch){.source = cluster_source(cluster), .fn = fn, .arg = arg};
    profiling_switch_set_magic(it);
    ray_source_version(it->source, on_version, it);
    return it;
}
