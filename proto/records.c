#include "proto/records.h"

#include "base/text.h"
#include "proto/failure_records.h"

#include <ctype.h>
#include <stdlib.h>

int64_t ray_worker_paused_threads(int64_t recorded)
{
    return recorded > 0 && recorded <= INT32_MAX ? recorded : 0;
}

void ray_workers_free(struct ray_worker *workers, size_t count)
{
    for (size_t i = 0; workers && i < count; i++) {
        free(workers[i].ip);
        free(workers[i].exit_type);
        free(workers[i].exit_detail);
        free(workers[i].init_error);
    }
    free(workers);
}

void ray_tasks_free(struct ray_task *tasks, size_t count)
{
    for (size_t i = 0; tasks && i < count; i++) {
        free(tasks[i].name);
        free(tasks[i].func_or_class);
    }
    free(tasks);
}

void ray_labels_clear(struct ray_labels *labels)
{
    for (size_t i = 0; i < labels->count; i++) {
        free(labels->items[i].key);
        free(labels->items[i].value);
    }
    free(labels->items);
    *labels = (struct ray_labels){0};
}

void ray_actors_free(struct ray_actor *actors, size_t count)
{
    for (size_t i = 0; actors && i < count; i++) {
        free(actors[i].class_name);
        free(actors[i].name);
        free(actors[i].repr_name);
        free(actors[i].state);
        if (actors[i].death)
            ray_actor_death_clear(actors[i].death);
        free(actors[i].death);
        if (actors[i].resources)
            ray_resources_clear(actors[i].resources);
        free(actors[i].resources);
        ray_labels_clear(&actors[i].selector);
    }
    free(actors);
}

void ray_nodes_free(struct ray_node *nodes, size_t count)
{
    for (size_t i = 0; nodes && i < count; i++) {
        free(nodes[i].ip);
        free(nodes[i].hostname);
        free(nodes[i].end_detail);
        ray_labels_clear(&nodes[i].labels);
    }
    free(nodes);
}

void ray_jobs_free(struct ray_job *jobs, size_t count)
{
    for (size_t i = 0; jobs && i < count; i++) {
        free(jobs[i].entrypoint);
        free(jobs[i].driver_ip);
        free(jobs[i].submission_id);
        free(jobs[i].submission_status);
        free(jobs[i].submission_message);
    }
    free(jobs);
}

void ray_pdbs_free(struct ray_pdb *pdbs, size_t count)
{
    for (size_t i = 0; pdbs && i < count; i++) {
        free(pdbs[i].address);
        free(pdbs[i].proctitle);
        free(pdbs[i].file);
        free(pdbs[i].traceback);
    }
    free(pdbs);
}

void ray_worker_stats_clear(struct ray_worker_stats *stats)
{
    if (!stats)
        return;
    free(stats->running_task_ids);
    *stats = (struct ray_worker_stats){0};
}

void record_set_id(char *out, size_t id_len, const uint8_t *bytes, size_t len)
{
    bool nil = true;
    for (size_t i = 0; i < len && nil; i++)
        nil = bytes[i] == 0xFF;
    if (len == id_len && !nil)
        text_hex(bytes, len, out);
    else
        *out = '\0';
}

/* Reads a number of at most six digits and moves *text behind it. */
static bool take_number(const char **text, int *out)
{
    const char *p = *text;
    int value = 0;
    while (isdigit((unsigned char)*p) && p - *text < 6)
        value = value * 10 + (*p++ - '0');
    if (p == *text || isdigit((unsigned char)*p))
        return false;
    *text = p;
    *out = value;
    return true;
}

bool ray_version_parse(const char *text, struct ray_version *out)
{
    *out = (struct ray_version){0};
    struct ray_version version = {0};
    if (!text || !take_number(&text, &version.major) || *text++ != '.' ||
        !take_number(&text, &version.minor))
        return false;
    if (*text == '.') {
        text++;
        if (!take_number(&text, &version.patch)) /* "2.60.dev0" */
            version.patch = 0;
    }
    *out = version;
    return true;
}

int ray_version_compare(struct ray_version a, int major, int minor, int patch)
{
    if (a.major != major)
        return a.major < major ? -1 : 1;
    if (a.minor != minor)
        return a.minor < minor ? -1 : 1;
    return (a.patch > patch) - (a.patch < patch);
}
