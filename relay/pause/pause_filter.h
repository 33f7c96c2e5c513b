/* Selects the pauses of a session over many tasks, those present and those to come. Pure. */
#ifndef RAYDBG_RELAY_PAUSE_PAUSE_FILTER_H
#define RAYDBG_RELAY_PAUSE_PAUSE_FILTER_H

#include "relay/pause/pause.h"

/* Strings are owned; NULL where not set. All zero matches every pause. */
struct pause_filter {
    char **tasks; /* any of these; none: all */
    size_t task_count;
    char *job, *actor, *node; /* and all of these */
};

void pause_filter_clear(struct pause_filter *filter);
void pause_filter_add(struct pause_filter *filter, const char *task);

/* True if any member is set. */
bool pause_filter_is_set(const struct pause_filter *filter);
/* True if the filter gives the kind of pause ("*", a glob, a job, …), not names of pauses: it is
 * not the user's mistake then if there is none yet. */
bool pause_filter_is_open(const struct pause_filter *filter);
/* An entry of `tasks` is anything that pause_find() takes, or a glob for the task's name, the
 * actor's name or class. `job` is as for pause_of_job(); `actor` and `node` are as for
 * pause_of_actor() and pause_on_node(), or globs. */
bool pause_filter_matches(const struct pause_filter *filter, const struct pause *pause);

/* The filter's text in a message: "Trainer.* of job 01". */
void pause_filter_describe(const struct pause_filter *filter, char *out, size_t size);

/* True if the text has a character that makes it a glob. */
bool pause_filter_is_glob(const char *text);

#endif
