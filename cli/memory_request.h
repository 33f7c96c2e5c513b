/* What `raydbg memory` was asked for; for cmd_memory.c and the files that do it. */
#ifndef RAYDBG_CLI_MEMORY_REQUEST_H
#define RAYDBG_CLI_MEMORY_REQUEST_H

#include "cli/memory_source.h"
#include "cli/memory_units.h"
#include "relay/object_query.h"

#include <stdbool.h>
#include <stdint.h>

enum memory_format { MEMORY_TABLE, MEMORY_JSON, MEMORY_YAML, MEMORY_CSV };

struct memory_request {
    struct object_query query;
    enum memory_units units;
    enum memory_format format;
    int64_t entries;  /* rows of a group; -1: what fits for people, all for programs */
    bool grouped;     /* --group-by was given; else it is by node */
    bool stats_only;  /* the stores' counters alone */
    bool locations;   /* ask the owners where objects are */
    bool why_full;    /* who keeps the stores full */
    bool top;         /* live, on the terminal */
    const char *diff; /* a file, or a duration as text; NULL: one look */
    /* What query.task_worker points to, once it was found out. */
    char task_worker[ID_TEXT(ID_UNIQUE_BYTES)];
    int64_t diff_ms; /* the duration; 0: `diff` is a file */
};

/* Asks and prints; fills in what of the request it finds out. Returns the process's exit code. */
int memory_show(struct loop *loop, struct memory_source *source, struct memory_request *request);

#endif
