/* The records of a real cluster in which everything in tests/integration/programs/failures.py has
 * failed, or waits: data/ray-<version>-why-*, written by data/record_why.py. */
#ifndef RAYDBG_TESTS_WHY_WORLD_H
#define RAYDBG_TESTS_WHY_WORLD_H

#include "recorded.h"
#include "test_data.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/failure_reply.h"
#include "proto/reply.h"
#include "relay/why/why_judge.h"
#include "relay/why_records/why_records.h"

#include <stdlib.h>
#include <string.h>

struct why_world {
    const char *ray, *what; /* "2.60.0", "why" */
    struct ray_version version;
    struct why_records records;
};

static inline struct buf why_world_load(const struct why_world *world, const char *what)
{
    char name[64];
    snprintf(name, sizeof name, "%s-%s-%s", world->ray, world->what, what);
    return load(name);
}

static inline void why_world_open_as(struct why_world *world, const char *ray, const char *what)
{
    struct why_records *records = &world->records;
    struct err err;
    *world = (struct why_world){.ray = ray, .what = what};
    assert_true(ray_version_parse(ray, &world->version));
    struct buf events = why_world_load(world, "events"), workers = why_world_load(world, "workers"),
               actors = why_world_load(world, "actors"), nodes = why_world_load(world, "nodes"),
               jobs = why_world_load(world, "jobs"), groups = why_world_load(world, "groups"),
               resources = why_world_load(world, "resources");
    assert_int_equal(failure_reply_attempts(BYTES(events), world->version, false,
                                            &records->attempts, &records->attempt_count,
                                            &records->dropped, &err),
                     0);
    assert_int_equal(reply_workers(BYTES(workers), &records->workers, &records->worker_count, &err),
                     0);
    assert_int_equal(reply_actors(BYTES(actors), &records->actors, &records->actor_count, &err), 0);
    assert_int_equal(reply_nodes(BYTES(nodes), &records->nodes, &records->node_count, &err), 0);
    assert_int_equal(reply_jobs(BYTES(jobs), &records->jobs, &records->job_count, &err), 0);
    assert_int_equal(failure_reply_groups(BYTES(groups), world->version, &records->groups,
                                          &records->group_count, &err),
                     0);
    assert_int_equal(failure_reply_resources(BYTES(resources), &records->resources, &err), 0);
    struct buf *all[] = {&events, &workers, &actors, &nodes, &jobs, &groups, &resources};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        buf_free(all[i]);
    why_records_index(records);
    for (size_t i = 0; i < records->attempt_count; i++)
        for (int state = 0; state < RAY_ATTEMPT_STATES; state++)
            if (records->attempts[i].state_ms[state] > records->now_ms)
                records->now_ms = records->attempts[i].state_ms[state] + 1000;
}

static inline void why_world_open(struct why_world *world, const char *ray)
{
    why_world_open_as(world, ray, "why");
}

/* The standard error of the process with this id is that of the recorded `name`.err; NULL: its node
 * did not give it. */
static inline void why_world_log(struct why_world *world, const char *worker_id, const char *name)
{
    struct why_records *records = &world->records;
    records->logs = mem_resize(records->logs, records->log_count + 1, sizeof *records->logs);
    struct why_log *log = &records->logs[records->log_count++];
    *log = (struct why_log){0};
    text_copy(log->worker_id, sizeof log->worker_id, worker_id);
    if (!name) {
        log->problem = mem_string("no answer from its agent");
        return;
    }
    char path[512], text[1 << 14];
    snprintf(path, sizeof path, "%s/ray-2.60.0-why-%s.err", test_data, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t len = fread(text, 1, sizeof text, file);
    fclose(file);
    log->text = mem_string_n(text, len);
    log->file = mem_format("worker-%s.err", worker_id);
}

/* The report of what has this name. */
static inline void why_world_judge(const struct why_world *world, const char *name,
                                   struct why_report *report)
{
    struct why_subject subject;
    struct err err = {0};
    why_records_index((struct why_records *)&world->records); /* the test may have changed them */
    if (why_subject_find(&world->records, name, &subject, &err) != 0)
        fail_msg("%s: %s (%s)", name, err.what, err.why);
    *report = (struct why_report){0};
    why_judge(&world->records, &subject, report);
}

static inline bool why_world_list_has(const struct why_list *list, const char *text)
{
    for (size_t i = 0; i < list->count; i++)
        if (strstr(list->items[i], text))
            return true;
    return false;
}

static inline void why_world_close(struct why_world *world)
{
    why_records_clear(&world->records);
}

#endif
