/* The tasks of a directory. */
#include "relay/directory_state.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* Tasks are asked one by one: so many at once, and so many are remembered. */
enum { TASKS_AT_ONCE = 64, TASKS_KEPT = 4096 };
/* Of a task whose id is known but for a byte; 256 questions each. */
enum { GUESSES_MAX = 16, GUESSES = 256 };
/* Workers report their tasks once a second. */
enum { LATE_MS = 1200 };

/* A task's key in the table; false if it is no task id. */
static bool key_of(const char *task_id, struct object_id *out)
{
    *out = (struct object_id){0};
    return text_unhex(task_id, out->bytes, ID_TASK_BYTES);
}

static void on_task(void *arg, const struct err *err, struct ray_task *tasks, size_t count);

void directory_ask_tasks(struct directory *directory)
{
    directory_ask_version(directory);
    while (directory->version_known != ASKING && directory->asked < directory->task_count &&
           directory->in_flight < TASKS_AT_ONCE) {
        struct directory_task *task = directory->tasks[directory->asked++];
        directory->in_flight++;
        source_task(directory->source, task->task_id, on_task, task);
    }
}

/* --- tasks that are reported late --- */

static bool is_due(const struct directory_task *task, int64_t now_us)
{
    return task->late && now_us - task->late_us >= (int64_t)LATE_MS * 1000;
}

/* Asks once more for those that are due; the timer goes on as long as others are not. */
static void on_again(void *arg)
{
    struct directory *directory = arg;
    int64_t now_us = loop_now_us(), next_us = INT64_MAX;
    directory->again = NULL;
    for (size_t i = directory->asked; i-- > 0;) {
        struct directory_task *task = directory->tasks[i];
        if (is_due(task, now_us)) { /* to those that are not asked */
            task->late_us = INT64_MAX;
            directory->tasks[i] = directory->tasks[--directory->asked];
            directory->tasks[directory->asked] = task;
        } else if (task->late && task->late_us < next_us) {
            next_us = task->late_us;
        }
    }
    if (next_us != INT64_MAX)
        directory->again =
            timer_start(directory->loop, LATE_MS - (now_us - next_us) / 1000, on_again, directory);
    directory_ask_tasks(directory);
}

/* There is no event of it, the first time or the second. */
static void note_late(struct directory_task *task)
{
    struct directory *directory = task->directory;
    if (task->late) {
        task->late = false;
        directory->late--;
        directory->came_late += task->record != NULL;
    } else if (!task->record && task->known == KNOWN && !task->guessed) {
        task->late = true;
        task->late_us = loop_now_us();
        directory->late++;
        if (!directory->again)
            directory->again = timer_start(directory->loop, LATE_MS, on_again, directory);
    }
}

bool directory_expects_tasks(const struct directory *directory)
{
    return directory->late > 0;
}

size_t directory_came_late(const struct directory *directory)
{
    return directory->came_late;
}

/* --- tasks by their ids --- */

static void on_task(void *arg, const struct err *err, struct ray_task *tasks, size_t count)
{
    struct directory_task *task = arg;
    struct directory *directory = task->directory;
    task->known = directory_note(directory, err);
    if (count == 1 && text_equal(tasks->task_id, task->task_id))
        task->record = tasks;
    else
        ray_tasks_free(tasks, count);
    note_late(task);
    directory->in_flight--;
    directory_ask_tasks(directory);
    directory->changed(directory->arg);
}

static enum directory_answer want_task(struct directory *directory, const char *task_id,
                                       bool guessed, const struct ray_task **out)
{
    struct object_id key;
    if (!key_of(task_id, &key))
        return DIRECTORY_NO;
    struct directory_task *task = object_table_get(&directory->by_task, &key);
    if (!task) {
        task = mem_alloc(sizeof *task);
        task->directory = directory;
        task->known = ASKING;
        task->guessed = guessed;
        text_copy(task->task_id, sizeof task->task_id, task_id);
        directory->tasks = mem_resize(directory->tasks, directory->task_count + 1, sizeof(void *));
        directory->tasks[directory->task_count++] = task;
        object_table_set(&directory->by_task, &key, task);
        directory_ask_tasks(directory);
    }
    *out = task->record;
    if (task->known == ASKING)
        return DIRECTORY_WAIT;
    return task->record ? DIRECTORY_YES : DIRECTORY_NO;
}

enum directory_answer directory_task(struct directory *directory, const char *task_id,
                                     const struct ray_task **out)
{
    return want_task(directory, task_id, false, out);
}

const struct ray_task *directory_known_task(const struct directory *directory, const char *task_id)
{
    struct object_id key;
    if (!key_of(task_id, &key))
        return NULL;
    const struct directory_task *task = object_table_get(&directory->by_task, &key);
    return task ? task->record : NULL;
}

/* --- tasks whose id's first byte is not known --- */

static struct hint *find_hint(const struct directory *directory, const char *task_id)
{
    for (size_t i = 0; i < directory->hint_count; i++)
        if (text_equal(directory->hints[i].task_id + 2, task_id + 2))
            return (struct hint *)(uintptr_t)&directory->hints[i];
    return NULL;
}

static struct hint *add_hint(struct directory *directory, const char *task_id, bool found)
{
    struct hint *hint = &directory->hints[directory->next_hint];
    directory->next_hint = (directory->next_hint + 1) % HINTS_MAX; /* the oldest makes room */
    if (directory->hint_count < HINTS_MAX)
        directory->hint_count++;
    *hint = (struct hint){.found = found};
    text_copy(hint->task_id, sizeof hint->task_id, task_id);
    return hint;
}

void directory_hint(struct directory *directory, const char *task_id)
{
    if (strlen(task_id) == (size_t)2 * ID_TASK_BYTES && !find_hint(directory, task_id))
        add_hint(directory, task_id, true);
}

const char *directory_hinted(const struct directory *directory, const char *task_id)
{
    const struct hint *hint =
        strlen(task_id) == (size_t)2 * ID_TASK_BYTES ? find_hint(directory, task_id) : NULL;
    return hint && hint->found ? hint->task_id : NULL;
}

/* Asks for all that it can be, and looks who has answered. */
static enum directory_answer guess(struct directory *directory, struct hint *hint,
                                   const struct ray_task **out)
{
    char task_id[sizeof hint->task_id];
    size_t waiting = 0;
    memcpy(task_id, hint->task_id, sizeof task_id);
    for (unsigned i = 0; i < GUESSES; i++) {
        const uint8_t byte = (uint8_t)i;
        text_hex(&byte, 1, task_id);
        task_id[2] = hint->task_id[2];
        enum directory_answer known = want_task(directory, task_id, true, out);
        waiting += known == DIRECTORY_WAIT;
        if (known != DIRECTORY_YES)
            continue;
        hint->found = true;
        memcpy(hint->task_id, task_id, sizeof task_id);
        return DIRECTORY_YES;
    }
    hint->tried = waiting == 0;
    return waiting ? DIRECTORY_WAIT : DIRECTORY_NO;
}

enum directory_answer directory_guess_task(struct directory *directory, const char *task_id,
                                           const struct ray_task **out)
{
    if (strlen(task_id) != (size_t)2 * ID_TASK_BYTES)
        return DIRECTORY_NO;
    struct hint *hint = find_hint(directory, task_id);
    if (hint && hint->found)
        return directory_task(directory, hint->task_id, out);
    if (hint && hint->tried)
        return DIRECTORY_NO;
    if (!hint) {
        if (directory->guesses == GUESSES_MAX)
            return DIRECTORY_NO;
        directory->guesses++;
        hint = add_hint(directory, task_id, false);
    }
    return guess(directory, hint, out);
}

/* --- renewal --- */

static void task_free(struct directory_task *task)
{
    source_kv_forget(task->directory->source, task);
    ray_tasks_free(task->record, task->record ? 1 : 0);
    free(task);
}

void directory_renew_tasks(struct directory *directory)
{
    struct object_id key;
    size_t kept = 0;
    bool none = directory->task_count > TASKS_KEPT;
    object_table_clear(&directory->by_task);
    for (size_t i = 0; i < directory->task_count; i++) {
        struct directory_task *task = directory->tasks[i];
        if (none || !task->record || !*task->record->worker_id || !key_of(task->task_id, &key)) {
            task_free(task);
            continue;
        }
        directory->tasks[kept++] = task;
        object_table_set(&directory->by_task, &key, task);
    }
    directory->task_count = directory->asked = kept;
    directory->in_flight = directory->late = 0; /* those were forgotten */
    timer_cancel(&directory->again);
    if (directory->version_known == FAILED)
        directory->version_known = UNASKED;
}

void directory_drop_tasks(struct directory *directory)
{
    timer_cancel(&directory->again);
    for (size_t i = 0; i < directory->task_count; i++)
        task_free(directory->tasks[i]);
    object_table_clear(&directory->by_task);
    free(directory->tasks);
}
