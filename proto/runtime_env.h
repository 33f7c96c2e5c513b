/* The Python packages that a runtime_env gives its workers. Nothing else of it is kept: its
 * env_vars may hold secrets. */
#ifndef RAYDBG_PROTO_RUNTIME_ENV_H
#define RAYDBG_PROTO_RUNTIME_ENV_H

enum runtime_packages {
    RUNTIME_PACKAGES_UNKNOWN, /* no source says, or the text is no runtime_env */
    RUNTIME_PACKAGES_NODE, /* those of the node's Ray, perhaps with others, none of them debugpy */
    RUNTIME_PACKAGES_DEBUGPY, /* it names debugpy */
    RUNTIME_PACKAGES_OWN, /* an image, a conda environment or an interpreter with its own packages
                           */
};

/* `text` is a serialized runtime_env, JSON as Ray keeps it; "" and NULL are one without packages.
 */
enum runtime_packages runtime_env_packages(const char *text);

#endif
