/* One table of the effects that each request has on a debuggee. Pure. */
#ifndef RAYDBG_DAP_DAP_COMMAND_H
#define RAYDBG_DAP_DAP_COMMAND_H

#include <stdbool.h>

enum dap_command_kind {
    /* The request only reads: it does not affect the response to any other request. Every command
     * without this bit may change something: `evaluate` runs any code, `completions` evaluates an
     * expression. */
    DAP_COMMAND_READS = 1 << 0,
    /* An observer may send it. `evaluate` lacks this bit: relay/hub/roles.h checks it. */
    DAP_COMMAND_OBSERVES = 1 << 1,
    DAP_COMMAND_STEPS = 1 << 2,
    DAP_COMMAND_RESUMES = 1 << 3,       /* a thread runs after it: a step, or `continue` */
    DAP_COMMAND_ENDS_STOP = 1 << 4,     /* answers from the stop are no longer valid */
    DAP_COMMAND_AUDITED = 1 << 5,       /* it gets a line in the audit log */
    DAP_COMMAND_NEEDS_STOPPED = 1 << 6, /* its threadId must name a stopped thread */
    DAP_COMMAND_HAS_VALUES = 1 << 7,    /* its response has values, or scopes with values */
};

/* True if the command is of this kind. A command that is not in the table is of no kind. */
bool dap_command_is(const char *command, enum dap_command_kind kind);

#endif
