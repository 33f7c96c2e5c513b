#include "relay/pause/pause_nearest.h"

#include "base/buf.h"
#include "base/text.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* A third of the letters may be wrong, and no more than three. */
static size_t most_wrong(const char *task)
{
    size_t most = strlen(task) / 3;
    return most < 3 ? most : 3;
}

static bool is_paused(const struct pause *pause)
{
    return pause->state == PAUSE_WAITING || pause->state == PAUSE_HELD;
}

size_t pause_nearest(const struct pause_list *list, const char *task, const char **name)
{
    size_t nearest = SIZE_MAX, best = most_wrong(task) + 1;
    for (size_t i = 0; i < list->count; i++) {
        const struct pause *pause = &list->items[i];
        const char *names[] = {pause->task_name, pause->actor_name, pause->actor_class};
        for (size_t k = 0; pause->state != PAUSE_IDLE && k < sizeof names / sizeof *names; k++) {
            size_t here =
                names[k] ? text_distance(task, strlen(task), names[k], strlen(names[k])) : SIZE_MAX;
            if (here >= best)
                continue;
            best = here;
            nearest = i;
            *name = names[k];
        }
    }
    return nearest;
}

/* "square (c2668a), Trainer.step (32d950), and 3 more" */
static size_t list_names(const struct pause_list *list, struct buf *out)
{
    enum { SHOWN = 5 };
    char id[ID_TEXT(ID_UNIQUE_BYTES)];
    size_t count = 0;
    for (size_t i = 0; i < list->count; i++) {
        const struct pause *pause = &list->items[i];
        const char *name = pause->task_name ? pause->task_name : pause->actor_class;
        if (!is_paused(pause) || count++ >= SHOWN)
            continue;
        pause_short_id(list, i, id);
        char *shown = text_printable(name ? name : "?", strlen(name ? name : "?"), "");
        buf_printf(out, "%s%s (%s)", count > 1 ? ", " : "", shown, id);
        free(shown);
    }
    if (count > SHOWN)
        buf_printf(out, ", and %zu more", count - SHOWN);
    return count;
}

int pause_unknown(const struct pause_list *list, const char *task, struct err *err)
{
    char id[ID_TEXT(ID_UNIQUE_BYTES)];
    const char *name = NULL;
    struct buf names = {0};
    size_t nearest = pause_nearest(list, task, &name);
    if (nearest != SIZE_MAX) {
        pause_short_id(list, nearest, id);
        char *shown = text_printable(name, strlen(name), "");
        err_set(err, ERR_NOT_FOUND, "no paused task is called '%s'; did you mean %s (%s)?", task,
                shown, id);
        free(shown);
    } else {
        err_set(err, ERR_NOT_FOUND, "no paused task is called '%s'", task);
    }
    size_t count = list_names(list, &names);
    if (count)
        err_why(err, "%zu %s paused: %s", count, count == 1 ? "is" : "are", names.data);
    else
        err_why(err, "no task is paused");
    buf_free(&names);
    return err_hint(err, "raydbg list shows what is paused; attach --wait waits for it");
}
