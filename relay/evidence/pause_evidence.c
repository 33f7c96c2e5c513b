#include "relay/evidence/pause_evidence.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static struct why_pause *add_pause(struct why_records *records)
{
    records->pauses =
        mem_resize(records->pauses, records->pause_count + 1, sizeof *records->pauses);
    struct why_pause *pause = &records->pauses[records->pause_count++];
    *pause = (struct why_pause){0};
    return pause;
}

/* "app.py:22"; NULL if the file is not known. */
static char *location_of(const char *file, int64_t line)
{
    if (text_empty(file))
        return NULL;
    return mem_format("%s:%lld", text_basename(file), (long long)line);
}

/* "square" of a worker's title "ray::square" or "ray::square()", which is all that Ray's pdb up to
 * Ray 2.34 tells of the task; NULL of another process's. The caller frees it. */
static char *task_of_title(const char *title)
{
    static const char worker[] = "ray::";
    if (text_empty(title) || !text_starts(title, worker))
        return NULL;
    const char *name = title + sizeof worker - 1;
    size_t len = strlen(name) - (text_ends(name, "()") ? 2 : 0);
    return len ? mem_string_n(name, len) : NULL;
}

/* Names the task by its job and name. */
static void name_task(struct why_pause *pause, const char *job_id, const char *name,
                      int64_t since_ms)
{
    text_copy(pause->job_id, sizeof pause->job_id, job_id);
    pause->task_name = mem_string(name);
    pause->since_ms = since_ms;
}

static char *holder_of(const struct pause *pause, const char *relay)
{
    if (!relay)
        return mem_format("%s has it", pause->driver);
    if (pause->driver)
        return mem_format("%s drives it through the relay %s", pause->driver, relay);
    if (pause->clients > 0)
        return mem_format("the relay %s holds it for %lld client%s", relay,
                          (long long)pause->clients, pause->clients == 1 ? "" : "s");
    return mem_format("the relay %s holds it, and no client is attached", relay);
}

void pause_evidence_add(struct why_records *records, const struct pause_list *pauses,
                        const char *relay)
{
    for (size_t i = 0; i < pauses->count; i++) {
        const struct pause *it = &pauses->items[i];
        bool held = it->state == PAUSE_HELD && it->reason;
        if (!held && it->state != PAUSE_WAITING)
            continue;
        struct why_pause *pause = add_pause(records);
        text_copy(pause->worker_id, sizeof pause->worker_id, it->worker_id);
        if (!it->ambiguous)
            text_copy(pause->task_id, sizeof pause->task_id, it->task_id);
        pause->location = location_of(it->file, it->line);
        pause->holder = held ? holder_of(it, relay) : NULL;
        pause->is_pdb = it->debugger == PAUSE_PDB;
        pause->is_post_mortem = held && text_equal(it->reason, "exception");
        if (pause->is_pdb && !*it->worker_id && !*it->task_id && it->task_name)
            name_task(pause, it->job_id, it->task_name, it->since_ms);
    }
}

static bool is_same(const struct why_pause *pause, const struct ray_pdb *pdb, const char *name)
{
    return name ? pause->task_name && text_equal(pause->task_name, name) &&
                      text_equal(pause->job_id, pdb->job_id) && pause->since_ms == pdb->since_ms
                : text_equal(pause->task_id, pdb->task_id);
}

void pause_evidence_add_pdbs(struct why_records *records, const struct ray_pdb *pdbs, size_t count)
{
    size_t known = records->pause_count;
    for (size_t i = 0; i < count; i++) {
        bool told = *pdbs[i].task_id || *pdbs[i].worker_id;
        char *name = told ? NULL : task_of_title(pdbs[i].proctitle);
        bool is_new = (*pdbs[i].task_id || name) && !text_empty(pdbs[i].address);
        for (size_t k = 0; k < known; k++)
            is_new = is_new && !is_same(&records->pauses[k], &pdbs[i], name);
        if (is_new) {
            struct why_pause *pause = add_pause(records);
            text_copy(pause->worker_id, sizeof pause->worker_id, pdbs[i].worker_id);
            text_copy(pause->task_id, sizeof pause->task_id, pdbs[i].task_id);
            pause->location = location_of(pdbs[i].file, pdbs[i].line);
            pause->is_pdb = true;
            if (name)
                name_task(pause, pdbs[i].job_id, name, pdbs[i].since_ms);
        }
        free(name);
    }
}
