/* The tasks of a record_cache. */
#include "relay/cluster/record_cache_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Tasks are asked for one by one, TASKS_AT_ONCE in flight. If a renewal finds more than TASKS_KEPT,
 * it keeps none. */
enum { TASKS_AT_ONCE = 64, TASKS_KEPT = 4096 };
/* Guesses of ids without their first byte: the number of tasks, and requests for each. */
enum { GUESSES_MAX = 16, GUESSES = 256 };
/* Workers report their tasks once a second. */
enum { LATE_MS = 1200 };

/* A task's key in the map; false if `task_id` is not a task id. */
static bool key_of(const char *task_id, struct object_id *out)
{
    *out = (struct object_id){0};
    return text_unhex(task_id, out->bytes, ID_TASK_BYTES);
}

static void on_task(void *arg, const struct err *err, struct ray_task *tasks, size_t count);

void record_cache_ask_tasks(struct record_cache *records)
{
    record_cache_ask_version(records);
    while (records->version_known != ASKING && records->asked < records->task_count &&
           records->in_flight < TASKS_AT_ONCE) {
        struct record_cache_task *task = records->tasks[records->asked++];
        records->in_flight++;
        ray_source_task(records->source, task->task_id, on_task, task);
    }
}

/* --- tasks that are reported late --- */

static bool is_due(const struct record_cache_task *task, int64_t now_us)
{
    return task->late && now_us - task->late_us >= (int64_t)LATE_MS * 1000;
}

/* Asks again for the late tasks that are due; restarts the timer while others are not. */
static void on_again(void *arg)
{
    struct record_cache *records = record_cache_checked(arg);
    int64_t now_us = loop_now_us(), next_us = INT64_MAX;
    records->again = NULL;
    for (size_t i = records->asked; i-- > 0;) {
        struct record_cache_task *task = records->tasks[i];
        if (is_due(task, now_us)) { /* move it to the tasks that are not asked for */
            task->late_us = INT64_MAX;
            records->tasks[i] = records->tasks[--records->asked];
            records->tasks[records->asked] = task;
        } else if (task->late && task->late_us < next_us) {
            next_us = task->late_us;
        }
    }
    if (next_us != INT64_MAX)
        records->again =
            timer_start(records->loop, LATE_MS - (now_us - next_us) / 1000, on_again, records);
    record_cache_ask_tasks(records);
}

/* Makes a task late if its first answer is empty; the second answer ends that. */
static void note_late(struct record_cache_task *task)
{
    struct record_cache *records = task->records;
    if (task->late) {
        task->late = false;
        records->late--;
        records->came_late += task->record != NULL;
    } else if (!task->record && task->known == KNOWN && !task->guessed) {
        task->late = true;
        task->late_us = loop_now_us();
        records->late++;
        if (!records->again)
            records->again = timer_start(records->loop, LATE_MS, on_again, records);
    }
}

bool record_cache_expects_tasks(const struct record_cache *records)
{
    return records->late > 0;
}

size_t record_cache_came_late(const struct record_cache *records)
{
    return records->came_late;
}

/* --- tasks by their ids --- */

static void on_task(void *arg, const struct err *err, struct ray_task *tasks, size_t count)
{
    struct record_cache_task *task = arg;
    struct record_cache *records = task->records;
    task->known = record_cache_note(records, err);
    if (count == 1 && text_equal(tasks->task_id, task->task_id))
        task->record = tasks;
    else
        ray_tasks_free(tasks, count);
    note_late(task);
    records->in_flight--;
    record_cache_ask_tasks(records);
    records->changed(records->arg);
}

static enum record_cache_answer want_task(struct record_cache *records, const char *task_id,
                                          bool guessed, const struct ray_task **out)
{
    struct object_id key;
    if (!key_of(task_id, &key))
        return RECORD_CACHE_NO;
    struct record_cache_task *task = object_id_map_get(&records->by_task, &key);
    if (!task) {
        task = mem_alloc(sizeof *task);
        task->records = records;
        task->known = ASKING;
        task->guessed = guessed;
        text_copy(task->task_id, sizeof task->task_id, task_id);
        records->tasks = mem_resize(records->tasks, records->task_count + 1, sizeof(void *));
        records->tasks[records->task_count++] = task;
        object_id_map_set(&records->by_task, &key, task);
        record_cache_ask_tasks(records);
    }
    *out = task->record;
    if (task->known == ASKING)
        return RECORD_CACHE_WAIT;
    return task->record ? RECORD_CACHE_YES : RECORD_CACHE_NO;
}

enum record_cache_answer record_cache_task(struct record_cache *records, const char *task_id,
                                           const struct ray_task **out)
{
    return want_task(records, task_id, false, out);
}

const struct ray_task *record_cache_known_task(const struct record_cache *records,
                                               const char *task_id)
{
    struct object_id key;
    if (!key_of(task_id, &key))
        return NULL;
    const struct record_cache_task *task = object_id_map_get(&records->by_task, &key);
    return task ? task->record : NULL;
}

/* --- tasks whose id's first byte is not known --- */

static struct hint *find_hint(const struct record_cache *records, const char *task_id)
{
    for (size_t i = 0; i < records->hint_count; i++)
        if (text_equal(records->hints[i].task_id + 2, task_id + 2))
            return (struct hint *)(uintptr_t)&records->hints[i];
    return NULL;
}

static struct hint *add_hint(struct record_cache *records, const char *task_id, bool found)
{
    struct hint *hint = &records->hints[records->next_hint];
    records->next_hint = (records->next_hint + 1) % HINTS_MAX; /* overwrite the oldest */
    if (records->hint_count < HINTS_MAX)
        records->hint_count++;
    *hint = (struct hint){.found = found};
    text_copy(hint->task_id, sizeof hint->task_id, task_id);
    return hint;
}

void record_cache_hint(struct record_cache *records, const char *task_id)
{
    if (strlen(task_id) == (size_t)2 * ID_TASK_BYTES && !find_hint(records, task_id))
        add_hint(records, task_id, true);
}

const char *record_cache_hinted(const struct record_cache *records, const char *task_id)
{
    const struct hint *hint =
        strlen(task_id) == (size_t)2 * ID_TASK_BYTES ? find_hint(records, task_id) : NULL;
    return hint && hint->found ? hint->task_id : NULL;
}

/* Asks for all ids that it can be, and looks for the one that exists. */
static enum record_cache_answer guess(struct record_cache *records, struct hint *hint,
                                      const struct ray_task **out)
{
    char task_id[sizeof hint->task_id];
    size_t waiting = 0;
    memcpy(task_id, hint->task_id, sizeof task_id);
    for (unsigned i = 0; i < GUESSES; i++) {
        const uint8_t byte = (uint8_t)i;
        text_hex(&byte, 1, task_id);
        task_id[2] = hint->task_id[2];
        enum record_cache_answer known = want_task(records, task_id, true, out);
        waiting += known == RECORD_CACHE_WAIT;
        if (known != RECORD_CACHE_YES)
            continue;
        hint->found = true;
        memcpy(hint->task_id, task_id, sizeof task_id);
        return RECORD_CACHE_YES;
    }
    hint->tried = waiting == 0;
    return waiting ? RECORD_CACHE_WAIT : RECORD_CACHE_NO;
}

enum record_cache_answer record_cache_guess_task(struct record_cache *records, const char *task_id,
                                                 const struct ray_task **out)
{
    if (strlen(task_id) != (size_t)2 * ID_TASK_BYTES)
        return RECORD_CACHE_NO;
    struct hint *hint = find_hint(records, task_id);
    if (hint && hint->found)
        return record_cache_task(records, hint->task_id, out);
    if (hint && hint->tried)
        return RECORD_CACHE_NO;
    if (!hint) {
        if (records->guesses == GUESSES_MAX)
            return RECORD_CACHE_NO;
        records->guesses++;
        hint = add_hint(records, task_id, false);
    }
    return guess(records, hint, out);
}

/* --- renewal --- */

static void task_free(struct record_cache_task *task)
{
    ray_source_kv_forget(task->records->source, task);
    ray_tasks_free(task->record, task->record ? 1 : 0);
    free(task);
}

void record_cache_renew_tasks(struct record_cache *records)
{
    struct object_id key;
    size_t kept = 0;
    bool none = records->task_count > TASKS_KEPT;
    object_id_map_clear(&records->by_task);
    for (size_t i = 0; i < records->task_count; i++) {
        struct record_cache_task *task = records->tasks[i];
        if (none || !task->record || !*task->record->worker_id || !key_of(task->task_id, &key)) {
            task_free(task);
            continue;
        }
        records->tasks[kept++] = task;
        object_id_map_set(&records->by_task, &key, task);
    }
    records->task_count = records->asked = kept;
    records->in_flight = records->late = 0; /* their requests were cancelled */
    timer_cancel(&records->again);
    if (records->version_known == FAILED)
        records->version_known = UNASKED;
}

void record_cache_drop_tasks(struct record_cache *records)
{
    timer_cancel(&records->again);
    for (size_t i = 0; i < records->task_count; i++)
        task_free(records->tasks[i]);
    object_id_map_clear(&records->by_task);
    free(records->tasks);
}
