/* Which pauses a session over many is about: those there are, and those that come. Pure. */
#ifndef RAYDBG_RELAY_PAUSE_FILTER_H
#define RAYDBG_RELAY_PAUSE_FILTER_H

#include "relay/pause.h"

/* Strings are owned; NULL where nothing was said. All zero matches every pause. */
struct pause_filter {
    char **tasks; /* any of these; none: all */
    size_t task_count;
    char *job, *actor, *node; /* and all of these */
};

void pause_filter_clear(struct pause_filter *filter);
void pause_filter_add(struct pause_filter *filter, const char *task);

/* Whether something was said. */
bool pause_filter_is_set(const struct pause_filter *filter);
/* Whether it says what kind of pause is wanted ("*", a glob, a job, …) and not which ones by name:
 * that none is there yet is no mistake of the user's then. */
bool pause_filter_is_open(const struct pause_filter *filter);
/* An entry of `tasks` is anything that pause_find() takes, or a glob over the task's name, the
 * actor's name and class. `job` is as pause_of_job() takes it; `actor` and `node` as
 * pause_of_actor() and pause_on_node() do, or globs. */
bool pause_filter_matches(const struct pause_filter *filter, const struct pause *pause);

/* What it asks for, for a message: "Trainer.* of job 01". */
void pause_filter_describe(const struct pause_filter *filter, char *out, size_t size);

/* Whether the text has a character that makes it a glob. */
bool pause_filter_is_glob(const char *text);

#endif
