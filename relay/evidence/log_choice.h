/* The log files in which a subject's output is. Pure. */
#ifndef RAYDBG_RELAY_EVIDENCE_LOG_CHOICE_H
#define RAYDBG_RELAY_EVIDENCE_LOG_CHOICE_H

#include "relay/why_records/why_subject.h"

/* A part of a file, or all files that match. */
struct log_source {
    const struct ray_node *node; /* in the records */
    char *file;                  /* NULL: those that match `glob`, with one of `endings` */
    char *glob;
    int64_t start, end; /* bytes of the file; -1: from its beginning, to its end */
    const char *stream; /* "out", "err", "log"; of a glob NULL: by the file's ending */
    char *process;      /* the id of the worker that writes it; NULL of anything else */
    char *name;         /* of the subject, for a prefix */
    char *only_behind;  /* a task's name: only the lines behind its marker; or NULL */
    int64_t died_ms;    /* when its process died; 0: it lives, or it is not a process */
    bool has_markers;   /* the file has Ray's marker lines, which are not the program's output */
};

struct log_choice {
    struct log_source *sources;
    size_t count;
    char *heading; /* "worker pid 762@10.0.0.7 · task load, attempt 1" */
    char *note;    /* what the reader should know of the bounds; NULL if there is nothing */
};

/* `name` is what the user gave: "gcs", "raylet@NODE", or the name of `subject`. -1 with `err` if
 * there can be no log: the thing never ran, or is of a kind without one. */
int log_choice_make(const struct why_records *records, const char *name,
                    const struct why_subject *subject, struct log_choice *out, struct err *err);
/* The logs of all processes on the node of `subject` in the time from `within_ms` before the
 * subject's end to `within_ms` behind it: its processes, the raylet, and on the head the GCS. -1
 * with `err` if it has not ended. */
int log_choice_around(const struct why_records *records, const struct why_subject *subject,
                      int64_t within_ms, struct log_choice *out, int64_t *at_ms, struct err *err);
void log_choice_clear(struct log_choice *choice);
/* True for "gcs" and "raylet@NODE", for which there is no subject. */
bool log_choice_is_ray(const char *name);

/* True if this file, of those that match a glob, is wanted: a process's out and err, and not what
 * was rotated away. */
bool log_choice_takes(const char *file);
/* The glob of a worker's files, also where Ray has moved them (docs/facts/ray.md#10.18). The caller
 * frees. */
char *log_choice_worker_glob(const char *worker_id);
/* "out", "err" or "log", by the file's ending. */
const char *log_choice_stream(const char *file);

#endif
