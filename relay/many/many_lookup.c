/* Finds tasks and threads of the session; changes nothing. */
#include "relay/many/many_state.h"

struct many_task *many_find_slot(const struct many *many, uint32_t slot)
{
    struct many_task *found = slot < many->slots ? many->by_slot[slot] : NULL;
    return found && found->state != MANY_GONE ? found : NULL;
}

bool many_task_is_there(const struct many_task *task)
{
    return task->inner && !task->stalled &&
           (task->state == MANY_READY || task->state == MANY_RUNNING);
}

struct many_task *many_focused(const struct many *many)
{
    struct many_task *task = NULL;
    if (many->focus)
        many_thread_by_id(many, many->focus, &task);
    for (struct many_task *at = many->targets; at && !task; at = at->next)
        if (many_task_is_there(at))
            task = at;
    return task;
}

struct many_thread *many_thread_find(const struct many_task *task, int64_t own)
{
    for (size_t i = 0; i < task->thread_count; i++)
        if (task->threads[i].own == own)
            return &task->threads[i];
    return NULL;
}

struct many_thread *many_thread_by_id(const struct many *many, int64_t id, struct many_task **task)
{
    struct idmap_entry entry;
    if (!idmap_in(many->ids, ID_THREAD, id, &entry))
        return NULL;
    struct many_task *found = many_find_slot(many, entry.slot);
    if (task)
        *task = found;
    return found ? many_thread_find(found, entry.foreign) : NULL;
}

struct many_thread *many_first_stopped(const struct many *many, struct many_task **task)
{
    for (struct many_task *at = many->targets; at; at = at->next) {
        for (size_t i = 0; at->state == MANY_RUNNING && i < at->thread_count; i++) {
            if (!at->threads[i].stopped)
                continue;
            *task = at;
            return &at->threads[i];
        }
    }
    return NULL;
}

size_t many_stopped_count(const struct many_task *task)
{
    size_t count = 0;
    for (size_t i = 0; i < task->thread_count; i++)
        count += task->threads[i].stopped;
    return count;
}
