/* The names of processes in `raydbg memory --top`. Pure. */
#ifndef RAYDBG_CLI_TOP_TOP_PROCESS_H
#define RAYDBG_CLI_TOP_TOP_PROCESS_H

#include "relay/sweep/object_sweep.h"

/* "pid 5842 on node-1"; "unknown" for -1. The caller frees it. */
char *top_process_name(const struct object_sweep *sweep, int32_t process);
const char *top_process_type(const struct object_process *process);

#endif
