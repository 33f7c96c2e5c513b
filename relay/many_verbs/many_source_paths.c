#include "base/list.h"
#include "base/mem.h"
#include "base/text.h"
#include "relay/many_verbs/many_verbs_state.h"

#include <stdlib.h>

struct path_query_job {
    struct path_query_job *next;
    struct many_verbs *verbs;
    char *file;
    struct path_query path_query;
    size_t open; /* stacks to come, and one more until all are asked for */
    path_query_fn fn;
    void *arg;
};

enum { STACK_MS = 15000, KNOWN = 1000 };

static void unlink_job(struct path_query_job *job)
{
    LIST_DROP(job->verbs->path_queries, job);
}

static void free_job(struct path_query_job *job)
{
    unlink_job(job);
    request_drop(job->verbs, job);
    for (size_t i = 0; i < job->path_query.location_count; i++)
        free(job->path_query.locations[i].file);
    for (size_t i = 0; i < job->path_query.path_count; i++)
        free(job->path_query.paths[i]);
    free(job->path_query.locations);
    free(job->path_query.paths);
    free(job->file);
    free(job);
}

void path_query_drop(struct many_verbs *verbs, const void *arg)
{
    for (struct path_query_job *job = verbs->path_queries, *next; job; job = next) {
        next = job->next;
        if (job->arg == arg)
            free_job(job);
    }
}

static void add_path(char ***paths, size_t *count, const char *path)
{
    for (size_t i = 0; i < *count; i++)
        if (text_equal((*paths)[i], path))
            return;
    *paths = mem_resize(*paths, *count + 1, sizeof **paths);
    (*paths)[(*count)++] = mem_string(path);
}

void path_query_forget(struct many_verbs *verbs)
{
    for (size_t i = 0; i < verbs->known.count; i++)
        free(verbs->known.items[i]);
    free(verbs->known.items);
    verbs->known = (struct known_paths){0};
}

/* Remembers the files of frames without a presentationHint, which are probably the user's. */
static void know_paths(struct many_verbs *verbs, const struct request_result *result)
{
    struct span frame, at;
    size_t cursor = 0;
    while (scan_element(result->json, result->frames, &cursor, &frame)) {
        char *path = scan_string_at(result->json, frame, "source/path");
        if (!text_empty(path) && verbs->known.count < KNOWN &&
            !scan_find(result->json, frame, "presentationHint", &at))
            add_path(&verbs->known.items, &verbs->known.count, path);
        free(path);
    }
}

static void choose_paths(struct path_query_job *job)
{
    struct path_query *path_query = &job->path_query;
    const struct known_paths *known = &job->verbs->known;
    if (*job->file == '/')
        add_path(&path_query->paths, &path_query->path_count, job->file);
    for (size_t i = 0; *job->file != '/' && i < known->count; i++)
        if (frame_location_is(known->items[i], job->file))
            add_path(&path_query->paths, &path_query->path_count, known->items[i]);
}

static void one_less(struct path_query_job *job)
{
    if (--job->open)
        return;
    choose_paths(job);
    unlink_job(job); /* fn may call path_query_drop() */
    job->fn(job->arg, &job->path_query);
    free_job(job);
}

static void on_stack(void *arg, const struct request_result *result)
{
    struct path_query_job *job = arg;
    struct path_query *path_query = &job->path_query;
    path_query->locations = mem_resize(path_query->locations, path_query->location_count + 1,
                                       sizeof *path_query->locations);
    path_query->locations[path_query->location_count++] = (struct path_query_location){
        result->thread, mem_string(result->top.file), result->top.line};
    if (result->json)
        know_paths(job->verbs, result);
    one_less(job);
}

void path_query_take(struct many_verbs *verbs, const char *file, path_query_fn fn, void *arg)
{
    int64_t *ids;
    size_t count;
    struct path_query_job *job = mem_alloc(sizeof *job);
    *job = (struct path_query_job){
        .next = verbs->path_queries,
        .verbs = verbs,
        .file = mem_string(file),
        .open = 1,
        .fn = fn,
        .arg = arg,
    };
    verbs->path_queries = job;
    if (verbs_select(verbs, "state=stopped", &ids, &count, NULL) == 0) {
        job->open += count;
        for (size_t i = 0; i < count; i++)
            request_stack(verbs, ids[i], STACK_MS, on_stack, job);
        free(ids);
    }
    one_less(job);
}

void path_query_unknown(const char *file, struct err *err)
{
    err_set(err, ERR_NOT_FOUND, "no task has stopped with %s in its stack", file);
    err_hint(err, "give the whole path, as it is on the workers");
}

/* --- temporary breakpoints --- */

void temporary_breakpoints_set(struct many_verbs *verbs,
                               struct temporary_breakpoints *temporary_breakpoints,
                               const struct path_query *path_query, int64_t line)
{
    temporary_breakpoints->count = path_query->path_count;
    temporary_breakpoints->line = line;
    temporary_breakpoints->paths =
        mem_array(temporary_breakpoints->count, sizeof *temporary_breakpoints->paths);
    temporary_breakpoints->handles =
        mem_array(temporary_breakpoints->count, sizeof *temporary_breakpoints->handles);
    for (size_t i = 0; i < temporary_breakpoints->count; i++) {
        temporary_breakpoints->paths[i] = mem_string(path_query->paths[i]);
        temporary_breakpoints->handles[i] =
            many_breakpoints_add(verbs->many->sets, path_query->paths[i], line);
    }
}

void temporary_breakpoints_pull(struct many_verbs *verbs,
                                struct temporary_breakpoints *temporary_breakpoints)
{
    for (size_t i = 0; i < temporary_breakpoints->count; i++) {
        many_breakpoints_remove(verbs->many->sets, temporary_breakpoints->handles[i]);
        free(temporary_breakpoints->paths[i]);
    }
    free(temporary_breakpoints->paths);
    free(temporary_breakpoints->handles);
    *temporary_breakpoints = (struct temporary_breakpoints){0};
}

bool temporary_breakpoints_at(const struct temporary_breakpoints *temporary_breakpoints,
                              const struct frame_location *location)
{
    for (size_t i = 0; i < temporary_breakpoints->count; i++)
        if (location->line == temporary_breakpoints->line &&
            text_equal(location->file, temporary_breakpoints->paths[i]))
            return true;
    return false;
}

bool temporary_breakpoints_reached(const struct temporary_breakpoints *temporary_breakpoints,
                                   const struct path_query *path_query, int64_t thread)
{
    for (size_t i = 0; i < path_query->location_count; i++) {
        const struct path_query_location *at = &path_query->locations[i];
        const struct frame_location location = {.file = at->file, .line = at->line};
        if (at->thread == thread)
            return temporary_breakpoints_at(temporary_breakpoints, &location);
    }
    return false;
}
