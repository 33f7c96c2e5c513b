#include "relay/cluster/backoff.h"

#include "base/hash.h"
#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const int64_t eager_us = 3000000, longest_us = 30000000;

static struct backoff_row *find(const struct backoff *retry, const char *id)
{
    size_t cursor = 0;
    uintptr_t row;
    while (hash_index_next(&retry->ids, hash_text(id, 0), &cursor, &row))
        if (strcmp(retry->rows[row].id, id) == 0)
            return &retry->rows[row];
    return NULL;
}

static void add(struct backoff *retry, const char *id, int64_t now_us)
{
    retry->rows = mem_grow(retry->rows, retry->count, &retry->room, sizeof *retry->rows);
    struct backoff_row *row = &retry->rows[retry->count];
    *row = (struct backoff_row){.first_us = now_us, .next_us = now_us, .used = true};
    text_copy(row->id, sizeof row->id, id);
    hash_index_add(&retry->ids, hash_text(id, 0), retry->count++);
}

bool backoff_due(struct backoff *retry, const char *id, int64_t now_us)
{
    struct backoff_row *row = find(retry, id);
    if (!row) {
        add(retry, id, now_us);
        return true;
    }
    row->used = true;
    if (now_us < row->next_us)
        return false;
    int64_t age = now_us - row->first_us;
    if (age > eager_us)
        row->next_us = now_us + (age < longest_us ? age : longest_us);
    return true;
}

void backoff_sweep(struct backoff *retry)
{
    size_t kept = 0;
    hash_index_clear(&retry->ids);
    for (size_t i = 0; i < retry->count; i++) {
        if (!retry->rows[i].used)
            continue;
        retry->rows[kept] = retry->rows[i];
        retry->rows[kept].used = false;
        hash_index_add(&retry->ids, hash_text(retry->rows[kept].id, 0), kept);
        kept++;
    }
    retry->count = kept;
}

void backoff_clear(struct backoff *retry)
{
    hash_index_clear(&retry->ids);
    free(retry->rows);
    *retry = (struct backoff){0};
}
