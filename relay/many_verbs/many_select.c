/* The threads that a verb is about. */
#include "relay/many_verbs/many_verbs_state.h"

#include "base/mem.h"
#include "base/text.h"
#include "proto/job_id.h"

#include <stdlib.h>

static int64_t rank_of(const struct many_task *task)
{
    int64_t rank;
    return text_to_int(task->rank, 0, INT32_MAX, &rank) ? rank : -1;
}

struct task_list_item verbs_member(const struct many_task *task, const struct many_thread *thread)
{
    return (struct task_list_item){thread->id, rank_of(task), thread->name};
}

static bool has_ranks(const struct many *many)
{
    for (const struct many_task *task = many->targets; task; task = task->next)
        if (rank_of(task) >= 0)
            return true;
    return false;
}

static bool is_in(const struct many_verbs *verbs, const char *subject, bool ranked,
                  const struct many_task *task, const struct many_thread *thread)
{
    const struct pause *pause = &task->pause;
    char job[ID_TEXT(ID_JOB_BYTES)];
    job_id_brief(pause->job_id, job);
    const struct task_group_subject who = {
        .thread = thread->id,
        .rank = rank_of(task),
        .ranked = ranked,
        .stopped = thread->stopped,
        .pid = pause->pid,
        .name = thread->name,
        .task = pause->task_name,
        .actor_class = pause->actor_class,
        .actor_name = pause->actor_name,
        .node_ip = pause->node_ip,
        .node_name = pause->node_name,
        .job = job,
    };
    return groups_have(verbs->groups, subject, &who);
}

int verbs_select(const struct many_verbs *verbs, const char *subject, int64_t **ids, size_t *count,
                 struct err *err)
{
    const struct many *many = verbs->many;
    bool ranked = has_ranks(many);
    size_t room = 0;
    *ids = NULL;
    *count = 0;
    if (groups_check(verbs->groups, subject, err) != 0)
        return -1;
    for (const struct many_task *task = many->targets; task; task = task->next)
        for (size_t i = 0; task->state == MANY_RUNNING && i < task->thread_count; i++) {
            if (!task->threads[i].shown || !is_in(verbs, subject, ranked, task, &task->threads[i]))
                continue;
            *ids = mem_grow(*ids, *count, &room, sizeof **ids);
            (*ids)[(*count)++] = task->threads[i].id;
        }
    if (*count)
        return 0;
    if (!subject || text_equal(subject, "all")) {
        err_set(err, ERR_NOT_FOUND, "there is no task yet");
        return err_hint(err, "those that pause join by themselves");
    }
    err_set(err, ERR_NOT_FOUND, "no task is in '%s'", subject);
    return err_hint(err, "/threads lists the tasks, /groups the groups");
}

bool verbs_is_anothers(const struct many_task *task)
{
    return task->inner && !session_drives(task->inner);
}

int verbs_select_driven(const struct many_verbs *verbs, const char *subject, int64_t **ids,
                        size_t *count, size_t *observed, struct err *err)
{
    size_t all, driven = 0;
    struct many_task *task;
    *observed = 0;
    if (verbs_select(verbs, subject, ids, &all, err) != 0)
        return -1;
    for (size_t i = 0; i < all; i++)
        if (many_thread_by_id(verbs->many, (*ids)[i], &task) && !verbs_is_anothers(task))
            (*ids)[driven++] = (*ids)[i];
    *count = driven;
    *observed = all - driven;
    if (driven)
        return 0;
    free(*ids);
    *ids = NULL;
    return err_set(err, ERR_DENIED,
                   "this session observes: another client drives (take over to change anything)");
}
