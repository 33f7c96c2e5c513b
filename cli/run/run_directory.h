/* The directory of agents' files (relay/worker_agent/agent_files.h) of one `raydbg run`. */
#ifndef RAYDBG_CLI_RUN_RUN_DIRECTORY_H
#define RAYDBG_CLI_RUN_RUN_DIRECTORY_H

#include "relay/worker_agent/agent_files.h"

/* Makes it in the state directory, named after the key's id. The caller removes it
 * (agent_files_remove()) and frees its path; NULL with `err` set. */
char *run_directory_make(const struct agent_files_config *config, struct err *err);

#endif
