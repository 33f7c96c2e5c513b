#include "relay/pause_index.h"

#include "base/hash.h"

/* The same for all that are pause_same(): one that its worker names has many endpoints. */
static uint64_t key_of(const struct pause *pause)
{
    uint64_t hash = hash_text(pause->worker_id, pause->debugger);
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
