/* The parsed command line of `raydbg memory`, for cmd_memory.c and the files that serve it. */
#ifndef RAYDBG_CLI_MEMORY_MEMORY_REQUEST_H
#define RAYDBG_CLI_MEMORY_MEMORY_REQUEST_H

#include "cli/common/byte_units.h"
#include "cli/memory/memory_source.h"
#include "relay/sweep/sweep_query.h"

#include <stdbool.h>
#include <stdint.h>

enum memory_format { MEMORY_TABLE, MEMORY_JSON, MEMORY_YAML, MEMORY_CSV };

struct memory_request {
    struct sweep_query query;
    enum byte_units units;
    enum memory_format format;
    int64_t entries;  /* --num-entries; -1: what fits on a terminal, else all */
    bool grouped;     /* --group-by was given */
    bool stats_only;  /* the stores' counters alone */
    bool locations;   /* ask the owners where objects are */
    bool why_full;    /* what keeps the stores full */
    bool top;         /* live, on the terminal */
    const char *diff; /* a file, or a duration as text; NULL: one sweep */
    /* query.task_worker points here, once the worker is known. */
    char task_worker[ID_TEXT(ID_UNIQUE_BYTES)];
    int64_t diff_ms; /* the duration; 0: `diff` is a file */
};

/* Asks and prints; sets the request's task_worker. Returns the process's exit code. */
int memory_show(struct loop *loop, struct memory_source *source, struct memory_request *request);

#endif
