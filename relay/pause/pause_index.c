#include "relay/pause/pause_index.h"

#include "base/hash.h"

/* Equal for all rows that are pause_same(): a debugpy's with a worker id may differ in endpoint. */
static uint64_t key_of(const struct pause *pause)
{
    bool dialled = pause->debugger == PAUSE_PYDEVD;
    uint64_t hash = hash_text(dialled ? "" : pause->worker_id, pause->debugger);
    if (pause->debugger == PAUSE_DEBUGPY && *pause->worker_id)
        return hash;
    return hash_text(pause->host ? pause->host : "", hash + pause->port);
}

void pause_index_make(struct pause_index *index, const struct pause_list *list)
{
    *index = (struct pause_index){.list = list};
    for (size_t i = 0; i < list->count; i++)
        hash_index_add(&index->rows, key_of(&list->items[i]), i);
}

const struct pause *pause_index_find(const struct pause_index *index, const struct pause *pause)
{
    size_t cursor = 0;
    uintptr_t row;
    while (hash_index_next(&index->rows, key_of(pause), &cursor, &row))
        if (pause_same(&index->list->items[row], pause))
            return &index->list->items[row];
    return NULL;
}

void pause_index_clear(struct pause_index *index)
{
    hash_index_clear(&index->rows);
    *index = (struct pause_index){0};
}
