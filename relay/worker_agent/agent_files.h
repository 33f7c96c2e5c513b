/* The directory from which a driver starts its job's agents: the agent's source, what Python
 * imports at its start, the hook that Ray calls in ray.init(), and the relay's address with the
 * job's agent key. */
#ifndef RAYDBG_RELAY_WORKER_AGENT_AGENT_FILES_H
#define RAYDBG_RELAY_WORKER_AGENT_AGENT_FILES_H

#include "base/err.h"

#include <stdint.h>

struct agent_files_config {
    const char *host; /* as the relay listens: it is part of the proofs */
    uint16_t port;
    const char *fingerprint; /* of the certificate that it shows there; "": there is no TLS */
    const char *key_id;
    char *key;
    /* The directory whose copy Ray runs a submitted job in, if its runtime_env has a working_dir;
     * or NULL. agent_files_write() does not write it. */
    const char *root;
    const char *stops; /* further members for the agents, each after a comma; or NULL */
};

/* Makes the directory (0700) and its files (0600). It is for PYTHONPATH. */
int agent_files_write(const char *directory, const struct agent_files_config *config,
                      struct err *err);
/* Removes both; what Python has cached there, too. */
void agent_files_remove(const char *directory);

#endif
