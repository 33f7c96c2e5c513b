/* Programs that this one starts. */
#ifndef RAYDBG_CLI_COMMON_SPAWN_H
#define RAYDBG_CLI_COMMON_SPAWN_H

#include <spawn.h>

/* The program gets default signals, none of them blocked. `flags`: more of
 * posix_spawnattr_setflags(), such as POSIX_SPAWN_SETSID. The caller destroys the attributes. */
void spawn_attributes_init(posix_spawnattr_t *attributes, short flags);

#endif
