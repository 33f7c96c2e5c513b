/* The setup hook of a submitted job's workers, as an entry of the cluster's key-value store. A
 * worker whose environment has HOOK_ENTRY_VARIABLE fetches the entry that it names, unpickles it
 * and calls it (Ray 2.9+: fetch_registered_method(), setup_hook.py). The entry has the agent's
 * source and its key; the name has neither. */
#ifndef RAYDBG_RELAY_WORKER_AGENT_HOOK_ENTRY_H
#define RAYDBG_RELAY_WORKER_AGENT_HOOK_ENTRY_H

#include "relay/worker_agent/agent_files.h"

#include <stdbool.h>

#define HOOK_ENTRY_VARIABLE "__RAY_WORKER_PROCESS_SETUP_HOOK_ENV_VAR"
#define HOOK_ENTRY_SPACE "fun" /* Ray's namespace for exported functions */
/* How Ray names a hook in that namespace; the key follows in base64. */
#define HOOK_ENTRY_NAME "ray_runtime_env_func::"

/* The entry's key: "RaydbgSetupHook:" and the id of the agent key. No job's end removes it. The
 * caller frees, as in all functions below. */
char *hook_entry_key(const char *key_id);
/* The variable's value for this key. */
char *hook_entry_name(const char *key);
/* True if this value of the variable names an entry of raydbg's. */
bool hook_entry_is_ours(const char *name);
/* The entry itself: ASCII, without a NUL. `own` is the job's own hook, "module.function", which
 * runs after the agent's start; or NULL. */
char *hook_entry_make(const struct agent_files_config *config, const char *own);

#endif
