#include "relay/pause/pause_filter.h"

#include "base/mem.h"
#include "base/text.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pause_filter_clear(struct pause_filter *filter)
{
    for (size_t i = 0; i < filter->task_count; i++)
        free(filter->tasks[i]);
    free(filter->tasks);
    free(filter->job);
    free(filter->actor);
    free(filter->node);
    *filter = (struct pause_filter){0};
}

void pause_filter_add(struct pause_filter *filter, const char *task)
{
    filter->tasks = mem_resize(filter->tasks, filter->task_count + 1, sizeof *filter->tasks);
    filter->tasks[filter->task_count++] = mem_string(task);
}

bool pause_filter_is_set(const struct pause_filter *filter)
{
    return filter->task_count || filter->job || filter->actor || filter->node;
}

bool pause_filter_is_glob(const char *text)
{
    return text && strpbrk(text, "*?[");
}

bool pause_filter_is_open(const struct pause_filter *filter)
{
    for (size_t i = 0; i < filter->task_count; i++)
        if (pause_filter_is_glob(filter->tasks[i]))
            return true;
    return filter->job || filter->actor || filter->node || !filter->task_count;
}

static bool glob_matches(const char *glob, const char *text)
{
    return text && fnmatch(glob, text, 0) == 0;
}

static bool task_matches(const struct pause *pause, const char *entry)
{
    if (text_equal(entry, "*") || pause_is_called(pause, entry))
        return true;
    return pause_filter_is_glob(entry) &&
           (glob_matches(entry, pause->task_name) || glob_matches(entry, pause->actor_name) ||
            glob_matches(entry, pause->actor_class));
}

static bool any_task_matches(const struct pause_filter *filter, const struct pause *pause)
{
    for (size_t i = 0; i < filter->task_count; i++)
        if (task_matches(pause, filter->tasks[i]))
            return true;
    return !filter->task_count;
}

static bool actor_matches(const struct pause *pause, const char *actor)
{
    return pause_of_actor(pause, actor) ||
           (pause_filter_is_glob(actor) &&
            (glob_matches(actor, pause->actor_name) || glob_matches(actor, pause->actor_class)));
}

static bool node_matches(const struct pause *pause, const char *node)
{
    return pause_on_node(pause, node) ||
           (pause_filter_is_glob(node) &&
            (glob_matches(node, pause->node_name) || glob_matches(node, pause->node_ip)));
}

bool pause_filter_matches(const struct pause_filter *filter, const struct pause *pause)
{
    return any_task_matches(filter, pause) && (!filter->job || pause_of_job(pause, filter->job)) &&
           (!filter->actor || actor_matches(pause, filter->actor)) &&
           (!filter->node || node_matches(pause, filter->node));
}

static void describe(char *out, size_t size, const char *before, const char *text)
{
    size_t len = strlen(out);
    char *shown = text ? text_printable(text, strlen(text), "") : NULL;
    if (shown)
        snprintf(out + len, size - len, "%s%s", before, shown);
    free(shown);
}

void pause_filter_describe(const struct pause_filter *filter, char *out, size_t size)
{
    text_copy(out, size, "");
    for (size_t i = 0; i < filter->task_count; i++)
        describe(out, size, i ? ", " : "", filter->tasks[i]);
    if (!filter->task_count)
        describe(out, size, "", "*");
    describe(out, size, " of job ", filter->job);
    describe(out, size, " of actor ", filter->actor);
    describe(out, size, " on node ", filter->node);
}
