#include "relay/why_records/why_subject.h"

#include "base/text.h"
#include "proto/job_id.h"
#include "relay/why_records/why_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SHORTEST_PREFIX = 4 };

const char *why_kind_name(enum why_kind kind)
{
    static const char *const names[] = {"task", "actor", "worker", "node",
                                        "job",  "group", "object"};
    return names[kind];
}

/* --- by id --- */

static bool is_hex(const char *text)
{
    size_t len = 0;
    while (isxdigit((unsigned char)text[len]))
        len++;
    return !text[len] && len >= SHORTEST_PREFIX;
}

/* The matches of an id's beginning so far. */
struct matches {
    size_t count;
    struct why_subject subject;
    char text[400]; /* "task f (8c84c44f), actor …" */
};

static void add_match(struct matches *matches, const struct why_subject *subject, const char *id,
                      const char *name)
{
    size_t used = strlen(matches->text);
    if (matches->count++ == 0)
        matches->subject = *subject;
    if (matches->count <= 5)
        snprintf(matches->text + used, sizeof matches->text - used, "%s%s %s%s%.12s",
                 used ? ", " : "", why_kind_name(subject->kind), name ? name : "", name ? " " : "",
                 id);
}

static void match_tasks(const struct why_records *records, const char *prefix,
                        struct matches *matches)
{
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        if (text_starts(it->task_id, prefix) && !why_records_is_retried(records, it))
            add_match(matches, &(struct why_subject){.kind = WHY_TASK, .attempt = it}, it->task_id,
                      it->name);
    }
}

static void match_others(const struct why_records *records, const char *prefix,
                         struct matches *matches)
{
    for (size_t i = 0; i < records->actor_count; i++)
        if (text_starts(records->actors[i].actor_id, prefix))
            add_match(matches,
                      &(struct why_subject){.kind = WHY_ACTOR, .actor = &records->actors[i]},
                      records->actors[i].actor_id, records->actors[i].class_name);
    for (size_t i = 0; i < records->worker_count; i++)
        if (text_starts(records->workers[i].worker_id, prefix))
            add_match(matches,
                      &(struct why_subject){.kind = WHY_WORKER, .worker = &records->workers[i]},
                      records->workers[i].worker_id, NULL);
    for (size_t i = 0; i < records->node_count; i++)
        if (text_starts(records->nodes[i].node_id, prefix))
            add_match(matches, &(struct why_subject){.kind = WHY_NODE, .node = &records->nodes[i]},
                      records->nodes[i].node_id, records->nodes[i].ip);
    for (size_t i = 0; i < records->group_count; i++)
        if (text_starts(records->groups[i].group_id, prefix))
            add_match(matches,
                      &(struct why_subject){.kind = WHY_GROUP, .group = &records->groups[i]},
                      records->groups[i].group_id, records->groups[i].name);
}

/* 0: found, 1: nothing has this id, -1: several have. */
static int find_id(const struct why_records *records, const char *name, struct why_subject *out,
                   struct err *err)
{
    char prefix[ID_TEXT(ID_OBJECT_BYTES)];
    struct matches matches = {0};
    if (!is_hex(name) || !text_copy(prefix, sizeof prefix, name))
        return 1;
    for (char *at = prefix; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    match_tasks(records, prefix, &matches);
    match_others(records, prefix, &matches);
    if (matches.count > 1) {
        err_set(err, ERR_NOT_FOUND, "the id %s is the beginning of %zu", name, matches.count);
        return err_why(err, "%s%s", matches.text, matches.count > 5 ? ", …" : "");
    }
    if (matches.count == 1) {
        *out = matches.subject;
        return 0;
    }
    if (!object_id_parse(prefix, strlen(prefix), &out->object))
        return 1;
    out->kind = WHY_OBJECT;
    return 0;
}

/* --- by name --- */

/* The rank of an attempt as the answer to "why": a failure first, then what waits, then what runs.
 * What Ray only still lists as waiting is last. */
static int rank_of(const struct why_records *records, const struct ray_attempt *attempt)
{
    switch (attempt->state) {
    case RAY_ATTEMPT_FAILED:
        return 4;
    case RAY_ATTEMPT_FINISHED:
        return attempt->raised_type ? 3 : 0; /* an exit, which the caller saw as a crash */
    case RAY_ATTEMPT_RUNNING:
        return 1;
    default:
        return why_never_runs(records, attempt) ? 0 : 2;
    }
}

static bool is_better(const struct why_records *records, const struct ray_attempt *a,
                      const struct ray_attempt *b)
{
    int rank = rank_of(records, a), other = rank_of(records, b);
    if (rank != other)
        return rank > other;
    int64_t at = a->state_ms[a->state], than = b->state_ms[b->state];
    return rank == 2 ? at < than : at > than;
}

static const char *name_of(const struct ray_attempt *attempt, bool function)
{
    return function ? attempt->func_or_class : attempt->name;
}

/* By its name; with `function` by its function's, which .options(name=…) leaves. */
static void find_task(const struct why_records *records, const char *name, bool function,
                      struct why_subject *out)
{
    struct why_subject found = {.kind = WHY_TASK};
    for (size_t i = 0; i < records->attempt_count; i++) {
        const struct ray_attempt *it = &records->attempts[i];
        if (!text_equal(name_of(it, function), name) || !why_records_stands_for_task(records, it))
            continue;
        int rank = rank_of(records, it);
        found.namesakes++;
        found.namesakes_failed += rank >= 3;
        found.namesakes_waiting += rank == 2;
        if (!found.attempt || is_better(records, it, found.attempt))
            found.attempt = it;
    }
    *out = found;
}

static const struct ray_actor *find_actor(const struct why_records *records, const char *name)
{
    const struct ray_actor *found = NULL;
    for (size_t i = 0; i < records->actor_count; i++) {
        const struct ray_actor *it = &records->actors[i];
        bool same = text_equal(it->name, name) || text_equal(it->class_name, name) ||
                    (!text_empty(it->repr_name) && text_equal(it->repr_name, name));
        if (same && (!found || it->end_ms > found->end_ms))
            found = it;
    }
    return found;
}

const struct ray_node *why_subject_node(const struct why_records *records, const char *name)
{
    const struct ray_node *found = NULL;
    for (size_t i = 0; i < records->node_count; i++) {
        const struct ray_node *it = &records->nodes[i];
        bool same = text_equal(it->ip, name) || text_equal(it->hostname, name) ||
                    (strlen(name) >= SHORTEST_PREFIX && text_starts(it->node_id, name));
        if (same && (!found || it->start_ms > found->start_ms))
            found = it;
    }
    return found;
}

/* "762@10.0.0.7": the process that had this pid last. "762@": if only one node has one. */
static bool find_process(const struct why_records *records, const char *name,
                         struct why_subject *out)
{
    const char *at = strchr(name, '@');
    char digits[24] = "";
    int64_t pid;
    const struct ray_worker *found = NULL;
    if (!at || (size_t)(at - name) >= sizeof digits)
        return false;
    memcpy(digits, name, (size_t)(at - name));
    if (!text_to_int(digits, 1, INT32_MAX, &pid))
        return false;
    for (size_t i = 0; i < records->worker_count; i++) {
        const struct ray_worker *it = &records->workers[i];
        const struct ray_node *node = why_records_node(records, it->node_id);
        bool here = text_equal(it->ip, at + 1) || text_starts(it->node_id, at + 1) ||
                    (node && text_equal(node->hostname, at + 1));
        if (it->pid != pid || !here)
            continue;
        if (found && !text_equal(found->node_id, it->node_id) && !at[1])
            return false;
        if (!found || it->start_ms > found->start_ms)
            found = it;
    }
    *out = (struct why_subject){.kind = WHY_WORKER, .worker = found};
    return found != NULL;
}

static bool is_job(const struct ray_job *job, const char *name)
{
    return job_id_is(job->job_id, name) ||
           (!text_empty(job->submission_id) && text_equal(job->submission_id, name));
}

static const struct ray_job *find_job(const struct why_records *records, const char *name)
{
    for (size_t i = 0; i < records->job_count; i++)
        if (is_job(&records->jobs[i], name))
            return &records->jobs[i];
    return NULL;
}

static const struct ray_group *find_group(const struct why_records *records, const char *name)
{
    for (size_t i = 0; i < records->group_count; i++)
        if (*name && text_equal(records->groups[i].name, name))
            return &records->groups[i];
    return NULL;
}

static bool find_name(const struct why_records *records, const char *name, struct why_subject *out)
{
    find_task(records, name, false, out);
    if (out->attempt)
        return true;
    *out = (struct why_subject){.kind = WHY_ACTOR, .actor = find_actor(records, name)};
    if (out->actor)
        return true;
    find_task(records, name, true, out);
    if (out->attempt)
        return true;
    if (find_process(records, name, out))
        return true;
    *out = (struct why_subject){.kind = WHY_NODE, .node = why_subject_node(records, name)};
    if (out->node)
        return true;
    *out = (struct why_subject){.kind = WHY_JOB, .job = find_job(records, name)};
    if (out->job)
        return true;
    *out = (struct why_subject){.kind = WHY_GROUP, .group = find_group(records, name)};
    return out->group != NULL;
}

/* --- nothing --- */

static const char *nearest_name(const struct why_records *records, const char *name)
{
    const char *nearest = NULL;
    size_t best = strlen(name) / 3 + 2;
    for (size_t i = 0; i < records->attempt_count; i++) {
        const char *it = records->attempts[i].name;
        size_t distance = text_distance(name, strlen(name), it, strlen(it));
        if (*it && distance < best) {
            best = distance;
            nearest = it;
        }
    }
    return nearest;
}

static int refuse(const struct why_records *records, const char *name, struct err *err)
{
    const char *nearest = nearest_name(records, name);
    err_set(err, ERR_NOT_FOUND,
            "the cluster knows no task, actor, process, node, job or group '%s'", name);
    for (int part = 0; part < WHY_PARTS; part++)
        if (records->problems[part].code)
            err_why(err, "but %s are not known: %s", why_records_part_name((enum why_part)part),
                    records->problems[part].what);
    if (records->dropped && !*err->why)
        err_why(err, "Ray has forgotten %lld changes of tasks: it keeps the last 100,000",
                (long long)records->dropped);
    if (nearest)
        err_hint(err, "did you mean %s?", nearest);
    else
        err_hint(err, "`raydbg why` without a name lists what failed and what waits");
    return -1;
}

/* --- as it was printed --- */

/* Copies up to one of `ends`; false if that is nothing. */
static bool copy_until(const char *at, const char *ends, char *out, size_t size)
{
    size_t len = strcspn(at, ends);
    if (!len || len >= size)
        return false;
    memcpy(out, at, len);
    out[len] = '\0';
    return true;
}

/* "(square pid=762, ip=10.0.0.7)": Ray's prefix of what a process prints, without an address if
 * that is the driver's. */
static bool read_prefix(const char *text, char *out, size_t size)
{
    const char *pid = strstr(text, "pid="), *ip = strstr(text, "ip=");
    if (!pid || !copy_until(pid + 4, ",) ", out, size - 1))
        return false;
    size_t len = strlen(out);
    out[len++] = '@';
    out[len] = '\0';
    return !ip || copy_until(ip + 3, ",) ", out + len, size - len);
}

/* The name within what raydbg and Ray print of a thing: "square (82891714)", "pid 762@10.0.0.7",
 * "ObjectRef(00ff…)", "Actor(Trainer, 6d3c…)"; false if there is none. */
static bool read_printed(const char *text, char *out, size_t size)
{
    static const char pid[] = "pid ";
    const char *open = strrchr(text, '('), *comma, *at = strstr(text, pid);
    if (read_prefix(text, out, size))
        return true;
    if (at && strchr(at, '@'))
        return copy_until(at + sizeof pid - 1, ", ", out, size);
    if (!open || !strchr(open, ')'))
        return false;
    comma = strstr(open, ", ");
    return copy_until(comma ? comma + 2 : open + 1, ")", out, size);
}

int why_subject_find(const struct why_records *records, const char *name, struct why_subject *out,
                     struct err *err)
{
    char printed[128];
    *out = (struct why_subject){0};
    if (find_name(records, name, out))
        return 0;
    *out = (struct why_subject){0};
    int found = find_id(records, name, out, err);
    if (found == 1 && read_printed(name, printed, sizeof printed)) {
        if (find_process(records, printed, out))
            return 0;
        found = find_id(records, printed, out, err);
    }
    return found == 1 ? refuse(records, name, err) : found;
}
