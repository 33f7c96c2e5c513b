/* The events that invalidate what was read from a stopped debuggee (DAP_COMMAND_READS): one table
 * for the relay, which prefetches answers (relay/client/prefetch.h), and for the editor's end,
 * which keeps them (cli/dap/dap_prefetch.h). Pure. */
#ifndef RAYDBG_DAP_READS_H
#define RAYDBG_DAP_READS_H

#include <stdbool.h>

/* True if a prefetched answer from before this event may be wrong after it. */
bool reads_end_with(const char *event);

#endif
