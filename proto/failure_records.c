#include "proto/failure_records.h"

#include "base/text.h"

#include <stdlib.h>

static const struct {
    const char *name, *words;
} error_types[] = {
    [0] = {"WORKER_DIED", "its process died"},
    [1] = {"ACTOR_DIED", "its actor is dead"},
    [2] = {"OBJECT_UNRECONSTRUCTABLE", "an object that it needs was lost and cannot be made again"},
    [3] = {"TASK_EXECUTION_EXCEPTION", "it raised an exception"},
    [4] = {"OBJECT_IN_PLASMA", "its result is in the object store"},
    [5] = {"TASK_CANCELLED", "it was cancelled with ray.cancel"},
    [6] = {"ACTOR_CREATION_FAILED", "the __init__ of its actor raised an exception"},
    [7] = {"RUNTIME_ENV_SETUP_FAILED", "its runtime_env could not be set up"},
    [8] = {"OBJECT_LOST", "all copies of an object that it needs were lost"},
    [9] = {"OWNER_DIED", "the process that owned an object that it needs has died"},
    [10] = {"OBJECT_DELETED",
            "the owner of an object that it needs had no reference to it any more: a reference was "
            "pickled, or made by hand, where Ray does not count it"},
    [11] = {"DEPENDENCY_RESOLUTION_FAILED", "an argument could not be resolved"},
    [12] = {"OBJECT_UNRECONSTRUCTABLE_MAX_ATTEMPTS_EXCEEDED",
            "an object that it needs was lost, and the task that made it has no retries left to "
            "make it again"},
    [13] = {"OBJECT_UNRECONSTRUCTABLE_LINEAGE_EVICTED",
            "an object that it needs was lost, and Ray has dropped the record of how it was made"},
    [14] = {"OBJECT_FETCH_TIMED_OUT", "an object that it needs could not be fetched in time"},
    [15] = {"LOCAL_RAYLET_DIED", "the raylet of its node died"},
    [16] = {"TASK_PLACEMENT_GROUP_REMOVED", "its placement group was removed"},
    [17] = {"ACTOR_PLACEMENT_GROUP_REMOVED", "the placement group of its actor was removed"},
    [18] = {"TASK_UNSCHEDULABLE_ERROR", "no node may run it"},
    [19] = {"ACTOR_UNSCHEDULABLE_ERROR", "no node may run its actor"},
    [20] = {"OUT_OF_DISK_ERROR", "the disk of a node is full"},
    [21] = {"OBJECT_FREED", "an object that it needs was freed by the program"},
    [22] = {"OUT_OF_MEMORY",
            "Ray's memory monitor killed its process: the node was running out of memory"},
    [23] = {"NODE_DIED", "its node died"},
    [24] = {"END_OF_STREAMING_GENERATOR", "the generator has ended"},
    [25] = {"ACTOR_UNAVAILABLE",
            "its actor could not be reached: it was restarting, or its node did not answer"},
    [26] = {"GENERATOR_TASK_FAILED_FOR_OBJECT_RECONSTRUCTION",
            "an object that it needs was lost, and the generator that made it failed when it was "
            "run again"},
    [27] = {"OBJECT_UNRECONSTRUCTABLE_PUT",
            "an object that it needs was lost, and ray.put had made it: only a task's "
            "result can be made again"},
    [28] = {"OBJECT_UNRECONSTRUCTABLE_RETRIES_DISABLED",
            "an object that it needs was lost, and the task that made it has max_retries=0"},
    [29] = {"OBJECT_UNRECONSTRUCTABLE_BORROWED",
            "an object that it needs was lost, and its owner is another process"},
    [30] = {"OBJECT_UNRECONSTRUCTABLE_REF_NOT_FOUND",
            "an object that it needs was lost, and its owner has no reference to it any more"},
    [31] = {"OBJECT_UNRECONSTRUCTABLE_TASK_CANCELLED",
            "an object that it needs was lost, and the task that made it was cancelled"},
    [32] = {"OBJECT_UNRECONSTRUCTABLE_LINEAGE_DISABLED",
            "an object that it needs was lost, and lineage reconstruction is switched off"},
    [33] = {"WORKER_STARTUP_FAILED", "no worker process could be started for it"},
    [34] = {"STREAMING_GENERATOR_REPLAY_INCONSISTENT",
            "the generator made other objects when it was run again"},
};

static const int error_type_count = sizeof error_types / sizeof *error_types;

const char *ray_error_type_name(int type)
{
    return type >= 0 && type < error_type_count ? error_types[type].name : NULL;
}

const char *ray_error_type_words(int type)
{
    return type >= 0 && type < error_type_count ? error_types[type].words : NULL;
}

void ray_resources_clear(struct ray_resources *resources)
{
    for (size_t i = 0; i < resources->count; i++)
        free(resources->items[i].name);
    free(resources->items);
    *resources = (struct ray_resources){0};
}

double ray_resources_amount(const struct ray_resources *resources, const char *name)
{
    for (size_t i = 0; i < resources->count; i++)
        if (text_equal(resources->items[i].name, name))
            return resources->items[i].amount;
    return 0;
}

void ray_actor_death_clear(struct ray_actor_death *death)
{
    free(death->message);
    *death = (struct ray_actor_death){0};
}

static void timing_free(struct ray_timing *timing)
{
    for (size_t i = 0; timing && i < timing->event_count; i++)
        free(timing->events[i].name);
    if (timing)
        free(timing->events);
    free(timing);
}

bool ray_attempt_is_over(const struct ray_attempt *attempt)
{
    return attempt->state == RAY_ATTEMPT_FINISHED || attempt->state == RAY_ATTEMPT_FAILED;
}

void ray_attempts_free(struct ray_attempt *attempts, size_t count)
{
    for (size_t i = 0; attempts && i < count; i++) {
        struct ray_attempt *it = &attempts[i];
        free(it->name);
        free(it->func_or_class);
        ray_resources_clear(&it->resources);
        ray_labels_clear(&it->selector);
        free(it->error_message);
        ray_actor_death_clear(&it->death);
        free(it->out.file);
        free(it->err.file);
        free(it->raised_type);
        free(it->raised_value);
        free(it->raised_traceback);
        timing_free(it->timing);
    }
    free(attempts);
}

void ray_groups_free(struct ray_group *groups, size_t count)
{
    for (size_t i = 0; groups && i < count; i++) {
        free(groups[i].name);
        for (size_t k = 0; k < groups[i].bundle_count; k++)
            ray_resources_clear(&groups[i].bundles[k]);
        free(groups[i].bundles);
    }
    free(groups);
}

void ray_resource_state_clear(struct ray_resource_state *state)
{
    for (size_t i = 0; i < state->node_count; i++) {
        ray_resources_clear(&state->nodes[i].free);
        ray_resources_clear(&state->nodes[i].total);
    }
    for (size_t i = 0; i < state->demand_count; i++)
        ray_resources_clear(&state->demands[i].shape);
    free(state->nodes);
    free(state->demands);
    *state = (struct ray_resource_state){0};
}
