#include "relay/pause/pause_history.h"

#include "base/mem.h"
#include "dap/json_record.h"
#include "relay/pause/pause_json.h"

#include <stdlib.h>

static struct past_pause *item_of(const struct pause_history *history, int64_t number)
{
    return &history->items[(number - 1) % PAUSE_HISTORY_MOST];
}

/* NULL if there is no such pause, or none any more. */
static struct past_pause *find(const struct pause_history *history, int64_t number)
{
    bool is_there =
        number > 0 && number <= history->count && number > history->count - PAUSE_HISTORY_MOST;
    return is_there ? item_of(history, number) : NULL;
}

int64_t pause_history_begin(struct pause_history *history, struct pause *pause, int64_t now_ms)
{
    if (history->count < PAUSE_HISTORY_MOST)
        history->items = mem_grow(history->items, (size_t)history->count, &history->room,
                                  sizeof *history->items);
    else
        pause_clear(&item_of(history, history->count + 1)->pause);
    struct past_pause *past = item_of(history, ++history->count);
    *past = (struct past_pause){.pause = *pause, .began_ms = now_ms};
    *pause = (struct pause){0};
    return history->count;
}

void pause_history_renew(struct pause_history *history, int64_t number, struct pause *pause)
{
    struct past_pause *past = find(history, number);
    if (past) {
        struct pause before = past->pause;
        past->pause = *pause;
        *pause = before; /* to be freed */
        if (!past->pause.file) {
            past->pause.file = pause->file;
            past->pause.line = pause->line;
            pause->file = NULL;
        }
    }
    pause_clear(pause);
}

void pause_history_end(struct pause_history *history, int64_t number, int64_t now_ms)
{
    struct past_pause *past = find(history, number);
    if (past)
        past->ended_ms = now_ms;
}

void pause_history_json(const struct pause_history *history, struct buf *out)
{
    int64_t first = history->count > PAUSE_HISTORY_MOST ? history->count - PAUSE_HISTORY_MOST : 0;
    buf_add_string(out, "[");
    for (int64_t i = first; i < history->count; i++) {
        const struct past_pause *past = item_of(history, i + 1);
        buf_add_string(out, i == first ? "" : ",\n");
        pause_json(&past->pause, out);
        out->len--; /* the object goes on */
        buf_add_string(out, ", \"began\": ");
        json_put_seconds(out, past->began_ms);
        buf_add_string(out, ", \"ended\": ");
        json_put_seconds(out, past->ended_ms);
        buf_add_string(out, "}");
    }
    buf_add_string(out, "]");
}

void pause_history_clear(struct pause_history *history)
{
    for (size_t i = 0; i < (size_t)history->count && i < PAUSE_HISTORY_MOST; i++)
        pause_clear(&history->items[i].pause);
    free(history->items);
    *history = (struct pause_history){0};
}
