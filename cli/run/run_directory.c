#include "cli/run/run_directory.h"

#include "base/mem.h"
#include "relay/access/auth.h"

#include <stdlib.h>

char *run_directory_make(const struct agent_files_config *config, struct err *err)
{
    char *name = mem_format("run-%s", config->key_id), *directory = auth_state_path(name);
    if (!directory)
        err_set(err, ERR_FAILED, "there is no directory for the agents' files: set HOME");
    if (directory &&
        (auth_make_state_directory(err) != 0 || agent_files_write(directory, config, err) != 0)) {
        free(directory);
        directory = NULL;
    }
    free(name);
    return directory;
}
