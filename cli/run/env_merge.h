/* The runtime_env that `raydbg env --merge` adds to: what conflicts with the agents' setup hook is
 * found before anything is submitted. */
#ifndef RAYDBG_CLI_RUN_ENV_MERGE_H
#define RAYDBG_CLI_RUN_ENV_MERGE_H

#include "base/err.h"

#include <cjson/cJSON.h>
#include <stdbool.h>

/* Reads the runtime_env in `text`: JSON, or the path of a file of JSON; NULL gives an empty one.
 * Takes the job's own setup hook out of it into `*own` ("module.function", or NULL). NULL with
 * `err` if the text is no runtime_env, or if the agents could not be started beside what it has.
 * The caller deletes the result and frees `*own`. */
cJSON *env_merge_read(const char *text, char **own, struct err *err);

/* Adds the hook, by its name in the key-value store (hook_entry.h). */
void env_merge_add_hook(cJSON *runtime_env, const char *name);

/* An error if the job's workers would have no debugpy; `absent`: the workers of this machine have
 * none. */
int env_merge_check_debugpy(const cJSON *runtime_env, bool absent, struct err *err);

#endif
