/* One `raydbg profile`: asks, waits and writes. */
#ifndef RAYDBG_CLI_PROFILE_PROFILE_ASK_H
#define RAYDBG_CLI_PROFILE_PROFILE_ASK_H

#include "relay/evidence/process_request.h"

enum profile_format {
    PROFILE_TABLE,
    PROFILE_JSON,
    PROFILE_SPEEDSCOPE,
    PROFILE_SVG,
    PROFILE_FOLDED,
};

/* question.stacks.memory: memray's HTML is written, whatever the format. */
struct profile_request {
    const char *address; /* --address or NULL */
    struct process_query query;
    bool full;
    enum profile_format format;
    const char *output; /* a file; "-" is standard output */
};

/* Returns the exit code. */
int profile_ask(const struct profile_request *request);

#endif
