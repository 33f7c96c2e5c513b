/* The inside of a directory, for the files that make it up: directory.c (all but tasks),
 * directory_tasks.c. */
#ifndef RAYDBG_RELAY_DIRECTORY_STATE_H
#define RAYDBG_RELAY_DIRECTORY_STATE_H

#include "relay/directory.h"
#include "relay/object_table.h"

enum { HINTS_MAX = 64 };

enum known { UNASKED, ASKING, KNOWN, FAILED };

/* One task's question and its answer. */
struct directory_task {
    struct directory *directory;
    char task_id[ID_TEXT(ID_TASK_BYTES)];
    enum known known;
    struct ray_task *record; /* an array of one; NULL if there is none */
    bool guessed;            /* most likely there is no such task */
    bool late;               /* the first answer was that there is none; the second is to come */
    int64_t late_us;         /* since when, until it is asked again */
};

struct hint {
    char task_id[ID_TEXT(ID_TASK_BYTES)]; /* whole if `found` */
    bool found;
    bool tried; /* every first byte */
};

struct directory {
    struct loop *loop;
    struct source *source;
    loop_fn changed;
    void *arg;
    enum known workers_known, nodes_known, actors_known, jobs_known, version_known;
    struct ray_worker *workers; /* sorted by id */
    size_t worker_count;
    struct ray_node *nodes;
    size_t node_count;
    struct ray_actor *actors;
    size_t actor_count;
    struct ray_job *jobs;
    size_t job_count;
    struct directory_task **tasks;
    size_t task_count, asked; /* those before `asked` are */
    size_t in_flight;
    size_t late, came_late;
    struct timer *again; /* asks for those that are late */
    struct object_table by_task;
    struct hint hints[HINTS_MAX];
    size_t hint_count, next_hint, guesses;
    char problem[512];
};

/* What an answer says of what was asked; an error's text is kept. */
enum known directory_note(struct directory *directory, const struct err *err);
/* Who asks for tasks, or workers about objects, must know the cluster's version. */
void directory_ask_version(struct directory *directory);

/* directory_tasks.c. */
void directory_ask_tasks(struct directory *directory);
/* Keeps what cannot change any more: tasks that somebody has run. */
void directory_renew_tasks(struct directory *directory);
void directory_drop_tasks(struct directory *directory);

#endif
