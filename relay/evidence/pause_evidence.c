#include "relay/evidence/pause_evidence.h"

#include "base/mem.h"
#include "base/text.h"

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
    }
}

void pause_evidence_add_pdbs(struct why_records *records, const struct ray_pdb *pdbs, size_t count)
{
    size_t known = records->pause_count;
    for (size_t i = 0; i < count; i++) {
        bool is_new = *pdbs[i].task_id && !text_empty(pdbs[i].address);
        for (size_t k = 0; k < known; k++)
            is_new &= !text_equal(records->pauses[k].task_id, pdbs[i].task_id);
        if (!is_new)
            continue;
        struct why_pause *pause = add_pause(records);
        text_copy(pause->worker_id, sizeof pause->worker_id, pdbs[i].worker_id);
        text_copy(pause->task_id, sizeof pause->task_id, pdbs[i].task_id);
        pause->location = location_of(pdbs[i].file, pdbs[i].line);
        pause->is_pdb = true;
    }
}
