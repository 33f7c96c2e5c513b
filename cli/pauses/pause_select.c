#include "cli/pauses/pause_select.h"

#include "base/mem.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static int compare_text(const char *a, const char *b)
{
    return strcmp(a ? a : "", b ? b : "");
}

static int compare_number(int64_t a, int64_t b)
{
    return (a > b) - (a < b);
}

static int by_pid(const void *a, const void *b)
{
    const struct pause *one = a, *two = b;
    return compare_number(one->pid, two->pid);
}

static int by_node(const void *a, const void *b)
{
    const struct pause *one = a, *two = b;
    int order = compare_text(one->node_ip, two->node_ip);
    return order ? order : by_pid(a, b);
}

static int by_age(const void *a, const void *b)
{
    const struct pause *one = a, *two = b;
    int order = compare_number(one->since_ms, two->since_ms);
    return order ? order : by_node(a, b);
}

static int by_name(const void *a, const void *b)
{
    const struct pause *one = a, *two = b;
    int order = compare_text(one->task_name, two->task_name);
    return order ? order : by_node(a, b);
}

static int by_state(const void *a, const void *b)
{
    const struct pause *one = a, *two = b;
    int order = compare_number(one->state, two->state);
    return order ? order : by_node(a, b);
}

static int by_job(const void *a, const void *b)
{
    const struct pause *one = a, *two = b;
    int order = strcmp(one->job_id, two->job_id);
    return order ? order : by_node(a, b);
}

static const struct {
    const char *key;
    int (*order)(const void *a, const void *b);
} sorts[] = {
    {"node", by_node},   {"age", by_age}, {"name", by_name},
    {"state", by_state}, {"job", by_job}, {"pid", by_pid},
};

const char *pause_select_sorts(void)
{
    return "node, age, name, state, job or pid";
}

bool pause_select_sort(struct pause_select *select, const char *key)
{
    for (size_t i = 0; i < sizeof sorts / sizeof *sorts; i++) {
        if (text_equal(key, sorts[i].key)) {
            select->order = sorts[i].order;
            return true;
        }
    }
    return false;
}

bool pause_select_state(struct pause_select *select, const char *state)
{
    select->has_state = pause_state_parse(state, &select->state);
    return select->has_state;
}

static bool fits(const struct pause_select *select, const struct pause *pause)
{
    if (select->has_state ? pause->state != select->state
                          : pause->state == PAUSE_IDLE && !select->all)
        return false;
    return (!select->job || pause_of_job(pause, select->job)) &&
           (!select->node || pause_on_node(pause, select->node)) &&
           (!select->actor || pause_of_actor(pause, select->actor));
}

void pause_select_apply(const struct pause_select *select, const struct pause_list *list,
                        struct pause_list *out)
{
    *out = (struct pause_list){.items = mem_array(list->count, sizeof *out->items)};
    for (size_t i = 0; i < list->count; i++)
        if (fits(select, &list->items[i]))
            pause_copy(&out->items[out->count++], &list->items[i]);
    if (select->order && out->count)
        qsort(out->items, out->count, sizeof *out->items, select->order);
}
