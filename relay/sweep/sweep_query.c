#include "relay/sweep/sweep_query.h"

#include "base/mem.h"
#include "base/radix.h"
#include "base/text.h"
#include "base/text_numbers.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- names --- */

static const char *const group_names[OBJECT_BY_COUNT] = {
    [OBJECT_BY_NOTHING] = "none", [OBJECT_BY_NODE] = "node", [OBJECT_BY_CALL_SITE] = "call-site",
    [OBJECT_BY_OWNER] = "owner",  [OBJECT_BY_TASK] = "task", [OBJECT_BY_ACTOR] = "actor",
    [OBJECT_BY_JOB] = "job",
};

static const char *const sort_names[OBJECT_SORT_COUNT] = {
    [OBJECT_SORT_SIZE] = "size",
    [OBJECT_SORT_REFS] = "refs",
    [OBJECT_SORT_PID] = "pid",
    [OBJECT_SORT_AGE] = "age",
};

const char *object_group_name(enum object_group_by by)
{
    return (size_t)by < OBJECT_BY_COUNT ? group_names[by] : NULL;
}

const char *sweep_query_sort_name(enum object_sort_by by)
{
    return (size_t)by < OBJECT_SORT_COUNT ? sort_names[by] : NULL;
}

bool object_group_parse(const char *name, enum object_group_by *out)
{
    for (size_t i = 0; i < OBJECT_BY_COUNT; i++) {
        if (text_equal(name, group_names[i])) {
            *out = (enum object_group_by)i;
            return true;
        }
    }
    return false;
}

bool sweep_query_sort_parse(const char *name, enum object_sort_by *out)
{
    for (size_t i = 0; i < OBJECT_SORT_COUNT; i++) {
        if (text_equal(name, sort_names[i])) {
            *out = (enum object_sort_by)i;
            return true;
        }
    }
    return false;
}

/* --- a run of the query --- */

/* The facts about a call site. */
struct site {
    uint32_t group;
    bool matches;
};

/* The facts that the rows of one object, or of one task, have in common. */
struct subject {
    const struct object_row *first; /* of the object */
    size_t rows;                    /* of the object */
    const struct ray_task *task;    /* NULL: not asked for */
    char task_id[ID_TEXT(ID_TASK_BYTES)];
    uint32_t group; /* OBJECT_BY_TASK */
    bool made;      /* by query->task */
    bool matches;   /* the filter */
};

struct picked {
    int64_t key, size; /* larger ones first */
    const struct object_row *row;
    uint32_t group;
};

struct run {
    const struct sweep_query *query;
    const struct object_sweep *sweep;
    struct text_numbers keys;
    /* By process, and last for no process, if the rows are grouped by process. */
    uint32_t *groups;
    bool *matches;                            /* by process: the filter matches it */
    struct text_numbers sites;                /* call sites: many rows share a few */
    struct site *found;                       /* by number in `sites` */
    bool kinds[OBJECT_REFERENCE_UNKNOWN + 1]; /* the filter matches the reference type */
    struct subject subject;
    struct picked *picked;
    size_t count;
};

static bool has(const struct run *run, const char *text)
{
    return text && strcasestr(text, run->query->filter) != NULL;
}

/* --- group keys, for display --- */

static char *node_key(const struct object_node *node)
{
    const char *ip = node->ip ? node->ip : "";
    return text_empty(node->name) || text_equal(node->name, ip)
               ? mem_string(ip)
               : mem_format("%s (%s)", ip, node->name);
}

static const char *node_short(const struct object_node *node)
{
    if (!text_empty(node->name))
        return node->name;
    return node->ip ? node->ip : "";
}

static char *owner_key(const struct object_sweep *sweep, const struct object_process *process)
{
    const char *class_name = text_empty(process->actor_class) ? "" : process->actor_class;
    bool is_driver = process->worker->type == RAY_DRIVER;
    return mem_format("pid %" PRId64 "@%s%s%s", process->worker->pid,
                      node_short(&sweep->nodes[process->node]),
                      is_driver || *class_name ? ", " : "", is_driver ? "driver" : class_name);
}

static char *actor_key(const struct object_process *process)
{
    const char *id = process->worker->actor_id;
    if (!*id)
        return mem_string("no actor");
    if (text_empty(process->actor_class))
        return mem_string(id);
    return text_empty(process->actor_name)
               ? mem_format("%s %s", process->actor_class, id)
               : mem_format("%s (%s) %s", process->actor_class, process->actor_name, id);
}

static char *process_key(const struct run *run, size_t index)
{
    const struct object_process *process =
        index < run->sweep->process_count ? &run->sweep->processes[index] : NULL;
    if (run->query->group_by == OBJECT_BY_OWNER)
        return process ? owner_key(run->sweep, process) : mem_string("unknown owner");
    if (!process)
        return NULL; /* rows have a process, if not always an owner */
    if (run->query->group_by == OBJECT_BY_NODE)
        return node_key(&run->sweep->nodes[process->node]);
    if (run->query->group_by == OBJECT_BY_ACTOR)
        return actor_key(process);
    return mem_string(process->worker->job_id[0] ? process->worker->job_id : "no job");
}

/* --- call sites --- */

static const struct site *find_site(struct run *run, const char *text)
{
    size_t known = run->sites.count, room = run->sites.cap;
    uint32_t number = text_numbers_pooled(&run->sites, text);
    if (run->sites.count == known)
        return &run->found[number];
    if (run->sites.cap != room)
        run->found = mem_resize(run->found, run->sites.cap, sizeof *run->found);
    run->found[number] = (struct site){0, run->query->filter && has(run, text)};
    if (run->query->group_by == OBJECT_BY_CALL_SITE)
        run->found[number].group =
            text_numbers_number(&run->keys, *text ? text : OBJECT_NO_CALL_SITE);
    return &run->found[number];
}

/* --- choosing rows and their groups --- */

static void prepare_processes(struct run *run)
{
    const struct object_sweep *sweep = run->sweep;
    bool grouped = run->query->group_by == OBJECT_BY_NODE ||
                   run->query->group_by == OBJECT_BY_OWNER ||
                   run->query->group_by == OBJECT_BY_ACTOR || run->query->group_by == OBJECT_BY_JOB;
    run->groups = mem_array(sweep->process_count + 1, sizeof *run->groups);
    run->matches = mem_array(sweep->process_count + 1, sizeof *run->matches);
    for (size_t i = 0; i <= sweep->process_count; i++) {
        char *key = grouped ? process_key(run, i) : NULL;
        if (key)
            run->groups[i] = text_numbers_number(&run->keys, key);
        free(key);
    }
    for (size_t i = 0; run->query->filter && i < sweep->process_count; i++) {
        const struct object_process *process = &sweep->processes[i];
        const struct object_node *node = &sweep->nodes[process->node];
        char pid[24];
        snprintf(pid, sizeof pid, "%" PRId64, process->worker->pid);
        run->matches[i] = has(run, pid) || has(run, node->ip) || has(run, node->name) ||
                          has(run, process->worker->ip) || has(run, process->actor_class);
    }
    for (size_t i = 0; run->query->filter && i <= OBJECT_REFERENCE_UNKNOWN; i++)
        run->kinds[i] = has(run, object_reference_name((enum object_reference)i));
}

static bool begins(const char *id, const char *wanted, size_t from)
{
    size_t len = strlen(wanted);
    return len > from && strncasecmp(id + from, wanted + from, len - from) == 0;
}

/* A put's id has all of its task's id except the first byte. */
static bool is_made_by(const struct subject *subject, const char *wanted, bool is_put)
{
    if (subject->task)
        return begins(subject->task->task_id, wanted, 0) || text_equal(subject->task->name, wanted);
    return begins(subject->task_id, wanted, is_put ? 2 : 0);
}

static uint32_t task_group(struct run *run, const struct subject *subject,
                           const struct object_id *id)
{
    char text[64], job_id[ID_TEXT(ID_JOB_BYTES)];
    if (subject->task && !text_empty(subject->task->name))
        return text_numbers_number(&run->keys, subject->task->name);
    if (object_id_is_drivers(id, job_id))
        snprintf(text, sizeof text, "driver of job %s", job_id);
    else if (subject->task)
        text_copy(text, sizeof text, subject->task->task_id);
    else
        snprintf(text, sizeof text, "%.2s%s", object_id_is_put(id) ? "??" : subject->task_id,
                 subject->task_id + 2);
    return text_numbers_number(&run->keys, text);
}

static bool same_task(const struct object_id *a, const struct object_id *b)
{
    return memcmp(a->bytes, b->bytes, ID_TASK_BYTES) == 0 &&
           object_id_is_put(a) == object_id_is_put(b);
}

/* The rows come by id, so that objects of one task, and rows of one object, are neighbours. */
static void next_subject(struct run *run, const struct object_row *row)
{
    struct subject *subject = &run->subject;
    bool by_task = run->query->group_by == OBJECT_BY_TASK;
    if (!subject->first || !same_task(&subject->first->ref->id, &row->ref->id)) {
        object_id_task(&row->ref->id, subject->task_id);
        subject->task = object_sweep_task(run->sweep, &row->ref->id);
        subject->made = run->query->task &&
                        is_made_by(subject, run->query->task, object_id_is_put(&row->ref->id));
        subject->group = by_task ? task_group(run, subject, &row->ref->id) : 0;
    }
    if (run->query->filter) {
        char id[ID_TEXT(ID_OBJECT_BYTES)];
        object_id_hex(&row->ref->id, id);
        subject->matches = has(run, id) || (subject->task && has(run, subject->task->name));
    }
    subject->first = row;
}

static bool is_wanted(struct run *run, const struct object_row *row)
{
    const struct sweep_query *query = run->query;
    const char *worker_id = run->sweep->processes[row->process].worker->worker_id;
    if (query->worker_id && !text_equal(query->worker_id, worker_id))
        return false;
    if (query->task && !run->subject.made && !text_equal(query->task_worker, worker_id))
        return false;
    return !query->filter || run->subject.matches || run->matches[row->process] ||
           run->kinds[row->reference] || find_site(run, row->ref->call_site)->matches;
}

static uint32_t group_of(struct run *run, const struct object_row *row)
{
    switch (run->query->group_by) {
    case OBJECT_BY_CALL_SITE:
        return find_site(run, row->ref->call_site)->group;
    case OBJECT_BY_TASK:
        return run->subject.group;
    case OBJECT_BY_OWNER:
        return run->groups[row->owner < 0 ? run->sweep->process_count : (size_t)row->owner];
    default:
        return run->groups[row->process];
    }
}

static int64_t sort_key(const struct run *run, const struct object_row *row)
{
    const struct ray_task *task = run->subject.task;
    switch (run->query->sort_by) {
    case OBJECT_SORT_REFS:
        return (int64_t)run->subject.rows;
    case OBJECT_SORT_PID:
        return -run->sweep->processes[row->process].worker->pid;
    case OBJECT_SORT_AGE:
        return task && task->running_ms ? -task->running_ms : INT64_MIN;
    default:
        return row->size;
    }
}

static bool same_object(const struct object_row *a, const struct object_row *b)
{
    return object_id_equal(&a->ref->id, &b->ref->id);
}

static void pick(struct run *run)
{
    const struct object_row *row = run->sweep->rows, *end = row + run->sweep->row_count;
    run->picked = mem_array(run->sweep->row_count, sizeof *run->picked);
    while (row < end) {
        const struct object_row *next = row + 1;
        while (next < end && same_object(row, next))
            next++;
        next_subject(run, row);
        for (run->subject.rows = (size_t)(next - row); row < next; row++)
            if (is_wanted(run, row))
                run->picked[run->count++] =
                    (struct picked){sort_key(run, row), row->size, row, group_of(run, row)};
    }
}

/* --- groups --- */

/* The object that each group, and each reference type in it, has seen last; rows come by id. */
struct seen {
    uint32_t object, kinds[OBJECT_REFERENCE_UNKNOWN + 1];
};

static void count_row(struct object_group *group, struct seen *seen, uint32_t object,
                      const struct object_row *row)
{
    int64_t bytes = row->size > 0 ? row->size : 0;
    group->row_count++;
    group->by_reference[row->reference]++;
    if (seen->kinds[row->reference] != object)
        group->bytes_by_reference[row->reference] += bytes;
    seen->kinds[row->reference] = object;
    if (seen->object == object)
        return;
    seen->object = object;
    group->objects++;
    group->bytes += bytes;
    group->unknown += row->size < 0;
}

static void count_rows(struct object_report *report, const struct run *run)
{
    struct seen *seen = mem_array(report->group_count, sizeof *seen);
    uint32_t object = 0;
    for (size_t i = 0; i < run->count; i++) {
        const struct picked *it = &run->picked[i];
        if (!i || !same_object(it->row, it[-1].row)) {
            object++;
            report->objects++;
            report->bytes += it->size > 0 ? it->size : 0;
        }
        count_row(&report->groups[it->group], &seen[it->group], object, it->row);
    }
    report->rows = run->count;
    free(seen);
}

/* A sort key that puts larger numbers first. */
static uint64_t descending(int64_t number)
{
    return ~((uint64_t)number ^ UINT64_C(1) << 63);
}

/* Sorts by key, then size, then id and process, which is the order that they come in. */
static void sort_rows(struct run *run)
{
    struct radix_item *order = mem_array(run->count, sizeof *order);
    struct picked *sorted = mem_array(run->count, sizeof *sorted);
    for (size_t i = 0; i < run->count; i++)
        order[i] = (struct radix_item){descending(run->picked[i].size), (uint32_t)i};
    radix_sort(order, run->count);
    for (size_t i = 0; i < run->count; i++)
        order[i].key = descending(run->picked[order[i].index].key);
    if (run->query->sort_by != OBJECT_SORT_SIZE)
        radix_sort(order, run->count);
    for (size_t i = 0; i < run->count; i++)
        sorted[i] = run->picked[order[i].index];
    free(order);
    free(run->picked);
    run->picked = sorted;
}

static void hand_out(struct object_report *report, const struct run *run)
{
    const struct object_row **at = report->all = mem_array(run->count, sizeof(void *));
    for (size_t i = 0; i < report->group_count; i++) {
        report->groups[i].rows = at;
        at += report->groups[i].row_count;
        report->groups[i].row_count = 0;
    }
    for (size_t i = 0; i < run->count; i++) {
        struct object_group *group = &report->groups[run->picked[i].group];
        group->rows[group->row_count++] = run->picked[i].row;
    }
}

/* A group ranks by its first row, except by size and references: for these it has its own sums. */
struct ranked {
    int64_t key;
    struct object_group group;
};

static int compare_ranked(const void *left, const void *right)
{
    const struct ranked *a = left, *b = right;
    if (a->key != b->key)
        return a->key > b->key ? -1 : 1;
    if (a->group.bytes != b->group.bytes)
        return a->group.bytes > b->group.bytes ? -1 : 1;
    return strcmp(a->group.key, b->group.key);
}

static int64_t group_key(const struct sweep_query *query, const struct object_group *group,
                         int64_t first)
{
    if (query->sort_by == OBJECT_SORT_SIZE)
        return group->bytes;
    return query->sort_by == OBJECT_SORT_REFS ? (int64_t)group->row_count : first;
}

/* Sorts the groups; leaves out those whose rows were all filtered away. */
static void rank_groups(struct object_report *report, const struct run *run)
{
    struct ranked *ranked = mem_array(report->group_count, sizeof *ranked);
    int64_t *first = mem_array(report->group_count, sizeof *first);
    size_t count = 0;
    for (size_t i = run->count; i-- > 0;)
        first[run->picked[i].group] = run->picked[i].key;
    for (size_t i = 0; i < report->group_count; i++) {
        struct object_group *group = &report->groups[i];
        if (group->row_count)
            ranked[count++] = (struct ranked){group_key(run->query, group, first[i]), *group};
        else
            free(group->key);
    }
    qsort(ranked, count, sizeof *ranked, compare_ranked);
    for (size_t i = 0; i < count; i++)
        report->groups[i] = ranked[i].group;
    report->group_count = count;
    free(first);
    free(ranked);
}

static struct object_report *make_report(struct run *run)
{
    struct object_report *report = mem_alloc(sizeof *report);
    report->group_count = run->keys.count;
    report->groups = mem_array(report->group_count, sizeof *report->groups);
    for (size_t i = 0; i < report->group_count; i++)
        report->groups[i].key = mem_string(text_numbers_text(&run->keys, (uint32_t)i));
    count_rows(report, run);
    sort_rows(run);
    hand_out(report, run);
    rank_groups(report, run);
    return report;
}

struct object_report *sweep_query_run(const struct sweep_query *query,
                                      const struct object_sweep *sweep)
{
    struct run run = {.query = query, .sweep = sweep};
    if (query->group_by == OBJECT_BY_NOTHING)
        text_numbers_number(&run.keys, "all");
    prepare_processes(&run);
    pick(&run);
    struct object_report *report = make_report(&run);
    text_numbers_free(&run.keys);
    free(run.groups);
    free(run.matches);
    text_numbers_free(&run.sites);
    free(run.found);
    free(run.picked);
    return report;
}

void object_report_free(struct object_report **report)
{
    struct object_report *it = *report;
    if (!it)
        return;
    *report = NULL;
    for (size_t i = 0; i < it->group_count; i++)
        free(it->groups[i].key);
    free(it->groups);
    free(it->all);
    free(it);
}
