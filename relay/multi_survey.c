#include "base/mem.h"
#include "base/text.h"
#include "relay/multi_verbs_state.h"

#include <stdlib.h>

struct survey_job {
    struct survey_job *next;
    struct multi_verbs *verbs;
    char *file;
    struct survey survey;
    size_t open; /* stacks to come, and one more while they are asked for */
    survey_fn fn;
    void *arg;
};

enum { STACK_MS = 2000, KNOWN = 1000 };

static void unlink_job(struct survey_job *job)
{
    struct survey_job **at = &job->verbs->surveys;
    while (*at && *at != job)
        at = &(*at)->next;
    if (*at)
        *at = job->next;
}

static void free_job(struct survey_job *job)
{
    unlink_job(job);
    look_drop(job->verbs, job);
    for (size_t i = 0; i < job->survey.place_count; i++)
        free(job->survey.places[i].file);
    for (size_t i = 0; i < job->survey.path_count; i++)
        free(job->survey.paths[i]);
    free(job->survey.places);
    free(job->survey.paths);
    free(job->file);
    free(job);
}

void survey_drop(struct multi_verbs *verbs, const void *arg)
{
    for (struct survey_job *job = verbs->surveys, *next; job; job = next) {
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

void survey_forget(struct multi_verbs *verbs)
{
    for (size_t i = 0; i < verbs->known.count; i++)
        free(verbs->known.items[i]);
    free(verbs->known.items);
    verbs->known = (struct known_paths){0};
}

/* Files that are the user's, as far as anybody can say. */
static void know_paths(struct multi_verbs *verbs, const struct look_result *result)
{
    struct span frame, at;
    size_t cursor = 0;
    while (scan_element(result->json, result->frames, &cursor, &frame)) {
        char *path = scan_path(result->json, frame, "source/path", &at)
                         ? scan_string(result->json, at)
                         : NULL;
        if (!text_empty(path) && verbs->known.count < KNOWN &&
            !scan_find(result->json, frame, "presentationHint", &at))
            add_path(&verbs->known.items, &verbs->known.count, path);
        free(path);
    }
}

static void choose_paths(struct survey_job *job)
{
    struct survey *survey = &job->survey;
    const struct known_paths *known = &job->verbs->known;
    if (*job->file == '/')
        add_path(&survey->paths, &survey->path_count, job->file);
    for (size_t i = 0; *job->file != '/' && i < known->count; i++)
        if (stack_place_is(known->items[i], job->file))
            add_path(&survey->paths, &survey->path_count, known->items[i]);
}

static void one_less(struct survey_job *job)
{
    if (--job->open)
        return;
    choose_paths(job);
    unlink_job(job); /* fn may drop what it has asked for */
    job->fn(job->arg, &job->survey);
    free_job(job);
}

static void on_stack(void *arg, const struct look_result *result)
{
    struct survey_job *job = arg;
    struct survey *survey = &job->survey;
    survey->places = mem_resize(survey->places, survey->place_count + 1, sizeof *survey->places);
    survey->places[survey->place_count++] =
        (struct survey_place){result->thread, mem_string(result->top.file), result->top.line};
    if (result->json)
        know_paths(job->verbs, result);
    one_less(job);
}

void survey_take(struct multi_verbs *verbs, const char *file, survey_fn fn, void *arg)
{
    int64_t *ids;
    size_t count;
    struct survey_job *job = mem_alloc(sizeof *job);
    *job = (struct survey_job){
        .next = verbs->surveys,
        .verbs = verbs,
        .file = mem_string(file),
        .open = 1,
        .fn = fn,
        .arg = arg,
    };
    verbs->surveys = job;
    if (verbs_select(verbs, "state=stopped", &ids, &count, NULL) == 0) {
        job->open += count;
        for (size_t i = 0; i < count; i++)
            look_stack(verbs, ids[i], STACK_MS, on_stack, job);
        free(ids);
    }
    one_less(job);
}

void survey_unknown(const char *file, struct err *err)
{
    err_set(err, ERR_NOT_FOUND, "no task has stopped with %s in its stack", file);
    err_hint(err, "give the whole path, as it is on the workers");
}

/* --- stakes --- */

void stakes_set(struct multi_verbs *verbs, struct stakes *stakes, const struct survey *survey,
                int64_t line)
{
    stakes->count = survey->path_count;
    stakes->line = line;
    stakes->paths = mem_array(stakes->count, sizeof *stakes->paths);
    stakes->handles = mem_array(stakes->count, sizeof *stakes->handles);
    for (size_t i = 0; i < stakes->count; i++) {
        stakes->paths[i] = mem_string(survey->paths[i]);
        stakes->handles[i] = multi_sets_add(verbs->multi->sets, survey->paths[i], line);
    }
}

void stakes_pull(struct multi_verbs *verbs, struct stakes *stakes)
{
    for (size_t i = 0; i < stakes->count; i++) {
        multi_sets_remove(verbs->multi->sets, stakes->handles[i]);
        free(stakes->paths[i]);
    }
    free(stakes->paths);
    free(stakes->handles);
    *stakes = (struct stakes){0};
}

bool stakes_at(const struct stakes *stakes, const struct stack_place *place)
{
    for (size_t i = 0; i < stakes->count; i++)
        if (place->line == stakes->line && text_equal(place->file, stakes->paths[i]))
            return true;
    return false;
}
