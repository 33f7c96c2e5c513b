#include "cli/timeline/timeline_history.h"

#include "base/mem.h"

#include <cjson/cJSON.h>
#include <stdlib.h>

struct timeline_history {
    cJSON *json; /* has the texts */
    struct timeline_pause *items;
    struct timeline_pauses pauses;
};

static const char *text_of(const cJSON *object, const char *name)
{
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

/* Seconds since the epoch as us; 0 if there are none. */
static int64_t time_of(const cJSON *object, const char *name)
{
    const cJSON *seconds = cJSON_GetObjectItemCaseSensitive(object, name);
    bool is_time = cJSON_IsNumber(seconds) && seconds->valuedouble > 0 &&
                   seconds->valuedouble < 1e11; /* beyond it, us are no int64_t */
    return is_time ? (int64_t)(seconds->valuedouble * 1e6 + 0.5) : 0;
}

static bool read_pause(const cJSON *object, struct timeline_pause *out)
{
    const cJSON *location = cJSON_GetObjectItemCaseSensitive(object, "location");
    const cJSON *line = cJSON_GetObjectItemCaseSensitive(location, "line");
    const char *task_id = text_of(object, "task_id"), *reason = text_of(object, "reason");
    bool ambiguous = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(object, "ambiguous"));
    *out = (struct timeline_pause){
        .worker_id = text_of(object, "worker_id"),
        .task_id = task_id && !ambiguous ? task_id : "",
        .reason = reason ? reason : "",
        .file = text_of(location, "file"),
        .line = cJSON_IsNumber(line) ? line->valueint : 0,
        .start_us = time_of(object, "began"),
        .end_us = time_of(object, "ended"),
    };
    return out->worker_id && out->start_us;
}

struct timeline_history *timeline_history_read(const char *json, size_t len)
{
    cJSON *root = cJSON_ParseWithLength(json, len);
    const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "pauses"), *object;
    if (!cJSON_IsArray(list)) {
        cJSON_Delete(root);
        return NULL;
    }
    struct timeline_history *history = mem_alloc(sizeof *history);
    history->json = root;
    history->items = mem_array((size_t)cJSON_GetArraySize(list), sizeof *history->items);
    cJSON_ArrayForEach(object, list)
    {
        if (read_pause(object, &history->items[history->pauses.count]))
            history->pauses.count++;
    }
    history->pauses.items = history->items;
    return history;
}

const struct timeline_pauses *timeline_history_pauses(const struct timeline_history *history)
{
    return history ? &history->pauses : NULL;
}

void timeline_history_free(struct timeline_history **history)
{
    struct timeline_history *it = *history;
    if (!it)
        return;
    *history = NULL;
    cJSON_Delete(it->json);
    free(it->items);
    free(it);
}
